"""From rows to scores: means over the rows that have one, and pairing by item."""

import math
from collections.abc import Iterable, Sequence
from typing import Literal

from skillopt.records import Results, Row, Score

Metric = Literal["hard", "soft", "mixed"]


_RIGHT = 1e-9


def is_right(hard: float) -> bool:
    """Whether an item counts as a success: any hard score above 0, rounding aside."""
    return hard >= _RIGHT


def results_of(rows: Iterable[Row]) -> Results:
    """Return (hard, soft) per item id, None where a row has no score."""
    return {row.id: None if row.hard is None or row.soft is None else (row.hard, row.soft) for row in rows}


def mean(values: Sequence[float]) -> float | None:
    """Return the mean, None for no values; the same for any order of the values."""
    return math.fsum(values) / len(values) if values else None


def score(results: Results, metric: Metric, mixed_weight: float) -> Score:
    """Return the means of `results`; `value` is the one the gate compares.

    mixed = (1 - w) hard + w soft, w = `mixed_weight` (arXiv 2605.23904).
    """
    known = [result for result in results.values() if result is not None]
    hard = mean([result[0] for result in known])
    soft = mean([result[1] for result in known])
    return Score(
        hard=hard, soft=soft, value=_value(hard, soft, metric, mixed_weight), n=len(known), total=len(results)
    )


def _value(hard: float | None, soft: float | None, metric: Metric, weight: float) -> float | None:
    if hard is None or soft is None:
        return None
    return {"hard": hard, "soft": soft, "mixed": (1 - weight) * hard + weight * soft}[metric]


def pair(left: Results, right: Results) -> tuple[Results, Results]:
    """Keep the ids that have a score on both sides, in the order of `left`."""
    ids = [id_ for id_, result in left.items() if result is not None and right.get(id_) is not None]
    return {id_: left[id_] for id_ in ids}, {id_: right[id_] for id_ in ids}


def interval(values: Sequence[float], z: float = 1.959964) -> tuple[float, float] | None:
    """Return the 95% Wilson score interval of a mean of values in [0, 1], None for no values.

    For 0/1 values this is Wilson's interval; for graded ones it is conservative, since a
    mean of values in [0, 1] varies at most as much as a share with that mean.
    """
    n = len(values)
    if not n:
        return None
    share = math.fsum(values) / n
    centre = share + z * z / (2 * n)
    spread = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    low, high = ((centre + sign * spread) / (1 + z * z / n) for sign in (-1, 1))
    return max(0.0, low), min(1.0, high)
