"""Why an answer was wrong: the causes that a reader of attempts can see in them."""

import re
from collections import Counter
from collections.abc import Iterable

from skillopt.models.simulator import play_causes, search_causes
from skillopt.models.simulator.asked import Kind, kind_of
from skillopt.models.simulator.briefs import Attempt
from skillopt.models.simulator.choosing import marks_of, read_choice
from skillopt.models.simulator.search_causes import causes_of_search, searched
from skillopt.models.simulator.sheetfaults import DESCRIPTIONS as OF_PROGRAMS
from skillopt.models.simulator.sheetfaults import is_program_attempt, program_causes
from skillopt.models.simulator.text import MONTHS, NUMBER_WORDS, content_stems, sentences, stems

_LONG = 4
_HEDGE = re.compile(r"^about\b|\bor similar\b|\bapproximately\b", re.IGNORECASE)
DESCRIPTIONS = {
    "short": "the answer is a sentence or holds many words more than needed",
    "bare": "the right answer is there, with other words around it",
    "exact": "the answer changes or pads the words of the passage",
    "when": "a question for a time was answered with something else",
    "number": "a question for a number was answered with something else",
    "person": "a question for a person was answered with something else",
    "place": "a question for a place was answered with something else",
    "kind": "the answer is not the kind of thing that was asked for",
    "rare": "the answer was taken from a sentence that speaks of something else",
    "no_repeat": "the answer repeats words of the question",
    "label": "the answer is not the label of an option",
    "equality": "the right option says when equality holds, the chosen one does not",
    "both_ways": "the right option is an equivalence, the chosen one is not",
    "unique": "the right option claims exactly one, the chosen one does not",
    "condition": "the right option names a condition, the chosen one does not",
    **search_causes.DESCRIPTIONS,
    **OF_PROGRAMS,
    **play_causes.DESCRIPTIONS,
}


def causes(attempts: Iterable[Attempt]) -> Counter[str]:
    """Count, over failed attempts, the rules that would have helped."""
    found: Counter[str] = Counter()
    for attempt in attempts:
        found.update(causes_of(attempt))
    return found


def causes_of(attempt: Attempt) -> list[str]:
    """Name the rules whose lack one failed attempt shows, the plainest first."""
    if is_program_attempt(attempt.trace):
        return program_causes(attempt.trace)
    if play_causes.played(attempt.trace):
        return play_causes.causes_of_game(attempt.trace)
    if not attempt.accepted or not attempt.question:
        return []
    if searched(attempt):
        return causes_of_search(attempt)
    if read_choice(attempt.question):
        return _causes_of_choice(attempt)
    return _causes_of_reading(attempt)


def _causes_of_reading(attempt: Attempt) -> list[str]:
    said, wanted = attempt.said.split(), min(attempt.accepted, key=len).split()
    found = []
    if len(said) > len(wanted) + _LONG:
        found.append("short")
    if any(_plain(answer) in _plain(attempt.said) for answer in attempt.accepted):
        found.append("bare")
    if _reworded(attempt):
        found.append("exact")
    kind = kind_of(attempt.question)
    right = attempt.accepted[0]
    if kind != "thing" and looks_like(right, kind) and not looks_like(attempt.said, kind):
        found.append(kind)
    elif kind == "thing" and "short" not in found and "bare" not in found:
        found.append("kind")
    if _repeats(attempt):
        found.append("no_repeat")
    if _elsewhere(attempt):
        found.append("rare")
    return found


def _causes_of_choice(attempt: Attempt) -> list[str]:
    right = marks_of(attempt.accepted[0])
    found = [] if re.match(r"[A-Z]\b\.", attempt.said) else ["label"]
    return found + [rule for rule in right if rule not in marks_of(attempt.said)]


def _reworded(attempt: Attempt) -> bool:
    """Whether an answer changes the words of its text; without that text, whether it hedges."""
    if not attempt.context:
        return bool(_HEDGE.search(attempt.said))
    return _plain(attempt.said) not in _plain(attempt.context)


def looks_like(text: str, kind: Kind) -> bool:
    """Whether a short answer can be of a kind; a whole sentence is of none."""
    words = text.split()
    if not words or len(words) > 8:
        return False
    if kind == "when":
        return bool(re.search(r"\d", text)) or any(word.strip(",.").lower() in MONTHS for word in words)
    if kind == "number":
        return bool(re.match(r"[£$€]?\d", words[0])) or words[0].lower() in NUMBER_WORDS
    return any(word[0].isupper() for word in words)


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def _repeats(attempt: Attempt) -> bool:
    said = content_stems(attempt.said)
    return bool(said) and len(said) <= 8 and 2 * len(set(said) & stems(attempt.question)) >= len(said)


def _elsewhere(attempt: Attempt) -> bool:
    """Whether the right answer stands in the context, but in no sentence that holds the given one."""
    lines = [_plain(line) for line in sentences(attempt.context.replace("[DOC]", "\n"))]
    right = [line for line in lines if any(_plain(answer) in line for answer in attempt.accepted)]
    said = _plain(attempt.said)
    return bool(right) and len(said.split()) <= 8 and not any(said in line for line in right)
