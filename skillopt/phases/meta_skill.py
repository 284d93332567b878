"""The optimizer's memory across epochs: how to propose, merge and rank edits here."""

import argparse
from pathlib import Path

import msgspec

from skillopt.config.settings import Settings
from skillopt.envs.base import Environment
from skillopt.envs.registry import environment
from skillopt.files import read_text, write_json
from skillopt.models.base import Request
from skillopt.models.client import Client
from skillopt.models.replies import ask_json
from skillopt.phases.job import add_job_arguments, open_job
from skillopt.phases.reflect import read_memory
from skillopt.phases.shapes import MAX_ANSWER_TOKENS, MetaSkillAnswer, told
from skillopt.phases.slow_update import PairViews, read_pairs
from skillopt.process import run_async
from skillopt.prompting import render
from skillopt.records import MetaSkill


async def meta_skill(
    epoch: int,
    skills: tuple[str, str],
    memory: str,
    pairs: PairViews,
    client: Client,
    settings: Settings,
    bench: Environment,
) -> MetaSkill:
    """Ask for a new memory; without a usable answer the old one is kept, and that is recorded."""
    messages = render(
        "meta_skill",
        folder=bench.prompts,
        previous_skill=skills[0],
        current_skill=skills[1],
        memory=memory,
        **msgspec.structs.asdict(pairs),
    )
    answer = await ask_json(
        client,
        Request(messages=messages, max_completion_tokens=MAX_ANSWER_TOKENS),
        MetaSkillAnswer,
        attempts=settings.calls.answer_attempts,
    )
    content = answer.value.meta_skill_content.strip() if answer.value else ""
    return MetaSkill(
        epoch=epoch,
        action="written" if content else "kept",
        reasoning=told(answer.value.reasoning) if answer.value else "",
        meta_skill_content=content or memory,
        problems=answer.problems,
        usage=answer.usage,
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line of `skillopt meta_skill`."""
    add_job_arguments(parser)
    parser.add_argument("--epoch", type=int, required=True, help="epoch, counted from 1")
    parser.add_argument(
        "--previous-skill",
        type=Path,
        required=True,
        help="skill after the last step of the epoch before (read)",
    )
    parser.add_argument("--skill", type=Path, required=True, help="skill after the epoch's last step (read)")
    parser.add_argument("--pairs", type=Path, required=True, help="pairs.json (read)")
    parser.add_argument("--previous", type=Path, required=True, help="rows of the previous skill (read)")
    parser.add_argument("--current", type=Path, required=True, help="rows of the current skill (read)")
    parser.add_argument(
        "--meta-skill", type=Path, nargs="?", help="meta_skill.json of the epoch before (read)"
    )
    parser.add_argument("--out", type=Path, required=True, help="meta_skill.json (written)")


def main(args: argparse.Namespace) -> None:
    """Run the phase."""
    job = open_job(args, "meta_skill")
    settings = job.resolved.settings
    pairs = read_pairs(args, job)
    skills = (read_text(args.previous_skill), read_text(args.skill))
    memory = read_memory(args.meta_skill)
    bench = environment(settings.env.name)

    async def work() -> MetaSkill:
        async with job.client("optimizer", width=1) as client:
            return await meta_skill(args.epoch, skills, memory, pairs, client, settings, bench)

    write_json(args.out, run_async(work()))
