"""The simulated optimizer's calls at the end of an epoch: slow update and memory."""

from collections import Counter
from typing import Any

from skillopt.models.simulator.briefs import Brief, join_lines
from skillopt.models.simulator.diagnosis import DESCRIPTIONS, causes
from skillopt.models.simulator.rules import HARMFUL, rules_in, rules_of, sentences_of
from skillopt.models.simulator.wordings import TOPICS, worded

_MOST = 3
_SECTIONS = ("Regressed", "Persistent")


def slow_update(brief: Brief, seed: str) -> dict[str, Any]:
    """Write guidance for what the body of the skill leaves open; keep what the old guidance adds."""
    body = rules_of(brief.first("skill"))
    guidance = [line for line in brief.first("guidance").splitlines() if line.strip()]
    kept = [line for line in guidance if not any(rule in HARMFUL for rule in rules_in(line))]
    known = body | {rule for line in kept for rule in rules_in(line)}
    missing = [rule for rule, _ in _open(brief).most_common() if rule not in known]
    lines = kept + [f"- {worded(rule, seed)}" for rule in missing[:_MOST]]
    if body & set(HARMFUL):
        lines.insert(0, f"- {worded('short', seed)}")
    lines = lines or ["- Follow every rule above in each answer."]
    regressed = len(brief.attempts("current", "Regressed"))
    return {
        "reasoning": f"{regressed} items regressed; open causes: {', '.join(missing) or 'none'}.",
        "slow_update_content": join_lines(lines),
    }


def meta_skill(brief: Brief) -> dict[str, Any]:
    """Write down what is open, what is done, and which kinds of rule to keep away from."""
    before, now = rules_of(brief.first("previous_skill")), rules_of(brief.first("skill"))
    still = [rule for rule, _ in _open(brief).most_common() if rule not in now]
    gone = [rule for rule in HARMFUL if rule in before and rule not in now]
    warned = [topic for topic in TOPICS.values() if topic in brief.first("memory")]
    warned += [TOPICS[rule] for rule in [*gone, *_tempting(brief)] if TOPICS[rule] not in warned]
    lines = [f"- Still open: {DESCRIPTIONS[rule]}." for rule in still[:_MOST]]
    lines += [f"- Done harm: {topic}." for topic in warned]
    lines.append(
        f"- {len(now)} rules are in force; propose what closes a gap and word it as one instruction."
    )
    return {
        "reasoning": f"{len(now - before)} rules are new since the last epoch.",
        "meta_skill_content": join_lines(lines),
    }


def _open(brief: Brief) -> Counter[str]:
    """The causes of what is wrong with the current skill; regressions count double."""
    found: Counter[str] = Counter()
    for section, weight in zip(_SECTIONS, (2, 1), strict=True):
        for rule, count in causes(brief.attempts("current", section)).items():
            found[rule] += weight * count
    return found


def _tempting(brief: Brief) -> list[str]:
    """Harmful rules that wrong answers look like results of."""
    said = [attempt.said for section in _SECTIONS for attempt in brief.attempts("current", section)]
    found = []
    if any(len(text.split()) > 8 for text in said):
        found.append("full_sentence")
    if any(sentence.lower().startswith("unknown") for text in said for sentence in sentences_of(text)):
        found.append("unsure")
    return found
