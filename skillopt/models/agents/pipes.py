"""The ends of a program's standard streams, served by the event loop in pieces."""

import asyncio
import contextlib
import os
from typing import Literal

_PIECE = 64 * 1024


class Feeder:
    """Writes to a program's standard input as fast as it reads; what it does not read is dropped."""

    def __init__(self, fd: int) -> None:
        self._fd: int | None = fd
        os.set_blocking(fd, False)
        self._left = memoryview(b"")

    def start(self, data: bytes) -> None:
        """Write `data`, then end the input."""
        self._left = memoryview(data)
        asyncio.get_running_loop().add_writer(self._open_fd(), self._write)

    def stop(self) -> None:
        """End the input."""
        if self._fd is not None:
            asyncio.get_running_loop().remove_writer(self._fd)
            os.close(self._fd)
            self._fd = None

    def _write(self) -> None:
        try:
            while self._left:
                self._left = self._left[os.write(self._open_fd(), self._left[:_PIECE]) :]
        except BlockingIOError:
            return
        except OSError:  # the program closed its input, or has ended
            pass
        self.stop()

    def _open_fd(self) -> int:
        assert self._fd is not None
        return self._fd


class Sink:
    """Reads a stream to its end, and keeps at most `limit` bytes of its start or end.

    When the start is kept, more than `limit` bytes set `overflow`, and no more is read.
    """

    def __init__(self, fd: int, limit: int, keep: Literal["start", "end"]) -> None:
        self._fd: int | None = fd
        os.set_blocking(fd, False)
        self._limit = limit
        self._keep_start = keep == "start"
        self._kept = bytearray()
        self.overflow = asyncio.Event()
        self.ended = asyncio.Event()

    @property
    def data(self) -> bytes:
        """What was kept so far."""
        return bytes(self._kept)

    @property
    def overflown(self) -> bool:
        """Whether there was more than is kept."""
        return self.overflow.is_set()

    def start(self) -> None:
        """Begin to read."""
        assert self._fd is not None
        asyncio.get_running_loop().add_reader(self._fd, self._read)

    def stop(self) -> None:
        """Read no more."""
        if self._fd is not None:
            asyncio.get_running_loop().remove_reader(self._fd)
            os.close(self._fd)
            self._fd = None
            self.ended.set()

    def _read(self) -> None:
        piece = b""
        with contextlib.suppress(BlockingIOError):
            piece = os.read(self._fd, _PIECE) if self._fd is not None else b""
            if not piece:
                self.stop()
        self._kept += piece
        if len(self._kept) <= self._limit:
            return
        if self._keep_start:
            del self._kept[self._limit :]
            self.overflow.set()
            self.stop()
        else:
            del self._kept[: -self._limit]
