"""How an answer to a question with short gold answers is judged."""

import re
import string
from collections import Counter
from collections.abc import Sequence

import msgspec

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """Exact match (0 or 1), the best token F1 in [0, 1], and whether one text contains the other."""

    exact: int
    f1: float
    substring: int


def normalise(text: str) -> str:
    """Lower-case, drop ASCII punctuation, then whole-word articles, then surplus white space.

    Punctuation leaves no space behind, and dashes outside ASCII stay.
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def judge(prediction: str, golds: Sequence[str]) -> Judgement:
    """Judge a prediction against the accepted answers: the best of them counts."""
    said = normalise(prediction)
    accepted = [normalise(gold) for gold in golds]
    return Judgement(
        exact=int(said in accepted),
        f1=max((_f1(said, gold) for gold in accepted), default=0.0),
        substring=int(any(_overlap(said, gold) for gold in accepted)),
    )


def _f1(said: str, gold: str) -> float:
    if not said or not gold:
        return float(said == gold)
    tokens, wanted = said.split(), gold.split()
    common = (Counter(tokens) & Counter(wanted)).total()
    return 2 * common / (len(tokens) + len(wanted))


def _overlap(said: str, gold: str) -> bool:
    if not said or not gold:
        return said == gold
    return said in gold or gold in said
