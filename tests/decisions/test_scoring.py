import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.decisions.coverage import own_failure_of_all, require_coverage
from skillopt.decisions.scoring import interval, mean, pair, results_of, score
from skillopt.errors import LowCoverage, ProviderDead
from skillopt.records import Failure, Row, Usage


def row(id_, hard, soft=None, status="scored", error=None):
    return Row(
        id=id_,
        status=status,
        hard=hard,
        soft=hard if soft is None else soft,
        answer="",
        task_type="",
        turns=1,
        usage=Usage(),
        seconds=0.0,
        trajectory=(),
        error=Failure(kind="x", message=error) if error else None,
    )


def test_means_leave_out_rows_without_a_score():
    rows = [row("a", 1.0), row("b", 0.0), row("c", None, status="timeout")]
    found = score(results_of(rows), "hard", 0.5)
    assert (found.hard, found.n, found.total) == (0.5, 2, 3)


def test_no_rows_give_no_score():
    found = score({}, "hard", 0.5)
    assert (found.hard, found.soft, found.value, found.n) == (None, None, None, 0)
    only_failed = score(results_of([row("a", None, status="provider_error")]), "hard", 0.5)
    assert only_failed.value is None


@pytest.mark.parametrize(("metric", "value"), [("hard", 0.5), ("soft", 0.75), ("mixed", 0.5625)])
def test_the_metric_picks_the_value(metric, value):
    assert score({"a": (0.0, 0.5), "b": (1.0, 1.0)}, metric, 0.25).value == value


def test_fractional_rewards_stay_exact():
    assert score({"a": (0.75, 0.75), "b": (0.2, 0.2), "c": (1e-12, 0.0)}, "hard", 0.5).hard == pytest.approx(
        (0.75 + 0.2 + 1e-12) / 3, abs=0
    )


@given(st.lists(st.floats(0, 1), min_size=1), st.integers())
def test_a_mean_does_not_depend_on_the_order(values, seed):
    shuffled = list(values)
    random.Random(seed).shuffle(shuffled)
    assert mean(values) == mean(shuffled)


def test_pairs_drop_an_id_without_a_score_on_either_side():
    left = {"a": (1.0, 1.0), "b": None, "c": (0.0, 0.0), "d": (1.0, 1.0)}
    right = {"d": (0.0, 0.0), "c": None, "b": (1.0, 1.0), "a": (0.5, 0.5)}
    assert pair(left, right) == ({"a": (1.0, 1.0), "d": (1.0, 1.0)}, {"a": (0.5, 0.5), "d": (0.0, 0.0)})


def test_wilson_interval_against_known_values():
    low, high = interval([1.0] * 8 + [0.0] * 2)
    assert (round(low, 4), round(high, 4)) == (0.4902, 0.9433)
    assert interval([]) is None
    low, high = interval([0.0] * 10)
    assert low == 0.0
    assert round(high, 4) == 0.2775


def test_coverage_names_the_commonest_error():
    rows = [row(str(n), 1.0) for n in range(3)]
    rows += [row("x", None, status="timeout", error="slow"), row("y", None, status="timeout", error="slow")]
    rows += [row("z", None, status="provider_error", error="gone")]
    require_coverage(rows, 0.5, "rollout")
    with pytest.raises(LowCoverage, match=r"3 of 6 .* Commonest error \(2 times\): timeout: slow"):
        require_coverage(rows, 0.95, "rollout")


def test_items_that_were_left_out_count_as_scored():
    failed = row("x", None, status="timeout", error="slow")
    require_coverage([failed], 0.95, "evaluation", left_out=19)
    with pytest.raises(LowCoverage, match="0 of 1 items have a score"):
        require_coverage([failed], 0.95, "evaluation", left_out=18)


def test_no_scored_row_is_never_enough():
    with pytest.raises(LowCoverage, match="0 of 1"):
        require_coverage([row("a", None, status="timeout", error="slow")], 0.0, "rollout")
    with pytest.raises(LowCoverage, match=r"Commonest error \(1 times\): harness_error\. Run"):
        require_coverage([row("a", None, status="harness_error")], 0.0, "rollout")
    with pytest.raises(LowCoverage, match="there are no items"):
        require_coverage([], 0.0, "rollout")


def test_a_provider_that_failed_on_every_item_is_dead_however_few_they_are():
    gone = row("a", None, status="provider_error", error="gone")
    with pytest.raises(ProviderDead, match=r"0 of 2 .* provider_error: gone"):
        require_coverage([gone, gone], 0.0, "rollout")
    with pytest.raises(LowCoverage, match="0 of 2"):
        require_coverage([gone, row("b", None, status="timeout", error="slow")], 0.0, "rollout")


def test_a_target_that_never_answers_in_form_is_said():
    failed = [row("a", 0.0, status="unparsed"), row("b", 0.0, status="truncated")]
    assert "none of 2 replies could be judged (truncated, unparsed)" in own_failure_of_all(failed)
    assert own_failure_of_all([*failed, row("c", 0.0)]) == ""
    assert own_failure_of_all([]) == ""
