"""Progress of a long phase, as lines in its log: readable by people and by other programs."""

import logging
import time
from collections import Counter

log = logging.getLogger("skillopt.progress")

_EVERY = 2.0
"""Seconds between two lines."""


class Progress:
    """Counts what is done and says so now and then.

    A line reads `<what>: 12/40 done, 10 scored, 2 timeout, mean hard 0.417, 3.1/s, 9 s left`.
    """

    def __init__(self, what: str, total: int) -> None:
        self._what = what
        self._total = total
        self._statuses: Counter[str] = Counter()
        self._hard: list[float] = []
        self._start = self._said = time.monotonic()

    def step(self, status: str, hard: float | None = None) -> None:
        """Count one thing done."""
        self._statuses[status] += 1
        if hard is not None:
            self._hard.append(hard)
        if time.monotonic() - self._said >= _EVERY:
            self._say()

    def end(self) -> None:
        """Say how it ended."""
        self._say()

    def _say(self) -> None:
        self._said = time.monotonic()
        done = sum(self._statuses.values())
        rate = done / max(self._said - self._start, 1e-9)
        parts = [f"{done}/{self._total} done"]
        parts += [f"{count} {status}" for status, count in sorted(self._statuses.items())]
        if self._hard:
            parts.append(f"mean hard {sum(self._hard) / len(self._hard):.3f}")
        if done < self._total:
            parts += [f"{rate:.1f}/s", f"{(self._total - done) / max(rate, 1e-9):.0f} s left"]
        log.info("%s: %s", self._what, ", ".join(parts))
