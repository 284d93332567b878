"""The process between a phase and a program (Linux): nothing that the program starts outlives it.

Whoever loses its parent below this process becomes its child, so it finds what left the program's group,
its session and its environment. It ends all of it when the program has ended, when it is asked to (SIGTERM),
and when the phase is gone, however that ended. Standard library only, as it starts with every call.
"""

import contextlib
import os
import signal
import sys
import time
from pathlib import Path

from skillopt.sandbox import kernel, watch

GRACE = 2.0
"""Seconds that a program has between the request to end and being killed."""

_EVERY = 0.02
_START = (
    f"import sys; sys.path.insert(0, {str(Path(__file__).resolve().parents[3])!r}); "
    "from skillopt.models.agents.keeper import main; main()"
)
_WAKE = {signal.SIGTERM, signal.SIGCHLD}


def command(status: int) -> tuple[str, ...]:
    """Return what goes before a program's command; `status` is the descriptor that tells how it ended.

    The first line there is `exit <code>`, negative for a signal, or `error <why>` when it did not start.
    """
    return (sys.executable, "-I", "-S", "-c", _START, str(os.getpid()), str(status))


def main() -> None:
    """Run the program that the arguments after the phase and the descriptor name, to its end."""
    parent, status, program = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    os.set_inheritable(status, False)
    allowed = signal.pthread_sigmask(signal.SIG_BLOCK, _WAKE)
    kernel.adopt_orphans()
    kernel.die_with_parent(signal.SIGTERM)
    if os.getppid() != parent:
        sys.exit(1)
    own = os.getpid()
    child = os.fork()
    if not child:
        signal.pthread_sigmask(signal.SIG_SETMASK, allowed)
        _become(program, status, own)
    kernel.hide_from_equals()  # after the fork: it has the program's key in its environment too
    _let_go_of_streams()
    code = _until_end(child)
    if code is not None:
        with contextlib.suppress(BrokenPipeError):
            os.write(status, f"exit {code}\n".encode())
    os.close(status)
    _end_all()


def _become(program: list[str], status: int, keeper: int) -> None:
    """Turn this process into the program; a failure is told, and ends it. Without its keeper it ends too."""
    try:
        kernel.die_with_parent(signal.SIGKILL)
        if os.getppid() != keeper:
            return
        os.setsid()
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and a program would too
            signal.signal(number, signal.SIG_DFL)
        os.execv(program[0], program)
    except OSError as error:
        os.write(status, f"error {program[0]}: {error}\n".encode())
    finally:
        os._exit(127)


def _let_go_of_streams() -> None:
    """Leave the standard streams to the program alone: who reads them waits for their end."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)


def _until_end(child: int) -> int | None:
    """Wait for the program; return its exit code, or None when this process is asked to end."""
    while (code := watch.reap(child)) is None:
        if signal.sigwait(_WAKE) == signal.SIGTERM:
            return None
    return code


def _end_all() -> None:
    """End whatever is left: first by request, then by force."""
    deadline = time.monotonic() + GRACE
    for pid in watch.descendants():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGTERM)
    while watch.descendants() and time.monotonic() < deadline:
        watch.reap(0)
        time.sleep(_EVERY)
    watch.end_all(watch.descendants)
