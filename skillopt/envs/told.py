"""What a target is told: the texts in a benchmark's folder, and the skill's place in them."""

from functools import cache
from pathlib import Path
from string import Template

SKILL_LEFT_OUT = "(The skill document stands here.)"


def fill(folder: Path, name: str, /, **values: str) -> str:
    """Return the text `<name>.md` of a folder, trimmed, with the values where `$key` stands.

    Not Jinja2: a rollout fills two texts per item, and its start-up is on the critical path.
    """
    return _template(folder / f"{name}.md").substitute(values)


@cache
def _template(file: Path) -> Template:
    return Template(file.read_text(encoding="utf-8").strip())


def left_out(skill: str) -> str:
    """Return what stands for a skill in a trajectory: analysts have the skill itself beside it."""
    return SKILL_LEFT_OUT if skill.strip() else ""
