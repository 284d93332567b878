"""When a failed call is made again, and when failures are the provider's and not the call's."""

import re
import time
from collections import Counter
from collections.abc import Callable

import msgspec

from skillopt.errors import ProviderDead
from skillopt.models.base import CallError

FIRST_WAIT = 1.0
"""Seconds: the longest wait after the first failure; it doubles with every further one."""

ABOUT_EVERYTHING = frozenset(
    {
        *("http_401", "http_402", "http_403", "http_404", "insufficient_quota", "tls"),
        *("binary_missing", "binary_unusable", "not_logged_in", "unknown_model"),
    }
)
"""Codes of errors that say nothing about one request: key, account, model, address, program."""


class CallPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """How a call is made.

    `max_attempts` counts the first attempt. `max_wait` bounds each wait between two attempts and
    `timeout` each attempt, in seconds: a call ends after at most max_attempts * (timeout + max_wait).
    `systemic_failures` failed calls in a row mean that the provider is dead.
    """

    max_attempts: int = 5
    max_wait: float = 60.0
    timeout: float = 300.0
    systemic_failures: int = 5


_MOST_DOUBLINGS = 64
"""Longer than any wait; floats end at 1,023."""


def wait_before_next(error: CallError, attempt: int, policy: CallPolicy, draw: float) -> float | None:
    """Return how many seconds to wait after failed attempt `attempt` (from 1); None to give up.

    Only transient errors are tried again: after the time that the provider asks for, if it does,
    and a random time (`draw` in [0, 1)) below a limit that doubles. A provider that limits the rate
    and does not say until when, or refuses again then, gets more time: the calls of all processes
    have to spread out.
    """
    if not error.transient or attempt >= policy.max_attempts or too_long(error, policy):
        return None
    limit = FIRST_WAIT * 2.0 ** min(attempt - 1, _MOST_DOUBLINGS)
    if error.code == "http_429" and (attempt > 1 or error.retry_after is None):
        limit *= 4
    return min(policy.max_wait, (error.retry_after or 0.0) + draw * min(policy.max_wait, limit))


def too_long(error: CallError, policy: CallPolicy) -> bool:
    """Tell whether the provider asks for a longer wait than is allowed."""
    return error.retry_after is not None and error.retry_after > policy.max_wait


def given_up(error: CallError, attempt: int, policy: CallPolicy) -> CallError:
    """Return the error as the caller gets it: why no further attempt is made is said in it."""
    message = str(error)
    if too_long(error, policy):
        message += (
            f" (the provider asks to wait {error.retry_after:.0f} s, longer than calls.max_wait = "
            f"{policy.max_wait:.0f} s: run the same command again later)"
        )
    elif error.transient and policy.max_attempts > 1:
        message += f" (after {attempt} attempts)"
    return CallError(
        message,
        kind=error.kind,
        transient=error.transient,
        retry_after=error.retry_after,
        code=error.code,
    )


class Pace:
    """Spreads calls over time once a provider limits their rate.

    The time between two starts grows (at most once a second) when calls are refused for their rate
    again after they waited, and shrinks with every answer. So processes that share a limit find
    their share of it, and a single refusal slows nobody down.
    """

    FIRST, MOST = 0.2, 5.0
    """Seconds between two starts: after the first growth, and at most."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._interval = 0.0
        self._next = 0.0
        self._may_grow = 0.0

    def wait(self) -> float:
        """Return the seconds to wait before a call may start; each asking takes one start."""
        now = self._clock()
        start = max(now, self._next)
        self._next = start + self._interval
        return start - now

    def failed(self, error: CallError, attempt: int) -> None:
        """An attempt failed."""
        now = self._clock()
        if error.code == "http_429" and attempt > 1 and now >= self._may_grow:
            self._interval = min(max(self._interval * 2, self.FIRST), self.MOST)
            self._may_grow = now + 1.0

    def answered(self) -> None:
        """A call was answered."""
        self._interval = self._interval * 0.9 if self._interval > 0.01 else 0.0


class FailureRun:
    """Counts failed calls in a row, and tells when they mean that the provider is dead.

    Errors that are about everything end it after `limit` alike. Others, which may be about single
    requests, end it only when they are also more than a twentieth of the calls answered so far.
    Errors that retrying did not heal count as alike whatever they say.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._answered = 0
        self._kinds: Counter[str] = Counter()
        self._last: dict[str, CallError] = {}

    def success(self) -> None:
        """The provider answered."""
        self._answered += 1
        self._kinds.clear()

    def replayed(self) -> None:
        """A reply of an earlier process was found: it says nothing about the provider now."""
        self._answered += 1

    def failure(self, error: CallError) -> ProviderDead | None:
        """A call failed for good; return the error that ends the phase when it was one too many."""
        kind = _kind(error)
        self._kinds[kind] += 1
        self._last[kind] = error
        if self._kinds[kind] < self._allowed(error):
            return None
        return ProviderDead(
            f"the provider gave no answer in {self._kinds.total()} calls in a row, most often "
            f"({self._kinds[kind]} times): {self._last[kind]}. No failure was taken for a score; replies "
            "that were paid for are kept. Correct the cause, then run the same command again."
        )

    def _allowed(self, error: CallError) -> int:
        if error.code in ABOUT_EVERYTHING:
            return self._limit
        return max(self._limit, self._answered // 20)


def _kind(error: CallError) -> str:
    if error.transient:
        return "transient"
    return f"{error.code} {re.sub(r'[^ ]*[0-9][^ ]*', '#', str(error))[:120]}"
