"""What a run has spent, and what its processes have set aside for calls in flight: one small shared file."""

import contextlib
import fcntl
import os
import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from skillopt.models.store import StoreError
from skillopt.process import is_running


class Spend(msgspec.Struct, frozen=True, kw_only=True):
    """Calls, tokens (prompt and completion), and USD."""

    calls: int = 0
    tokens: int = 0
    cost: float = 0.0

    def __add__(self, other: "Spend") -> "Spend":
        return Spend(
            calls=self.calls + other.calls, tokens=self.tokens + other.tokens, cost=self.cost + other.cost
        )

    def __sub__(self, other: "Spend") -> "Spend":
        return Spend(
            calls=self.calls - other.calls, tokens=self.tokens - other.tokens, cost=self.cost - other.cost
        )


class Aside(msgspec.Struct):
    """What a process has set aside; after `until` (seconds since 1970) it is taken for dead."""

    amount: Spend
    until: float


class Tally(msgspec.Struct):
    """The shared file. `held` is by process (see `process_name`)."""

    spent: Spend = Spend()
    held: dict[str, Aside] = {}

    def aside(self) -> Spend:
        """Add up what all processes have set aside."""
        return sum((aside.amount for aside in self.held.values()), Spend())

    def set_aside(self, owner: str, amount: Spend, until: float) -> None:
        """Set something more aside for a process."""
        mine = self.held.get(owner)
        self.held[owner] = Aside(amount=amount + mine.amount if mine else amount, until=until)

    def give_back(self, owner: str, amount: Spend) -> None:
        """Undo `set_aside`; nothing is left to undo when the process was taken for dead meanwhile."""
        mine = self.held.get(owner)
        if mine is None:
            return
        mine.amount -= amount
        if mine.amount.calls <= 0:
            del self.held[owner]

    def forget_the_dead(self) -> None:
        """Drop what processes have set aside that are gone, or whose calls must be over."""
        host, now = socket.gethostname(), time.time()
        for owner, aside in list(self.held.items()):
            where, pid, _ = owner.split("/")
            if aside.until < now or (where == host and not is_running(int(pid))):
                del self.held[owner]


_NAME = re.compile(r"[^/]*/[0-9]{1,18}/[0-9]+")


def process_name() -> str:
    """Return a name for what this process sets aside: `<host>/<pid>/<time>`."""
    return f"{socket.gethostname()}/{os.getpid()}/{time.time_ns()}"


@contextlib.contextmanager
def locked(path: Path) -> Iterator[tuple[Tally, bool]]:
    """Read the tally for this process alone, and write it back unless an error is raised.

    Yields also whether there was one: False for a new file, and for one that a crash left half-written.
    Raises StoreError.
    """
    descriptor = _open(path)
    try:
        found = _decoded(os.pread(descriptor, os.fstat(descriptor).st_size, 0))
        tally = found or Tally()
        yield tally, found is not None
        _overwrite(descriptor, path, msgspec.json.encode(tally))
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise StoreError(f"call store: cannot open {path}: {error}. No call was made.") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError as error:
        os.close(descriptor)
        raise StoreError(
            f"call store: cannot lock {path}: {error}. A cap (section budget) needs a file system that has "
            "locks; no call was made."
        ) from error
    return descriptor


def _decoded(content: bytes) -> Tally | None:
    try:
        tally = msgspec.json.decode(content, type=Tally)
    except (msgspec.DecodeError, RecursionError):
        return None
    return tally if all(map(_NAME.fullmatch, tally.held)) else None


def _overwrite(descriptor: int, path: Path, content: bytes) -> None:
    try:
        os.ftruncate(descriptor, 0)
        written = os.pwrite(descriptor, content, 0)
    except OSError as error:
        raise StoreError(f"call store: cannot write {path}: {error}. No further call is made.") from error
    if written != len(content):
        raise StoreError(f"call store: no room for {path}. No further call is made.")
