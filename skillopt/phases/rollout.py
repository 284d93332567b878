"""The target does the items of a batch with the current skill; one row per item, in order."""

import argparse
import asyncio
import logging
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from skillopt.concurrent import gather
from skillopt.config.resolved import Resolved
from skillopt.data import batches_digest, content_digest, load_splits, train_items, with_file_digests
from skillopt.decisions.coverage import own_failure_of_all, require_coverage
from skillopt.envs.base import Attempt, CommonSettings, Environment, EnvSettings
from skillopt.envs.registry import environment
from skillopt.errors import CorruptFile, DataError, SkillOptError, changed
from skillopt.files import read_json, read_jsonl, read_text, write_jsonl
from skillopt.models.arguments import sendable
from skillopt.models.base import CallError, Message, Reply, Request, Tool, Workspace
from skillopt.models.client import Client
from skillopt.models.registry import backend_spec
from skillopt.phases.job import Job, add_job_arguments, open_job
from skillopt.process import run_async
from skillopt.records import UNSCORED, Failure, Item, Plan, Row, Status, Turn, Usage
from skillopt.skill import visible
from skillopt.texts import utf8_problem

log = logging.getLogger(__name__)


class Bench(msgspec.Struct, frozen=True, kw_only=True):
    """A benchmark with the settings that decide how its items are done; `item_timeout` in seconds."""

    environment: Environment
    common: CommonSettings
    settings: EnvSettings
    item_timeout: float


def open_bench(job: Job, *, feedback: bool = False) -> Bench:
    """Return the run's benchmark; imports that one only. `feedback` is for rollouts of training."""
    return bench_of(job.resolved, feedback=feedback)


def bench_of(resolved: Resolved, *, feedback: bool = False) -> Bench:
    """Return the benchmark of a resolved run; imports that one only."""
    env = resolved.settings.env
    bench = environment(env.name)
    return Bench(
        environment=bench,
        common=CommonSettings(
            max_turns=env.max_turns, max_completion_tokens=env.max_completion_tokens, feedback=feedback
        ),
        settings=msgspec.convert(resolved.env_settings, bench.settings),
        item_timeout=env.item_timeout,
    )


class _Talk:
    """The target bound to one item; adds up what the calls cost."""

    def __init__(self, client: Client, bench: Bench, workspace: Workspace | None, sample: int) -> None:
        self._client = client
        self._sample = sample
        self._limit = bench.common.max_completion_tokens
        self._workspace = workspace
        self.usage = Usage()
        self.seconds = 0.0
        self.replies = 0
        self.traces: list[str] = []

    async def __call__(
        self, messages: tuple[Message, ...], *, tools: tuple[Tool, ...] = (), tool_choice: str = ""
    ) -> Reply:
        request = Request(
            messages=tuple(map(sendable, messages)),
            max_completion_tokens=self._limit,
            tools=tools,
            tool_choice=tool_choice,
            sample=self._sample,
            workspace=self._workspace,
        )
        reply = await self._client.call(request)
        if reply.trace:
            self.traces.append(reply.trace)
        self.replies += 1
        self.usage += reply.usage
        self.seconds += reply.seconds
        return reply


async def roll_out(
    items: Sequence[Item],
    skill: str,
    bench: Bench,
    client: Client,
    *,
    width: int,
    seed: int | Sequence[int],
    what: str,
    sample: int = 0,
) -> list[Row]:
    """Do every item, `width` at once; one row per item in the order of `items`.

    `seed` is one for all items, or one for each. `sample` numbers fresh draws of the same requests.
    An item's failure is a row with its status; only a dead provider ends the phase early.
    """
    gate = asyncio.Semaphore(width)
    works_in_folder = "workspace" in backend_spec(client.role.backend).capabilities
    told, workspace = ("", Workspace(skill=skill)) if works_in_folder else (skill, None)
    progress = client.board.part(what, len(items))
    seeds = [seed] * len(items) if isinstance(seed, int) else seed

    async def one(item: Item, own_seed: int) -> Row:
        async with gate:
            row = await _row(item, told, bench, _Talk(client, bench, workspace, sample), own_seed)
        progress.step(row.status, row.hard)
        return row

    rows = await gather(one(item, own_seed) for item, own_seed in zip(items, seeds, strict=True))
    progress.end()
    return rows


async def _row(item: Item, skill: str, bench: Bench, talk: _Talk, seed: int) -> Row:
    limit = asyncio.timeout(bench.item_timeout)
    try:
        async with limit:
            attempt = await bench.environment.attempt(item, skill, talk, bench.common, bench.settings, seed)
        if problem := utf8_problem(attempt):  # one row that cannot be written would cost all of them
            attempt = _unscored("harness_error", "not_utf8", f"what the benchmark recorded: {problem}")
        elif not (0 <= attempt.hard <= 1 and 0 <= attempt.soft <= 1):  # a row with them could not be read
            found = f"hard {attempt.hard}, soft {attempt.soft}"
            problem = f"what the benchmark scored: expected numbers from 0 to 1, found {found}"
            attempt = _unscored("harness_error", "not_a_score", problem)
    except CallError as error:
        attempt = _unscored(error.kind, error.code or type(error).__name__, str(error))
    except SkillOptError:
        raise
    except Exception as error:  # one item's fault in a benchmark's code must not lose the other items
        if limit.expired():
            attempt = _unscored("timeout", "item_timeout", _too_late(talk, bench.item_timeout))
        else:
            log.exception("item %s: the benchmark failed", item.id)
            attempt = _unscored("harness_error", type(error).__name__, str(error))
    has_score = attempt.status not in UNSCORED
    return Row(
        id=item.id,
        status=attempt.status,
        hard=attempt.hard if has_score else None,
        soft=attempt.soft if has_score else None,
        answer=attempt.answer,
        task_type=item.task_type,
        turns=attempt.turns,
        usage=talk.usage,
        seconds=round(talk.seconds, 3),
        trajectory=(*attempt.trajectory, *_what_was_done(talk.traces)),
        reason=attempt.reason,
        error=attempt.error,
        extra=attempt.extra,
    )


def _too_late(talk: _Talk, seconds: float) -> str:
    return (
        f"not done within {seconds:g} s (env.item_timeout), after {talk.replies} replies: raise it when the "
        "model is slow or the item has many turns; what was paid for is kept"
    )


def _what_was_done(traces: Sequence[str]) -> tuple[Turn, ...]:
    """Return what an agent did for each of its replies, as it tells: part of what reflection reads."""
    runs = [f"run {number}:\n{trace}" if len(traces) > 1 else trace for number, trace in enumerate(traces, 1)]
    return tuple(Turn(role="note", content=f"what the agent did\n{run}") for run in runs)


def _unscored(status: Status, kind: str, message: str) -> Attempt:
    return Attempt(
        status=status,
        hard=0.0,
        soft=0.0,
        answer="",
        turns=0,
        trajectory=(),
        error=Failure(kind=kind, message=message),
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line of `skillopt rollout`."""
    add_job_arguments(parser)
    add_planned(parser)
    parser.add_argument("--plan", type=Path, required=True, help="plan.json of the run (read)")
    parser.add_argument("--step", type=int, required=True, help="step, counted from 1")
    parser.add_argument("--skill", type=Path, required=True, help="skill before the step (read)")
    parser.add_argument("--out", type=Path, required=True, help="rollouts.jsonl (written)")


def main(args: argparse.Namespace) -> None:
    """Run the phase."""
    job = open_job(args, "rollout")
    step = read_json(args.plan, Plan).steps[args.step - 1]
    bench = open_bench(job, feedback=True)
    splits = load_splits(job.resolved, bench.environment)
    items = train_items(splits, [id_ for batch in step.batches for id_ in batch.ids])
    require_planned(args, bench, items, lambda found: batches_digest(step.batches, found))
    seeds = [batch.seed for batch in step.batches for _ in batch.ids]
    skill, what = visible(read_text(args.skill)), f"rollout of step {args.step}"
    write_jsonl(args.out, run_async(do_items(job, bench, items, skill, what, seeds=seeds)))


def add_planned(parser: argparse.ArgumentParser) -> None:
    """Declare the argument that `require_planned` reads."""
    parser.add_argument(
        "--planned", default="", metavar="HASH", help="of the items that the job is for; others are refused"
    )


def items_digest(
    bench: Bench, items: Sequence[Item], digest: Callable[[Sequence[Item]], str] = content_digest
) -> str:
    """Return a hash of items with the files that they name."""
    return digest(with_file_digests(items, bench.environment, bench.settings))


def require_planned(
    args: argparse.Namespace,
    bench: Bench,
    items: Sequence[Item],
    digest: Callable[[Sequence[Item]], str] = content_digest,
) -> None:
    """Raise DataError when items are not those that the job was planned for.

    The engine takes the output for made of the items that it knows: rows of others would count, for ever.
    """
    if args.planned and items_digest(bench, items, digest) != args.planned:
        raise DataError(f"expected the items that the job was planned for, found others. {changed('data')}")


async def do_items(
    job: Job,
    bench: Bench,
    items: Sequence[Item],
    skill: str,
    what: str,
    *,
    seeds: Sequence[int] = (),
    sample: int = 0,
) -> list[Row]:
    """Do items with the run's target; raises LowCoverage when too few of them get a score.

    `seeds` are one for each item; without them it is the run's, so that evaluations are all alike.
    """
    settings = job.resolved.settings
    async with job.client("target", width=settings.env.workers) as client:
        width = min(job.width, settings.env.workers)
        seed = seeds or settings.train.seed
        rows = await roll_out(items, skill, bench, client, width=width, seed=seed, what=what, sample=sample)
    require_scores(rows, job, what)
    return rows


def require_scores(rows: Sequence[Row], job: Job, what: str, *, left_out: int = 0) -> None:
    """Raise LowCoverage when too few items have a score; warn when none could be judged."""
    require_coverage(rows, job.resolved.settings.evaluation.min_coverage, what, left_out=left_out)
    if warning := own_failure_of_all(rows):
        log.warning("%s: %s", what, warning)


def read_rows(path: Path, ids: Sequence[str]) -> list[Row]:
    """Read the rows of exactly these items, in this order; raises CorruptFile otherwise."""
    rows = read_jsonl(path, Row)
    if [row.id for row in rows] != list(ids):
        raise CorruptFile(
            f"{path}: expected one row for each of {len(ids)} planned items in order, found {len(rows)} rows "
            "with other ids. Delete the file and run the same command again; paid replies are kept."
        )
    return rows
