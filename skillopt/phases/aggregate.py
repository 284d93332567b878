"""Many patches become one: a hierarchical merge, failures and successes apart, then together."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from skillopt.concurrent import gather
from skillopt.config.settings import Settings
from skillopt.envs.registry import environment
from skillopt.files import read_json, read_text, write_json
from skillopt.models.base import Request
from skillopt.models.client import Client
from skillopt.models.replies import ask_json
from skillopt.phases.job import add_job_arguments, open_job
from skillopt.phases.reflect import answer_tokens, read_memory
from skillopt.phases.shapes import ChangesAnswer
from skillopt.process import run_async
from skillopt.prompting import changes_of, render
from skillopt.records import Merged, MergeNote, Patch, Reflections, Side

MergeSide = Literal["failure", "success", "both"]


class Merger(msgspec.Struct, frozen=True, kw_only=True):
    """All that a merge needs besides the patches."""

    client: Client
    settings: Settings
    prompts: Path
    skill: str
    memory: str

    async def tree(self, patches: Sequence[Patch], side: Side) -> tuple[Patch, list[MergeNote]]:
        """Merge level after level until one patch remains; a lone patch passes through.

        Ends after ceil(log(n) / log(merge_batch_size)) levels, since the batch size is at least 2.
        """
        size = self.settings.gradient.merge_batch_size
        level, notes, left = 0, list[MergeNote](), list(patches)
        while len(left) > 1:
            level += 1
            groups = [left[start : start + size] for start in range(0, len(left), size)]
            merged = await gather(self._group(group, side, level) for group in groups)
            left = [patch for patch, _ in merged]
            notes += [note for _, note in merged if note]
        return (left[0] if left else Patch()), notes

    async def _group(self, group: Sequence[Patch], side: Side, level: int) -> tuple[Patch, MergeNote | None]:
        if len(group) == 1:
            return group[0], None
        return await self.merge(group, side, level)

    async def merge(self, group: Sequence[Patch], side: MergeSide, level: int) -> tuple[Patch, MergeNote]:
        """Merge patches by one call; without a usable answer, put them one after the other."""
        mode = self.settings.optimizer.skill_update_mode
        messages = render(
            "merge",
            folder=self.prompts,
            update_mode=mode,
            side=side,
            skill=self.skill,
            memory=self.memory,
            patches=tuple(group),
        )
        answer = await ask_json(
            self.client,
            Request(messages=messages, max_completion_tokens=answer_tokens(self.settings)),
            ChangesAnswer,
            attempts=self.settings.calls.answer_attempts,
            check=lambda value: value.lacks(mode),
        )
        note = MergeNote(
            side=side,
            level=level,
            patches=len(group),
            outcome="merged" if answer.value else "concatenated",
            problems=answer.problems,
            usage=answer.usage,
        )
        if answer.value is None:
            return concatenate(group, level), note
        support = sum(_support(patch) for patch in group)
        default: Side = "success" if side == "success" else "failure"
        return answer.value.as_patch(mode, default, support, level), note


def concatenate(patches: Sequence[Patch], level: int) -> Patch:
    """Put patches one after the other: what is left when no merge is to be had."""
    return Patch(
        reasoning="concatenated: no usable merge",
        edits=tuple(msgspec.structs.replace(e, merge_level=level) for p in patches for e in p.edits),
        suggestions=tuple(
            msgspec.structs.replace(s, merge_level=level) for p in patches for s in p.suggestions
        ),
        candidates=tuple(
            msgspec.structs.replace(c, merge_level=level) for p in patches for c in p.candidates
        ),
    )


def _support(patch: Patch) -> int:
    return max((change.support_count for change in changes_of(patch)), default=0)


async def aggregate(reflections: Reflections, merger: Merger) -> Merged:
    """Merge failures and successes side by side, then both; failures come first."""
    sides: tuple[Side, Side] = ("failure", "success")
    patches = {side: useful(reflections, side) for side in sides}
    (failures, notes), (successes, more) = await gather(merger.tree(patches[side], side) for side in sides)
    notes = [*notes, *more]
    if failures.empty or successes.empty:
        return Merged(
            step=reflections.step, patch=successes if failures.empty else failures, merges=tuple(notes)
        )
    level = 1 + max((note.level for note in notes), default=0)
    patch, note = await merger.merge((failures, successes), "both", level)
    return Merged(step=reflections.step, patch=patch, merges=(*notes, note))


def useful(reflections: Reflections, side: Side) -> list[Patch]:
    """Return the patches of one side that propose something."""
    found = [group.patch for group in reflections.groups if group.kind == side and group.patch]
    return [patch for patch in found if not patch.empty]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line of `skillopt aggregate`."""
    add_job_arguments(parser)
    parser.add_argument("--reflections", type=Path, required=True, help="reflections.json (read)")
    parser.add_argument("--skill", type=Path, required=True, help="skill before the step (read)")
    parser.add_argument(
        "--meta-skill", type=Path, nargs="?", help="meta_skill.json of the previous epoch (read)"
    )
    parser.add_argument("--out", type=Path, required=True, help="merged.json (written)")


def main(args: argparse.Namespace) -> None:
    """Run the phase."""
    job = open_job(args, "aggregate")
    settings = job.resolved.settings
    reflections = read_json(args.reflections, Reflections)

    async def work() -> Merged:
        async with job.client("optimizer", width=settings.gradient.analyst_workers) as client:
            merger = Merger(
                client=client,
                settings=settings,
                prompts=environment(settings.env.name).prompts,
                skill=read_text(args.skill),
                memory=read_memory(args.meta_skill),
            )
            return await aggregate(reflections, merger)

    write_json(args.out, run_async(work()))
