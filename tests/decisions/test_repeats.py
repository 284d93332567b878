"""Several passes over the same items."""

from skillopt.decisions.repeats import differences, item_means, spread, stability

FIRST = {"a": (1.0, 1.0), "b": (0.0, 0.5), "c": None, "d": (0.0, 0.0)}
SECOND = {"a": (1.0, 1.0), "b": (1.0, 1.0), "c": None, "d": None}


def test_spread_is_the_sample_deviation():
    found = spread([0.5, 0.7, 0.6])
    assert (round(found.mean, 12), round(found.deviation, 12)) == (0.6, 0.1)
    assert found.values == (0.5, 0.7, 0.6)


def test_a_pass_without_score_leaves_mean_and_deviation_unknown():
    found = spread([0.5, None])
    assert (found.mean, found.deviation, found.values) == (None, None, (0.5, None))
    assert spread([0.5]).deviation is None
    assert spread([]).mean is None


def test_stability_counts_each_scored_item_once():
    found = stability([FIRST, SECOND])
    assert (found.always_right, found.sometimes_right, found.never_right) == (1, 1, 1)


def test_means_of_an_item_are_over_the_passes_that_scored_it():
    assert item_means([FIRST, SECOND]) == {"a": (1.0, 1.0), "b": (0.5, 0.75), "c": None, "d": (0.0, 0.0)}


def test_differences_leave_out_items_without_score_on_one_side():
    assert differences(FIRST, SECOND, 0) == [0.0, 1.0]
    assert differences(FIRST, SECOND, 1) == [0.0, 0.5]
