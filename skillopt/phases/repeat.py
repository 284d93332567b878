"""An evaluation done again with fresh samples: mean and spread of its scores."""

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path

import msgspec

from skillopt.data import canonical_split
from skillopt.decisions.repeats import spread, stability
from skillopt.decisions.scoring import results_of, score
from skillopt.errors import CorruptFile
from skillopt.files import read_json, read_jsonl, write_json, write_jsonl
from skillopt.phases.evaluate import read_skill, split_items
from skillopt.phases.job import Job, add_job_arguments, open_job
from skillopt.phases.rollout import add_planned, do_items, open_bench, require_planned
from skillopt.process import run_async
from skillopt.records import Repeated, Repeats, Row, Spreads
from skillopt.skill import sha256, visible

log = logging.getLogger(__name__)


def spreads(passes: Sequence[Sequence[Row]]) -> Spreads:
    """Return mean and spread of the scores of the same items over several passes."""
    scores = [score(results_of(rows), "hard", 0.0) for rows in passes]
    return Spreads(hard=spread([one.hard for one in scores]), soft=spread([one.soft for one in scores]))


def passes_of(first: Sequence[Row], repeated: Sequence[Repeated]) -> list[list[Row]]:
    """Return the rows of each pass, the first one included; raises CorruptFile when they do not fit."""
    ids = [row.id for row in first]
    count = max((row.sample for row in repeated), default=0)
    passes = [list(first)] + [[row for row in repeated if row.sample == k] for k in range(1, count + 1)]
    for rows in passes:
        if [row.id for row in rows] != ids:
            raise CorruptFile(
                "expected the same items in rollouts.jsonl and in each pass of repeats.jsonl. Delete both "
                "files and run the same command again; paid replies are kept in the call store."
            )
    return passes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line of `skillopt repeat`."""
    add_job_arguments(parser)
    add_planned(parser)
    parser.add_argument(
        "--skill", type=Path, nargs="?", help="skill to evaluate; without a file: no skill (read)"
    )
    parser.add_argument("--split", required=True, help="train, val or test")
    parser.add_argument("--rows", type=Path, required=True, help="rollouts.jsonl: the first pass (read)")
    parser.add_argument(
        "--same",
        type=Path,
        nargs="*",
        default=[],
        help="repeats.json of other skills, reused when equal (read)",
    )
    parser.add_argument("--out", type=Path, required=True, help="repeats.jsonl: the other passes (written)")
    parser.add_argument("--scores", type=Path, required=True, help="repeats.json (written)")


def main(args: argparse.Namespace) -> None:
    """Run the phase."""
    job = open_job(args, "repeat")
    text = visible(read_skill(args.skill))
    equal = [path for path in args.same if read_json(path, Repeats).visible_sha256 == sha256(text)]
    if equal:
        rows = read_jsonl(equal[0].with_suffix(".jsonl"), Repeated)
        log.info("the skill's text equals one that has been evaluated: rows taken from %s", equal[0])
    else:
        rows = _repeat(job, args, text)
    passes = passes_of(read_jsonl(args.rows, Row), rows)
    types = sorted({row.task_type for row in passes[0] if row.task_type})
    write_jsonl(args.out, rows)
    write_json(
        args.scores,
        Repeats(
            split=canonical_split(args.split),
            skill=args.skill.name if args.skill else "",
            visible_sha256=sha256(text),
            repeats=len(passes),
            overall=spreads(passes),
            task_types={
                name: spreads([[row for row in rows if row.task_type == name] for rows in passes])
                for name in types
            },
            stability=stability([results_of(rows) for rows in passes]),
        ),
    )


def _repeat(job: Job, args: argparse.Namespace, skill: str) -> list[Repeated]:
    bench = open_bench(job)
    items = split_items(job, bench, args.split)
    require_planned(args, bench, items)
    repeats = job.resolved.settings.evaluation.repeats
    found: list[Repeated] = []
    for sample in range(1, repeats):
        what = f"evaluation {args.label}, pass {sample + 1} of {repeats}"
        rows = run_async(do_items(job, bench, items, skill, what, sample=sample))
        found += [Repeated(**msgspec.structs.asdict(row), sample=sample) for row in rows]
    return found
