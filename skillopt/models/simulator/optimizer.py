"""The simulated optimizer: which call it is, is told by the JSON keys that the system prompt asks for."""

import json
from typing import Any

from skillopt.models.simulator import analyst, epochs, merging
from skillopt.models.simulator.briefs import read_brief

_KEYS = (
    "slow_update_content",
    "meta_skill_content",
    "selected_indices",
    "learning_rate",
    "failure_summary",
    "success_patterns",
    "edits",
    "revise_suggestions",
    "skill_candidates",
    "new_skill",
    "notes",
)


def call_kind(system: str) -> str:
    """Return the key that tells an optimizer call by its system prompt, "" for a target's prompt."""
    return next((key for key in _KEYS if f'"{key}"' in system), "")


def improve(system: str, user: str, seed: str) -> str:
    """Answer an optimizer call with the JSON object that it asks for."""
    return json.dumps(_answer(call_kind(system), system, user, seed), ensure_ascii=False)


def _answer(kind: str, system: str, user: str, seed: str) -> dict[str, Any]:
    brief = read_brief(user)
    match kind:
        case "failure_summary" | "success_patterns":
            return analyst.analyse(brief, system, seed)
        case "selected_indices":
            return merging.rank(brief, seed)
        case "learning_rate":
            return merging.learning_rate(brief)
        case "new_skill":
            return merging.rewrite(brief)
        case "notes":
            return merging.consolidate(brief)
        case "slow_update_content":
            return epochs.slow_update(brief, seed)
        case "meta_skill_content":
            return epochs.meta_skill(brief)
        case _:
            return merging.merge(brief, system)
