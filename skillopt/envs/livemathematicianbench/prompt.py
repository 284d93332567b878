"""What the target is told: the constant part first, so that providers can cache it."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from skillopt.envs.livemathematicianbench.options import Option
from skillopt.envs.told import fill
from skillopt.models.base import Message

FOLDER = Path(__file__).parent / "prompts"
_fill = partial(fill, FOLDER)


def system_message(skill: str) -> Message:
    """Role, the skill under its own heading (nothing at all for a blank one), form of the answer."""
    block = _fill("target_skill", skill=skill.strip()) + "\n\n" if skill.strip() else ""
    return Message(role="system", content=_fill("target_system", skill=block))


def user_message(question: str, options: Sequence[Option], extras: str) -> Message:
    """Theorem and sketch when they are to be shown, the question, its options."""
    lines = "\n".join(f"{option.label}. {option.text}" for option in options)
    filled = _fill("target_user", extras=extras, question=question.strip(), options=lines)
    return Message(role="user", content=filled)


def check_message() -> Message:
    """Ask the target to check the answer that it gave."""
    return Message(role="user", content=_fill("target_check"))


def sections(data: dict[str, Any], *, theorem: bool, sketch: bool) -> str:
    """Return the theorem and the sketch of its proof, each under a heading, where wanted and there."""
    wanted = [("Theorem", "theorem")] * theorem + [("Proof sketch", "sketch")] * sketch
    return "".join(
        f"## {title}\n\n{data[name].strip()}\n\n"
        for title, name in wanted
        if isinstance(data.get(name), str) and data[name].strip()
    )
