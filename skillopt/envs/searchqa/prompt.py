"""What the target is told: the constant part first, so that providers can cache it."""

import re
from functools import partial
from pathlib import Path

from skillopt.envs.told import fill
from skillopt.models.base import Message

FOLDER = Path(__file__).parent / "prompts"
_fill = partial(fill, FOLDER)
TRUNCATED = " [truncated]"

_SNIPPET = re.compile(r"(?=\[DOC\])")


def system_message(skill: str) -> Message:
    """Role, the skill under its own heading (nothing at all for a blank one), form of the answer."""
    block = _fill("target_skill", skill=skill.strip()) + "\n\n" if skill.strip() else ""
    return Message(role="system", content=_fill("target_system", skill=block))


def user_message(context: str, question: str) -> Message:
    """The passages, then the question."""
    return Message(role="user", content=_fill("target_user", context=context, question=question.strip()))


def check_message() -> Message:
    """Ask the target to check the answer that it gave."""
    return Message(role="user", content=_fill("target_check"))


def cut_context(context: str, limit: int) -> str:
    """Keep the leading `[DOC]` snippets that fit whole into `limit` characters.

    When even the first does not fit, it is cut at `limit` and marked.
    """
    if len(context) <= limit:
        return context
    kept = ""
    for snippet in _SNIPPET.split(context):
        if len((kept + snippet).rstrip()) > limit:
            break
        kept += snippet
    if kept.replace("[DOC]", "").strip():
        return kept.rstrip()
    return context[:limit] + TRUNCATED
