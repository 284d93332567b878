"""Which prompts feed which phase, and a hash of what they say.

A phase declares the hash beside the settings that decide its output. So an edited prompt re-runs
what it feeds; a touched one, another checkout or another environment re-runs nothing.
"""

import functools
from collections.abc import Callable, Mapping
from pathlib import Path

from skillopt.config.activity import BUDGET_CONTROL, UPDATE_MODE, Values, acts
from skillopt.config.fingerprint import SettingsByKey
from skillopt.config.resolved import Resolved
from skillopt.files import canonical
from skillopt.prompting import prompt_sources
from skillopt.skill import sha256

TARGET = "target_*"
"""Stands for what the target is told, which a benchmark keeps in files of this name."""

PROMPTS: Mapping[str, tuple[str, ...]] = {
    "rollout": (TARGET,),
    "reflect": ("analyst_failure", "analyst_success"),
    "aggregate": ("merge",),
    "select": ("learning_rate", "rank"),
    "update": ("rewrite", "consolidate"),
    "evaluate": (TARGET,),
    "repeat": (TARGET,),
    "sample": (TARGET,),
    "compare": (TARGET,),
    "slow_update": ("slow_update",),
    "meta_skill": ("meta_skill",),
}
"""Phase -> the prompts that it may use."""

_THRESHOLD = "optimizer.skill_aware_consolidate_threshold"
CONDITIONS: Mapping[str, Callable[[Values], bool]] = {
    "analyst_success": lambda values: not values["gradient.failure_only"],
    "learning_rate": lambda values: acts(BUDGET_CONTROL, values) and values[BUDGET_CONTROL] == "autonomous",
    "rank": lambda values: acts(BUDGET_CONTROL, values) and values[BUDGET_CONTROL] != "none",
    "rewrite": lambda values: values[UPDATE_MODE] == "rewrite_from_suggestions",
    "consolidate": lambda values: acts(_THRESHOLD, values) and values[_THRESHOLD] > 0,
}
"""Where a prompt is used only under a condition."""


def used_prompts(resolved: Resolved, phase: str) -> tuple[str, ...]:
    """Return the prompts that a phase uses under a run's settings."""
    values = SettingsByKey(resolved)
    return tuple(name for name in PROMPTS[phase] if name not in CONDITIONS or CONDITIONS[name](values))


@functools.cache
def prompts_digest(names: tuple[str, ...], folder: Path) -> str:
    """Return a hash of prompts of one benchmark, each with all the templates it is made of.

    Every step of every run asks for it, so files are read once in a process. Raises ConfigError when
    a template is missing or broken.
    """
    return sha256(canonical([_contents(name, folder) for name in names]))


def _contents(name: str, folder: Path) -> list[tuple[str, str]]:
    """Return name and hash of the files of one prompt."""
    if name == TARGET:
        texts = {path: path.read_text(encoding="utf-8") for path in sorted(folder.glob(name))}
    else:
        texts = prompt_sources(name, folder)
    return [(path.name, sha256(text)) for path, text in texts.items()]
