"""McNemar's exact test and the paired bootstrap, with values that were worked out by hand."""

import math
import random

import pytest

from skillopt.decisions.paired import bootstrap_interval, mcnemar


@pytest.mark.parametrize(
    ("improved", "regressed", "p"),
    [
        (0, 0, 1.0),
        (1, 0, 1.0),
        (3, 3, 1.0),
        (5, 0, 2 / 32),
        (0, 5, 2 / 32),
        (10, 2, 2 * (1 + 12 + 66) / 4096),
        (1, 7, 2 * (1 + 8) / 256),
    ],
)
def test_mcnemar(improved, regressed, p):
    assert mcnemar(improved, regressed) == p


def test_mcnemar_of_many_items_does_not_overflow():
    assert mcnemar(2000, 0) == 0.0
    assert 0 < mcnemar(1100, 900) < 1e-4


def test_interval_of_equal_differences_is_that_difference():
    assert bootstrap_interval([0.25] * 7, 1) == (0.25, 0.25)
    assert bootstrap_interval([-0.5], 1) == (-0.5, -0.5)
    assert bootstrap_interval([], 1) is None


def test_interval_is_decided_by_the_seed_alone():
    values = [1.0, 0.0, 0.0, -1.0, 1.0, 0.0, 1.0, 0.0]
    random.seed(3)
    assert bootstrap_interval(values, 42) == bootstrap_interval(values, 42) == (-0.25, 0.75)
    spread = [random.Random(5).random() - 0.4 for _ in range(3)] + [0.1, -0.7, 0.33]
    assert bootstrap_interval(spread, 1) != bootstrap_interval(spread, 2)


def test_interval_agrees_with_the_normal_one_for_many_items():
    values = [1.0] * 60 + [0.0] * 140
    low, high = bootstrap_interval(values, 7)
    half = 1.96 * (0.3 * 0.7 / 200) ** 0.5
    assert (low, high) == (pytest.approx(0.3 - half, abs=0.01), pytest.approx(0.3 + half, abs=0.01))


def test_few_resamples_are_cut_on_both_sides_alike():
    values = [-1.0, 1.0] * 20
    low, high = bootstrap_interval(values, 3, resamples=400)
    assert low < 0 < high


def test_the_interval_leaves_out_a_fortieth_of_the_means_on_each_side():
    values = [random.Random(n).random() for n in range(12)]
    draw = random.Random(42).random
    means = sorted(math.fsum(values[int(draw() * 12)] for _ in range(12)) / 12 for _ in range(410))
    assert means[9] < means[10] < means[11]
    assert means[-12] < means[-11] < means[-10]
    assert bootstrap_interval(values, 42, resamples=410) == (means[10], means[-11])
