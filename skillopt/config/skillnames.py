"""Names of evaluated skills: the run's own, and those that have a file."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from skillopt.errors import ConfigError

OWN = ("none", "initial", "best", "last")
"""Skills that every run has: no skill at all, the one it starts from, its best and its last one."""
NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"


def problems_of(skills: Any) -> list[str]:
    """Say what is wrong with names and files of skills; whether the files are there is not looked at."""
    if not isinstance(skills, dict) or not all(isinstance(path, str) for path in skills.values()):
        return [f"expected names with files, {{name: file}}, found {skills!r}"]
    found = []
    for name, path in skills.items():
        if not re.fullmatch(NAME, name):
            found.append(f"expected a name of letters, digits, dots, dashes, found {name!r}")
        elif name in OWN and path:
            found.append(f"{name!r} is the run's own skill ({', '.join(OWN)}); give {path} another name")
        elif name not in OWN and not path:
            found.append(f"expected the file of the skill {name!r}, found a blank")
    return found


def read_words(words: Sequence[str]) -> dict[str, str]:
    """Read skills as `name=file`, or as a file (its stem is the name), or as the name of an own one.

    Raises ConfigError for names that cannot be used or that are given twice.
    """
    skills: dict[str, str] = {}
    for word in words:
        name, equals, path = word.partition("=")
        if not equals:
            name, path = (word, "") if word in OWN else (Path(word).stem, word)
        if name in skills:
            raise ConfigError(
                f"skills: the name {name!r} is given twice ({skills[name]} and {path}): write name=file"
            )
        skills[name] = path
    problems = problems_of(skills)
    if problems:
        raise ConfigError("skills: " + "; ".join(problems))
    return skills
