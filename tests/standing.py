"""How a finished run stands after a change, compared with the jobs that a dry run would do for it."""

import shutil
from pathlib import Path

from project import Job

from skillopt.basis import write_basis
from skillopt.config.resolve import load_run
from skillopt.config.resolved import read_resolved
from skillopt.files import read_json
from skillopt.phases.plan import plan_run, write_records
from skillopt.records import Plan
from skillopt.runs import Run
from skillopt.standing import Standing, StandingReader

STEP = {
    "rollout": "rollouts.jsonl",
    "reflect": "reflections.json",
    "aggregate": "merged.json",
    "select": "patch.json",
    "update": "update.json",
    "evaluate": "selection.jsonl",
    "gate": "gate.json",
}
EPOCH = {
    "compare": "pairs.json",
    "slow_update": "slow_update.json",
    "evaluate_slow_update": "selection.jsonl",
    "gate_slow_update": "gate.json",
}
FOUND = {"gate_initial": "steps/step_0000/gate.json", "best_skill": "best_skill.md"}


def begun(name: str, overrides: tuple[str, ...], folder: Path) -> Standing:
    """Copy a run's results, write what a start with these overrides would, and tell how it stands then."""
    shutil.copytree(Path("results", name), folder)
    resolved = load_run(Path("config", f"{name}.yaml"), list(overrides), {})
    plan, splits = plan_run(name, resolved)
    write_records(folder, resolved, plan)
    write_basis(folder, Run(resolved, plan, splits))
    return standing(folder)


def standing(folder: Path) -> Standing:
    """Tell how a run stands, by its files alone."""
    return StandingReader(folder).look(
        read_json(folder / "plan.json", Plan), read_resolved(folder / "config.json")
    )


def file_of(job: Job) -> str | None:
    """Return what a job of the training writes, None for another job."""
    if job.rule in STEP:
        return f"steps/step_{job.at}/{STEP[job.rule]}"
    if job.rule in EPOCH:
        return f"slow_update/epoch_{job.at}/{EPOCH[job.rule]}"
    if job.rule == "evaluate_split":
        return f"eval/{job.at}/scores.json"
    return FOUND.get(job.rule)
