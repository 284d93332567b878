"""One question: the dialogue with the target, and what comes of it."""

from collections.abc import Sequence

import msgspec

from skillopt.envs.answers import Found, find_answer
from skillopt.envs.base import Attempt, Chat
from skillopt.envs.dialogue import deciding, talk, turns_of
from skillopt.envs.livemathematicianbench.options import Option, Shown, shown
from skillopt.envs.livemathematicianbench.prompt import (
    check_message,
    system_message,
    user_message,
)
from skillopt.envs.livemathematicianbench.scoring import chosen
from skillopt.envs.told import left_out
from skillopt.models.base import Reply
from skillopt.records import Item, Status, Turn


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a reply is worth: `why` tells, for a status other than `scored`, what was the matter."""

    status: Status
    found: Found
    option: Option | None = None
    why: str = ""


async def answer_question(
    item: Item, skill: str, chat: Chat, *, max_turns: int, seed: int | None, extras: str
) -> Attempt:
    """Ask the target, let it check itself for up to `max_turns` turns in all, and judge the label.

    `seed` orders the options; None leaves them as stored.
    """
    options = shown(item.data, seed)
    user = user_message(item.data["question"], options.options, extras)
    replies = await talk((system_message(skill), user), chat, check_message(), max_turns)
    outcome = judge_reply(deciding(replies), options.options)
    score = float(outcome.option == options.correct)
    told = system_message(left_out(skill)).content
    return Attempt(
        status=outcome.status,
        hard=score,
        soft=score,
        answer=outcome.option.label if outcome.option else outcome.found.text,
        turns=len(replies),
        trajectory=(
            Turn(role="system", content=told),
            Turn(role="user", content=user.content),
            *turns_of(replies, check_message()),
            _note(item.data["question"], options, outcome),
        ),
        reason="" if score else _reason(options, outcome),
        extra={
            "predicted_label": outcome.option.label if outcome.option else "",
            "predicted_text": outcome.option.text if outcome.option else "",
            "correct_label": options.correct.label,
            "correct_text": options.correct.text,
            "answer_from": outcome.found.where,
        },
    )


def judge_reply(reply: Reply, options: Sequence[Option]) -> Outcome:
    """Judge a reply; only a complete pair of tags or a reply without tags is read as an answer."""
    found = find_answer(reply.text)
    if reply.finish_reason == "length" and found.where != "tag":
        why = "the reply was cut off at the token limit before its answer was complete"
        return Outcome(status="truncated", found=_kept(found), why=why)
    if found.where == "nowhere":
        return Outcome(status="no_answer", found=found, why="the reply was empty")
    if found.where == "unclosed":
        return Outcome(status="unparsed", found=found, why="the answer tag was never closed")
    if not found.text:
        return Outcome(status="unparsed", found=found, why="the answer tags were empty")
    option = chosen(found.text, options)
    if option is None:
        return Outcome(status="unparsed", found=found, why="the answer names no single option")
    return Outcome(status="scored", found=found, option=option)


def _kept(found: Found) -> Found:
    return found if found.where == "unclosed" else Found(text="", where=found.where)


def _full(option: Option) -> str:
    return f"{option.label}. {option.text}"


def _note(question: str, options: Shown, outcome: Outcome) -> Turn:
    said = _full(outcome.option) if outcome.option else outcome.found.text
    lines = [
        f"question: {question.strip()}",
        f"predicted answer: {said}",
        f"correct answer: {_full(options.correct)}",
        f"EM: {int(outcome.option == options.correct)}",
    ]
    if outcome.why:
        lines.append(f"problem: {outcome.why}")
    return Turn(role="note", content="\n".join(lines))


def _reason(options: Shown, outcome: Outcome) -> str:
    said = _full(outcome.option) if outcome.option else outcome.found.text
    problem = f"{outcome.why}; " if outcome.why else ""
    return f"MCQ=0: {problem}predicted {said!r}, expected {_full(options.correct)!r}"
