"""How long the jobs of a run were at work: one line per job in the call store, as with calls."""

import logging
import math
import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from skillopt.naming import run_of

log = logging.getLogger(__name__)


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """One job: from `began` (seconds since 1970) for so many seconds."""

    phase: str
    host: str
    pid: int
    began: float
    seconds: float


class PhaseTime(msgspec.Struct, frozen=True, kw_only=True):
    """How often a phase was begun, and the wall time in which at least one job of it was at work."""

    phase: str
    jobs: int
    seconds: float


class Times(msgspec.Struct, frozen=True, kw_only=True):
    """Wall time of a run and of its phases, those of killed and repeated jobs among them.

    `seconds` is the time in which any job was at work: less than the sum where jobs ran side by side.
    """

    seconds: float = 0.0
    phases: tuple[PhaseTime, ...] = ()

    def of(self, phase: str) -> float | None:
        """Return the wall time of a phase, None where it is not known."""
        return next((found.seconds for found in self.phases if found.phase == phase), None)


def note_time(sign: Path, span: Span) -> None:
    """Keep how long a job took, given the place of its sign of life; nothing for what is no job of a run.

    One file per machine: on each, the system keeps lines apart that processes append at the same time.
    """
    run = run_of(sign)
    if run is None:
        return
    path = _folder(run.parent / ".calls", run.name) / f"{span.host}.jsonl"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            os.write(file, msgspec.json.encode(span) + b"\n")
        finally:
            os.close(file)
    except OSError as error:  # a full disk: the phase itself says so when it matters
        log.warning("%s: cannot keep how long %s took: %s", path, span.phase, error.strerror)


def read_times(store: Path, run: str, at_work: Iterable[Span] = ()) -> Times:
    """Add up all jobs of a run, with those that are at work or were killed and not begun again."""
    spans: dict[tuple[str, int, float], Span] = {}
    for span in (*_kept(_folder(store, run)), *at_work):
        key = (span.host, span.pid, span.began)  # a job that ended in the very moment of the look is in both
        if key not in spans or spans[key].seconds < span.seconds:
            spans[key] = span
    phases: dict[str, list[Span]] = {}
    for span in spans.values():
        phases.setdefault(span.phase, []).append(span)
    return Times(
        seconds=covered(spans.values()),
        phases=tuple(
            PhaseTime(phase=phase, jobs=len(mine), seconds=covered(mine))
            for phase, mine in sorted(phases.items())
        ),
    )


def covered(spans: Iterable[Span]) -> float:
    """Return the seconds that are in at least one of the spans."""
    total, end = [], -math.inf
    for span in sorted(spans, key=lambda span: span.began):
        until = span.began + span.seconds
        total.append(max(until - max(span.began, end), 0.0))
        end = max(end, until)
    return round(math.fsum(total), 3)


def _folder(store: Path, run: str) -> Path:
    return store / "times" / run


def _kept(folder: Path) -> Iterable[Span]:
    for path in sorted(folder.glob("*.jsonl")):
        for content in path.read_bytes().splitlines():
            try:
                yield msgspec.json.decode(content, type=Span)
            except msgspec.DecodeError:
                log.warning("%s: a line is cut off; it is left out of the times", path)
