"""At the end of an epoch the optimizer writes guidance for the target, from how items changed."""

import argparse
from pathlib import Path

import msgspec

from skillopt.config.resolved import read_resolved
from skillopt.config.settings import Settings
from skillopt.data import load_splits, train_items
from skillopt.decisions.size import too_long
from skillopt.envs.base import Environment
from skillopt.envs.registry import environment
from skillopt.errors import CorruptFile
from skillopt.files import read_json, read_jsonl, read_text, write_json, write_text
from skillopt.models.base import Request
from skillopt.models.client import Client
from skillopt.models.replies import ask_json
from skillopt.phases.job import Job, add_job_arguments, open_job
from skillopt.phases.shapes import MAX_ANSWER_TOKENS, SlowUpdateAnswer, told
from skillopt.process import run_async
from skillopt.prompting import PairView, render
from skillopt.records import TAKEN, Edit, Gate, PairKind, Pairs, Row, Selected, SlowUpdate, SlowUpdateAction
from skillopt.skill import SkillDocument, sha256, with_slow_update


class PairViews(msgspec.Struct, frozen=True, kw_only=True):
    """Pairs by kind; for stable successes only their ids are shown."""

    regressed: tuple[PairView, ...]
    persistent_fail: tuple[PairView, ...]
    improved: tuple[PairView, ...]
    stable_success: tuple[str, ...]


def view_pairs(
    pairs: Pairs, previous: list[Row], current: list[Row], references: dict[str, str]
) -> PairViews:
    """Group pairs by kind, with both trajectories; `references` holds a text per item id."""
    before = {row.id: row for row in previous}
    after = {row.id: row for row in current}

    def of(kind: PairKind) -> tuple[PairView, ...]:
        ids = [pair.id for pair in pairs.pairs if pair.kind == kind]
        return tuple(_view(before[id_], after[id_], references.get(id_, "")) for id_ in ids)

    stable = tuple(pair.id for pair in pairs.pairs if pair.kind == "stable_success")
    return PairViews(
        regressed=of("regressed"),
        persistent_fail=of("persistent_fail"),
        improved=of("improved"),
        stable_success=stable,
    )


def _view(before: Row, after: Row, reference: str) -> PairView:
    return PairView(
        id=before.id,
        task_type=before.task_type,
        reference=reference,
        previous_reason=before.reason,
        current_reason=after.reason,
        previous=before.trajectory,
        current=after.trajectory,
    )


def read_pairs(args: argparse.Namespace, job: Job) -> PairViews:
    """Read the comparison that the command line names; references are of train items only."""
    bench = environment(job.resolved.settings.env.name)
    pairs = read_json(args.pairs, Pairs)
    previous, current = _rows_of(args.previous, pairs), _rows_of(args.current, pairs)
    items = train_items(load_splits(job.resolved, bench), [pair.id for pair in pairs.pairs])
    return view_pairs(pairs, previous, current, {item.id: bench.reference(item) for item in items})


def _rows_of(path: Path, pairs: Pairs) -> list[Row]:
    """Read the rows of one side; raises CorruptFile when the comparison had others."""
    rows = read_jsonl(path, Row)
    expected = pairs.sampled + pairs.topped_up
    missing = {pair.id for pair in pairs.pairs} - {row.id for row in rows}
    if len(rows) != expected or missing:
        raise CorruptFile(
            f"{path}: expected the {expected} rows that were compared, found {len(rows)} rows. Delete the "
            "file and run the same command again; paid replies are kept in the call store."
        )
    return rows


def prepare_region(epoch: int, skill: str, max_chars: int) -> tuple[str, SlowUpdate]:
    """Epoch 1: put an empty region at the end of the skill; a region that is there stays."""
    empty = SkillDocument.parse(skill).slow_update is None
    text = with_slow_update(skill, "") if empty else skill
    return bounded(skill, text, max_chars, recorded(epoch, "prepare_region", skill))


def recorded(epoch: int, action: SlowUpdateAction, skill: str) -> SlowUpdate:
    """Return the record of an end of an epoch that leaves the skill as it is."""
    size = len(skill)
    return SlowUpdate(
        epoch=epoch, action=action, chars_before=size, chars_after=size, candidate_sha256=sha256(skill)
    )


def bounded(skill: str, text: str, max_chars: int, record: SlowUpdate) -> tuple[str, SlowUpdate]:
    """Return a candidate and its record; one over `max_chars` (0: no limit) is none, with both sizes said."""
    record = msgspec.structs.replace(record, chars_after=len(text))
    detail = too_long(len(skill), len(text), max_chars) if text != skill else ""
    if detail:
        return skill, msgspec.structs.replace(record, action="skip_too_long", detail=detail)
    return text, msgspec.structs.replace(record, candidate_sha256=sha256(text))


async def slow_update(
    epoch: int,
    skills: tuple[str, str],
    pairs: PairViews,
    accepted: tuple[Edit, ...],
    client: Client,
    settings: Settings,
    bench: Environment,
) -> tuple[str, SlowUpdate]:
    """Ask for new guidance and put it into the region: the candidate, and the record."""
    previous, current = skills
    messages = render(
        "slow_update",
        folder=bench.prompts,
        previous_skill=previous,
        current_skill=current,
        guidance=SkillDocument.parse(current).slow_update or "",
        accepted=accepted,
        **msgspec.structs.asdict(pairs),
    )
    answer = await ask_json(
        client,
        Request(messages=messages, max_completion_tokens=MAX_ANSWER_TOKENS),
        SlowUpdateAnswer,
        attempts=settings.calls.answer_attempts,
    )
    content = answer.value.slow_update_content.strip() if answer.value else ""
    text = with_slow_update(current, content) if content else current
    put_in: SlowUpdateAction = "candidate" if settings.optimizer.slow_update_gate_with_selection else "inject"
    record = msgspec.structs.replace(
        recorded(epoch, "skip_no_content" if text == current else put_in, current),
        reasoning=told(answer.value.reasoning) if answer.value else "",
        slow_update_content=content,
        problems=answer.problems,
        usage=answer.usage,
    )
    return bounded(current, text, settings.env.max_skill_chars, record)


def accepted_edits(gates: list[Gate], patches: list[Selected]) -> tuple[Edit, ...]:
    """Return the edits of the epoch's accepted steps, in order."""
    return tuple(
        edit
        for gate, patch in zip(gates, patches, strict=True)
        if gate.action in TAKEN
        for edit in patch.patch.edits
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line of `skillopt slow_update`."""
    add_job_arguments(parser)
    parser.add_argument("--epoch", type=int, required=True, help="epoch, counted from 1")
    parser.add_argument("--skill", type=Path, required=True, help="skill the epoch ended with (read)")
    parser.add_argument("--previous-skill", type=Path, nargs="?", help="skill the epoch began with (read)")
    parser.add_argument(
        "--pairs", type=Path, nargs="?", help="pairs.json; without it the region is prepared (read)"
    )
    parser.add_argument("--previous", type=Path, nargs="?", help="rows of the previous skill (read)")
    parser.add_argument("--current", type=Path, nargs="?", help="rows of the current skill (read)")
    parser.add_argument(
        "--gates", type=Path, nargs="*", default=[], help="gate.json of the epoch's steps (read)"
    )
    parser.add_argument("--patches", type=Path, nargs="*", default=[], help="their patch.json (read)")
    parser.add_argument("--candidate", type=Path, required=True, help="candidate.md (written)")
    parser.add_argument("--out", type=Path, required=True, help="slow_update.json (written)")


def main(args: argparse.Namespace) -> None:
    """Run the phase."""
    skill = read_text(args.skill)
    if args.pairs:
        text, record = _with_guidance(args, skill)
    else:
        limit = read_resolved(args.config).settings.env.max_skill_chars
        text, record = prepare_region(args.epoch, skill, limit)
    write_text(args.candidate, text)
    write_json(args.out, record)


def _with_guidance(args: argparse.Namespace, skill: str) -> tuple[str, SlowUpdate]:
    if not read_json(args.pairs, Pairs).pairs:
        return skill, recorded(args.epoch, "skip_no_pairs", skill)
    job = open_job(args, "slow_update")
    settings = job.resolved.settings
    accepted = accepted_edits(
        [read_json(path, Gate) for path in args.gates], [read_json(path, Selected) for path in args.patches]
    )
    views = read_pairs(args, job)
    bench = environment(settings.env.name)
    skills = (read_text(args.previous_skill), skill)

    async def work() -> tuple[str, SlowUpdate]:
        async with job.client("optimizer", width=1) as client:
            return await slow_update(args.epoch, skills, views, accepted, client, settings, bench)

    return run_async(work())
