"""Which option an answer names."""

import re
from collections.abc import Sequence

from skillopt.envs.livemathematicianbench.options import Option

_MARKUP = re.compile(r"[*_`$]+|\\(?:text|mathrm|boxed|textbf|mathbf)\b")
_LEADING = re.compile(r"\s*[(\[{]*\s*([A-Za-z])\s*(?:[)\]}.:,;–—-]|$)")
_NAMED = re.compile(
    r"\b(?i:options?|choices?|answers?|labels?|letters?)(?:\s+is)?\s*:?\s*[(\[{]*([A-Za-z])\b(?!['’])"
)
_FIRST = re.compile(r"\s*([A-Z])\s")
_WORDS = frozenset("AI")
"""Labels that are words too: at the start of a sentence they name no option."""


def chosen(answer: str, options: Sequence[Option]) -> Option | None:
    """Return the option that an answer names; None when it names none, or several.

    In this order: a bare label; the whole text of an option; a label with a mark behind it or in
    brackets; "option B" and the like; a first word that can only be a label.
    """
    text = _MARKUP.sub("", answer).strip()
    return _by_label(text.strip("()[]{}.: "), options) or _by_text(answer, options) or _named(text, options)


def _named(text: str, options: Sequence[Option]) -> Option | None:
    leading = _LEADING.match(text)
    if leading:
        return _by_label(leading.group(1), options)
    named = {
        match.group(1).upper()
        for match in _NAMED.finditer(text)
        if match.group(1) != "a" and not _article(text, match)
    }
    if named:
        return _by_label(named.pop(), options) if len(named) == 1 else None
    first = _FIRST.match(text)
    if first and first.group(1) not in _WORDS and not re.match(r"\s*\S\s+(?:or|and)\b", text):
        return _by_label(first.group(1), options)
    return None


def _article(text: str, match: re.Match[str]) -> bool:
    """Whether the letter found is the word "A" or "I" of a sentence that goes on."""
    return match.group(1) in _WORDS and bool(re.match(r"\s+(?!or\b|and\b)[a-z]", text[match.end() :]))


def _by_label(label: str, options: Sequence[Option]) -> Option | None:
    return next((option for option in options if option.label == label.strip().upper()), None)


def _by_text(answer: str, options: Sequence[Option]) -> Option | None:
    plain = answer.strip().lower()
    return next((option for option in options if option.text.lower() == plain), None)
