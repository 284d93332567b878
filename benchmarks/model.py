"""The scripted model of the benchmark, for both roles: a reply depends on the request only.

As target it finds the answer in the passages, and gives it when the question's difficulty lies below
a level that rises with each different `RULE-n` that it is told (n < 60) and falls with the others.
As optimizer it proposes such rules, good and bad ones.
"""

import hashlib
import json
import random
import re
from collections.abc import Callable
from typing import Any

HARMFUL = 60
"""Rules from this number on make the target worse."""

KINDS = (
    *("failure_summary", "success_patterns", "selected_indices"),
    *("slow_update_content", "meta_skill_content", "edits"),
)
"""Keys of the answers that the optimizer is asked for; an earlier one decides."""


def share(*parts: str) -> float:
    """Return a number in [0, 1) that depends on the texts only."""
    return int.from_bytes(hashlib.sha256("\n".join(parts).encode()).digest()[:6]) / 2**48


def reply(system: str, user: str) -> str:
    """Return the model's reply to a system and a user message."""
    kind = kind_of(system)
    if kind:
        return json.dumps(propose(kind, random.Random(share(system, user))))
    return answer(system, user)


def kind_of(system: str) -> str:
    """Return what the optimizer is asked for; blank: the request is for the target."""
    return next((kind for kind in KINDS if f'"{kind}"' in system), "")


def answer(system: str, user: str) -> str:
    """Answer a question about a keeper, rightly or not."""
    asked = re.search(r"keeper of tower number (\d+)", user)
    if not asked:
        return "OK"
    told = re.search(rf"The keeper of tower {asked[1]} is ([^.]+)\.", user)
    known = told is not None and share("difficulty", asked[1]) < level(system + user)
    return f"I read the passages.\n<answer>{told[1] if told and known else 'nobody'}</answer>"


def level(text: str) -> float:
    """Return the share of questions that are answered rightly by who is told `text`."""
    rules = {int(number) for number in re.findall(r"RULE-(\d+)", text)}
    bad = sum(number >= HARMFUL for number in rules)
    return min(0.95, 0.35 + 0.03 * (len(rules) - bad) - 0.08 * bad)


def propose(kind: str, draw: random.Random) -> dict[str, Any]:
    """Answer as the optimizer, in the shape that it was asked for."""
    makers: dict[str, Callable[[], dict[str, Any]]] = {
        "failure_summary": lambda: {"failure_summary": _patterns(), "patch": {"edits": _edits(draw, 4)}},
        "success_patterns": lambda: {"success_patterns": _patterns(), "patch": {"edits": _edits(draw, 2)}},
        "selected_indices": lambda: {"selected_indices": list(range(8))},
        "slow_update_content": lambda: {"slow_update_content": _rule(draw)},
        "meta_skill_content": lambda: {"meta_skill_content": "Short rules did best."},
        "edits": lambda: {"edits": _edits(draw, 7)},
    }
    return {"reasoning": "scripted", **makers[kind]()}


def _patterns() -> list[dict[str, Any]]:
    return [{"failure_type": "wrong_keeper", "count": 3, "description": "another tower's keeper"}]


def _edits(draw: random.Random, count: int) -> list[dict[str, Any]]:
    return [
        {"op": "append", "content": f"- {_rule(draw)}", "support_count": draw.randint(1, 8)}
        for _ in range(count)
    ]


def _rule(draw: random.Random) -> str:
    helps = draw.random() < 0.6
    number = draw.randrange(HARMFUL) if helps else draw.randrange(HARMFUL, HARMFUL + 20)
    return f"RULE-{number}: look for the number of the tower."
