"""What the target is told: the constant part first, so that providers can cache it."""

from functools import partial
from pathlib import Path

from skillopt.envs.told import fill
from skillopt.models.base import Message
from skillopt.records import Item

FOLDER = Path(__file__).parent / "prompts"
_fill = partial(fill, FOLDER)


def system_message(skill: str, *, tools: bool = False) -> Message:
    """Role, the skill under its own heading (nothing at all for a blank one), task, form of the answer."""
    block = _fill("target_skill", skill=skill.strip()) + "\n\n" if skill.strip() else ""
    return Message(role="system", content=_fill("target_tools" if tools else "target_system", skill=block))


def user_message(item: Item, preview: str) -> Message:
    """Instruction, its kind, where the answer is looked for, and what the workbook looks like."""
    return Message(role="user", content=_fill("target_user", **_about(item), preview=preview))


def tools_message(item: Item) -> Message:
    """Say the same to a target that can look at the workbook itself."""
    return Message(role="user", content=_fill("target_tools_user", **_about(item)))


def _about(item: Item) -> dict[str, str]:
    sheet = item.data["answer_sheet"]
    where = f"{item.data['answer_position']}" + (f" (sheet {sheet})" if sheet else "")
    kind = item.data["instruction_type"] or "not said"
    return {"instruction": item.data["instruction"].strip(), "kind": kind, "position": where}
