"""What repeating an evaluation with fresh samples tells: mean and spread over the repeats."""

import math
import statistics
from collections.abc import Sequence

from skillopt.decisions.scoring import is_right, mean
from skillopt.records import Results, Spread, Stability


def spread(values: Sequence[float | None]) -> Spread:
    """Return mean and sample standard deviation of one score per repeat; a None makes them unknown.

    The deviation is None for fewer than two repeats.
    """
    known = [value for value in values if value is not None]
    if len(known) < len(values) or not known:
        return Spread(mean=None, deviation=None, values=tuple(values))
    deviation = statistics.stdev(known) if len(known) > 1 else None
    return Spread(mean=mean(known), deviation=deviation, values=tuple(known))


def stability(repeats: Sequence[Results]) -> Stability:
    """Count items by how often they were right (hard above 0) over the repeats that have a score."""
    rights = [[right for right in _rights(repeats, id_) if right is not None] for id_ in repeats[0]]
    return Stability(
        always_right=sum(bool(found) and all(found) for found in rights),
        sometimes_right=sum(any(found) and not all(found) for found in rights),
        never_right=sum(bool(found) and not any(found) for found in rights),
    )


def item_means(repeats: Sequence[Results]) -> Results:
    """Return the mean (hard, soft) of each item over the repeats that have a score for it."""
    return {id_: _item_mean(repeats, id_) for id_ in repeats[0]}


def differences(before: Results, after: Results, part: int) -> list[float]:
    """Return `after` minus `before`, of hard (part 0) or soft (part 1), for ids scored on both sides."""
    pairs = [(result, after[id_]) for id_, result in before.items()]
    return [new[part] - old[part] for old, new in pairs if old is not None and new is not None]


def _rights(repeats: Sequence[Results], id_: str) -> list[bool | None]:
    return [None if (result := results[id_]) is None else is_right(result[0]) for results in repeats]


def _item_mean(repeats: Sequence[Results], id_: str) -> tuple[float, float] | None:
    known = [result for results in repeats if (result := results[id_]) is not None]
    if not known:
        return None
    hard, soft = (math.fsum(result[part] for result in known) / len(known) for part in (0, 1))
    return hard, soft
