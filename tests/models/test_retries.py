import pytest

from skillopt.models.base import CallError
from skillopt.models.retries import CallPolicy, FailureRun, Pace, given_up, wait_before_next

POLICY = CallPolicy(max_attempts=5, max_wait=6.0, timeout=1.0, systemic_failures=3)


def transient(retry_after=None):
    return CallError("busy", transient=True, retry_after=retry_after, code="http_503")


@pytest.mark.parametrize(("attempt", "limit"), [(1, 1.0), (2, 2.0), (3, 4.0), (4, 6.0)])
def test_waits_are_random_below_a_limit_that_doubles(attempt, limit):
    waits = [wait_before_next(transient(), attempt, POLICY, draw) for draw in (0.0, 0.25, 1.0)]
    assert waits == [0.0, limit / 4, limit]


@pytest.mark.parametrize("retry_after", [None, 0.0, 59.0, 60.0, 61.0])
def test_all_waits_of_a_call_together_are_bounded(retry_after):
    policy = CallPolicy(max_attempts=9, max_wait=60.0)
    error = CallError("x", transient=True, retry_after=retry_after, code="http_429")
    waits = [wait_before_next(error, attempt, policy, 0.999) for attempt in range(1, 10)]
    made = [wait for wait in waits if wait is not None]
    assert waits[-1] is None
    assert sum(made) <= 8 * 60.0
    assert all(0 < wait <= 60.0 for wait in made)
    assert len(made) == (0 if retry_after == 61.0 else 8)


def test_however_many_attempts_the_wait_is_a_number():
    assert wait_before_next(transient(), 5000, CallPolicy(max_attempts=9999, max_wait=60.0), 0.5) == 30.0


def test_no_wait_after_the_last_attempt():
    assert wait_before_next(transient(), 5, POLICY, 0.5) is None


def test_other_errors_are_not_waited_for():
    assert wait_before_next(CallError("no"), 1, POLICY, 0.5) is None


@pytest.mark.parametrize(
    ("retry_after", "draw", "wait"),
    [(0.0, 0.5, 0.5), (3.0, 0.0, 3.0), (3.0, 0.5, 3.5), (6.0, 0.5, 6.0), (6.1, 0.5, None)],
)
def test_the_time_a_provider_asks_for_is_waited(retry_after, draw, wait):
    assert wait_before_next(transient(retry_after), 1, POLICY, draw) == wait


def test_a_limited_rate_is_given_more_time():
    error = CallError("busy", transient=True, code="http_429")
    assert [wait_before_next(error, attempt, POLICY, 0.5) for attempt in (1, 2)] == [2.0, 3.0]


def dead_after(run, error, most=200):
    return next((number for number in range(1, most) if run.failure(error)), None)


@pytest.mark.parametrize(
    "error", [transient(), CallError("no", code="http_401"), CallError("no", code="http_400")]
)
def test_equal_failures_in_a_row_are_the_providers(error):
    assert dead_after(FailureRun(3), error) == 3


def test_a_success_starts_the_count_again():
    run = FailureRun(3)
    run.failure(transient())
    run.failure(transient())
    run.success()
    assert dead_after(run, transient()) == 3


def test_failures_of_different_kinds_count_apart():
    run = FailureRun(2)
    assert run.failure(CallError("no", code="http_400")) is None
    assert run.failure(CallError("no", code="http_422")) is None
    assert run.failure(CallError("too long: 10 of 8", code="http_400")) is None
    assert "too long: 12 of 8" in str(run.failure(CallError("too long: 12 of 8", code="http_400")))


def test_a_few_bad_items_among_many_replayed_ones_are_no_dead_provider():
    for error, calls in ((CallError("flagged", code="http_400"), 70), (transient(), 70)):
        run = FailureRun(3)
        for _ in range(1400):
            run.replayed()
        assert dead_after(run, error) == calls


def test_a_few_bad_items_among_many_answered_ones_are_no_dead_provider():
    run = FailureRun(3)
    for _ in range(1400):
        run.success()
    assert dead_after(run, transient()) == 70


def test_a_lost_key_is_a_dead_provider_however_much_was_answered():
    run = FailureRun(3)
    for _ in range(1400):
        run.replayed()
    assert dead_after(run, CallError("no", code="http_401")) == 3


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


REFUSED = CallError("slow down", transient=True, code="http_429")


def test_calls_are_not_paced_without_need():
    pace = Pace(Clock())
    pace.failed(REFUSED, 1)
    pace.failed(transient(), 2)
    assert [pace.wait() for _ in range(3)] == [0.0, 0.0, 0.0]


def test_a_limited_rate_spreads_calls_over_time():
    pace = Pace(clock := Clock())
    for _ in range(16):  # all at once: one growth
        pace.failed(REFUSED, 2)
    assert [pace.wait() for _ in range(3)] == pytest.approx([0.0, 0.2, 0.4])
    clock.now += 1.0
    pace.failed(REFUSED, 3)
    assert [pace.wait() for _ in range(3)] == pytest.approx([0.0, 0.4, 0.8])


def test_answers_bring_the_rate_back():
    pace = Pace(clock := Clock())
    pace.failed(REFUSED, 2)
    for _ in range(40):
        pace.answered()
    pace.wait()
    clock.now += 0.001
    assert [pace.wait() for _ in range(3)] == [0.0, 0.0, 0.0]


def test_a_pace_has_a_lower_end():
    pace = Pace(clock := Clock())
    for _ in range(20):
        pace.failed(REFUSED, 2)
        clock.now += 1.0
    assert [pace.wait() for _ in range(2)] == pytest.approx([0.0, Pace.MOST])


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (transient(), "busy (after 4 attempts)"),
        (transient(9.0), "busy (the provider asks to wait 9 s, longer than calls.max_wait = 6 s"),
        (CallError("no", kind="timeout", code="http_400"), "no"),
    ],
)
def test_an_error_that_was_given_up_says_why_and_is_the_same_otherwise(error, said):
    found = given_up(error, 4, POLICY)
    assert str(found).startswith(said)
    fields = ("kind", "transient", "retry_after", "code")
    assert [getattr(found, name) for name in fields] == [getattr(error, name) for name in fields]
