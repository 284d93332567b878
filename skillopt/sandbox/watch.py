"""Watches the processes of one program: its limits while it runs, and that nothing of it stays."""

import contextlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

_EVERY = 0.02
"""Seconds between two looks at the processes."""

Members = Callable[[], list[int]]


def everybody_else() -> list[int]:
    """Return all processes of this process namespace but the first, which is this one."""
    return [pid for pid in all_processes() if pid != 1]


def all_processes() -> list[int]:
    """Return the processes that can be seen from here (none outside Linux, where the group is ended)."""
    if not Path("/proc/self").exists():
        return []
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def descendants() -> list[int]:
    """Return all processes that this one or one of its descendants started, ended ones left out."""
    parents = {pid: parent for pid, (parent, state) in _processes().items() if state not in "ZX"}
    found: list[int] = []
    wave = {os.getpid()}
    while wave:
        wave = {pid for pid, parent in parents.items() if parent in wave}
        found += wave
    return found


def wait(main: int, members: Members, *, seconds: float, processes: int, memory: int) -> tuple[int, str]:
    """Wait until the process `main` ends or a limit is passed; return its exit code and that limit.

    The code is negative for the signal that ended it. Orphans that end meanwhile are reaped.
    """
    code, limit = _watched(main, members, seconds=seconds, processes=processes, memory=memory)
    if limit:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(main, signal.SIGKILL)
    return code, limit


def _watched(main: int, members: Members, *, seconds: float, processes: int, memory: int) -> tuple[int, str]:
    end = time.monotonic() + seconds
    while True:
        code = reap(main)
        if code is not None:
            return code, ""
        pids = members()
        if time.monotonic() > end:
            return -signal.SIGKILL, "time"
        if len(pids) > processes:
            return -signal.SIGKILL, "processes"
        if sum(_resident(pid) for pid in pids) > memory:
            return -signal.SIGKILL, "memory"
        time.sleep(_EVERY)


def end_all(members: Members) -> None:
    """Kill every process, also those that are started meanwhile, and reap them."""
    while pids := members():
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in pids:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)
        reap(0)
        time.sleep(0.001)
    reap(0)


def reap(main: int) -> int | None:
    """Reap whoever has ended; return the exit code of `main`, negative for a signal, if it was among them."""
    code = None
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == main:
                code = os.waitstatus_to_exitcode(ended[1])
    return code


def _processes() -> dict[int, tuple[int, str]]:
    found = {}
    for pid in all_processes():
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
            found[pid] = (int(fields[1]), fields[0])
    return found


def _resident(pid: int) -> int:
    with contextlib.suppress(OSError, IndexError):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0
