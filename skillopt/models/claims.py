"""Claims on calls in flight: of the processes that share a call store, one makes a call, the others wait."""

import contextlib
import errno
import os
import secrets
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from skillopt.models.store import StoreError
from skillopt.process import mark_of

_SLACK = 300.0
"""Seconds by which an attempt may be late because it waits for its turn, or clocks differ."""
_UNREADABLE = 60.0
"""Seconds after which a claim that says nothing is dead: its owner ended between making and writing it."""


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """Who makes a call. `mark` tells the process from others with its number (see `process.mark_of`), `made`
    is in seconds since 1970, `attempt` the longest that an attempt takes.
    """

    host: str
    pid: int
    mark: str
    made: float
    attempt: float


class Claims:
    """The claims of one client on the keys of a call store.

    A claim is a small file beside the reply, `replies/ab/<key>.claim`, there from before the first
    attempt until the reply is kept or the call has failed. (There, and not in a folder of its own:
    making it shows this machine what other machines have put into the folder.) It is dead, and
    anybody's to take, when its owner is gone, or has not renewed it for longer than an attempt
    takes; on another machine only the latter can be seen. `attempt` is how long one takes at most,
    in seconds. All methods raise StoreError when the store cannot be used.
    """

    def __init__(self, root: Path, *, attempt: float) -> None:
        self._root = root
        self._attempt = attempt

    @contextlib.contextmanager
    def claim(self, key: str) -> Iterator[bool]:
        """Yield whether the call is ours to make; if so, it is until the end of the block."""
        path, content = self._path(key), self._content()
        with _told(path):
            mine = self._take(path, content)
        try:
            yield mine
        finally:
            if mine:
                with _told(path):
                    _remove(path, content)

    def is_free(self, key: str) -> bool:
        """Tell whether nobody alive makes the call."""
        path = self._path(key)
        with _told(path):
            found = _read(path)
            return found is None or _is_dead(path, found)

    def renew(self, key: str) -> None:
        """Say that a claim of ours goes on: there is a further attempt."""
        path = self._path(key)
        with _told(path), contextlib.suppress(FileNotFoundError):  # taken for dead meanwhile
            os.utime(path)

    def _take(self, path: Path, content: bytes) -> bool:
        if _create(path, content):
            return True
        found = _read(path)
        if found is not None:
            if not _is_dead(path, found):
                return False
            _remove(path, found)
        return _create(path, content)

    def _path(self, key: str) -> Path:
        return self._root / "replies" / key[:2] / f"{key}.claim"

    def _content(self) -> bytes:
        pid = os.getpid()
        claim = Claim(
            host=socket.gethostname(),
            pid=pid,
            mark=mark_of(pid) or "",
            made=time.time(),
            attempt=self._attempt,
        )
        return msgspec.json.encode(claim)


@contextlib.contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"call store: cannot claim a call in {path.parent}: {error}. No further call is made."
        ) from error


def _create(path: Path, content: bytes) -> bool:
    """Make the file unless there is one; tell whether it was made."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("xb")
    except FileExistsError:
        if path.parent.is_dir():
            return False
        raise
    try:
        with file:
            file.write(content)
    except OSError:
        path.unlink()
        raise
    return True


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ESTALE):  # stale: removed on another machine while it was read
            return None
        raise


def _is_dead(path: Path, content: bytes) -> bool:
    try:
        age = time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return True
    try:
        claim = msgspec.json.decode(content, type=Claim)
    except msgspec.DecodeError:
        return age > _UNREADABLE
    if age > claim.attempt + _SLACK:
        return True
    if claim.host != socket.gethostname():
        return False
    return mark_of(claim.pid) != claim.mark  # ended, or another process has its number now


def _remove(path: Path, content: bytes) -> None:
    """Remove a claim, but not one that another process has put in its place meanwhile."""
    aside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        path.rename(aside)
    except FileNotFoundError:
        return
    if aside.read_bytes() == content:
        aside.unlink()
    else:
        aside.rename(path)
