"""One question: the dialogue with the target, and what comes of it."""

from collections.abc import Sequence
from typing import Any

import msgspec

from skillopt.envs.answers import Found, find_answer
from skillopt.envs.base import Attempt, Chat
from skillopt.envs.dialogue import deciding, talk, turns_of
from skillopt.envs.searchqa.prompt import (
    check_message,
    cut_context,
    system_message,
    user_message,
)
from skillopt.envs.searchqa.scoring import Judgement, judge
from skillopt.envs.told import left_out
from skillopt.models.base import Reply
from skillopt.records import Item, Status, Turn


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a reply is worth: `why` tells, for a status other than `scored`, what was the matter."""

    status: Status
    found: Found
    judgement: Judgement
    why: str = ""


async def answer_question(
    item: Item, skill: str, chat: Chat, *, max_turns: int, context_chars: int
) -> Attempt:
    """Ask the target, let it check itself for up to `max_turns` turns in all, and judge the answer.

    From the second turn on the dialogue ends with the first reply that has a complete answer.
    """
    question, golds = item.data["question"], item.data["answers"]
    context = cut_context(item.data["context"], context_chars)
    opening = (system_message(skill), user_message(context, question))
    replies = await talk(opening, chat, check_message(), max_turns)
    outcome = judge_reply(deciding(replies), golds)
    told = (Turn(role="system", content=_without_skill(skill)), Turn(role="user", content=opening[1].content))
    return Attempt(
        status=outcome.status,
        hard=float(outcome.judgement.exact),
        soft=outcome.judgement.f1,
        answer=outcome.found.text,
        turns=len(replies),
        trajectory=(*told, *turns_of(replies, check_message()), _note(question, golds, outcome)),
        reason=_reason(golds, outcome),
        extra=_extra(golds, outcome, context_cut=context != item.data["context"]),
    )


def judge_reply(reply: Reply, golds: Sequence[str]) -> Outcome:
    """Judge a reply; only a complete pair of tags or a reply without tags is read as an answer.

    An opening tag that is never closed is a broken answer format and scores 0, though what
    follows it is kept for whoever reads the row.
    """
    found = find_answer(reply.text)
    if reply.finish_reason == "length" and found.where != "tag":
        return _failed(
            "truncated", found, "the reply was cut off at the token limit before its answer was complete"
        )
    if found.where == "nowhere":
        return _failed("no_answer", found, "the reply was empty")
    if found.where == "unclosed":
        return _failed("unparsed", found, "the answer tag was never closed")
    judgement = judge(found.text, golds)
    if not found.text and not judgement.exact:
        return _failed("unparsed", found, "the answer tags were empty")
    return Outcome(status="scored", found=found, judgement=judgement)


def _failed(status: Status, found: Found, why: str) -> Outcome:
    text = found.text if found.where == "unclosed" else ""
    nothing = Judgement(exact=0, f1=0.0, substring=0)
    return Outcome(status=status, found=Found(text=text, where=found.where), judgement=nothing, why=why)


def _without_skill(skill: str) -> str:
    return system_message(left_out(skill)).content


def _note(question: str, golds: Sequence[str], outcome: Outcome) -> Turn:
    lines = [
        f"question: {question.strip()}",
        f"predicted answer: {outcome.found.text}",
        f"accepted answers: {' | '.join(golds)}",
        f"EM: {outcome.judgement.exact}, F1: {outcome.judgement.f1:.4f}",
    ]
    if outcome.why:
        lines.append(f"problem: {outcome.why}")
    return Turn(role="note", content="\n".join(lines))


def _reason(golds: Sequence[str], outcome: Outcome) -> str:
    if outcome.judgement.exact:
        return ""
    problem = f"{outcome.why}; " if outcome.why else ""
    accepted = " or ".join(repr(gold) for gold in golds)
    return f"EM=0: {problem}predicted {outcome.found.text!r}, accepted {accepted}"


def _extra(golds: Sequence[str], outcome: Outcome, *, context_cut: bool) -> dict[str, Any]:
    return {
        "em": outcome.judgement.exact,
        "f1": outcome.judgement.f1,
        "sub_em": outcome.judgement.substring,
        "gold_answers": list(golds),
        "answer_from": outcome.found.where,
        "context_cut": context_cut,
    }
