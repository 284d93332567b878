"""ANLS: how near an answer comes to the nearest accepted one."""

from collections.abc import Sequence

_FULL = 0.999


def anls(prediction: str, golds: Sequence[str]) -> float:
    """Return the best similarity to an accepted answer, in [0, 1]; 0 where half or more differs.

    Case and white space play no part, punctuation does.
    """
    return max((_similarity(_plain(prediction), _plain(gold)) for gold in golds), default=0.0)


def is_full(score: float) -> bool:
    """Whether a score counts as right."""
    return score >= _FULL


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


def _similarity(said: str, gold: str) -> float:
    if not said or not gold:
        return float(said == gold)
    apart = edit_distance(said, gold) / max(len(said), len(gold))
    return 1 - apart if apart < 0.5 else 0.0


def edit_distance(left: str, right: str) -> int:
    """Return how many characters have to be inserted, deleted or replaced (Levenshtein)."""
    row = list(range(len(right) + 1))
    for number, char in enumerate(left, 1):
        before, row[0] = row[0], number
        for place, other in enumerate(right, 1):
            before, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, before + (char != other))
    return row[-1]
