"""The dialogue of the question benchmarks: an answer, then turns in which the target checks itself."""

from collections.abc import Sequence

from skillopt.envs.answers import Found, find_answer
from skillopt.envs.base import Chat
from skillopt.models.base import Message, Reply
from skillopt.records import Status, Turn


async def talk(opening: tuple[Message, ...], chat: Chat, check: Message, max_turns: int) -> list[Reply]:
    """Ask, then send `check` after each reply, for up to `max_turns` replies in all.

    From the second turn on the dialogue ends with the first reply that has a complete answer.
    """
    messages, replies = opening, [await chat(opening)]
    # A blank reply ends the dialogue too: providers refuse an empty assistant message.
    while len(replies) < max_turns and replies[-1].text.strip():
        messages = (*messages, Message(role="assistant", content=replies[-1].text), check)
        replies.append(await chat(messages))
        if _complete(replies[-1]):
            break
    return replies


def deciding(replies: Sequence[Reply]) -> Reply:
    """Return the last reply with a complete answer, else the last one."""
    complete = [reply for reply in replies if _complete(reply)]
    return (complete or replies)[-1]


def turns_of(replies: Sequence[Reply], check: Message) -> tuple[Turn, ...]:
    """Return what was said after the opening: the replies, and the check before each but the first."""
    turns: list[Turn] = []
    for reply in replies:
        if turns:
            turns.append(Turn(role="user", content=check.content))
        turns.append(Turn(role="assistant", content=reply.text))
    return tuple(turns)


def judge_reply(reply: Reply) -> tuple[Status, Found, str]:
    """Return status, answer, and what was the matter ("" for nothing)."""
    found = find_answer(reply.text)
    if reply.finish_reason == "length" and found.where != "tag":
        return "truncated", Found(text="", where=found.where), "the reply was cut off before its answer"
    if found.where == "nowhere":
        return "no_answer", found, "the reply was empty"
    if found.where == "unclosed":
        return "unparsed", found, "the answer tag was never closed"
    if not found.text:
        return "unparsed", found, "the answer tags were empty"
    return "scored", found, ""


def _complete(reply: Reply) -> bool:
    return find_answer(reply.text).where == "tag"
