"""What the engine's process does when the jobs of a run begin: say what it will take, and that it runs."""

import asyncio
import atexit
import sys
import threading
from importlib import import_module
from pathlib import Path

from skillopt.basis import write_basis
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


def _say(run: Run, store: Path) -> None:
    from skillopt.forecast.estimate import forecast
    from skillopt.tools.plan import headline

    found = asyncio.run(forecast(run, store, most=_MOST_LOOKED))
    print(headline(found), file=sys.stderr, flush=True)
