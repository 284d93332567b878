"""Pieces of a sentence that could be an answer, and what kind of thing each looks like."""

import re
from itertools import pairwise
from typing import NamedTuple

from skillopt.models.simulator.text import FUNCTION_WORDS, MONTHS, NUMBER_WORDS, Token, word_set

_YEAR = re.compile(r"(?:1\d|20)\d\d$")
_DIGITS = re.compile(r"[£$€]?\d")
_LEADING = frozenset({"the", "a", "an"})
_JOINTS = frozenset({"of", "and", "or", "&", "al", "de", "von", "van", "for", "'s", "the", "bin", "ibn"})
_PLACING = word_set("in at from near to into across through of toward around")
_VERBS = word_set(
    """began begin came come found gave give go goes held includ led left lost make met put ran saw says sent
    set stood took use used won wrote written went grew knew built bought brought born"""
)


class Span(NamedTuple):
    """Tokens first..last (inclusive) of a sentence, and the kinds they look like."""

    first: int
    last: int
    kinds: frozenset[str]


def spans(words: list[Token]) -> list[Span]:
    """List candidate answers: chunks between function words, names joined, dates and numbers."""
    chunks = _chunks(words)
    found = {(first, last) for first, last in chunks}
    for (first, _), (second, last) in pairwise(chunks):
        if _joined(words, first, second, last, chunks):
            found.add((first, last))
    found |= _names(words) | _figures(words)
    trimmed = {_trim(words, first, last) for first, last in found}
    return [Span(first, last, _kinds(words, first, last)) for first, last in sorted(trimmed) if first <= last]


def _trim(words: list[Token], first: int, last: int) -> tuple[int, int]:
    while first <= last and words[first].lower in _LEADING:
        first += 1
    while last >= first and words[last].lower in {",", "the", "of", "and"}:
        last -= 1
    return first, last


def _counted(word: Token) -> bool:
    return bool(_DIGITS.match(word.text)) or word.text.split("-")[0].lower() in NUMBER_WORDS


def _month(word: Token) -> bool:
    return word.lower in MONTHS and word.text[0].isupper()


def _dated(word: Token) -> bool:
    return (
        bool(_DIGITS.match(word.text))
        or _month(word)
        or word.lower in {",", "century", "bc", "ad", "bce", "ce"}
    )


def _chunks(words: list[Token]) -> list[tuple[int, int]]:
    found, start = [], None
    for place, word in enumerate(words):
        if _breaks(word):
            if start is not None:
                found.append((start, place - 1))
            start = None
        elif start is None:
            start = place
    if start is not None:
        found.append((start, len(words) - 1))
    return found


def _breaks(word: Token) -> bool:
    if not (word.text[0].isalnum() or _DIGITS.match(word.text)):
        return True
    if word.lower in NUMBER_WORDS:
        return False
    if word.lower in FUNCTION_WORDS:
        return True
    return word.text[0].islower() and (
        word.lower in _VERBS or (word.lower.endswith("ed") and len(word.lower) > 4)
    )


def _joined(words: list[Token], first: int, second: int, last: int, chunks: list[tuple[int, int]]) -> bool:
    end = next(stop for start, stop in chunks if start == first)
    between = [word.lower for word in words[end + 1 : second]]
    return 0 < len(between) <= 2 and all(word in _JOINTS for word in between) and last - first < 9


def _names(words: list[Token]) -> set[tuple[int, int]]:
    """Runs of capitalised words, with small joints between them."""
    found, start, last = set(), None, 0
    for place, word in enumerate([*words, Token("", "", "", 0, 0)]):
        capital = word.text[:1].isupper() and (word.lower not in FUNCTION_WORDS or start is not None)
        if capital:
            start = place if start is None else start
            last = place
        elif start is not None and not (
            word.lower in {"of", "de", "al", "von", "ibn", "the"} and place - last <= 2
        ):
            found.add((start, last))
            start = None
    return found


def _figures(words: list[Token]) -> set[tuple[int, int]]:
    """Dates and numbers with the words that belong to them."""
    found: set[tuple[int, int]] = set()
    place = 0
    while place < len(words):
        stop = place
        while stop < len(words) and _figure(words, stop, place):
            stop += 1
        if stop > place:
            found.add((place, stop - 1))
            if words[stop - 1].lower == ",":
                found.add((place, stop - 2))
            if stop < len(words) and not _breaks(words[stop]):
                found.add((place, stop))
        place = max(stop, place + 1)
    return found


def _figure(words: list[Token], place: int, start: int) -> bool:
    word = words[place]
    if _counted(word) or _month(word):
        return True
    return (
        word.lower == ","
        and place > start
        and bool(_DIGITS.match(words[place - 1].text))
        and any(other.lower in MONTHS for other in words[start:place])
        and place + 1 < len(words)
        and bool(_YEAR.match(words[place + 1].text))
    )


def _kinds(words: list[Token], first: int, last: int) -> frozenset[str]:
    inside = words[first : last + 1]
    if any(_YEAR.match(word.text) or _month(word) for word in inside) and all(map(_dated, inside)):
        return frozenset({"date"})
    if _counted(inside[0]):
        return frozenset({"number"})
    capitals = [word.text[0].isupper() for word in inside if word.lower not in _JOINTS]
    if not capitals or not all(capitals) or inside[0].lower in FUNCTION_WORDS:
        return frozenset()
    before = words[first - 1].lower if first else ""
    before = words[first - 2].lower if before == "the" and first > 1 else before
    return frozenset({"name", "place"}) if before in _PLACING else frozenset({"name"})
