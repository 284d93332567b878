"""The run in numbers: scores, decisions, calls and tokens, and what was simulated."""

import argparse
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

import msgspec

from skillopt import __version__
from skillopt.config.resolved import Resolved, read_resolved
from skillopt.config.settings import Optimizer
from skillopt.files import canonical, read_bytes, read_json, read_jsonl, write_json
from skillopt.models.base import Role
from skillopt.models.ledger import read_ledger
from skillopt.phases.evaluate import Scores, SplitScore, split_score
from skillopt.phases.history import Event
from skillopt.phases.problems import UnusableAnswers, unusable_answers
from skillopt.phases.recorded import read_best, read_initial, read_recorded
from skillopt.phases.spending import is_simulated, prices_of
from skillopt.phases.table_text import Part, cell
from skillopt.records import (
    TAKEN,
    Gate,
    Merged,
    MetaSkill,
    Plan,
    Reflections,
    Repeats,
    Row,
    Scored,
    Selected,
    SlowUpdate,
    Update,
    Usage,
)
from skillopt.runs import basis_of, compared, gate_files, remembered
from skillopt.skill import sha256, visible
from skillopt.times import read_times

OWN_EVALUATIONS = ("test/best", "test/initial", "test/last", "val/initial", "val/last")
"""What training itself evaluates; other skills may have been evaluated beside it."""

SKILLS = ("initial", "best", "last")
"""The skills that a summary tells of, in the order of its table."""

Outcome = Literal["improved", "all_rejected", "none_better", "nothing_proposed"]


class SkillScores(msgspec.Struct, frozen=True, kw_only=True):
    """One skill: its text's hash and size, its scores on the selection and test splits."""

    sha256: str
    chars: int
    origin: str
    selection: SplitScore | None
    test: SplitScore | None
    test_task_types: dict[str, SplitScore] = {}
    test_repeats: Repeats | None = None


class EpochCounts(msgspec.Struct, frozen=True, kw_only=True):
    """How the gates of one epoch ended."""

    epoch: int
    accepted: int
    rejected: int
    skipped: int
    actions: dict[str, int]


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """`summary.json`. `usage` counts what the run's files rest on, by role and phase.

    `rests_on` is a hash of the settings, items and decisions that it tells of (`rests_on`).
    """

    run: str
    made_by: str = ""
    outcome: Outcome
    simulated: tuple[Role, ...]
    models: dict[Role, str]
    metric: str
    skills: dict[str, SkillScores]
    epochs: tuple[EpochCounts, ...]
    usage: dict[Role, dict[str, Usage]]
    splits: dict[str, str]
    rests_on: str = ""
    unusable: UnusableAnswers = UnusableAnswers()


def rests_on(run: Path, resolved: Resolved, plan: Plan) -> str:
    """Return a hash of the settings, items and decisions of a run as its files have them now.

    A summary with another one tells of what the run was before a change.
    """
    files = [run / name for name in gate_files(plan, resolved.settings.optimizer.use_slow_update)]
    gates = [hashlib.sha256(read_bytes(path)).hexdigest() if path.exists() else "" for path in files]
    return sha256(canonical([basis_of(resolved, plan), gates]))


def outcome_of(events: Iterable[Event], best: Scored) -> Outcome:
    """Tell apart: a better skill, none among those that were taken, all rejected, no candidate at all."""
    if best.skill != "skills/skill_v0000.md":
        return "improved"
    actions = {event.action for event in events}
    if actions & TAKEN:
        return "none_better"
    return "all_rejected" if "reject" in actions else "nothing_proposed"


def count_epochs(events: Iterable[Event]) -> tuple[EpochCounts, ...]:
    """Count accepted, rejected and skipped gates per epoch."""
    actions: dict[int, Counter[str]] = {}
    for event in events:
        if event.phase != "initial":
            actions.setdefault(event.epoch, Counter())[event.action] += 1
    return tuple(
        EpochCounts(
            epoch=epoch,
            accepted=sum(n for action, n in found.items() if "accept" in action),
            rejected=found["reject"],
            skipped=sum(n for action, n in found.items() if action.startswith("skip")),
            actions=dict(sorted(found.items())),
        )
        for epoch, found in sorted(actions.items())
    )


def usage_of(
    run: Path, plan: Plan, optimizer: Optimizer, skills: dict[str, SkillScores]
) -> dict[Role, dict[str, Usage]]:
    """Add up what the run's files say they used; what an earlier form of the run left counts not."""
    found: dict[Role, dict[str, Usage]] = {"optimizer": {}, "target": {}}
    for role, phase, usage in _usages(run, plan, optimizer, skills):
        found[role][phase] = found[role].get(phase, Usage()) + usage
    return found


def _usages(
    run: Path, plan: Plan, optimizer: Optimizer, skills: dict[str, SkillScores]
) -> Iterator[tuple[Role, str, Usage]]:
    for step in plan.steps:
        yield from _step_usages(run / f"steps/step_{step.step:04d}")
    for epoch in compared(plan, optimizer):
        yield from _comparison_usages(run / f"slow_update/epoch_{epoch.epoch:02d}")
    for epoch in plan.epochs if optimizer.use_slow_update else ():
        folder = run / f"slow_update/epoch_{epoch.epoch:02d}"
        yield "optimizer", "slow_update", read_json(folder / "slow_update.json", SlowUpdate).usage
        yield from _selection_usages(folder)
    for epoch in remembered(plan, optimizer):
        memory = run / f"meta_skill/epoch_{epoch.epoch:02d}/meta_skill.json"
        yield "optimizer", "meta_skill", read_json(memory, MetaSkill).usage
    for name, skill in skills.items():
        for split in ("val", "test"):
            scores = _scores(run, split, name, skill.sha256)
            if scores and not scores.reused_from and f"{split}/{name}" in OWN_EVALUATIONS:
                yield from _row_usages(run / f"eval/{split}/{name}/rollouts.jsonl", f"evaluate_{split}")
                if split == "test" and skill.test_repeats:
                    yield from _row_usages(run / f"eval/test/{name}/repeats.jsonl", "repeat")


def _comparison_usages(folder: Path) -> Iterator[tuple[Role, str, Usage]]:
    """Yield the sample with the previous skill, then the rest of the comparison."""
    sample = read_jsonl(folder / "sample.jsonl", Row)
    topped_up = read_jsonl(folder / "previous.jsonl", Row)[len(sample) :]
    yield from (("target", "sample", row.usage) for row in sample)
    yield from (("target", "compare", row.usage) for row in topped_up)
    yield from _row_usages(folder / "current.jsonl", "compare")


def _step_usages(folder: Path) -> Iterator[tuple[Role, str, Usage]]:
    yield from _row_usages(folder / "rollouts.jsonl", "rollout")
    for group in read_json(folder / "reflections.json", Reflections).groups:
        yield "optimizer", "reflect", group.usage
    for merge in read_json(folder / "merged.json", Merged).merges:
        yield "optimizer", "aggregate", merge.usage
    yield "optimizer", "select", read_json(folder / "patch.json", Selected).usage
    yield "optimizer", "update", read_json(folder / "update.json", Update).usage
    yield from _selection_usages(folder)


def _selection_usages(folder: Path) -> Iterator[tuple[Role, str, Usage]]:
    """Yield the evaluation of a candidate, none when the rows of an equal text were taken over."""
    if not read_json(folder / "gate.json", Gate).reused_from:
        yield from _row_usages(folder / "selection.jsonl", "evaluate")


def _row_usages(path: Path, phase: str) -> Iterator[tuple[Role, str, Usage]]:
    return (("target", phase, row.usage) for row in read_jsonl(path, Row))


def _scores(run: Path, split: str, name: str, sha: str) -> Scores | None:
    """Return how a skill did a split; None when it did not, or another text of that name did."""
    path = run / f"eval/{split}/{name}/scores.json"
    scores = read_json(path, Scores) if path.exists() else None
    return scores if scores and scores.skill_sha256 == sha else None


def simulated_roles(resolved: Resolved) -> tuple[Role, ...]:
    """Return the roles that no real model played."""
    return tuple(role for role, model in sorted(resolved.roles.items()) if is_simulated(model))


def summarise(run: Path, last: Path, final: Gate) -> Summary:
    """Return the summary of a finished run."""
    resolved = read_resolved(run / "config.json")
    plan = read_json(run / "plan.json", Plan)
    events = read_json(run / "history.json", list[Event])
    best = read_json(run / "best_skill.json", Scored)
    text = read_recorded(last, final.state.current.sha256, "the last gate record")
    last_rows = final.state.scored.get(sha256(visible(text)), "eval/val/last/rollouts.jsonl")
    initial = read_initial(run / "skills/skill_v0000.md", resolved)
    repeated = resolved.settings.evaluation.repeats > 1
    skills = {
        "initial": _skill_scores(run, "initial", initial, "eval/val/initial/rollouts.jsonl", repeated),
        "best": _skill_scores(run, "best", read_best(run / "best_skill.md"), best.origin, repeated),
        "last": _skill_scores(run, "last", text, last_rows, repeated),
    }
    return Summary(
        run=plan.run,
        made_by=f"skillopt {__version__}",
        outcome=outcome_of(events, best),
        simulated=simulated_roles(resolved),
        models={role: f"{model.backend}/{model.model}" for role, model in sorted(resolved.roles.items())},
        metric=resolved.settings.evaluation.gate_metric,
        skills=skills,
        epochs=count_epochs(events),
        usage=usage_of(run, plan, resolved.settings.optimizer, skills),
        splits={name: split.sha256 for name, split in plan.splits.items()},
        rests_on=rests_on(run, resolved, plan),
        unusable=unusable_answers(run, plan, resolved.settings.optimizer),
    )


def _skill_scores(run: Path, name: str, text: str, rows: str, repeated: bool) -> SkillScores:
    selection = run / rows
    scores = _scores(run, "test", name, sha256(text))
    again = run / f"eval/test/{name}/repeats.json"
    return SkillScores(
        sha256=sha256(text),
        chars=len(text),
        origin=rows,
        selection=split_score(read_jsonl(selection, Row)) if selection.exists() else None,
        test=scores.overall if scores else None,
        test_task_types=scores.task_types if scores else {},
        test_repeats=read_json(again, Repeats) if scores and repeated and again.exists() else None,
    )


def table(summary: Summary) -> str:
    """Return the score table that is printed at the end of a run."""
    columns: list[tuple[str, Part]] = [("selection", "hard"), ("test", "hard"), ("test", "soft")]
    if summary.metric != "hard":
        columns.insert(1, ("selection", "soft"))
    titles = "".join(f"{f'{split} {kind}':>22}" for split, kind in columns)
    lines = [
        f"{summary.run}: {summary.outcome.replace('_', ' ')}",
        *(["simulated: " + ", ".join(summary.simulated)] if summary.simulated else []),
        f"{'skill':<9}{titles}{'chars':>8}",
    ]
    gaps = []
    for name in SKILLS:
        skill = summary.skills[name]
        scores = {"selection": skill.selection, "test": skill.test}
        cells = "".join(f"{cell(scores[split], kind):>22}" for split, kind in columns)
        lines.append(f"{name:<9}{cells}{skill.chars:>8}")
        gaps += [
            f"{name} on {split}: {found.score.n} of {found.score.total} items have a score"
            for split, found in scores.items()
            if found and found.score.n < found.score.total
        ]
    lines += gaps
    for epoch in summary.epochs:
        counts = f"{epoch.accepted} accepted, {epoch.rejected} rejected, {epoch.skipped} skipped"
        lines.append(f"epoch {epoch.epoch}: {counts}")
    for role, phases in summary.usage.items():
        total = sum(phases.values(), Usage())
        tokens = [
            f"{name} {_count(value)}" for name, value in (("in", total.prompt), ("out", total.completion))
        ]
        used = f"{total.calls} {'call' if total.calls == 1 else 'calls'} used"
        lines.append(f"{role} ({summary.models[role]}): {used}, tokens {', '.join(tokens)}")
    if summary.unusable.answers:
        lines.append(
            f"{summary.unusable.answers} answers of the optimizer could not be used, most often "
            f"({summary.unusable.times} times): {summary.unusable.commonest}"
        )
    return "\n".join(lines) + "\n"


def _count(tokens: int | None) -> str:
    return "unknown" if tokens is None else f"{tokens:,}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line of `skillopt summary`."""
    parser.add_argument("--config", type=Path, required=True, help="config.json of a finished run (read)")
    parser.add_argument("--last", type=Path, required=True, help="skill at the end of training (read)")
    parser.add_argument("--gate", type=Path, required=True, help="the last gate.json of training (read)")
    parser.add_argument("--store", type=Path, default=Path("results/.calls"), help="call store (read)")
    parser.add_argument("--out", type=Path, required=True, help="summary.json (written)")
    parser.add_argument(
        "--calls", type=Path, required=True, help="calls.json: calls made and replayed (written)"
    )


def main(args: argparse.Namespace) -> None:
    """Run the phase."""
    run = args.config.parent
    write_json(args.out, summarise(run, args.last, read_json(args.gate, Gate)))
    accounts = read_ledger(args.store, run.name, prices_of(read_resolved(args.config)))
    times = read_times(args.store, run.name)
    write_json(args.calls, msgspec.structs.replace(accounts, times=times))
