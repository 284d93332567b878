"""What a form may set, and what only a file may that is written by hand."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from skillopt.config.keys import Key

_PATHS = frozenset({"env.skill_init", "env.split_dir", "env.data_path", "calls.prices"})
_BY_HAND = (
    "path",
    "home",
    "pass_env",
    "api_key_env",
    "sandbox",
    "shell",
    "network_access",
    "codex_exec_profile",
)
"""Ends of backends' settings that choose programs, what they may do, or which secrets go where: not over the
web. `env.isolation` is one too."""
_IDENTITIES = ("ad_scope", "managed_identity_client_id")
"""Ends of settings that choose for whom a login's token is made: like addresses, they say where it goes."""


def is_by_hand(dotted: str, key: Key | None, owner: bool) -> bool:
    """Whether a form may not set it; `owner` tells that whoever fills it in owns this machine."""
    names = {dotted, key.dotted if key else dotted}
    if any(_ends(name, _BY_HAND) or name == "env.isolation" for name in names):
        return True
    sends = (key is not None and key.form == "address") or any(_ends(name, _IDENTITIES) for name in names)
    return sends and not owner


def _ends(dotted: str, ends: tuple[str, ...]) -> bool:
    section, _, name = dotted.partition(".")
    return section == "model" and f"_{name}".endswith(tuple(f"_{end}" for end in ends))


def refusals(dotted: str, value: Any, key: Key | None, owner: bool) -> Iterator[str]:
    """Yield why a form may not set this value."""
    if is_by_hand(dotted, key, True):
        yield (
            f"{dotted} chooses a program, what programs may do, or a secret, and can only be set in a file, "
            "by hand"
        )
    elif is_by_hand(dotted, key, owner):
        yield (
            f"{dotted} chooses where keys are sent, and this dashboard can be reached from other machines: "
            "it can only be set in a file, by hand. Write one on the machine of the dashboard, and copy "
            "that run"
        )
    paths: list[Any] = []
    if dotted in _PATHS or (key is not None and key.path):
        paths = list(value) if isinstance(value, list | tuple) else [value]
    if dotted == "evaluation.skills" and isinstance(value, dict):
        paths = list(value.values())
    for path in paths:
        if isinstance(path, str) and not _inside(path):
            yield (
                f"{dotted}: expected a path below this folder without hidden parts, found {path[:60]!r}. "
                "Other places can be named in a file, by hand"
            )
        elif isinstance(path, str) and _is_special(path):
            yield f"{dotted}: expected a file or a folder, found a pipe or a device at {path[:60]!r}"


def _is_special(path: str) -> bool:
    """Whether reading it might never end."""
    found = Path(path)
    return found.exists() and not (found.is_file() or found.is_dir())


def _inside(path: str) -> bool:
    if "\0" in path:
        return False
    here = Path.cwd()
    full = Path(os.path.normpath(here / path))
    return full.is_relative_to(here) and not any(p[0] in ".~" for p in full.relative_to(here).parts)
