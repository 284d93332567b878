import pytest

from skillopt.decisions.schedule import edit_budget


def budgets(scheduler, steps, high, low):
    return [edit_budget(scheduler, step, steps, high, low) for step in range(1, steps + 1)]


def test_cosine_over_forty_steps():
    assert budgets("cosine", 40, 4, 2) == [4] * 13 + [3] * 13 + [2] * 14


def test_linear_rounds_halves_to_even_and_ends_at_the_minimum():
    assert budgets("linear", 4, 4, 2) == [4, 3, 2, 2]
    assert budgets("linear", 12, 8, 2) == [8, 7, 6, 6, 6, 5, 4, 4, 4, 3, 2, 2]


def test_constant_is_the_learning_rate():
    assert budgets("constant", 12, 4, 2) == [4] * 12


def test_autonomous_sets_no_limit():
    assert budgets("autonomous", 3, 4, 2) == [None] * 3


@pytest.mark.parametrize("scheduler", ["constant", "linear", "cosine"])
def test_one_step_gets_the_full_rate(scheduler):
    assert edit_budget(scheduler, 1, 1, 4, 2) == 4
    assert edit_budget(scheduler, 1, 0, 4, 2) == 4


@pytest.mark.parametrize("scheduler", ["linear", "cosine"])
@pytest.mark.parametrize("steps", [2, 12, 40, 1000])
def test_budgets_fall_and_never_pass_their_limits(scheduler, steps):
    found = budgets(scheduler, steps, 16, 3)
    assert found == sorted(found, reverse=True)
    assert (max(found) <= 16, min(found), found[-1]) == (True, 3, 3)


def test_steps_past_the_end_keep_the_last_budget():
    assert edit_budget("cosine", 50, 40, 4, 2) == 2
