"""Runs one program to its end, and lets nothing of it outlive the call."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from skillopt.models.agents import keeper
from skillopt.models.agents.pipes import Feeder, Sink

_PATIENCE = keeper.GRACE + 3.0
"""Seconds from the request to end until what should have ended, or been killed, is killed from here."""

_GRACE = 2.0
"""Seconds that are waited for the end of the output when nobody should be left who writes."""

_STATUS = 4096
"""Bytes that the keeper tells at most."""

_LAST_WORDS = 64 * 1024
"""Bytes of standard error that are kept: its end."""

_EVERY = 0.02


class Finished(msgspec.Struct, frozen=True, kw_only=True):
    """How a program ended. `code` is negative for the signal that ended it, as in `subprocess`."""

    code: int
    out: bytes
    err: bytes


class ProgramError(Exception):
    """A program that gave no result; `out` and `err` hold what came before."""

    def __init__(self, message: str, out: bytes = b"", err: bytes = b"") -> None:
        super().__init__(message)
        self.out = out
        self.err = err


class NotStarted(ProgramError):
    """The program could not be started."""


class TookTooLong(ProgramError):
    """The program was ended after its time was up."""


class SaidTooMuch(ProgramError):
    """The program was ended because it printed more than is taken."""


async def run(
    command: Sequence[str],
    *,
    stdin: bytes,
    cwd: Path,
    env: Mapping[str, str],
    timeout: float | None,
    out_limit: int,
    kept: bool = True,
) -> Finished:
    """Run `command` with exactly the environment `env`, and return how it ended.

    It runs in a session of its own. When it ends, takes longer than `timeout` seconds, prints
    more than `out_limit` bytes, or the call is cancelled, all processes of its group are ended, and
    on Linux all that it started (see `keeper`), also when this process is killed. Should the program
    have ended its keeper, what is left is found by the value of TMPDIR, which must therefore be a
    folder of this call alone. `kept` off is for a program that sees to all this itself. Raises
    ProgramError.
    """
    pipes = _Pipes(out_limit)
    kept = kept and sys.platform == "linux"
    before = keeper.command(pipes.theirs[3]) if kept else ()
    started: list[asyncio.subprocess.Process] = []

    async def start() -> None:
        process = await asyncio.create_subprocess_exec(
            *before,
            *command,
            pass_fds=pipes.theirs[3:] if kept else (),
            stdin=pipes.theirs[0],
            stdout=pipes.theirs[1],
            stderr=pipes.theirs[2],
            cwd=cwd,
            env=dict(env),
            start_new_session=True,
        )
        started.append(process)

    try:
        await _to_the_end(start())
        pipes.start(stdin)
        ends = pipes.status.ended.wait() if kept else started[0].wait()
        in_time = await _until_end(ends, pipes, timeout)
    except (OSError, ValueError) as error:
        raise NotStarted(f"{command[0]}: {error}") from error
    finally:
        await _to_the_end(_wind_up(started, pipes, f"TMPDIR={env['TMPDIR']}".encode()))
    return _finished(pipes, out_limit, timeout if not in_time else None, started[0].returncode)


def _finished(pipes: "_Pipes", out_limit: int, too_long: float | None, code: int | None) -> Finished:
    """Return how the program ended; raises ProgramError. `too_long` is the time that was up, if it was."""
    told, _, problem = pipes.status.data.decode("utf-8", "replace").partition("\n")[0].partition(" ")
    if told == "error":
        raise NotStarted(problem)
    if pipes.out.overflown:
        raise SaidTooMuch(f"it printed more than {out_limit} bytes", pipes.out.data, pipes.err.data)
    if too_long is not None:
        raise TookTooLong(f"it did not end within {too_long:g} s", pipes.out.data, pipes.err.data)
    code = int(problem) if told == "exit" else code or 0
    return Finished(code=code, out=pipes.out.data, err=pipes.err.data)


async def _wind_up(started: Sequence[asyncio.subprocess.Process], pipes: "_Pipes", marker: bytes) -> None:
    """End the program if it was started, and everything it left behind, and the reading."""
    pipes.give_back()
    for process in started:
        await _end(process, marker)
    await pipes.finish()


async def _until_end(ends: Coroutine[Any, Any, Any], pipes: "_Pipes", timeout: float | None) -> bool:
    """Wait for the program itself, or for too much output; tell whether it was in time."""
    ended = asyncio.ensure_future(ends)
    overflow = asyncio.ensure_future(pipes.out.overflow.wait())
    try:
        done, _ = await asyncio.wait({ended, overflow}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        return bool(done)
    finally:
        ended.cancel()
        overflow.cancel()


class _Pipes:
    """The standard streams, and what the keeper tells.

    Own pipes: those of asyncio keep `wait` waiting for the children too.
    """

    def __init__(self, out_limit: int) -> None:
        stdin, stdout, stderr, status = os.pipe(), os.pipe(), os.pipe(), os.pipe()
        self.theirs: tuple[int, ...] = (stdin[0], stdout[1], stderr[1], status[1])
        self._feeder = Feeder(stdin[1])
        self.out = Sink(stdout[0], out_limit, keep="start")
        self.err = Sink(stderr[0], _LAST_WORDS, keep="end")
        self.status = Sink(status[0], _STATUS, keep="start")
        self._sinks = (self.out, self.err, self.status)
        self._reading = False

    def give_back(self) -> None:
        """Close the program's ends here: it has its own, or there is none."""
        for fd in self.theirs:
            os.close(fd)
        self.theirs = ()

    def start(self, stdin: bytes) -> None:
        """Begin to feed and to read."""
        self.give_back()
        self._feeder.start(stdin)
        for sink in self._sinks:
            sink.start()
        self._reading = True

    async def finish(self) -> None:
        """Take what is left; nobody writes any more, unless a process escaped (then stop reading)."""
        self._feeder.stop()
        if self._reading:
            ends = asyncio.gather(*(sink.ended.wait() for sink in self._sinks))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(ends, _GRACE)
        for sink in self._sinks:
            sink.stop()


async def _end(process: asyncio.subprocess.Process, marker: bytes) -> None:
    """End the program and every process it left behind: first by request, then by force."""
    group = process.pid
    if _signal_group(group, signal.SIGTERM) | _signal_strays(marker, signal.SIGTERM):
        await _gone(process, group, marker)
        _signal_group(group, signal.SIGKILL)
    for _ in range(10):  # a stray may have started another one while it was looked for
        if not _signal_strays(marker, signal.SIGKILL):
            break
        await asyncio.sleep(_EVERY)
    await process.wait()


async def _gone(process: asyncio.subprocess.Process, group: int, marker: bytes) -> None:
    """Wait until the program and what it left behind have ended, but not for ever.

    Where nobody reaps orphans (containers without an init process) an ended child still counts as
    one of its group, but has no environment any more.
    """
    linux = Path("/proc/self/environ").exists()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_PATIENCE):
            while process.returncode is None or (strays(marker) if linux else _signal_group(group, 0)):
                await asyncio.sleep(_EVERY)


def _signal_group(group: int, number: int) -> bool:
    """Send a signal; tell whether there was anybody to send it to."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):  # macOS says "not permitted" of ended processes
        return False
    return True


def _signal_strays(marker: bytes, number: int) -> bool:
    """Send a signal to all processes with the marker; tell whether there was one."""
    found = strays(marker)
    for pid in found:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)
    return bool(found)


def strays(marker: bytes) -> list[int]:
    """Return the processes that have `marker` as a line of their environment (none outside Linux)."""
    found = []
    with contextlib.suppress(FileNotFoundError), os.scandir("/proc") as entries:
        for entry in entries:
            if entry.name.isdigit() and marker in _environment(entry.path):
                found.append(int(entry.name))
    return found


def _environment(folder: str) -> list[bytes]:
    try:
        return Path(folder, "environ").read_bytes().split(b"\0")
    except OSError:  # ended meanwhile, or somebody else's
        return []


async def _to_the_end(work: Coroutine[Any, Any, None]) -> None:
    """Do `work` whatever is cancelled meanwhile; the cancellation takes effect afterwards."""
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise
            cancelled = True
    task.result()
    if cancelled:
        raise asyncio.CancelledError
