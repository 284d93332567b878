"""The merged changes are ranked and cut to the edit budget of the step."""

import argparse
from collections.abc import Sequence
from pathlib import Path

import msgspec

from skillopt.config.settings import Settings
from skillopt.decisions.scoring import mean
from skillopt.envs.registry import environment
from skillopt.files import read_json, read_jsonl, read_text, write_json
from skillopt.models.base import Request
from skillopt.models.client import Client
from skillopt.models.replies import ask_json
from skillopt.phases.job import add_job_arguments, open_job
from skillopt.phases.reflect import read_memory
from skillopt.phases.shapes import MAX_ANSWER_TOKENS, LearningRateAnswer, RankAnswer, told
from skillopt.process import run_async
from skillopt.prompting import render
from skillopt.records import Choice, Digest, Edit, Gate, Merged, Patch, Row, Selected, Suggestion, Usage

Changes = tuple[Edit | Suggestion, ...]


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """How many changes may be applied (None: all), why, and what asking for it cost."""

    limit: int | None
    reason: str
    confidence: str = ""
    risk_notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    usage: Usage = Usage()


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """What the optimizer is told when it chooses."""

    skill: str
    history: tuple[Digest, ...]
    memory: str
    hard: float | None
    soft: float | None
    n: int


def situation(rows: Sequence[Row], skill: str, history: tuple[Digest, ...], memory: str) -> Situation:
    """Return what is told about a step; an item that came twice in its batches counts twice."""
    known = [(row.hard, row.soft) for row in rows if row.hard is not None and row.soft is not None]
    return Situation(
        skill=skill,
        history=history,
        memory=memory,
        hard=mean([hard for hard, _ in known]),
        soft=mean([soft for _, soft in known]),
        n=len(known),
    )


class Chooser(msgspec.Struct, frozen=True, kw_only=True):
    """The optimizer, asked for the number of changes and for their order."""

    client: Client
    settings: Settings
    prompts: Path
    situation: Situation

    async def budget(self, scheduled: int | None, available: Changes) -> Budget:
        """Return the step's budget by `optimizer.lr_control_mode` (arXiv 2605.23904)."""
        mode = self.settings.optimizer.lr_control_mode
        if mode == "none":
            return Budget(limit=None, reason="lr_control_mode none: every merged change is taken")
        if mode == "autonomous":
            return await self._ask_for_budget(available)
        if scheduled is None:
            return Budget(limit=None, reason="the schedule has no limit")
        return Budget(limit=scheduled, reason="by the schedule")

    async def _ask_for_budget(self, available: Changes) -> Budget:
        situation = self.situation
        messages = render(
            "learning_rate",
            folder=self.prompts,
            skill=situation.skill,
            changes=available,
            score_hard=situation.hard,
            score_soft=situation.soft,
            n=situation.n,
            history=situation.history,
        )
        answer = await ask_json(
            self.client,
            Request(messages=messages, max_completion_tokens=MAX_ANSWER_TOKENS),
            LearningRateAnswer,
            attempts=self.settings.calls.answer_attempts,
        )
        if answer.value is None:
            return Budget(limit=0, reason="no usable answer", problems=answer.problems, usage=answer.usage)
        limit = min(max(answer.value.learning_rate, 0), len(available))
        reason = (
            f"the optimizer asked for {answer.value.learning_rate}: {told(answer.value.reasoning)}".strip()
        )
        return Budget(
            limit=limit,
            reason=reason,
            confidence=str(answer.value.confidence or ""),
            risk_notes=answer.value.risks(),
            problems=answer.problems,
            usage=answer.usage,
        )

    async def rank(self, available: Changes, budget: int) -> tuple[list[int], RankAnswer | None, Budget]:
        """Return valid indices, best first (empty: no usable ranking), the answer, and its cost."""
        messages = render(
            "rank",
            folder=self.prompts,
            skill=self.situation.skill,
            changes=available,
            budget=budget,
            memory=self.situation.memory,
        )
        answer = await ask_json(
            self.client,
            Request(messages=messages, max_completion_tokens=MAX_ANSWER_TOKENS),
            RankAnswer,
            attempts=self.settings.calls.answer_attempts,
        )
        order = valid_indices(answer.value.selected_indices if answer.value else (), len(available))
        cost = Budget(limit=budget, reason="", problems=answer.problems, usage=answer.usage)
        return order, answer.value, cost


def valid_indices(indices: Sequence[int], size: int) -> list[int]:
    """Drop indices out of range and repeats, keep the order."""
    return list(dict.fromkeys(index for index in indices if 0 <= index < size))


async def select(step: int, merged: Patch, scheduled: int | None, chooser: Chooser) -> Selected:
    """Choose at most the budgeted number of changes; asks the optimizer only when there are more."""
    if merged.empty:
        return Selected(
            step=step, budget=scheduled, budget_reason="nothing to choose", how="nothing", patch=merged
        )
    if chooser.settings.optimizer.skill_update_mode == "full_rewrite_minibatch":
        reason = "whole skills are proposed: the budget does not apply"
        return Selected(step=step, budget=None, budget_reason=reason, how="not_limited", patch=merged)
    available: Changes = merged.edits or merged.suggestions
    budget = await chooser.budget(scheduled, available)
    chosen = Selected(
        step=step,
        budget=budget.limit,
        budget_reason=budget.reason,
        confidence=budget.confidence,
        risk_notes=budget.risk_notes,
        how="not_limited" if budget.limit is None else "within_budget",
        patch=merged,
        problems=budget.problems,
        usage=budget.usage,
    )
    if budget.limit is None or len(available) <= budget.limit:
        return chosen
    if budget.limit == 0:
        return _cut(chosen, merged, available, [], "zero_budget")
    order, answer, cost = await chooser.rank(available, budget.limit)
    chosen = msgspec.structs.replace(
        chosen,
        reasoning=told(answer.reasoning) if answer else "",
        problems=(*budget.problems, *cost.problems),
        usage=budget.usage + cost.usage,
    )
    if not order:
        return _cut(chosen, merged, available, list(range(budget.limit)), "fallback_cut")
    return _cut(chosen, merged, available, order, "ranked")


def _cut(chosen: Selected, merged: Patch, available: Changes, order: list[int], how: Choice) -> Selected:
    """Keep the first `budget` of the order; list the others by rank, those without one last."""
    limit = chosen.budget or 0
    rest = [index for index in range(len(available)) if index not in order]
    left_out = [available[index] for index in (*order[limit:], *rest)]
    kept = [available[index] for index in order[:limit]]
    return msgspec.structs.replace(
        chosen,
        how=how,
        patch=_patch_of(kept, merged.reasoning),
        clipped=_patch_of(left_out, ""),
    )


def _patch_of(chosen: Sequence[Edit | Suggestion], reasoning: str) -> Patch:
    return Patch(
        reasoning=reasoning,
        edits=tuple(change for change in chosen if isinstance(change, Edit)),
        suggestions=tuple(change for change in chosen if isinstance(change, Suggestion)),
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line of `skillopt select`."""
    add_job_arguments(parser)
    parser.add_argument("--step", type=int, required=True, help="step, counted from 1")
    parser.add_argument("--merged", type=Path, required=True, help="merged.json (read)")
    parser.add_argument("--rollouts", type=Path, required=True, help="rollouts.jsonl of the step (read)")
    parser.add_argument("--skill", type=Path, required=True, help="skill before the step (read)")
    parser.add_argument(
        "--budget", type=int, nargs="?", help="edit budget by the schedule; without it, no limit"
    )
    parser.add_argument("--state", type=Path, nargs="?", help="gate.json of the epoch's previous step (read)")
    parser.add_argument(
        "--meta-skill", type=Path, nargs="?", help="meta_skill.json of the previous epoch (read)"
    )
    parser.add_argument("--out", type=Path, required=True, help="patch.json (written)")


def main(args: argparse.Namespace) -> None:
    """Run the phase."""
    job = open_job(args, "select")
    settings = job.resolved.settings
    merged = read_json(args.merged, Merged)
    rows = read_jsonl(args.rollouts, Row)

    async def work() -> Selected:
        async with job.client("optimizer", width=1) as client:
            chooser = Chooser(
                client=client,
                settings=settings,
                prompts=environment(settings.env.name).prompts,
                situation=situation(
                    rows,
                    read_text(args.skill),
                    read_json(args.state, Gate).state.memory if args.state else (),
                    read_memory(args.meta_skill),
                ),
            )
            return await select(args.step, merged.patch, args.budget, chooser)

    write_json(args.out, run_async(work()))
