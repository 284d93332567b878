"""How an answer is judged: as numbers within a tolerance, or as text by the published rule."""

import re
import string
from collections import Counter
from collections.abc import Sequence
from typing import Literal

import msgspec

from skillopt.envs.officeqa.quantities import quantities, same

Match = Literal["numeric", "text"]

_DROPPED = str.maketrans("", "", "".join(set(string.punctuation) - set(".-%")))
_WORDS = re.compile(r"\b(?:millions?|billions?|dollars?|nominal)\b")


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """`hard` and `soft` lie in [0, 1]; `em` and `f1` are always those of the published text rule.

    `how` tells which rule gave `hard` and `soft`.
    """

    hard: float
    soft: float
    em: int
    f1: float
    how: Match


def normalise(text: str) -> str:
    """Lower-case, drop ASCII punctuation but `.`, `-` and `%`, and the words for millions and dollars."""
    return " ".join(_WORDS.sub(" ", text.lower().strip().translate(_DROPPED)).split())


def judge(prediction: str, golds: Sequence[str], *, match: Match, tolerance: float) -> Judgement:
    """Judge a prediction against the accepted answers: the best of them counts."""
    return max(
        (_judge(prediction, gold, match, tolerance) for gold in golds),
        key=lambda found: (found.hard, found.soft),
    )


def _judge(prediction: str, gold: str, match: Match, tolerance: float) -> Judgement:
    said, right = normalise(prediction), normalise(gold)
    em, f1 = int(said == right), _f1(said, right)
    wanted = quantities(gold) if match == "numeric" else None
    given = quantities(prediction) if wanted else None
    if not wanted or not given:
        return Judgement(hard=float(em), soft=f1, em=em, f1=f1, how="text")
    hits = [same(one, other, tolerance) for one, other in zip(given, wanted, strict=False)]
    share = sum(hits) / len(wanted) if len(given) == len(wanted) else 0.0
    return Judgement(hard=float(share == 1.0), soft=share, em=em, f1=f1, how="numeric")


def _f1(said: str, right: str) -> float:
    if not said or not right:
        return float(said == right)
    tokens, wanted = said.split(), right.split()
    return 2 * (Counter(tokens) & Counter(wanted)).total() / (len(tokens) + len(wanted))
