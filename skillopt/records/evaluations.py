"""Evaluations of `eval/`: repeats, and skills side by side."""

import msgspec

from skillopt.records.rollouts import Row


class Repeated(Row, frozen=True, kw_only=True):
    """A row of `repeats.jsonl`; `sample` counts from 1, sample 0 is the row of `rollouts.jsonl`."""

    sample: int


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """One score per repeat, their mean and sample standard deviation; None where it is not known."""

    mean: float | None
    deviation: float | None
    values: tuple[float | None, ...]


class Stability(msgspec.Struct, frozen=True, kw_only=True):
    """Items by how often they were right over the repeats; those never scored are in none."""

    always_right: int
    sometimes_right: int
    never_right: int


class Spreads(msgspec.Struct, frozen=True, kw_only=True):
    """Mean and spread of both scores."""

    hard: Spread
    soft: Spread


class Repeats(msgspec.Struct, frozen=True, kw_only=True):
    """`repeats.json`: an evaluation done `repeats` times, the one of `rollouts.jsonl` included."""

    split: str
    skill: str
    visible_sha256: str
    repeats: int
    overall: Spreads
    task_types: dict[str, Spreads]
    stability: Stability


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """The mean of paired differences, with the 95% percentile interval of a bootstrap over items."""

    mean: float | None
    interval: tuple[float, float] | None


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """One skill against another on the items that both have a score for.

    `improved`, `regressed` and the p-value (McNemar, exact, two-sided) are about right or wrong in
    the first pass; the differences are about the means of each item over all repeats.
    """

    baseline: str
    skill: str
    paired: int
    dropped: tuple[str, ...]
    improved: tuple[str, ...]
    regressed: tuple[str, ...]
    stable_success: int
    persistent_fail: int
    p_value: float
    hard: Difference
    soft: Difference


class Comparisons(msgspec.Struct, frozen=True, kw_only=True):
    """`comparison.json`: every skill of the table against the first one; none for a single skill."""

    split: str
    seed: int
    resamples: int
    comparisons: tuple[Comparison, ...]
