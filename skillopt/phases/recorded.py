"""Skill files that a record names: read only as the text that was recorded."""

from pathlib import Path

from skillopt.config.resolved import Resolved
from skillopt.errors import CorruptFile
from skillopt.files import read_json, read_text
from skillopt.phases.initial_skill import initial_skill_path
from skillopt.records import Scored
from skillopt.skill import sha256


def read_recorded(path: Path, sha: str, record: str) -> str:
    """Return a skill's text; raises CorruptFile when it is not the one that `record` names by its hash."""
    text = read_text(path)
    if sha256(text) != sha:
        raise CorruptFile(
            f"{path}: expected the text that {record} names, found another. Delete it and run the same "
            "command again; to start from a skill of your own, set env.skill_init."
        )
    return text


def read_initial(path: Path, resolved: Resolved) -> str:
    """Return the initial skill of a run; raises CorruptFile when it is not the configured one."""
    env = resolved.settings.env
    source = initial_skill_path(env.name, env.skill_init)
    return read_recorded(path, sha256(read_text(source)), f"the configuration ({source})")


def read_best(path: Path) -> str:
    """Return the best skill of a run; raises CorruptFile when it is not the one with the recorded score."""
    record = path.with_suffix(".json")
    return read_recorded(path, read_json(record, Scored).sha256, str(record))
