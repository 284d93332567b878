"""The optimizer reads minibatches of trajectories and proposes changes of the skill."""

import argparse
import random
from collections.abc import Sequence
from pathlib import Path

import msgspec

from skillopt.concurrent import gather
from skillopt.config.settings import Settings
from skillopt.data import load_splits, train_items
from skillopt.decisions.scoring import is_right
from skillopt.envs.base import Environment
from skillopt.envs.registry import environment
from skillopt.errors import ProviderDead
from skillopt.files import read_json, read_text, write_json
from skillopt.models.base import CallError, Request
from skillopt.models.client import Client
from skillopt.models.replies import ask_json
from skillopt.phases.job import add_job_arguments, open_job
from skillopt.phases.rollout import read_rows
from skillopt.phases.shapes import MAX_ANSWER_TOKENS, AnalystAnswer
from skillopt.process import run_async
from skillopt.prompting import TrajectoryView, render
from skillopt.records import (
    Batch,
    Digest,
    Gate,
    Item,
    MetaSkill,
    Patch,
    Pattern,
    Plan,
    Reflection,
    Reflections,
    Row,
    Side,
)

_MOST_REASONS = 8
"""Reasons that a step passes on at most: a minibatch's worth."""


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """One minibatch for one analyst."""

    side: Side
    micro_batch: int
    rows: tuple[Row, ...]


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """All that an analyst is told besides its trajectories."""

    skill: str
    history: tuple[Digest, ...]
    memory: str


def group_rows(
    rows: Sequence[Row], batches: Sequence[Batch], minibatch_size: int, failure_only: bool
) -> list[Group]:
    """Cut a step's rows into minibatches, micro-batch by micro-batch (arXiv 2605.23904).

    Failures are shuffled with the micro-batch's seed, successes with that seed + 1; rows
    without a score are in neither.
    """
    groups: list[Group] = []
    start = 0
    for number, batch in enumerate(batches):
        part = rows[start : start + len(batch.ids)]
        start += len(batch.ids)
        failures = [row for row in part if row.hard is not None and not is_right(row.hard)]
        successes = [row for row in part if row.hard is not None and is_right(row.hard)]
        random.Random(batch.seed).shuffle(failures)
        random.Random(batch.seed + 1).shuffle(successes)
        groups += _cut("failure", number, failures, minibatch_size)
        if not failure_only:
            groups += _cut("success", number, successes, minibatch_size)
    return groups


def _cut(side: Side, micro_batch: int, rows: Sequence[Row], size: int) -> list[Group]:
    return [
        Group(side=side, micro_batch=micro_batch, rows=tuple(rows[start : start + size]))
        for start in range(0, len(rows), size)
    ]


async def reflect(
    step: int,
    rows: Sequence[Row],
    groups: Sequence[Group],
    context: Context,
    client: Client,
    settings: Settings,
    bench: Environment,
    items: dict[str, Item],
) -> Reflections:
    """Ask one analyst per group, all at once; raises ProviderDead when an outage left nothing to go by."""
    progress = client.board.part(f"reflect on step {step}", len(groups))

    async def one(group: Group) -> Reflection:
        reflection = await _analyse(group, context, client, settings, bench, items)
        progress.step("answered" if reflection.patch else "without a usable answer")
        return reflection

    answers = await gather(one(group) for group in groups)
    progress.end()
    _require_an_answer(answers)
    failed = sum(len(group.rows) for group in groups if group.side == "failure")
    scored = [row for row in rows if row.hard is not None]
    return Reflections(
        step=step,
        groups=tuple(answers),
        rows=len(rows),
        failed=failed,
        succeeded=len(scored) - failed,
        unscored=len(rows) - len(scored),
        reasons=failure_reasons(scored),
    )


def failure_reasons(rows: Sequence[Row]) -> tuple[Pattern, ...]:
    """Group failed rows by their reason, the commonest first: what is left when no analyst saw a pattern."""
    reasons: dict[str, list[str]] = {}
    for row in rows:
        if row.hard is not None and not is_right(row.hard) and row.reason:
            reasons.setdefault(row.reason, []).append(row.id)
    commonest = sorted(reasons.items(), key=lambda entry: -len(entry[1]))[:_MOST_REASONS]
    return tuple(
        Pattern(failure_type="reason", count=len(ids), description=reason, ids=tuple(ids))
        for reason, ids in commonest
    )


async def _analyse(
    group: Group,
    context: Context,
    client: Client,
    settings: Settings,
    bench: Environment,
    items: dict[str, Item],
) -> Reflection:
    mode = settings.optimizer.skill_update_mode
    keeps_notes = _keeps_notes(group.side, settings)
    request = _question(group, context, settings, bench, items)
    reflection = Reflection(
        kind=group.side,
        micro_batch=group.micro_batch,
        ids=tuple(row.id for row in group.rows),
        patch=None,
    )
    try:
        answer = await ask_json(
            client,
            request,
            AnalystAnswer,
            attempts=settings.calls.answer_attempts,
            check=lambda value: value.lacks(mode),
        )
    except CallError as error:
        return msgspec.structs.replace(reflection, problems=(f"{error.kind}: {error}",), provider_failed=True)
    if answer.value is None:
        return msgspec.structs.replace(reflection, problems=answer.problems, usage=answer.usage)
    patch = answer.value.changes(mode).as_patch(mode, group.side, len(group.rows), 0)
    kept, clipped = _clip(patch, _edit_limit(settings))
    return msgspec.structs.replace(
        reflection,
        patch=kept,
        patterns=answer.value.patterns(),
        notes=answer.value.notes() if keeps_notes else (),
        clipped=clipped,
        problems=(*answer.problems, *filter(None, [answer.value.strays() if keeps_notes else ""])),
        usage=answer.usage,
    )


def _question(
    group: Group, context: Context, settings: Settings, bench: Environment, items: dict[str, Item]
) -> Request:
    """Return what the analyst of a group is asked."""
    messages = render(
        f"analyst_{group.side}",
        folder=bench.prompts,
        update_mode=settings.optimizer.skill_update_mode,
        skill=context.skill,
        learning_rate=_edit_limit(settings),
        history=context.history,
        memory=context.memory,
        skill_aware=_keeps_notes(group.side, settings),
        group=tuple(_view(row, items[row.id], bench) for row in group.rows),
    )
    return Request(messages=messages, max_completion_tokens=answer_tokens(settings))


def _edit_limit(settings: Settings) -> int | None:
    """Return how many changes an analyst may propose; None where the budget does not apply."""
    optimizer = settings.optimizer
    if optimizer.skill_update_mode == "full_rewrite_minibatch" or optimizer.lr_control_mode == "none":
        return None
    return optimizer.learning_rate


def answer_tokens(settings: Settings) -> int:
    """Return the output limit of a call that proposes or merges changes."""
    if settings.optimizer.skill_update_mode == "full_rewrite_minibatch":
        return settings.model.rewrite_max_completion_tokens
    return MAX_ANSWER_TOKENS


def _keeps_notes(side: Side, settings: Settings) -> bool:
    optimizer = settings.optimizer
    if not optimizer.use_skill_aware_reflection:
        return False
    return side == "failure" or optimizer.skill_aware_appendix_source == "both"


def _clip(patch: Patch, limit: int | None) -> tuple[Patch, int]:
    """Cut a patch to the edit budget; return it and how many changes were cut."""
    if limit is None:
        return patch, 0
    cut = max(len(patch.edits) - limit, 0) + max(len(patch.suggestions) - limit, 0)
    kept = msgspec.structs.replace(patch, edits=patch.edits[:limit], suggestions=patch.suggestions[:limit])
    return kept, cut


def _view(row: Row, item: Item, bench: Environment) -> TrajectoryView:
    return TrajectoryView(
        id=row.id,
        task_type=row.task_type,
        reason=row.reason or (row.error.message if row.error else ""),
        turns=row.turns,
        reference=bench.reference(item),
        trajectory=row.trajectory,
    )


def _require_an_answer(answers: Sequence[Reflection]) -> None:
    """Raise ProviderDead when no analyst answered, or none of failures, which most proposals come from.

    An outage would look like a step with nothing to propose otherwise, and stay in the results.
    """
    for asked in ([answer for answer in answers if answer.kind == "failure"], answers):
        dead = [answer for answer in asked if answer.provider_failed]
        if dead and all(answer.patch is None for answer in asked):
            raise ProviderDead(
                f"reflect: none of {len(asked)} analysts of {dead[0].kind}s gave an answer; "
                f"{len(dead)} failed at the provider, first: {dead[0].problems[0]}. "
                "Run the same command again when it is reachable: what was paid for is kept."
            )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line of `skillopt reflect`."""
    add_job_arguments(parser)
    parser.add_argument("--plan", type=Path, required=True, help="plan.json of the run (read)")
    parser.add_argument("--step", type=int, required=True, help="step, counted from 1")
    parser.add_argument("--rollouts", type=Path, required=True, help="rollouts.jsonl (read)")
    parser.add_argument("--skill", type=Path, required=True, help="skill before the step (read)")
    parser.add_argument(
        "--state", type=Path, nargs="?", help="gate.json of the epoch's previous step, for its memory (read)"
    )
    parser.add_argument(
        "--meta-skill", type=Path, nargs="?", help="meta_skill.json of the previous epoch (read)"
    )
    parser.add_argument("--out", type=Path, required=True, help="reflections.json (written)")


def main(args: argparse.Namespace) -> None:
    """Run the phase."""
    job = open_job(args, "reflect")
    settings = job.resolved.settings
    step = read_json(args.plan, Plan).steps[args.step - 1]
    rows = read_rows(args.rollouts, [id_ for batch in step.batches for id_ in batch.ids])
    bench = environment(settings.env.name)
    found = train_items(load_splits(job.resolved, bench), [row.id for row in rows])
    items = {item.id: item for item in found}
    context = Context(
        skill=read_text(args.skill),
        history=read_json(args.state, Gate).state.memory if args.state else (),
        memory=read_memory(args.meta_skill),
    )
    groups = group_rows(rows, step.batches, settings.gradient.minibatch_size, settings.gradient.failure_only)

    async def work() -> Reflections:
        async with job.client("optimizer", width=settings.gradient.analyst_workers) as client:
            return await reflect(args.step, rows, groups, context, client, settings, bench, items)

    write_json(args.out, run_async(work()))


def read_memory(path: Path | None) -> str:
    """Return the optimizer's memory in a meta_skill.json, "" for no file."""
    return read_json(path, MetaSkill).meta_skill_content if path else ""
