"""The settings of a run as one flat table, and which of them differ between runs."""

from collections.abc import Sequence
from typing import Any

import msgspec

from skillopt.config.reruns import UNDECISIVE
from skillopt.config.resolved import Resolved

_IN_ROLES = frozenset(
    f"model.{key}"
    for key in ("backend", "optimizer", "target", "optimizer_backend", "target_backend", "reasoning_effort")
)
"""Settings that only choose the models: the table has what they chose, per role."""


class Option(msgspec.Struct, frozen=True, kw_only=True):
    """One setting; `origin` is "" for a built-in default."""

    key: str
    value: str
    origin: str


def values_of(resolved: Resolved) -> dict[str, Any]:
    """Return every setting by its key; the models as `<role>.backend`, `<role>.model` and so on."""
    found: dict[str, Any] = {}
    for section, values in msgspec.to_builtins(resolved.settings).items():
        found |= {f"{section}.{key}": value for key, value in values.items()}
    found |= {f"env.{key}": value for key, value in resolved.env_settings.items()}
    for role, model in sorted(resolved.roles.items()):
        shown = {"backend": model.backend, "model": model.model, "reasoning_effort": model.reasoning_effort}
        found |= {f"{role}.{key}": value for key, value in (shown | model.settings).items()}
    return found


def options_of(resolved: Resolved) -> list[Option]:
    """Return every setting with where it came from."""
    return [
        Option(key=key, value=shown(value), origin=resolved.origins.get(key, ""))
        for key, value in values_of(resolved).items()
    ]


def differing(runs: Sequence[Resolved], *, decisive: bool) -> dict[str, list[str]]:
    """Return the settings that are not the same in all runs, with each run's value ("" for none).

    With `decisive`, settings that decide no output (workers, timeouts) are left out.
    """
    tables = [values_of(run) for run in runs]
    keys = dict.fromkeys(key for table in tables for key in table)
    ignored = set(_IN_ROLES)
    if decisive:
        ignored |= UNDECISIVE.union(*(run.undecisive for run in runs))
    found = {key: [shown(table.get(key, "")) for table in tables] for key in keys if key not in ignored}
    return {key: values for key, values in found.items() if len(set(values)) > 1}


def shown(value: Any) -> str:
    """Write a value as in a configuration file."""
    if isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode("utf-8")
