"""The epoch sample with the skill that the epoch began with: what its end is compared with.

It needs nothing of the epoch, so it runs beside its last step.
"""

import argparse
from pathlib import Path

from skillopt.data import load_splits, train_items
from skillopt.files import read_json, read_text, write_jsonl
from skillopt.phases.job import add_job_arguments, open_job
from skillopt.phases.rollout import add_planned, do_items, open_bench, require_planned
from skillopt.process import run_async
from skillopt.records import Plan
from skillopt.skill import visible


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line of `skillopt sample`."""
    add_job_arguments(parser)
    add_planned(parser)
    parser.add_argument("--plan", type=Path, required=True, help="plan.json of the run (read)")
    parser.add_argument("--epoch", type=int, required=True, help="epoch, counted from 1")
    parser.add_argument("--skill", type=Path, required=True, help="skill the epoch began with (read)")
    parser.add_argument("--out", type=Path, required=True, help="sample.jsonl (written)")


def main(args: argparse.Namespace) -> None:
    """Run the phase."""
    job = open_job(args, "sample")
    epoch = read_json(args.plan, Plan).epochs[args.epoch - 1]
    bench = open_bench(job)
    items = train_items(load_splits(job.resolved, bench.environment), epoch.sampled)
    require_planned(args, bench, items)
    skill = visible(read_text(args.skill))
    what = f"sample of epoch {args.epoch} with the previous skill"
    write_jsonl(args.out, run_async(do_items(job, bench, items, skill, what)))
