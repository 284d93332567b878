"""A skill does a split: the candidate on the selection split, or any skill on any split."""

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from skillopt.config.fingerprint import deciding
from skillopt.config.resolved import Resolved
from skillopt.config.templates import prompts_digest, used_prompts
from skillopt.data import canonical_split, load_splits, used_items
from skillopt.decisions.early import needed_next
from skillopt.decisions.gate import GateRule
from skillopt.decisions.scoring import interval, results_of, score
from skillopt.envs.registry import environment
from skillopt.errors import CorruptFile
from skillopt.files import read_json, read_jsonl, read_text, write_json, write_jsonl
from skillopt.phases.gate import Files, gate_rule, scored
from skillopt.phases.job import Job, add_job_arguments, open_job
from skillopt.phases.recorded import read_best, read_initial
from skillopt.phases.rollout import (
    Bench,
    add_planned,
    do_items,
    items_digest,
    open_bench,
    require_planned,
    require_scores,
    roll_out,
)
from skillopt.process import run_async
from skillopt.records import Gate, Item, Row, Score, Scored
from skillopt.skill import read_document, sha256, visible

log = logging.getLogger(__name__)


class SplitScore(msgspec.Struct, frozen=True, kw_only=True):
    """Means of some rows, with 95% intervals; None without a row that has a score.

    `coverage` is the share of rows that have one.
    """

    score: Score
    coverage: float | None = None
    hard_interval: tuple[float, float] | None
    soft_interval: tuple[float, float] | None
    statuses: dict[str, int]


class Protocol(msgspec.Struct, frozen=True, kw_only=True):
    """How a score was taken; scores of different protocols are not to be compared.

    `items` is a hash of what the items contain, `prompts` one of what the target is told; `settings` decide
    what it does: benchmark, turns, tools, model.
    """

    items: str
    prompts: str
    settings: dict[str, Any]


class Scores(msgspec.Struct, frozen=True, kw_only=True):
    """`scores.json`: one skill on one split, overall and per task type."""

    split: str
    skill: str
    skill_sha256: str
    visible_sha256: str
    reused_from: str
    protocol: Protocol
    overall: SplitScore
    task_types: dict[str, SplitScore]


def protocol_of(resolved: Resolved, items: str) -> Protocol:
    """Return the protocol of a run's evaluations on items with this hash."""
    told = environment(resolved.settings.env.name).prompts
    return Protocol(
        items=items,
        prompts=prompts_digest(used_prompts(resolved, "evaluate"), told),
        settings=msgspec.json.decode(deciding(resolved, "evaluate_split")),
    )


def split_score(rows: Sequence[Row]) -> SplitScore:
    """Score rows: `value` of the score is the mean of hard."""
    statuses: dict[str, int] = {}
    for row in rows:
        statuses[row.status] = statuses.get(row.status, 0) + 1
    found = score(results_of(rows), "hard", 0.0)
    return SplitScore(
        score=found,
        coverage=found.n / found.total if found.total else None,
        hard_interval=interval([row.hard for row in rows if row.hard is not None]),
        soft_interval=interval([row.soft for row in rows if row.soft is not None]),
        statuses=dict(sorted(statuses.items())),
    )


def by_task_type(rows: Sequence[Row]) -> dict[str, SplitScore]:
    """Score the rows of each task type, types sorted."""
    types = sorted({row.task_type for row in rows if row.task_type})
    return {name: split_score([row for row in rows if row.task_type == name]) for name in types}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line of `skillopt evaluate`."""
    add_job_arguments(parser)
    add_planned(parser)
    parser.add_argument(
        "--skill", type=Path, nargs="?", help="skill to evaluate; without a file: no skill (read)"
    )
    parser.add_argument("--split", default="val", help="train, val or test")
    parser.add_argument(
        "--update",
        type=Path,
        help="update.json of the step: no evaluation without a candidate (read)",
    )
    parser.add_argument("--slow-update", type=Path, help="slow_update.json of an epoch: the same (read)")
    parser.add_argument(
        "--state", type=Path, nargs="?", help="gate.json before: skills in it are not done again (read)"
    )
    parser.add_argument(
        "--same",
        type=Path,
        nargs="*",
        default=[],
        help="scores.json of other skills, reused when equal (read)",
    )
    parser.add_argument("--out", type=Path, required=True, help="rows, one per item (written)")
    parser.add_argument("--scores", type=Path, help="scores.json (written)")


def main(args: argparse.Namespace) -> None:
    """Run the phase."""
    job = open_job(args, "evaluate")
    record = args.update or args.slow_update
    skill = read_text(args.skill) if record else _evaluated(args, job)
    if not has_candidate(record, args.skill, skill):
        log.info("%s: no candidate, nothing to evaluate", args.out)
        write_jsonl(args.out, [])
        return
    bench = open_bench(job)
    items = split_items(job, bench, args.split)
    require_planned(args, bench, items)
    source = equal_rows(sha256(visible(skill)), args.state, args.config.parent, args.same)
    what = f"evaluation of {args.skill.name if args.skill else 'no skill'} on {args.split}"
    rule = gate_rule(job.resolved.settings, guidance=bool(args.slow_update))
    if source:
        rows = reuse(source, items)
    elif record and args.state and rule.early_reject:
        current = read_json(args.state, Gate).state.current
        rows = run_async(do_until_certain(job, bench, items, skill, current, rule, what))
    else:
        rows = run_async(do_items(job, bench, items, visible(skill), what))
    write_jsonl(args.out, rows)
    if args.scores:
        scores = Scores(
            split=canonical_split(args.split),
            skill=args.skill.name if args.skill else "",
            skill_sha256=sha256(skill),
            visible_sha256=sha256(visible(skill)),
            reused_from=str(source) if source else "",
            protocol=protocol_of(job.resolved, args.planned or items_digest(bench, items)),
            overall=split_score(rows),
            task_types=by_task_type(rows),
        )
        write_json(args.scores, scores)


async def do_until_certain(
    job: Job,
    bench: Bench,
    items: Sequence[Item],
    skill: str,
    current: Scored,
    rule: GateRule,
    what: str,
) -> list[Row]:
    """Do items until the gate can only reject, or all are done; rows in the order of `items`.

    What is done depends on results alone, never on which reply came first.
    """
    settings = job.resolved.settings
    rows: dict[str, Row] = {}

    def next_items() -> list[Item]:
        candidate = scored(skill, list(rows.values()), Files(skill="", rows=""), rule)
        needed = set(needed_next(candidate, current, rule))
        return [item for item in items if item.id in needed]

    async with job.client("target", width=settings.env.workers) as client:
        width, seed = min(job.width, settings.env.workers), settings.train.seed
        while batch := next_items():
            first, last = len(rows) + 1, len(rows) + len(batch)
            told = what if len(batch) == len(items) else f"{what}, items {first}-{last} of {len(items)}"
            done = await roll_out(batch, visible(skill), bench, client, width=width, seed=seed, what=told)
            rows |= {row.id: row for row in done}
    if rows:
        require_scores(list(rows.values()), job, what, left_out=len(items) - len(rows))
    if len(rows) < len(items):
        log.info("%s: given up after %d of %d items, it cannot win", what, len(rows), len(items))
    return [rows[item.id] for item in items if item.id in rows]


def _evaluated(args: argparse.Namespace, job: Job) -> str:
    """Return the text of the skill; the run's own ones as they are recorded."""
    name = args.label.rpartition("/")[2]
    if name == "initial":
        return read_initial(args.skill, job.resolved)
    return read_best(args.skill) if name == "best" else read_skill(args.skill)


def read_skill(path: Path | None) -> str:
    """Return a skill's text, "" without a file; raises ConfigError naming a line with broken markers."""
    return read_document(path).text if path else ""


def has_candidate(record: Path | None, path: Path | None, text: str) -> bool:
    """Whether the phase before made a candidate (always, when there was none).

    Raises CorruptFile when the candidate is not the one that its record names.
    """
    made = read_json(record, _Made) if record else None
    if made is None or made.action != "candidate":
        return made is None
    if made.candidate_sha256 != sha256(text):
        raise CorruptFile(
            f"{path}: expected the text that {record} names, found another. Delete it and run the same "
            "command again; to start from a skill of your own, set env.skill_init."
        )
    return True


class _Made(msgspec.Struct, frozen=True, kw_only=True):
    """What update.json and slow_update.json have in common."""

    action: str
    candidate_sha256: str


def split_items(job: Job, bench: Bench, split: str) -> list[Item]:
    """Return the items of a split that the run uses, in file order."""
    splits = load_splits(job.resolved, bench.environment)
    return used_items(splits, split, job.resolved.settings.evaluation)


def equal_rows(sha: str, state: Path | None, run: Path, same: Sequence[Path]) -> Path | None:
    """Return the rows of an equal skill text that has been evaluated already, if there is one."""
    if state:
        origin = read_json(state, Gate).state.scored.get(sha)
        if origin:
            return run / origin
    for path in same:
        if read_json(path, Scores).visible_sha256 == sha:
            return path.with_name("rollouts.jsonl")
    return None


def reuse(source: Path, items: Sequence[Item]) -> list[Row]:
    """Return the rows of an equal skill; raises CorruptFile when they are not of these items."""
    rows = read_jsonl(source, Row)
    if [row.id for row in rows] != [item.id for item in items]:
        raise CorruptFile(
            f"{source}: expected rows of {len(items)} items of this split. Delete it and run again."
        )
    log.info("the skill's text equals one that has been evaluated: rows taken from %s", source)
    return rows
