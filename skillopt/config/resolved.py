"""The resolved configuration of a run: what `config.json` holds. Reading it imports little."""

from pathlib import Path
from typing import Any

import msgspec

from skillopt.config.settings import Settings
from skillopt.files import read_json
from skillopt.models.base import Role, RoleModel


class Resolved(msgspec.Struct, frozen=True, kw_only=True):
    """All settings of a run, with no secret among them.

    `roles` is the model of each role with all settings of its backend; `env_settings` are the
    benchmark's own. `origins` says for each key with another value than the built-in default
    where it came from. `undecisive` names the keys of backends (`target.timeout`) and of the
    benchmark (`env.cache`) that decide no output.
    """

    settings: Settings
    env_settings: dict[str, Any]
    roles: dict[Role, RoleModel]
    origins: dict[str, str]
    undecisive: tuple[str, ...] = ()


def read_resolved(path: Path) -> Resolved:
    """Read a run's config.json; raises CorruptFile when it is none."""
    return read_json(path, Resolved)
