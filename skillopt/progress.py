"""Progress of a long phase: as lines in its log, and as a small file beside it for `skillopt watch`."""

import logging
import os
import socket
import threading
import time
from collections import Counter
from pathlib import Path

import msgspec

from skillopt.errors import CorruptFile
from skillopt.files import WriteError, read_json, write_json
from skillopt.times import Span, note_time

log = logging.getLogger("skillopt.progress")

_EVERY = 2.0
"""Seconds between two lines, and between two signs of life."""
SUFFIX = ".progress.json"
"""The file lies beside the log: `logs/step_0001/rollout.log` -> `logs/step_0001/rollout.progress.json`."""
ENGINE = "workflow"
SIGN = f"logs/{ENGINE}{SUFFIX}"
"""Below a run's folder: the engine works on the run; gone when it has ended."""


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """How far one part of a phase is: `done` of `total` things after `seconds`, by their status.

    `hard` is the mean of hard of what has a score.
    """

    what: str
    total: int
    done: int
    statuses: dict[str, int]
    hard: float | None
    seconds: float

    @property
    def rate(self) -> float:
        """Things per second."""
        return self.done / max(self.seconds, 1e-9)

    @property
    def left(self) -> float | None:
        """Seconds left at this rate, None as long as nothing is done."""
        return (self.total - self.done) / self.rate if self.done else None


class Running(msgspec.Struct, frozen=True, kw_only=True):
    """`*.progress.json`: a command that runs, or was killed: then nobody removed the file.

    `started` and `beat`, the last sign of life, are seconds since 1970.
    """

    command: str
    host: str
    pid: int
    started: float
    beat: float
    parts: tuple[Part, ...] = ()


def span_of(sign: Running) -> Span:
    """Return how long a command has been at work by its last sign of life."""
    seconds = round(max(sign.beat - sign.started, 0.0), 3)
    return Span(phase=sign.command, host=sign.host, pid=sign.pid, began=sign.started, seconds=seconds)


def read_sign(place: Path) -> Running | None:
    """Read a sign of life, None where there is none; a torn one says nothing of anybody, and stops nobody."""
    try:
        return read_json(place, Running)
    except FileNotFoundError:
        return None
    except CorruptFile as error:
        log.warning("%s", error)
        return None


def keep_time(place: Path) -> None:
    """Keep the time of a killed command whose sign of life is still there."""
    sign = read_sign(place)
    if sign and sign.command != ENGINE:
        note_time(place, span_of(sign))


def forget_signs(folder: Path) -> None:
    """Remove the signs of killed processes of a run on which nothing is at work."""
    for left in folder.glob(f"logs/**/*{SUFFIX}*"):
        if left.name.endswith(SUFFIX):
            keep_time(left)
        left.unlink(missing_ok=True)


class Progress:
    """Counts what is done and says so now and then.

    A line reads `<what>: 12/40 done, 10 scored, 2 timeout, mean hard 0.417, 3.1/s, 9 s left`.
    """

    def __init__(self, what: str, total: int, *, quiet: bool = False) -> None:
        self._what = what
        self._total = total
        self._quiet = quiet
        self._statuses: Counter[str] = Counter()
        self._hard = 0.0
        self._scored = 0
        self._start = self._said = time.monotonic()

    def step(self, status: str, hard: float | None = None) -> None:
        """Count one thing done."""
        self._statuses[status] += 1
        if hard is not None:
            self._hard += hard
            self._scored += 1
        if time.monotonic() - self._said >= _EVERY:
            self._say()

    def end(self) -> None:
        """Say how it ended."""
        self._say()

    def part(self) -> Part:
        """Return how far it is."""
        statuses = dict(self._statuses)
        return Part(
            what=self._what,
            total=self._total,
            done=sum(statuses.values()),
            statuses=dict(sorted(statuses.items())),
            hard=self._hard / self._scored if self._scored else None,
            seconds=round(time.monotonic() - self._start, 3),
        )

    def _say(self) -> None:
        self._said = time.monotonic()
        if not self._quiet:
            log.info("%s", in_words(self.part()))


def in_words(part: Part) -> str:
    """Return one line."""
    parts = [f"{part.done}/{part.total} done"]
    parts += [f"{count} {status}" for status, count in part.statuses.items()]
    if part.hard is not None:
        parts.append(f"mean hard {part.hard:.3f}")
    if part.done < part.total:
        parts.append(f"{part.rate:.1f}/s")
    if part.done < part.total and part.left is not None:
        parts.append(f"{part.left:.0f} s left")
    return f"{part.what}: {', '.join(parts)}"


class Board:
    """Where a command shows that it lives and how far it is; without a path it shows nothing.

    The file is written every few seconds by a thread of its own, so that a long call is no silence.
    """

    def __init__(
        self, command: str = "", path: Path | None = None, *, quiet: bool = False, every: float = _EVERY
    ) -> None:
        self._command = command
        self._every = every
        self._path = path
        self._quiet = quiet
        self._parts: list[Progress] = []
        self._started = time.time()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def part(self, what: str, total: int) -> Progress:
        """Begin a part of the work: `total` things to do."""
        progress = Progress(what, total, quiet=self._quiet)
        self._parts.append(progress)
        return progress

    def start(self) -> None:
        """Show that the command has begun."""
        if self._path:
            keep_time(self._path)  # of one that was killed here
            self._write()
            self._thread.start()

    def end(self) -> None:
        """Take the sign away."""
        if self._path:
            self._over.set()
            self._thread.join()
            if self._command != ENGINE:
                note_time(self._path, span_of(self._sign()))
            self._path.unlink(missing_ok=True)

    def _beat(self) -> None:
        while not self._over.wait(self._every):
            self._write()

    def _sign(self) -> Running:
        return Running(
            command=self._command,
            host=socket.gethostname(),
            pid=os.getpid(),
            started=round(self._started, 3),
            beat=round(time.time(), 3),
            parts=tuple(progress.part() for progress in list(self._parts)),
        )

    def _write(self) -> None:
        assert self._path is not None
        try:
            write_json(self._path, self._sign())
        except WriteError as error:  # a full disk: the phase itself says so when it matters
            log.debug("%s", error)
