"""How many edits a step may apply: the textual learning rate (arXiv 2605.23904)."""

import math
from collections.abc import Callable
from typing import Literal

Scheduler = Literal["constant", "linear", "cosine", "autonomous"]


def constant(high: int, low: int, share: float) -> int:
    """Return the full rate at every step."""
    return high


def linear(high: int, low: int, share: float) -> int:
    """Fall in a straight line from `high` to `low`; never below `low`."""
    return max(low, round(high + (low - high) * share))


def cosine(high: int, low: int, share: float) -> int:
    """Fall along half a cosine from `high` to `low`; never below `low`."""
    return max(low, round(low + (high - low) * (1 + math.cos(math.pi * share)) / 2))


SCHEDULES: dict[str, Callable[[int, int, float], int]] = {
    "constant": constant,
    "linear": linear,
    "cosine": cosine,
}


def edit_budget(scheduler: Scheduler, step: int, steps: int, high: int, low: int) -> int | None:
    """Return the most edits that `step` (from 1) of `steps` may apply; None means no limit.

    `high` is the learning rate, `low` the rate it falls to. Halves round to the even number.
    A run of one step gets the full rate.
    """
    if scheduler == "autonomous":
        return None
    if steps <= 1:
        return high
    return SCHEDULES[scheduler](high, low, min(step, steps) / steps)
