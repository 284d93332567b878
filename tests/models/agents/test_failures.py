"""What a program's message is taken for."""

import pytest

from skillopt.models.agents.failures import Advice, failed

ADVICE = Advice(program="P", install="i", login="l", path_setting="p", model_setting="m")


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("HTTP 429: rate limit" + " x" * 100_000, "overloaded"),
        ("x " * 100_000 + "Please run `codex login`", "not_logged_in"),
        ("x " * 100_000 + "rate limit" + " x" * 100_000, "exit_1"),
        ("please use " * 500_000, "exit_1"),
    ],
    ids=["start", "end", "middle", "nearly"],
)
def test_only_the_ends_of_a_long_failure_are_judged(said, code):
    assert failed(ADVICE, said, 1, ()).code == code


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("You've hit your limit · resets 7pm (Europe/London)", "insufficient_quota"),
        ("Claude AI usage limit reached|1735689600", "insufficient_quota"),
        ("You have exceeded your premium request allowance", "insufficient_quota"),
        ("You've reached your monthly quota", "insufficient_quota"),
        ("You exceeded your current quota, please check your plan", "insufficient_quota"),
        ("Spending limit reached", "insufficient_quota"),
        ("You have exceeded your organization's rate limit", "overloaded"),
        ("You've reached your per-minute rate limit", "overloaded"),
        ("Your session has expired, please log in", "not_logged_in"),
        ("Your refresh token was already used. Please log out and sign in again.", "not_logged_in"),
        ("The cookie of the web site has expired", "exit_1"),
    ],
)
def test_limits_of_a_plan_and_logins_that_ran_out_are_told_from_what_passes(said, code):
    assert failed(ADVICE, said, 1, ()).code == code
