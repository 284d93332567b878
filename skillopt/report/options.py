"""The settings of a run as one flat table, and which of them differ between runs."""

from collections.abc import Sequence
from typing import Any

import msgspec

from skillopt.config.reruns import UNDECISIVE
from skillopt.config.resolved import Resolved
from skillopt.models.base import Role

_IN_ROLES = frozenset({"model.backend", "model.reasoning_effort"})
"""Settings that only choose the models: the table has what they chose, per role."""


class Option(msgspec.Struct, frozen=True, kw_only=True):
    """One setting; `origin` is "" for a built-in default."""

    key: str
    value: str
    origin: str


def values_of(resolved: Resolved) -> dict[str, Any]:
    """Return every setting by its key in a run file; backend, model and effort of a role as resolved."""
    found: dict[str, Any] = {}
    for section, values in msgspec.to_builtins(resolved.settings).items():
        found |= {f"{section}.{key}": value for key, value in values.items()}
    found |= {f"env.{key}": value for key, value in resolved.env_settings.items()}
    for role, model in sorted(resolved.roles.items()):
        found[f"model.{role}_backend"] = model.backend
        found[f"model.{role}"] = model.model
        found[f"model.{role}_reasoning_effort"] = model.reasoning_effort
        for name, value in model.settings.items():
            found[_key(resolved, role, name)] = value
    return found


def _key(resolved: Resolved, role: Role, name: str) -> str:
    """Return the key of a backend's setting: of both roles where it is one value, else of the one role."""
    model = resolved.roles[role]
    others = [other for other in resolved.roles.values() if other.backend == model.backend]
    shared = all(other.settings.get(name) == model.settings[name] for other in others)
    return f"model.{'' if shared else f'{role}_'}{model.backend}_{name}"


def _origin(resolved: Resolved, key: str) -> str:
    """Return where a value came from; one that roles share may have been set for one of them alone."""
    names = [key]
    if key.startswith("model.") and key not in _IN_ROLES:
        names += [key.replace(f"model.{role}_", "model.") for role in resolved.roles]
        names += [key.replace("model.", f"model.{role}_") for role in resolved.roles]
    return next((resolved.origins[name] for name in names if name in resolved.origins), "")


def options_of(resolved: Resolved) -> list[Option]:
    """Return every setting with where it came from."""
    return [
        Option(key=key, value=shown(value), origin=_origin(resolved, key))
        for key, value in values_of(resolved).items()
    ]


def _undecisive(resolved: Resolved) -> set[str]:
    """Return the keys of settings that decide no output, as `values_of` names them."""
    found = set(UNDECISIVE)
    for name in resolved.undecisive:
        section, _, setting = name.partition(".")
        roles = [role for role in resolved.roles if role == section]
        found |= {_key(resolved, role, setting) for role in roles} or {name}
    return found


def differing(runs: Sequence[Resolved], *, decisive: bool) -> dict[str, list[str]]:
    """Return the settings that are not the same in all runs, with each run's value ("" for none).

    With `decisive`, settings that decide no output (workers, timeouts) are left out. Settings that
    only some runs have (of another backend) count where they were set, not with their default.
    """
    tables = [values_of(run) for run in runs]
    keys = {
        key: None
        for run, table in zip(runs, tables, strict=True)
        for key in table
        if _counts(run, key, tables)
    }
    ignored = set(_IN_ROLES)
    if decisive:
        ignored |= UNDECISIVE.union(*map(_undecisive, runs))
    found = {key: [shown(table.get(key, "")) for table in tables] for key in keys if key not in ignored}
    return {key: values for key, values in found.items() if len(set(values)) > 1}


def _counts(run: Resolved, key: str, tables: Sequence[dict[str, Any]]) -> bool:
    return all(key in table for table in tables) or bool(_origin(run, key))


def shown(value: Any) -> str:
    """Write a value as in a configuration file."""
    if isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode("utf-8")
