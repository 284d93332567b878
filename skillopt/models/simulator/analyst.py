"""The simulated analyst: reads attempts, finds causes, and proposes changes of the skill.

Most of what it proposes helps. Like a real one it is wrong at times: a proposal that does nothing,
or harm, drawn by a hash of the prompt, so that the gate has work.
"""

import re
from collections import Counter
from typing import Any, NamedTuple

from skillopt.models.simulator import wordings
from skillopt.models.simulator.briefs import (
    Attempt,
    Brief,
    body_lines,
    changes_in,
    join_lines,
    said_by,
)
from skillopt.models.simulator.diagnosis import DESCRIPTIONS, causes
from skillopt.models.simulator.play_causes import played
from skillopt.models.simulator.rules import HARMFUL, HELPFUL, rules_in, rules_of
from skillopt.models.simulator.sheetfaults import is_program_attempt
from skillopt.models.simulator.text import chance

_PLACEHOLDER = re.compile(r"^.*\bnothing\b.*\blearned\b.*$", re.IGNORECASE | re.MULTILINE)
_BUDGET = re.compile(r"^At most (\d+) changes", re.MULTILINE)
_ERROR_RATE = {"failure": 0.3, "success": 0.4}
_FEW, _SHARED = 3, 2  # among more attempts than a few, a cause must be shared
_OWN_LIMIT = 5  # where the prompt sets none
_PATIENCE = 2  # times a rule may be to blame before it is given up for the epoch
_SILENT = 0.4  # share of the success analyses that find nothing to add


class Proposal(NamedTuple):
    """One change: what the skill should say, and the line it replaces ("" to add, text "" to drop)."""

    text: str
    instead_of: str = ""
    cause: str = ""


def analyse(brief: Brief, wanted: str, seed: str) -> dict[str, Any]:
    """Answer an analyst's prompt; `wanted` is the system prompt, which names the keys."""
    side = "failure" if '"failure_summary"' in wanted else "success"
    attempts = brief.attempts("trajectory")
    skill = brief.first("skill")
    found = causes(attempts) if side == "failure" else _strengths(attempts)
    lapses = [rule for rule in found if rule in rules_of(skill)]
    proposals = _proposals(brief, skill, found, side, seed)
    answer: dict[str, Any] = {"batch_size": len(attempts)}
    answer["failure_summary" if side == "failure" else "success_patterns"] = _patterns(found, lapses, side)
    if '"appendix_notes"' in wanted:
        answer["appendix_notes"] = [f"Keep to this: {wordings.worded(rule, seed)}" for rule in lapses[:2]]
    return answer | _in_shape(proposals, skill, wanted, side)


def _strengths(attempts: list[Attempt]) -> Counter[str]:
    """Count the rules that right answers follow and that a careless agent would break."""
    found: Counter[str] = Counter()
    for attempt in attempts:
        if attempt.said and len(attempt.said.split()) <= 4:
            found["short"] += 1
        if attempt.said and attempt.said in attempt.context:
            found["exact"] += 1
    return found


def _patterns(found: Counter[str], lapses: list[str], side: str) -> list[dict[str, Any]]:
    def kind(rule: str) -> str:
        return "good_habit" if side == "success" else "rule_ignored" if rule in lapses else "rule_missing"

    return [
        {"failure_type": kind(rule), "count": count, "description": _described(rule, side)}
        for rule, count in found.most_common()
    ]


def _described(rule: str, side: str) -> str:
    return (
        DESCRIPTIONS[rule] if side == "failure" else f"right answers keep to this: {wordings.RULES[rule][0]}"
    )


def _proposals(brief: Brief, skill: str, found: Counter[str], side: str, seed: str) -> list[Proposal]:
    """What to change, most useful first, with now and then a mistake among it."""
    if side == "success" and chance("silent", seed) < _SILENT:
        return []
    tried, blamed = _rejected(brief)
    known = rules_of(skill)
    enough = _SHARED if len(brief.attempts("trajectory")) > _FEW else 1
    missing = [
        rule
        for rule, count in found.most_common()
        if count >= enough and rule not in known and blamed[rule] < _PATIENCE
    ]
    wrong = [line for line in body_lines(skill) if set(rules_in(line)) & set(HARMFUL)]
    proposals = _changes(wrong if side == "failure" else [], missing, seed)
    if chance("error", seed) < _ERROR_RATE[side]:
        mistake = _mistake(brief, set(known) | set(tried), seed)
        proposals[1:1] = [mistake] if mistake else []
    limit = _BUDGET.search(brief.user)
    return proposals[: int(limit.group(1)) if limit else _OWN_LIMIT]


def _changes(wrong: list[str], missing: list[str], seed: str) -> list[Proposal]:
    """Replace lines that lead astray by what is missing, drop those left over, add the rest."""
    replaced = [
        Proposal(f"- {wordings.worded(rule, seed)}", instead_of=line, cause=rule)
        for line, rule in zip(wrong, missing, strict=False)
    ]
    dropped = [Proposal("", instead_of=line, cause="misleading") for line in wrong[len(missing) :]]
    added = [Proposal(f"- {wordings.worded(rule, seed)}", cause=rule) for rule in missing[len(wrong) :]]
    return [*replaced, *dropped, *added]


def _mistake(brief: Brief, excluded: set[str], seed: str) -> Proposal | None:
    """Draw a change that does nothing or harm; what was rejected or warned of is not drawn."""
    memory = brief.first("memory")
    fitting = _fitting(brief)
    pool = [
        way
        for rule, ways in wordings.HARMFUL.items()
        if rule in fitting and rule not in excluded and wordings.TOPICS[rule] not in memory
        for way in ways
    ]
    pool += [way for way in wordings.USELESS if way not in brief.user]
    return Proposal(f"- {pool[int(chance('mistake', seed) * len(pool))]}") if pool else None


def _fitting(brief: Brief) -> frozenset[str]:
    """Return the harmful rules that come to mind before attempts of this kind."""
    traces = [attempt.trace for attempt in brief.attempts("trajectory")]
    if any(is_program_attempt(trace) for trace in traces):
        return wordings.FOR_ALL | wordings.FOR_PROGRAMS
    if any(played(trace) for trace in traces):
        return wordings.FOR_ALL | wordings.FOR_GAMES
    return frozenset(wordings.HARMFUL) - wordings.FOR_PROGRAMS - wordings.FOR_GAMES


def _rejected(brief: Brief) -> tuple[Counter[str], Counter[str]]:
    """Count how often each rule was turned down in this epoch, and how often it is to blame.

    Of several changes turned down together the best supported are the least likely culprits.
    """
    tried: Counter[str] = Counter()
    blamed: Counter[str] = Counter()
    for block in brief.blocks:
        if block.label != "tried" or "rejected" not in block.before:
            continue
        changes = [(rules_of(said_by(change)), _support(change)) for change in changes_in(block.text)]
        most = max(support for _, support in changes)
        alike = all(support == most for _, support in changes)
        for rules, support in changes:
            tried.update(rules)
            if alike or support < most:
                blamed.update(rules)
    return tried, blamed


def _support(change: dict[str, Any]) -> int:
    return int(change.get("support_count") or 0)


def _in_shape(proposals: list[Proposal], skill: str, wanted: str, side: str) -> dict[str, Any]:
    causes_named = ", ".join(proposal.cause for proposal in proposals if proposal.cause) or "nothing general"
    reasoning = f"The {side} cases point to: {causes_named}."
    if '"revise_suggestions"' in wanted:
        return {
            "reasoning": reasoning,
            "revise_suggestions": [entry for proposal in proposals for entry in _suggestions(proposal)],
        }
    if '"skill_candidates"' in wanted:
        return {"reasoning": reasoning, "skill_candidates": _candidates(skill, proposals)}
    return {"patch": {"reasoning": reasoning, "edits": _edits(skill, proposals)}}


def _suggestions(proposal: Proposal) -> list[dict[str, str]]:
    """Say a change in words: the removal of a line and an addition are two suggestions."""
    found = []
    if proposal.instead_of:
        found.append(("remove", f"Remove this line: {proposal.instead_of}"))
    if proposal.text:
        found.append(("add", proposal.text.removeprefix("- ")))
    title = proposal.cause.replace("_", " ") or "care"
    priority = "high" if proposal.cause in HELPFUL[:2] else "medium"
    return [
        {"type": kind, "title": title, "instruction": instruction, "priority_hint": priority}
        for kind, instruction in found
    ]


def _candidates(skill: str, proposals: list[Proposal]) -> list[dict[str, str]]:
    if not proposals:
        return []
    dropped = {proposal.instead_of for proposal in proposals}
    kept = [line for line in body_lines(skill) if line not in dropped and not _PLACEHOLDER.match(line)]
    added = [proposal.text for proposal in proposals if proposal.text]
    return [
        {
            "title": "Closing the gaps",
            "new_skill": join_lines([*kept, *added]),
            "change_summary": f"{len(added)} rules added, {len(dropped - {''})} lines dropped",
        }
    ]


def _edits(skill: str, proposals: list[Proposal]) -> list[dict[str, str]]:
    """Turn proposals into edits; the first addition takes the place of a line that says nothing."""
    lines = body_lines(skill)
    placeholder = next((line for line in lines if _PLACEHOLDER.match(line)), "")
    bullets = [line for line in lines if line.startswith("- ") and lines.count(line) == 1]
    edits = []
    for proposal in proposals:
        if proposal.instead_of:
            op = "replace" if proposal.text else "delete"
            edits.append({"op": op, "target": proposal.instead_of, "content": proposal.text})
        elif placeholder:
            edits.append({"op": "replace", "target": placeholder, "content": proposal.text})
            placeholder = ""
        elif bullets and chance("place", proposal.text) < 0.3:
            edits.append({"op": "insert_after", "target": bullets[-1], "content": proposal.text})
        else:
            edits.append({"op": "append", "target": "", "content": proposal.text})
    return edits
