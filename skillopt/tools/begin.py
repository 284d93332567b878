"""What the engine's process does when the jobs of a run begin: say what it will take, and that it runs."""

import asyncio
import atexit
import os
import signal
import sys
import threading
from importlib import import_module
from pathlib import Path
from types import FrameType

from skillopt.basis import write_basis
from skillopt.process import STOPS, ask_jobs_to_end
from skillopt.progress import ENGINE, SIGN, Board, forget_signs
from skillopt.runs import Run

_MOST_LOOKED = 64
"""Items of a split whose requests are built: a benchmark may read a large file for each."""


def begin(run: Run, results: Path, *, training: bool) -> None:
    """Say what a training will take, and show until this process ends that it works on the run."""
    # The engine imports pandas when its first job ends, and all the other jobs would wait for that.
    threading.Thread(target=import_module, args=("pandas",)).start()
    if training:
        _say(run, results / ".calls")
    folder = results / run.plan.run
    write_basis(folder, run)
    forget_signs(folder)
    board = Board(ENGINE, folder / SIGN)
    board.start()
    atexit.register(board.end)


def end_in_order() -> None:
    """Have this process, an engine, end its jobs and itself in order on any request to end.

    By itself it dies at once of a terminal that closes, and leaves its lock; its handler of SIGTERM may wait
    for itself; and a second Ctrl-C tears it out of its clearing up. What was ignored from the start stays so.
    """
    if threading.current_thread() is threading.main_thread():
        for number in _heeded():
            signal.signal(number, _end)


def _end(number: int, frame: FrameType | None) -> None:
    for later in _heeded():
        signal.signal(later, _same_request)
    ask_jobs_to_end(os.getpid(), set())
    raise KeyboardInterrupt  # as of Ctrl-C, which it knows how to end by


def _same_request(number: int, frame: FrameType | None) -> None:
    """Do nothing: it is ending. (To ignore the signal would have programs that it starts ignore it.)"""


def _heeded() -> list[signal.Signals]:
    return [number for number in STOPS if signal.getsignal(number) is not signal.SIG_IGN]


def _say(run: Run, store: Path) -> None:
    from skillopt.forecast.estimate import forecast
    from skillopt.tools.plan import headline

    found = asyncio.run(forecast(run, store, most=_MOST_LOOKED))
    print(headline(found), file=sys.stderr, flush=True)
