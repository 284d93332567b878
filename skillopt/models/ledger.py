"""Accounts of model calls: what was made, what was replayed, what failed, and what it used."""

import logging
import math
import os
import re
import socket
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from skillopt.models.base import CallError, Reply, Role, RoleModel
from skillopt.models.prices import Prices, cost_of
from skillopt.models.store import StoreError
from skillopt.records import Usage
from skillopt.times import Times

log = logging.getLogger(__name__)

Event = Literal["made", "replayed", "failed"]


class LedgerLine(msgspec.Struct, frozen=True, kw_only=True):
    """One call that was made, one that was replayed, or one failed attempt.

    `seconds` and `usage` of a replayed call are those of the call that was paid for.
    `error` is the short code of a failed attempt, or its kind. `estimated` is what the run's caps
    count where the provider does not tell the tokens; only runs with caps have it.
    """

    key: str
    event: Event
    role: Role
    phase: str
    label: str
    backend: str
    model: str
    usage: Usage = Usage()
    seconds: float = 0.0
    error: str = ""
    estimated: Usage | None = None


class Ledger:
    """Writes the lines of one process: `ledger/<run>/<phase>.<label>.<host>-<pid>-<ns>.jsonl`.

    Each line is one unbuffered write, so a killed process loses none.
    """

    def __init__(self, root: Path, *, run: str, phase: str, label: str) -> None:
        self.run = run
        self.phase = phase
        self.label = label
        where = f"{phase}.{label}.{socket.gethostname()}"
        name = re.sub(r"[^\w.-]+", "-", where)
        self._path = root / "ledger" / run / f"{name}-{os.getpid()}-{time.time_ns()}.jsonl"
        self._file: int | None = None

    def replied(
        self,
        event: Literal["made", "replayed"],
        key: str,
        role: RoleModel,
        reply: Reply,
        estimated: Usage | None = None,
    ) -> None:
        """Note a call that got a reply."""
        line = self._line(event, key, role, reply.usage, reply.seconds)
        self._write(msgspec.structs.replace(line, estimated=estimated))

    def failed(self, key: str, role: RoleModel, error: CallError, seconds: float) -> None:
        """Note an attempt that got none."""
        self._write(self._line("failed", key, role, Usage(), seconds, error.code or error.kind))

    def _line(
        self, event: Event, key: str, role: RoleModel, usage: Usage, seconds: float, error: str = ""
    ) -> LedgerLine:
        return LedgerLine(
            key=key,
            event=event,
            role=role.role,
            phase=self.phase,
            label=self.label,
            backend=role.backend,
            model=role.model,
            usage=usage,
            seconds=round(seconds, 3),
            error=error,
        )

    def _write(self, line: LedgerLine) -> None:
        content = msgspec.json.encode(line) + b"\n"
        try:
            if self._file is None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            written = os.write(self._file, content)
        except OSError as error:
            raise StoreError(f"call store: cannot write the accounts {self._path}: {error}") from error
        if written != len(content):
            raise StoreError(f"call store: no room for the accounts {self._path}")

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """Calls of one role in one phase and step (`label`).

    `usage` sums the calls that were made, `replayed_usage` what replaying saved; a count is None
    as soon as one call's is unknown. `cost` is what `usage` cost in USD, None as soon as one
    call's is unknown or its model has no price. `keys` counts distinct requests that got a reply.
    `seconds` adds up how long the calls that were made took, many of them at the same time.
    """

    role: Role
    phase: str
    label: str
    made: int = 0
    replayed: int = 0
    failed: int = 0
    keys: int = 0
    usage: Usage = Usage()
    replayed_usage: Usage = Usage()
    cost: float | None = None
    seconds: float = 0.0
    errors: dict[str, int] = {}


class Accounts(msgspec.Struct, frozen=True, kw_only=True):
    """All totals of a run, sorted; `torn` counts lines that a killed process left unfinished.

    `times` is the wall time of its jobs, whether they called a model or not.
    """

    totals: tuple[Totals, ...]
    torn: int
    times: Times = Times()


def read_ledger(root: Path, run: str, prices: Prices | None = None) -> Accounts:
    """Add up all lines of a run that processes have written so far; with prices, what they cost."""
    return LedgerReader(root, run).accounts(prices)


class LedgerReader:
    """Reads a run's accounts again and again: only files that have grown are read anew."""

    def __init__(self, root: Path, run: str) -> None:
        self._folder = root / "ledger" / run
        self._files: dict[Path, tuple[int, list[LedgerLine | None]]] = {}

    def accounts(self, prices: Prices | None = None) -> Accounts:
        """Add up all lines that processes have written so far; with prices, what they cost."""
        groups: dict[tuple[Role, str, str], list[LedgerLine]] = defaultdict(list)
        torn = 0
        for line in self._lines():
            if line is None:
                torn += 1
            else:
                groups[line.role, line.phase, line.label].append(line)
        return Accounts(
            totals=tuple(_total(*group, groups[group], prices or {}) for group in sorted(groups)), torn=torn
        )

    def _lines(self) -> Iterator[LedgerLine | None]:
        for path in sorted(self._folder.glob("*.jsonl")):
            size = path.stat().st_size
            if path not in self._files or self._files[path][0] != size:
                self._files[path] = size, list(_lines_of(path))
            yield from self._files[path][1]


def ledger_lines(root: Path, run: str) -> Iterator[LedgerLine]:
    """Yield all whole lines of a run."""
    for path in sorted((root / "ledger" / run).glob("*.jsonl")):
        yield from (line for line in _lines_of(path) if line is not None)


def per_phase(accounts: Accounts) -> list[Totals]:
    """Add up the steps of each role and phase; the label is empty then.

    `keys` is the sum over the steps: a request that two steps make counts in both.
    """
    sums: dict[tuple[Role, str], Totals] = {}
    for part in accounts.totals:
        before = sums.get((part.role, part.phase), Totals(role=part.role, phase=part.phase, label=""))
        sums[part.role, part.phase] = _add(before, part)
    return list(sums.values())


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """Calls made and replayed; tokens and USD of those made, None as soon as one call's is unknown."""

    made: int
    replayed: int
    prompt: int | None
    completion: int | None
    cost: float | None

    @property
    def tokens(self) -> int | None:
        """Tokens of prompts and replies."""
        return None if self.prompt is None or self.completion is None else self.prompt + self.completion


def spent(totals: Sequence[Totals]) -> Spent:
    """Add up totals of any roles and phases."""
    usage = sum((total.usage for total in totals), Usage())
    return Spent(
        made=sum(total.made for total in totals),
        replayed=sum(total.replayed for total in totals),
        prompt=usage.prompt if usage.calls else 0,
        completion=usage.completion if usage.calls else 0,
        cost=_sum([total.cost for total in totals if total.made]),
    )


def _lines_of(path: Path) -> Iterator[LedgerLine | None]:
    for content in path.read_bytes().splitlines():
        try:
            yield msgspec.json.decode(content, type=LedgerLine)
        except msgspec.DecodeError:
            log.warning("%s: a line is cut off; it is left out of the accounts", path)
            yield None


def _total(role: Role, phase: str, label: str, lines: list[LedgerLine], prices: Prices) -> Totals:
    by_event: dict[Event, list[LedgerLine]] = {"made": [], "replayed": [], "failed": []}
    errors: dict[str, int] = {}
    for line in lines:
        by_event[line.event].append(line)
        if line.event == "failed":
            errors[line.error] = errors.get(line.error, 0) + 1
    return Totals(
        role=role,
        phase=phase,
        label=label,
        made=len(by_event["made"]),
        replayed=len(by_event["replayed"]),
        failed=len(by_event["failed"]),
        keys=len({line.key for line in lines if line.event != "failed"}),
        usage=sum((line.usage for line in by_event["made"]), Usage()),
        replayed_usage=sum((line.usage for line in by_event["replayed"]), Usage()),
        cost=_sum([cost_of(line.usage, prices.get(line.model)) for line in by_event["made"]]),
        seconds=round(math.fsum(line.seconds for line in by_event["made"]), 3),
        errors=dict(sorted(errors.items())),
    )


def _sum(costs: list[float | None]) -> float | None:
    known = [cost for cost in costs if cost is not None]
    return math.fsum(known) if len(known) == len(costs) else None


def _add(left: Totals, right: Totals) -> Totals:
    errors = dict(left.errors)
    for code, count in right.errors.items():
        errors[code] = errors.get(code, 0) + count
    return Totals(
        role=left.role,
        phase=left.phase,
        label=left.label,
        made=left.made + right.made,
        replayed=left.replayed + right.replayed,
        failed=left.failed + right.failed,
        keys=left.keys + right.keys,
        usage=left.usage + right.usage,
        replayed_usage=left.replayed_usage + right.replayed_usage,
        cost=_sum([part.cost for part in (left, right) if part.made]),
        seconds=round(left.seconds + right.seconds, 3),
        errors=dict(sorted(errors.items())),
    )
