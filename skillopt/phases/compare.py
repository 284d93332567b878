"""The same train items with the skill of the previous epoch and with the current one."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from skillopt.concurrent import gather
from skillopt.data import load_splits, train_items
from skillopt.decisions.coverage import require_coverage
from skillopt.decisions.pairs import classify, kept_by, wanted
from skillopt.files import read_json, read_text, write_json, write_jsonl
from skillopt.models.client import Client
from skillopt.phases.job import Job, add_job_arguments, open_job
from skillopt.phases.rollout import Bench, add_planned, open_bench, read_rows, require_planned, roll_out
from skillopt.process import run_async
from skillopt.records import EpochPlan, Item, Pairs, Plan, Row
from skillopt.skill import visible


class Sides(msgspec.Struct, frozen=True, kw_only=True):
    """The rows of both skills, in the same order of items."""

    previous: list[Row]
    current: list[Row]

    def __add__(self, other: "Sides") -> "Sides":
        return Sides(previous=self.previous + other.previous, current=self.current + other.current)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line of `skillopt compare`."""
    add_job_arguments(parser)
    add_planned(parser)
    parser.add_argument("--plan", type=Path, required=True, help="plan.json of the run (read)")
    parser.add_argument("--epoch", type=int, required=True, help="epoch, counted from 1")
    parser.add_argument(
        "--previous-skill", type=Path, required=True, help="skill the epoch began with (read)"
    )
    parser.add_argument("--skill", type=Path, required=True, help="skill the epoch ended with (read)")
    parser.add_argument(
        "--sample", type=Path, required=True, help="rows of the sample with the previous skill (read)"
    )
    parser.add_argument("--previous", type=Path, required=True, help="rows of the previous skill (written)")
    parser.add_argument("--current", type=Path, required=True, help="rows of the current skill (written)")
    parser.add_argument("--out", type=Path, required=True, help="pairs.json (written)")


def main(args: argparse.Namespace) -> None:
    """Run the phase."""
    job = open_job(args, "compare")
    epoch = read_json(args.plan, Plan).epochs[args.epoch - 1]
    bench = open_bench(job)
    items = train_items(load_splits(job.resolved, bench.environment), epoch.comparison)
    whole = job.resolved.settings.optimizer.longitudinal_pair_policy == "changed"
    require_planned(args, bench, items if whole else items[: epoch.sample])
    skills = visible(read_text(args.previous_skill)), visible(read_text(args.skill))
    sample = read_rows(args.sample, epoch.sampled)
    sides, pairs = run_async(_compare(job, bench, epoch, items, sample, skills))
    write_jsonl(args.previous, sides.previous)
    write_jsonl(args.current, sides.current)
    write_json(args.out, pairs)


async def _compare(
    job: Job,
    bench: Bench,
    epoch: EpochPlan,
    items: Sequence[Item],
    sample: list[Row],
    skills: tuple[str, str],
) -> tuple[Sides, Pairs]:
    """Do the sample with the current skill, then, by policy, further items until enough pairs changed."""
    settings = job.resolved.settings
    policy = settings.optimizer.longitudinal_pair_policy
    done = epoch.sample
    async with job.client("target", width=settings.env.workers) as client:
        current = await _one(job, bench, client, items[:done], skills, "current")
        sides = Sides(previous=sample, current=current)
        require_coverage(
            sides.previous + sides.current, settings.evaluation.min_coverage, f"compare, epoch {epoch.epoch}"
        )
        pairs, dropped = classify(sides.previous, sides.current)
        while missing := wanted(policy, epoch.sample, pairs, len(items) - done):
            sides += await _both(job, bench, client, items[done : done + missing], skills)
            done += missing
            pairs, dropped = classify(sides.previous, sides.current)
    return sides, Pairs(
        epoch=epoch.epoch,
        policy=policy,
        sampled=epoch.sample,
        topped_up=done - epoch.sample,
        pairs=kept_by(policy, pairs),
        dropped=dropped,
    )


async def _both(
    job: Job, bench: Bench, client: Client, items: Sequence[Item], skills: tuple[str, str]
) -> Sides:
    previous, current = await gather(
        _one(job, bench, client, items, skills, side) for side in ("previous", "current")
    )
    return Sides(previous=previous, current=current)


async def _one(
    job: Job,
    bench: Bench,
    client: Client,
    items: Sequence[Item],
    skills: tuple[str, str],
    side: Literal["previous", "current"],
) -> list[Row]:
    settings = job.resolved.settings
    return await roll_out(
        items,
        skills[side == "current"],
        bench,
        client,
        width=min(job.width, settings.env.workers),
        seed=settings.train.seed,
        what=f"comparison with the {side} skill",
    )
