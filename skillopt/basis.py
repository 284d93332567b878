"""What decides the output of each job besides the files that it reads: settings, prompts, items."""

from collections.abc import Iterator
from pathlib import Path

from skillopt.files import as_json, canonical, read_bytes, write_json
from skillopt.made import BASIS, short
from skillopt.runs import Run

_PROMPTS = {"evaluate_split": "evaluate", "evaluate_slow_update": "evaluate"}
"""Phases that show the prompts of another."""
_STEP = ("rollout", "reflect", "aggregate", "select", "update", "evaluate", "gate")


def write_basis(folder: Path, run: Run) -> None:
    """Write basis.json of a run where it is missing or says something else."""
    path, value = folder / BASIS, basis_of_jobs(run)
    if not path.exists() or read_bytes(path) != as_json(value):
        write_json(path, value)


def basis_of_jobs(run: Run) -> list[tuple[str, str]]:
    """Return for each job the place of its log and a hash, in the order of the data.

    The hash is of what the rules declare as params of that job.
    """
    return [(place, short(canonical(deciding).encode())) for place, deciding in _jobs(run)]


def _jobs(run: Run) -> Iterator[tuple[str, list[str]]]:
    yield "initial_skill", [run.initial_skill]
    yield "eval/val_initial", [*_asked(run, "evaluate_split"), run.split_digest("val")]
    yield "step_0000/gate", [run.deciding("gate")]
    for epoch in run.plan.epochs:
        for step in range(epoch.first_step, epoch.last_step + 1):
            yield from _step(run, step)
        yield from _epoch_end(run, epoch.epoch)
    yield "best_skill", [run.deciding("best_skill")]
    for evaluation in ("val/last", "test/initial", "test/best", "test/last"):
        yield (
            f"eval/{evaluation}",
            [*_asked(run, "evaluate_split"), run.split_digest(evaluation.split("/")[0])],
        )


def _step(run: Run, step: int) -> Iterator[tuple[str, list[str]]]:
    more = {
        "rollout": [run.batch_digest(step)],
        "select": [run.edit_budget(step)],
        "evaluate": [run.split_digest("val")],
    }
    for phase in _STEP:
        yield f"step_{step:04d}/{phase}", [*_asked(run, phase), *more.get(phase, [])]


def _epoch_end(run: Run, epoch: int) -> Iterator[tuple[str, list[str]]]:
    place = f"epoch_{epoch:02d}"
    yield f"{place}/sample", [*_asked(run, "sample"), run.sample_digest(epoch)]
    yield f"{place}/compare", [*_asked(run, "compare"), run.comparison_digest(epoch)]
    yield f"{place}/slow_update", _asked(run, "slow_update")
    yield f"{place}/evaluate", [*_asked(run, "evaluate_slow_update"), run.split_digest("val")]
    yield f"{place}/gate", [run.deciding("gate_slow_update")]
    yield f"{place}/meta_skill", _asked(run, "meta_skill")


def _asked(run: Run, phase: str) -> list[str]:
    return [run.deciding(phase), run.prompts.get(_PROMPTS.get(phase, phase), "")]
