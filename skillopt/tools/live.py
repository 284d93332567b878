"""What can be seen of a run from its files: whether it lives, what it does, what it has decided and spent."""

import contextlib
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

from skillopt.config.resolved import Resolved
from skillopt.errors import ExitCode
from skillopt.files import read_json
from skillopt.models.caps import Caps
from skillopt.models.ledger import Accounts, LedgerReader, Totals, per_phase
from skillopt.models.prices import Prices
from skillopt.phases.gate import in_words
from skillopt.phases.spending import caps_of, prices_of
from skillopt.progress import ENGINE, Running
from skillopt.records import Gate
from skillopt.signs import lives, read_signs
from skillopt.standing import StandingReader
from skillopt.tools.status import FailedPhase, Status, read_records, status_of

_DECISIONS = 6
_TRIES = 3

Condition = Literal["running", "finished", "failed", "interrupted", "dead", "stopped"]


class Phase(msgspec.Struct, frozen=True, kw_only=True):
    """A command that is at work: the place of its log, such as `step_0001/rollout`."""

    name: str
    sign: Running


class View(msgspec.Struct, frozen=True, kw_only=True):
    """A run at one moment; `note` says more about its condition, `seconds` is how long it runs.

    `phases` are those at work; of a dead run, those that were. `gates` are the gate records that belong to
    the run as it is now; `initial` and `last` are the first and the latest of them.
    """

    status: Status
    condition: Condition
    note: str
    seconds: float | None
    epochs: int
    phases: tuple[Phase, ...]
    decisions: tuple[str, ...]
    initial: Gate | None
    last: Gate | None
    totals: tuple[Totals, ...]
    caps: Caps
    gates: tuple[str, ...]

    @property
    def errors(self) -> Mapping[str, int]:
        """Failed attempts of calls by kind, the commonest first."""
        found: Counter[str] = Counter()
        for total in self.totals:
            found.update(total.errors)
        return dict(found.most_common())


class Viewer:
    """Looks at a run's folder again and again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._standing = StandingReader(folder)
        self._ledger = LedgerReader(folder.parent / ".calls", folder.name)

    def look(self, now: float | None = None) -> View:
        """Read the files; raises ConfigError when there is no run. `now` is in seconds since 1970."""
        for _ in range(_TRIES):
            with contextlib.suppress(FileNotFoundError):  # the run removes and makes files meanwhile
                return self._look(now)
        return self._look(now)

    def _look(self, now: float | None) -> View:
        plan, resolved = read_records(self._folder)
        now = time.time() if now is None else now
        signs = read_signs(self._folder)
        standing = self._standing.look(plan, resolved, now)
        status = status_of(self._folder, plan, resolved, standing, signs)
        alive = {name: sign for name, sign in signs.items() if lives(sign, now)}
        lost = {name: sign for name, sign in signs.items() if name not in alive}
        condition, note = condition_of(status, alive, lost, now)
        gates = [read_json(self._folder / name, Gate) for name in standing.gates[-_DECISIONS:]]
        engine = alive.get(ENGINE)
        shown = lost if condition == "dead" else alive
        return View(
            status=status,
            condition=condition,
            note=note,
            seconds=now - engine.started if engine else None,
            epochs=plan.num_epochs if plan else 0,
            phases=tuple(Phase(name=name, sign=sign) for name, sign in shown.items() if name != ENGINE),
            decisions=tuple(in_words(gate) for gate in gates),
            initial=read_json(self._folder / standing.gates[0], Gate) if gates else None,
            last=gates[-1] if gates else None,
            totals=tuple(per_phase(self._accounts(resolved))),
            caps=caps_of(resolved),
            gates=standing.gates,
        )

    def _accounts(self, resolved: Resolved) -> Accounts:
        """Add up the calls; those of a run that was copied from elsewhere are in calls.json alone."""
        kept = self._folder / "calls.json"
        if kept.exists() and not (self._folder.parent / ".calls/ledger" / self._folder.name).is_dir():
            return read_json(kept, Accounts)
        return self._ledger.accounts(_prices(resolved))


def condition_of(
    status: Status, alive: Mapping[str, Running], lost: Mapping[str, Running], now: float
) -> tuple[Condition, str]:
    """Return how it stands with a run, and a note."""
    failed = [failure for failure in status.failures if failure.code != ExitCode.INTERRUPTED]
    if alive:
        return "running", ""
    if failed:
        return "failed", _failure(failed[0])
    if lost:
        name, sign = max(lost.items(), key=lambda entry: entry[1].beat)
        return "dead", (
            f"started, but no sign of life since {now - sign.beat:,.0f} s ({name}, process {sign.pid} on "
            f"{sign.host}); the same command goes on, and repeats no paid call"
        )
    if status.failures:
        return "interrupted", _failure(status.failures[0])
    if status.summary:
        return "finished", status.summary.outcome.replace("_", " ")
    return "stopped", f"nothing is at work; next: {status.next_phase}"


def _failure(failure: FailedPhase) -> str:
    return f"{failure.command} ({failure.code.name.lower().replace('_', ' ')}): {failure.message}"


def _prices(resolved: Resolved) -> Prices:
    """Return the price table when it is there: a run can be looked at from another machine."""
    table = resolved.settings.calls.prices
    return prices_of(resolved) if not table or Path(table).exists() else {}
