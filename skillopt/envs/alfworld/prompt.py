"""What the target is told: the constant part first, so that providers can cache it."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import msgspec

from skillopt.envs.told import fill
from skillopt.models.base import Message
from skillopt.texts import single_line

FOLDER = Path(__file__).parent / "prompts"
_fill = partial(fill, FOLDER)
NO_COMMAND = "(no command)"
WITHOUT_COMMAND = "Your reply held no command between action tags, so nothing was done."


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """A step that was made: the command ("" for a reply without one), and what was seen then."""

    command: str
    seen: str


def system_message(skill: str, max_turns: int) -> Message:
    """Role, the skill under its own heading (nothing at all for a blank one), form of the answer."""
    block = _fill("target_skill", skill=skill.strip()) + "\n\n" if skill.strip() else ""
    return Message(role="system", content=_fill("target_system", skill=block, turns=str(max_turns)))


def user_message(
    task: str, start: str, steps: Sequence[Step], commands: Sequence[str], history: int
) -> Message:
    """The task, the last `history` steps and what is seen now; `start` is what was seen at first."""
    first = max(0, len(steps) - history)
    lines = [
        f"{number}. {step.command or NO_COMMAND} -> {single_line(step.seen)}"
        for number, step in enumerate(steps, 1)
        if number > first
    ]
    earlier = _fill("target_steps", made=str(len(steps)), steps="\n".join(lines)) + "\n\n" if lines else ""
    now = _fill(
        "target_now",
        step=str(len(steps) + 1),
        seen=steps[-1].seen if steps else start,
        commands=listed(commands),
    )
    return Message(role="user", content=f"{_fill('target_task', task=task)}\n\n{earlier}{now}")


def listed(commands: Sequence[str]) -> str:
    """Return commands one a line; `help`, which no game is won by, is left out."""
    return "\n".join(f"- {command}" for command in commands if command != "help")
