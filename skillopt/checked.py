"""Records read for people, who may have damaged files: parts that do not fit together are a CorruptFile.

What the phases read was written in the same invocation; these checks are not on their way.
"""

from pathlib import Path
from typing import NoReturn, get_args

from skillopt.config.resolved import Resolved, read_resolved
from skillopt.errors import CorruptFile
from skillopt.files import read_json
from skillopt.models.base import Role
from skillopt.models.registry import backend_names
from skillopt.phases.summary import SKILLS, Summary
from skillopt.records import Plan


def checked_config(path: Path) -> Resolved:
    """Read a run's config.json that names the model of each role."""
    resolved = read_resolved(path)
    missing = set(get_args(Role)) - set(resolved.roles)
    if missing:
        _refuse(path, "the model of each role", f"none of the {' and '.join(sorted(missing))}")
    unknown = {model.backend for model in resolved.roles.values()} - set(backend_names())
    if unknown:
        _refuse(
            path, f"backends among {', '.join(backend_names())}", f"{', '.join(map(repr, sorted(unknown)))}"
        )
    return resolved


def checked_plan(path: Path) -> Plan:
    """Read a run's plan.json whose epochs and steps are all there, in order."""
    plan = read_json(path, Plan)
    each = plan.steps_per_epoch
    epochs = [(epoch.epoch, epoch.first_step, epoch.last_step) for epoch in plan.epochs]
    spans = [(number, (number - 1) * each + 1, number * each) for number in range(1, len(epochs) + 1)]
    if each < 1 or not epochs or len(epochs) != plan.num_epochs or epochs != spans:
        _refuse(path, f"{plan.num_epochs} epochs of {each} steps in order", f"others ({len(epochs)})")
    steps = [(step.step, step.epoch) for step in plan.steps]
    if steps != [(number, (number - 1) // each + 1) for number in range(1, len(steps) + 1)] or (
        len(steps) != len(epochs) * each
    ):
        _refuse(path, f"{len(epochs) * each} steps in order", f"others ({len(steps)})")
    return plan


def checked_summary(path: Path) -> Summary:
    """Read a run's summary.json with the skills that it tells of, and the model of each role."""
    summary = read_json(path, Summary)
    for name, wanted, found in (
        ("skills", set(SKILLS), set(summary.skills)),
        ("models", set(get_args(Role)), set(summary.models)),
    ):
        if wanted - found:
            _refuse(
                path, f"{name} with {', '.join(sorted(wanted))}", f"no {', '.join(sorted(wanted - found))}"
            )
    return summary


def _refuse(path: Path, expected: str, found: str) -> NoReturn:
    raise CorruptFile(
        f"{path}: expected {expected}, found {found}. "
        "Delete the file and run the same command again; paid replies are kept in the call store."
    )
