"""The folders that a run writes to: something else in the place of one is told before anything begins."""

from collections.abc import Iterator
from pathlib import Path

from skillopt.basis import basis_of_jobs
from skillopt.files import WriteError
from skillopt.runs import Run, gate_files

_OF_A_RUN = ("skills", "eval/val", "eval/test", "meta_skill", "figures")
_OF_THE_STORE = ("replies", "ledger", "times", "budget")


def require_folders(results: Path, run: Run) -> None:
    """Raise WriteError when a file lies where the run, or the call store, has a folder.

    The engine, which looks into all of them, would end with an error of its own that names nobody to blame.
    """
    places = {place for path in _folders(results, run) for place in (path.parent, path)}
    for folder in sorted(places - {results / run.plan.run}):  # that one is made first, and told then
        if folder.exists() and not folder.is_dir():
            raise WriteError(
                f"{folder}: expected a folder, found a file. Move it away, then run the same command again; "
                "paid replies are kept in the call store."
            )


def _folders(results: Path, run: Run) -> Iterator[Path]:
    folder = results / run.plan.run
    yield from (folder / name for name in _OF_A_RUN)
    yield from (results / ".calls" / name for name in _OF_THE_STORE)
    yield results / ".calls/ledger" / run.plan.run
    gates = gate_files(run.plan, run.resolved.settings.optimizer.use_slow_update)
    yield from {(folder / gate).parent for gate in gates}
    yield from {(folder / "logs" / place).parent for place, _ in basis_of_jobs(run)}
