"""One question: the dialogue with the target and its tools, and what comes of it."""

import asyncio
from collections import Counter
from collections.abc import Sequence

import msgspec

from skillopt.envs.answers import Found
from skillopt.envs.base import Attempt, Chat
from skillopt.envs.dialogue import judge_reply
from skillopt.envs.officeqa.prompt import final_message, system_message, user_message
from skillopt.envs.officeqa.scoring import Judgement, Match, judge
from skillopt.envs.officeqa.tools import MOST_CALLS, TOOLS, Answer, Shelf, use
from skillopt.envs.told import left_out
from skillopt.models.base import Message, Reply, ToolCall
from skillopt.records import Item, Status, Turn

_NOTHING = Judgement(hard=0.0, soft=0.0, em=0, f1=0.0, how="text")
_MOST_SHOWN = 2000
"""Characters of a call's arguments that a trajectory keeps."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What the last reply is worth: `why` tells, for a status other than `scored`, what was the matter."""

    status: Status
    found: Found
    judgement: Judgement = _NOTHING
    why: str = ""


class Talk:
    """A dialogue as it grows: its messages, its trajectory, and the calls that it made."""

    def __init__(self, opening: tuple[Message, ...], shelf: Shelf) -> None:
        self.messages = opening
        self.turns: list[Turn] = []
        self.used: Counter[str] = Counter()
        self.problems: Counter[str] = Counter()
        self._shelf = shelf

    def say(self, message: Message) -> None:
        """Add a message of ours."""
        self.messages = (*self.messages, message)
        self.turns.append(Turn(role=message.role, content=message.content))

    async def answer(self, reply: Reply) -> None:
        """Carry out the calls of a reply, the surplus ones excepted, and add what they gave."""
        asked = Message(role="assistant", content=reply.text, tool_calls=reply.tool_calls)
        self.messages = (*self.messages, asked)
        self.note(reply)
        for number, call in enumerate(reply.tool_calls):
            given = await self._use(call) if number < MOST_CALLS else _surplus()
            self.used[call.name] += 1
            if given.problem:
                self.problems[given.problem] += 1
            self.say(Message(role="tool", content=given.text, tool_call_id=call.id))

    def note(self, reply: Reply) -> None:
        """Add a reply to the trajectory, its calls one a line."""
        calls = [f"{call.name} {call.arguments[:_MOST_SHOWN]}" for call in reply.tool_calls]
        content = "\n".join([reply.text, *calls] if reply.text else calls)
        self.turns.append(Turn(role="assistant", content=content))

    async def _use(self, call: ToolCall) -> Answer:
        # In a thread: a search of a large corpus must not hold up the other items' calls.
        return await asyncio.to_thread(use, self._shelf, call)


def _surplus() -> Answer:
    text = f"error: not carried out: one reply may make {MOST_CALLS} calls at most"
    return Answer(text=text, problem="too_many_calls")


async def answer_question(
    item: Item,
    skill: str,
    chat: Chat,
    shelf: Shelf,
    *,
    told: Sequence[str],
    max_turns: int,
    match: Match,
    tolerance: float,
) -> Attempt:
    """Let the target search and read for up to `max_turns` replies, and judge its answer.

    `told` names documents that the target is told of. The first reply without a tool call ends the
    dialogue; the last one that is allowed may call no tool.
    """
    golds = item.data["answers"]
    user = user_message(item.data["question"], told)
    talk = Talk((system_message(skill, max_turns), user), shelf)
    replies = await _converse(talk, chat, max_turns)
    outcome = _outcome(replies[-1], golds, match, tolerance)
    shown = system_message(left_out(skill), max_turns).content
    return Attempt(
        status=outcome.status,
        hard=outcome.judgement.hard,
        soft=outcome.judgement.soft,
        answer=outcome.found.text,
        turns=len(replies),
        trajectory=(
            Turn(role="system", content=shown),
            Turn(role="user", content=user.content),
            *talk.turns,
            _note(item, outcome),
        ),
        reason="" if outcome.judgement.hard == 1.0 else _reason(golds, outcome),
        extra={
            "em": outcome.judgement.em,
            "f1": outcome.judgement.f1,
            "judged_as": outcome.judgement.how,
            "gold_answers": list(golds),
            "tool_calls": dict(sorted(talk.used.items())),
            "tool_problems": dict(sorted(talk.problems.items())),
        },
    )


async def _converse(talk: Talk, chat: Chat, max_turns: int) -> list[Reply]:
    replies: list[Reply] = []
    while len(replies) < max_turns:
        last = len(replies) == max_turns - 1
        if last:
            talk.say(final_message())
        reply = await chat(talk.messages, tools=TOOLS, tool_choice="none" if last else "auto")
        replies.append(reply)
        if last or not reply.tool_calls:
            talk.note(reply)
            break
        await talk.answer(reply)
    return replies


def _outcome(reply: Reply, golds: Sequence[str], match: Match, tolerance: float) -> Outcome:
    """Judge the last reply; only a complete pair of answer tags is read as an answer."""
    status, found, why = judge_reply(reply)
    if found.where != "tag" and reply.tool_calls:
        why = "the last turn was spent on another tool call"
        return Outcome(status="no_answer", found=Found(text="", where=found.where), why=why)
    if found.where == "line" and status == "scored":
        why = "the reply neither called a tool nor held answer tags"
        return Outcome(status="unparsed", found=Found(text="", where="line"), why=why)
    if status != "scored":
        return Outcome(status=status, found=found, why=why)
    judgement = judge(found.text, golds, match=match, tolerance=tolerance)
    return Outcome(status=status, found=found, judgement=judgement)


def _note(item: Item, outcome: Outcome) -> Turn:
    lines = [
        f"question: {item.data['question'].strip()}",
        f"predicted answer: {outcome.found.text}",
        f"accepted answers: {' | '.join(item.data['answers'])}",
    ]
    if item.data["source_files"]:
        lines.append(f"documents with the answer: {' | '.join(item.data['source_files'])}")
    lines.append(f"score: {outcome.judgement.hard:.0f}, partial {outcome.judgement.soft:.4f}")
    if outcome.why:
        lines.append(f"problem: {outcome.why}")
    return Turn(role="note", content="\n".join(lines))


def _reason(golds: Sequence[str], outcome: Outcome) -> str:
    problem = f"{outcome.why}; " if outcome.why else ""
    accepted = " or ".join(repr(gold) for gold in golds)
    return f"wrong answer: {problem}predicted {outcome.found.text!r}, accepted {accepted}"
