"""Pairs of one item under two skills, and which of them a policy keeps (arXiv 2605.23904)."""

from collections.abc import Sequence
from typing import Literal

from skillopt.decisions.scoring import is_right
from skillopt.records import Pair, PairKind, Row

Policy = Literal["mixed", "changed", "unchanged"]

_CHANGED: frozenset[PairKind] = frozenset({"improved", "regressed"})


def classify(previous: Sequence[Row], current: Sequence[Row]) -> tuple[tuple[Pair, ...], tuple[str, ...]]:
    """Pair rows by id; return the pairs, and the ids that have no score on one side."""
    after = {row.id: row for row in current}
    pairs, dropped = [], []
    for row in previous:
        other = after[row.id]
        if row.hard is None or row.soft is None or other.hard is None or other.soft is None:
            dropped.append(row.id)
            continue
        pairs.append(
            Pair(
                id=row.id,
                kind=_kind(row.hard, other.hard),
                previous=(row.hard, row.soft),
                current=(other.hard, other.soft),
            )
        )
    return tuple(pairs), tuple(dropped)


def _kind(before: float, after: float) -> PairKind:
    right_before, right_after = is_right(before), is_right(after)
    if right_before == right_after:
        return "stable_success" if right_after else "persistent_fail"
    return "improved" if right_after else "regressed"


def kept_by(policy: Policy, pairs: Sequence[Pair]) -> tuple[Pair, ...]:
    """Return the pairs that the policy keeps, in their order."""
    if policy == "mixed":
        return tuple(pairs)
    changed = policy == "changed"
    return tuple(pair for pair in pairs if (pair.kind in _CHANGED) == changed)


def wanted(policy: Policy, sample: int, pairs: Sequence[Pair], left: int) -> int:
    """Return how many further items to do: only `changed` tops up, until `sample` pairs are kept."""
    if policy != "changed":
        return 0
    return max(0, min(sample - len(kept_by(policy, pairs)), left))
