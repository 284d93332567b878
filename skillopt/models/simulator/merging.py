"""The simulated optimizer's other calls within a step: merge, rank, learning rate, rewrite, notes."""

import re
from collections import Counter
from typing import Any

from skillopt.models.simulator.briefs import Brief, body_lines, changes_in, join_lines, said_by
from skillopt.models.simulator.rules import RULES, rules_in, rules_of
from skillopt.models.simulator.text import chance

_BUDGET = re.compile(r"^Choose at most (\d+)\.", re.MULTILINE)
_AGAINST = {rule.name: set(rule.against) for rule in RULES}

Change = dict[str, Any]


def merge(brief: Brief, wanted: str) -> dict[str, Any]:
    """Join proposals that mean the same and order them by support."""
    proposed = [
        change for block in brief.blocks if block.label == "changes" for change in changes_in(block.text)
    ]
    key = next(
        (name for name in ("revise_suggestions", "skill_candidates") if f'"{name}"' in wanted), "edits"
    )
    if key == "skill_candidates":
        return {
            "reasoning": f"One document from {len(proposed)}.",
            key: _one_document(proposed, brief.first("skill")),
        }
    merged = _without_contradictions(_joined(proposed))
    if key == "edits":
        _one_change_a_target(merged)
    return {"reasoning": f"{len(proposed)} proposals say {len(merged)} things.", key: merged}


def _joined(proposed: list[Change]) -> list[Change]:
    found: dict[tuple[str, ...], Change] = {}
    for change in proposed:
        meaning = _meaning(change)
        support = max(1, int(change.get("support_count") or 1))
        known = found.get(meaning)
        if known is None:
            found[meaning] = {name: value for name, value in change.items() if name != "merge_level"} | {
                "support_count": support
            }
        else:
            known["support_count"] += support
            if change.get("source_type") == "failure":
                known["source_type"] = "failure"
            if change.get("op") == "replace" and known.get("op") != "replace":
                known |= {name: change[name] for name in ("op", "target", "content")}
    return sorted(found.values(), key=lambda change: (-change["support_count"], said_by(change)))


def _meaning(change: Change) -> tuple[str, ...]:
    """Two changes with the same meaning are one: the same rules, else the same words."""
    if change.get("op") == "delete" or not said_by(change):
        return ("delete", str(change.get("target")))
    return tuple(sorted(rules_of(said_by(change)))) or (" ".join(said_by(change).lower().split()),)


def _without_contradictions(changes: list[Change]) -> list[Change]:
    """Of two changes that contradict keep that from failures, else the better supported (the first)."""
    order = sorted(changes, key=lambda change: change.get("source_type") != "failure")
    kept: list[Change] = []
    for change in order:
        rules = rules_in(said_by(change))
        if not any(_contradict(rules, rules_in(said_by(other))) for other in kept):
            kept.append(change)
    return [change for change in changes if change in kept]


def _contradict(left: tuple[str, ...], right: tuple[str, ...]) -> bool:
    return any(other in _AGAINST[rule] or rule in _AGAINST[other] for rule in left for other in right)


def _one_change_a_target(changes: list[Change]) -> None:
    """Turn all but the first replacement of a line into additions."""
    taken: set[str] = set()
    for change in changes:
        if change["op"] in {"replace", "delete"}:
            if change["target"] in taken and change["op"] == "replace":
                change |= {"op": "append", "target": ""}
            taken.add(change["target"])


def _one_document(candidates: list[Change], skill: str) -> list[Change]:
    """Join documents line by line; among several, a new line must stand in two of them."""
    if not candidates:
        return []
    first: dict[tuple[str, ...], str] = {}
    support: Counter[tuple[str, ...]] = Counter()
    for candidate in candidates:
        lines = {
            tuple(sorted(rules_in(line))) or (line,): line for line in candidate["new_skill"].splitlines()
        }
        support.update(lines.keys())
        first = lines | first
    old = set(body_lines(skill))
    enough = 2 if len(candidates) > 2 else 1
    kept = [line for meaning, line in first.items() if line in old or support[meaning] >= enough]
    summary = f"{len(candidates)} candidates combined"
    return [{"title": "Combined", "new_skill": join_lines(kept), "change_summary": summary}]


def rank(brief: Brief, seed: str) -> dict[str, Any]:
    """Order changes by support; those that only repeat the skill come last, and luck plays a part."""
    changes = changes_in(brief.first("changes"))
    known = rules_of(brief.first("skill"))

    def worth(index: int) -> tuple[float, int]:
        change = changes[index]
        rules = set(rules_in(said_by(change)))
        support = max(1, int(change.get("support_count") or 1))
        stale = bool(rules) and rules <= known
        return (-support * (0.5 + chance("rank", seed, said_by(change))) * (0.1 if stale else 1.0), index)

    limit = _BUDGET.search(brief.user)
    order = sorted(range(len(changes)), key=worth)[: int(limit.group(1)) if limit else None]
    return {"reasoning": "By support and by what the skill lacks.", "selected_indices": order}


def learning_rate(brief: Brief) -> dict[str, Any]:
    """Take bold steps while scores are low, small ones later and after rejections."""
    changes = changes_in(brief.first("changes"))
    scores = re.findall(r"right (\d\.\d+)", brief.user)
    low = not scores or float(scores[0]) < 0.15
    rejected = len(re.findall(r"^### Step \d+: reject", brief.user, re.MULTILINE))
    rate = max(1, (6 if low else 4) - rejected)
    return {
        "learning_rate": min(rate, len(changes)),
        "reasoning": f"Scores are {'low' if low else 'fair'}; {rejected} steps of this epoch were rejected.",
        "confidence": "low" if rejected else "medium",
        "risk_notes": ["several changes at once hide which one helped"] if rate > 1 else [],
    }


def rewrite(brief: Brief) -> dict[str, Any]:
    """Write the document anew: its lines, without those that suggestions change, then the suggestions."""
    suggestions = changes_in(brief.first("changes"))
    lines = [
        line for line in body_lines(brief.first("skill")) if "nothing has been learned" not in line.lower()
    ]
    removed = [change["instruction"] for change in suggestions if change.get("type") == "remove"]
    added = [change["instruction"] for change in suggestions if change.get("type") != "remove"]
    rules = tuple(rule for text in added for rule in rules_in(text))
    kept = [
        line
        for line in lines
        if not any(line and line in text for text in removed) and not _contradict(rules_in(line), rules)
    ]
    return {
        "reasoning": "Every suggestion is carried out.",
        "new_skill": join_lines([*kept, *(f"- {text}" for text in added)]),
        "change_summary": f"{len(added)} added, {len(lines) - len(kept)} dropped",
    }


def consolidate(brief: Brief) -> dict[str, Any]:
    """Keep one reminder of each meaning."""
    notes = [line for line in brief.first("notes").splitlines() if line.strip()]
    found: dict[tuple[str, ...], str] = {}
    for note in notes:
        found.setdefault(rules_in(note) or (note.lower(),), note)
    return {"notes": list(found.values())}
