"""The simulated target before multiple-choice questions: it knows no mathematics, it compares wordings.

Its habit is the shortest option, put into a sentence that names no label. Rules of the skill make it
look for the words by which a careful statement differs from a careless one.
"""

import re
from typing import NamedTuple

from skillopt.models.simulator.text import chance

_SECTIONS = re.compile(r"^## Options\s*$", re.MULTILINE)
_OPTION = re.compile(r"^([A-Z])\. (.+)$", re.MULTILINE)
_MARKS = {
    "equality": re.compile(r"\bequality (?:holds )?(?:exactly|only|just|precisely)\b"),
    "both_ways": re.compile(r"\bif and only if\b|\bexactly when\b"),
    "unique": re.compile(r"\bexactly one\b"),
    "condition": re.compile(r"\bprovided that\b|\bunder the condition\b|\bas long as\b"),
}
RULES = tuple(_MARKS)


class Choice(NamedTuple):
    """A question and its options by label."""

    question: str
    options: dict[str, str]


def read_choice(question: str) -> Choice | None:
    """Take a question with options apart; None for a question without."""
    parts = _SECTIONS.split(question)
    options = dict(_OPTION.findall(parts[-1])) if len(parts) > 1 else {}
    return Choice(parts[0].strip(), options) if options else None


def marks_of(text: str) -> list[str]:
    """Name the rules that speak for an option with this wording."""
    return [rule for rule, mark in _MARKS.items() if mark.search(text)]


def choose(choice: Choice, rules: frozenset[str]) -> str:
    """Return the whole reply to a question with options under the rules in force."""
    ranked = sorted(choice.options, key=lambda label: (*_rank(choice, label, rules), label))
    best = ranked[0]
    text = choice.options[best]
    if "unsure" in rules:
        said = "unknown"
    elif "list_all" in rules:
        said = " or ".join(sorted(ranked[:2]))
    elif "label" in rules and "full_sentence" not in rules:
        said = best
    elif "full_sentence" in rules or chance("labels", choice.question) < 0.5:
        said = f"It seems that this one holds: {text}"
    else:
        said = best
    return f"Of the options this one fits best: {text}\n<answer>{said}</answer>"


def _rank(choice: Choice, label: str, rules: frozenset[str]) -> tuple[int, int]:
    text = choice.options[label]
    return -len(rules & set(marks_of(text))), len(text)
