"""What the target is told: the constant part first, so that providers can cache it."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from skillopt.envs.told import fill
from skillopt.models.base import Message

FOLDER = Path(__file__).parent / "prompts"
_fill = partial(fill, FOLDER)


def system_message(skill: str, max_turns: int) -> Message:
    """Role, the skill under its own heading (nothing at all for a blank one), form of the answer."""
    block = _fill("target_skill", skill=skill.strip()) + "\n\n" if skill.strip() else ""
    return Message(role="system", content=_fill("target_system", skill=block, turns=str(max_turns)))


def user_message(question: str, names: Sequence[str]) -> Message:
    """The documents that hold the answer, where the target is told them; the question."""
    listed = "\n".join(f"- {name}" for name in names)
    documents = _fill("target_documents", names=listed) + "\n\n" if names else ""
    return Message(role="user", content=_fill("target_user", documents=documents, question=question.strip()))


def final_message() -> Message:
    """Say that the next reply is the last."""
    return Message(role="user", content=_fill("target_final"))
