"""Words, sentences and chance: what the reader and the analyst both see in a text."""

import hashlib
import re
from typing import NamedTuple

_TOKEN = re.compile(r"[£$€]?\d[\d,]*(?:\.\d+)?%?|\w+(?:[-'’.&/]\w+)*|[^\w\s]")
_BREAK = re.compile(r"(?<=[.!?])[\"'”’)\]]*\s+(?=[\"'“(\[]?[A-Z0-9])|\n+")
_ABBREVIATION = re.compile(r"(?:\b[A-Z]|\b(?:Mr|Mrs|Ms|Dr|St|Jr|Sr|vs|No|Prof|Gen|ca|c|d|e\.g|i\.e))\.$")


def word_set(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(text.split())


FUNCTION_WORDS = word_set(
    """a about above after again against all also although am among an and any are around as at be because
    been before being below between both but by called can could did do does doing down during each either
    else even ever every few for from further had has have having he her here hers him his how however i if
    in into is it its itself just known like may me might more most much must my near neither no nor not now
    of off often on once one only or other our out over own per said same she should since so some still such
    than that the their them then there these they this those though through throughout to too toward towards
    under until up upon us very was we were what when where whether which while who whom whose why will with
    within without would yet you your named name became become made"""
)
NUMBER_WORDS = word_set(
    """one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million
    billion trillion dozen half third quarter percent"""
)
MONTHS = word_set(
    """january february march april may june july august september october november
    december"""
)
_ENDINGS = ("'s", "’s", "ies", "ing", "ed", "es", "s", "ly", "e", "y")
_LAST_LETTERS = frozenset("sgdye")


class Token(NamedTuple):
    """A word or a mark, lower-cased and stemmed, with its place in the text."""

    text: str
    lower: str
    stem: str
    start: int
    end: int


def stem(word: str) -> str:
    """Cut the commonest English endings, so that forms of a word meet."""
    if word[-1:] not in _LAST_LETTERS or len(word) < 4:
        return word  # most words: this is the reader's hot loop
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def tokens(text: str) -> list[Token]:
    """Split a text into words and marks."""
    found = []
    for match in _TOKEN.finditer(text):
        lower = match.group().lower()
        found.append(Token(match.group(), lower, stem(lower), match.start(), match.end()))
    return found


def stems(text: str) -> set[str]:
    """The stems of all words of a text."""
    return {token.stem for token in tokens(text)}


def content_stems(text: str) -> list[str]:
    """The stems of the words that carry meaning, each once, in order."""
    return list(
        dict.fromkeys(
            token.stem
            for token in tokens(text)
            if token.lower[0].isalnum() and token.lower not in FUNCTION_WORDS
        )
    )


def sentences(text: str) -> list[str]:
    """Split a passage into sentences; a full stop after an abbreviation or an initial ends none."""
    found: list[str] = []
    for piece in _BREAK.split(text):
        if found and _ABBREVIATION.search(found[-1]):
            found[-1] += " " + piece
        elif piece.strip():
            found.append(piece.strip())
    return found


def chance(*parts: str) -> float:
    """Return a number in [0, 1) that depends on the parts alone."""
    digest = hashlib.sha256("\x1f".join(parts).encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64
