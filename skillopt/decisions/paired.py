"""Whether one skill differs from another on the same items: an exact test and a bootstrap interval."""

import math
import random
from collections.abc import Sequence

RESAMPLES = 10_000


def mcnemar(improved: int, regressed: int) -> float:
    """Return the two-sided p-value of McNemar's exact test from the counts of items that changed.

    Under the null hypothesis a changed item improves with probability 1/2; the p-value is twice the
    smaller tail of that binomial distribution, at most 1 (McNemar 1947; exact form of Conover 1999).
    """
    changed = improved + regressed
    tail = sum(math.comb(changed, count) for count in range(min(improved, regressed) + 1))
    return min(1.0, 2 * tail / (1 << changed))


def bootstrap_interval(
    differences: Sequence[float], seed: int, resamples: int = RESAMPLES
) -> tuple[float, float] | None:
    """Return the 95% percentile interval of the mean of paired differences, None for no pairs.

    Items are drawn with replacement (Efron 1979). Only `Random.random` is used, whose stream Python
    keeps the same over versions, and sums are exact: equal input gives equal bytes everywhere.
    """
    n = len(differences)
    if not n:
        return None
    draw = random.Random(seed).random
    means = sorted(math.fsum(differences[int(draw() * n)] for _ in range(n)) / n for _ in range(resamples))
    cut = resamples // 40
    return means[cut], means[-1 - cut]
