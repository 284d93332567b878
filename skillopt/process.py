"""How a phase runs and stops: Ctrl-C, a request to end, and the loss of whoever started it."""

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Coroutine, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from skillopt.errors import ConfigError, Interrupted

T = TypeVar("T")

WATCH_PID = "SKILLOPT_WATCH_PID"
"""Environment variable: the process without which a phase must not go on paying for calls."""

_EVERY = 1.0
"""Seconds between two looks at that process."""

COMMAND_PID = "SKILLOPT_COMMAND_PID"
"""Environment variable: the command that started an engine; it ends when that one does."""

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""Requests to end. SIGHUP is that of a terminal that was closed: what is on its way was paid for then too."""

_PRESSED = (signal.SIGINT, signal.SIGQUIT)
"""Those of somebody who sits there: Ctrl-C and Ctrl-\\."""


def run_async(work: Coroutine[Any, Any, T], env: Mapping[str, str] = os.environ) -> T:
    """Run the calls of a phase to their end and return the result.

    One of STOPS, or the end of the process that WATCH_PID names cancel the work: no further
    call starts, those on their way have a few seconds to come back and be kept (see
    `models.client.Client`), then Interrupted is raised. A second SIGINT, as of somebody who presses Ctrl-C
    again, ends the waiting; so does a second SIGQUIT. Everything else that follows is the same request: a
    terminal that closes sends SIGHUP twice, `timeout` SIGTERM, `train` passes on what the phases may have got
    too, and ends itself.
    """
    return asyncio.run(_supervised(work, _watched(env)))


async def _supervised(work: Coroutine[Any, Any, T], watched: int | None) -> T:
    task = asyncio.ensure_future(work)
    reasons: list[str] = []

    def stop(reason: str, *, again: bool = False) -> None:
        reasons.append(reason)
        if again or len(reasons) == 1:
            task.cancel()

    watch = asyncio.create_task(_watch(watched, stop)) if watched is not None else None
    try:
        with _signals(stop):
            return await task
    except asyncio.CancelledError:
        if not reasons:
            raise
        raise Interrupted(
            f"stopped: {reasons[0]}. Replies that came back are kept; run the same command again to go on."
        ) from None
    finally:
        if watch is not None:
            watch.cancel()


@contextlib.contextmanager
def _signals(stop: Any) -> Iterator[None]:
    """Turn signals into calls of `stop`, except those that the process was started to ignore."""
    loop = asyncio.get_running_loop()
    caught: list[signal.Signals] = []
    if threading.current_thread() is threading.main_thread():
        caught = [s for s in STOPS if signal.getsignal(s) is not signal.SIG_IGN]
    received: set[signal.Signals] = set()

    def receive(number: signal.Signals) -> None:
        again = number in _PRESSED and number in received
        received.add(number)
        stop(f"received {number.name}", again=again)

    for number in caught:
        loop.add_signal_handler(number, receive, number)
    try:
        yield
    finally:
        for number in caught:
            loop.remove_signal_handler(number)


def _watched(env: Mapping[str, str]) -> int | None:
    value = env.get(WATCH_PID, "")
    if not value:
        return None
    if not value.isdigit():
        raise ConfigError(f"{WATCH_PID}: expected the number of a process, found {value!r}")
    return int(value)


def watched_by_jobs(env: Mapping[str, str] = os.environ) -> int:
    """Return the process without which the jobs of this one, an engine, must not go on paying for calls.

    That is the command that started it, which ends with it; this one where there is no such command, or
    the variable came along from another machine.
    """
    parent = os.getppid()
    return parent if env.get(COMMAND_PID) == str(parent) else os.getpid()


def ask_jobs_to_end(engine: int, asked: set[int]) -> None:
    """Send SIGTERM to the processes that an engine has started, except those that were `asked` already."""
    import psutil

    with contextlib.suppress(psutil.NoSuchProcess):
        for job in psutil.Process(engine).children():
            if job.pid not in asked:
                asked.add(job.pid)
                job.terminate()


async def _watch(pid: int, stop: Any) -> None:
    while is_running(pid):
        await asyncio.sleep(_EVERY)
    stop(f"the process {pid} that started this one is gone")


def is_running(pid: int) -> bool:
    """Tell whether a process runs on this machine; one that ended and waits to be reaped does not."""
    if pid <= 0:  # to the system: a group, or everybody
        return False
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):  # larger than any that the system can have
        return False
    except PermissionError:
        return True
    with contextlib.suppress(OSError):  # no such folder outside Linux
        state = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
        return state[0] not in ("Z", "X")
    return True


def mark_of(pid: int) -> str | None:
    """Return what tells a process of this machine from all others with its number, None when it has ended.

    That is when it began, counted from the start of the machine where that can be had: a clock that is
    set changes nothing then.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:  # no such file outside Linux
        return _start_of(pid)
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:  # no such process, or no such number
        return None
    return None if fields[0] in ("Z", "X") else f"{boot} {fields[19]}"


def members(group: int) -> Iterator[int]:
    """Yield the processes of a process group."""
    import psutil

    for pid in psutil.pids():
        with contextlib.suppress(ProcessLookupError, PermissionError):  # ended meanwhile
            if os.getpgid(pid) == group:
                yield pid


def variable_of(pid: int, name: str) -> str:
    """Return an environment variable that a process was started with, "" when it has none that we may see."""
    import psutil

    try:
        return psutil.Process(pid).environ().get(name, "")
    except (psutil.Error, OSError):
        return ""


def _start_of(pid: int) -> str | None:
    """Return when a process began, by the clock, None when it has ended."""
    import psutil  # late: no phase on Linux needs it

    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else str(process.create_time())
    except (psutil.Error, ValueError, OverflowError):  # of numbers that no process has, as a file may hold
        return None
