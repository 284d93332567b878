"""Answers of the optimizer that could not be used in a run: how many, and what was wrong with most."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec

from skillopt.config.settings import Optimizer
from skillopt.files import read_json
from skillopt.records import Merged, MetaSkill, Plan, Reflections, Selected, SlowUpdate, Update
from skillopt.runs import remembered


class UnusableAnswers(msgspec.Struct, frozen=True, kw_only=True):
    """How many answers could not be used, and the commonest problem with its count."""

    answers: int = 0
    commonest: str = ""
    times: int = 0


def unusable_answers(run: Path, plan: Plan, optimizer: Optimizer) -> UnusableAnswers:
    """Count what a finished run's files record as unusable answers."""
    found = Counter(_problems(run, plan, optimizer))
    if not found:
        return UnusableAnswers()
    commonest, times = found.most_common(1)[0]
    return UnusableAnswers(answers=found.total(), commonest=commonest, times=times)


def _problems(run: Path, plan: Plan, optimizer: Optimizer) -> Iterator[str]:
    for step in plan.steps:
        folder = run / f"steps/step_{step.step:04d}"
        for group in read_json(folder / "reflections.json", Reflections).groups:
            yield from group.problems
        for merge in read_json(folder / "merged.json", Merged).merges:
            yield from merge.problems
        yield from read_json(folder / "patch.json", Selected).problems
        yield from read_json(folder / "update.json", Update).problems
    for epoch in plan.epochs if optimizer.use_slow_update else ():
        record = run / f"slow_update/epoch_{epoch.epoch:02d}/slow_update.json"
        yield from read_json(record, SlowUpdate).problems
    for epoch in remembered(plan, optimizer):
        yield from read_json(run / f"meta_skill/epoch_{epoch.epoch:02d}/meta_skill.json", MetaSkill).problems
