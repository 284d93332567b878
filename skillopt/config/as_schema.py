"""The settings as a JSON schema of a run file, for editors and other programs."""

from collections.abc import Iterable
from typing import Any

import msgspec

from skillopt.config.keys import (
    Catalog,
    Key,
    backend_keys,
    common_keys,
    environment_keys,
    sections,
)
from skillopt.config.layers import BASE


def schema(catalog: Catalog) -> str:
    """Return the schema as JSON; sections and keys that do not exist are not allowed."""
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "SkillOpt run",
        "description": "A file in config/. Made by python -m skillopt.config.generate.",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            BASE: {"type": "string", "description": "A file whose settings this one starts from."},
            **{section: _section(section, catalog) for section in sections()},
        },
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode("utf-8") + "\n"


def _section(section: str, catalog: Catalog) -> dict[str, Any]:
    found: dict[str, list[dict[str, Any]]] = {}
    for key in _keys(section, catalog):
        described = _property(key)
        if described not in found.setdefault(key.name, []):
            found[key.name].append(described)
    return {
        "type": ["object", "null"],
        "description": (sections()[section].__doc__ or "").strip(),
        "additionalProperties": False,
        "properties": {
            name: kinds[0] if len(kinds) == 1 else {"anyOf": kinds} for name, kinds in found.items()
        },
    }


def _keys(section: str, catalog: Catalog) -> Iterable[Key]:
    yield from (key for key in common_keys().values() if key.section == section)
    if section == "env":
        for _, settings in sorted(catalog.environments.items()):
            yield from environment_keys(settings()).values()
    if section == "model":
        for _, load in sorted(catalog.backends.items()):
            yield from backend_keys(load()).values()


def _property(key: Key) -> dict[str, Any]:
    return {**msgspec.json.schema(key.type), "default": key.default}
