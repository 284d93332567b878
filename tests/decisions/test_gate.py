import pytest
from candidates import skill, state

from skillopt.decisions.gate import GateRule, decide, density, has_headroom, resolution, strictly_better
from skillopt.decisions.size import too_long
from skillopt.errors import LowCoverage

RULE = GateRule()


def test_only_a_strictly_higher_score_is_accepted():
    current = skill("old", [1, 0, 0, 0])
    same = decide(skill("same", [0, 1, 0, 0]), state(current), RULE)
    assert (same.action, same.state.current, same.state.best) == ("reject", current, current)
    assert (same.improved, same.regressed) == (("i1",), ("i0",))
    better = decide(skill("new", [1, 1, 0, 0]), state(current), RULE)
    assert (better.action, better.state.current.skill) == ("accept_new_best", "new.md")
    assert better.state.best.skill == "new.md"


@pytest.mark.parametrize("metric", ["hard", "soft", "mixed"])
def test_rounding_beats_nobody(metric):
    rule = GateRule(metric=metric, mixed_weight=0.3)
    other, tied = skill("old", [0.3, 0.0]), skill("new", [0.1, 0.2])
    assert 0.1 + 0.2 > 0.3 + 0.0  # the sums of equal worth that a computer tells apart
    assert decide(tied, state(other), rule).action == "reject"
    assert decide(skill("new", [0.1, 0.2001]), state(other), rule).action == "accept_new_best"


def test_better_than_current_but_not_than_best_is_plain_accept():
    best = skill("best", [1, 1, 1, 0])
    verdict = decide(skill("new", [1, 1, 0, 0]), state(skill("old", [1, 0, 0, 0]), best), RULE)
    assert (verdict.action, verdict.state.current.skill, verdict.state.best) == ("accept", "new.md", best)


def test_an_outage_of_the_current_skill_does_not_count_for_the_candidate():
    current = skill("old", [1, None, None, 0])
    verdict = decide(skill("twin", [1, 1, 1, 0]), state(current), RULE)
    assert (verdict.action, verdict.paired) == ("reject", 2)
    assert (verdict.candidate.value, verdict.compared.value) == (0.5, 0.5)


def test_nothing_to_compare_is_an_error_and_not_a_verdict():
    with pytest.raises(LowCoverage, match="no item with a score on both sides"):
        decide(skill("new", [None, 1]), state(skill("old", [1, None])), RULE)


def test_gate_off_takes_every_candidate_and_still_tracks_the_best():
    current = skill("old", [1, 1, 0, 0])
    rule = GateRule(use_gate=False)
    worse = decide(skill("new", [0, 0, 0, 0]), state(current), rule)
    assert (worse.action, worse.state.current.skill, worse.state.best) == ("force_accept", "new.md", current)
    better = decide(skill("newer", [1, 1, 1, 0]), worse.state, rule)
    assert (better.action, better.state.best.skill) == ("force_accept", "newer.md")


def test_soft_and_mixed_see_what_hard_does_not():
    hard, low, high = [0] * 6, [0.06, 0, 0, 0, 0, 0], [0.26, 0, 0, 0, 0, 0]
    before = state(skill("old", hard, low))
    candidate = skill("new", hard, high)
    assert decide(candidate, before, RULE).action == "reject"
    assert decide(candidate, before, GateRule(metric="soft")).action == "accept_new_best"
    assert decide(candidate, before, GateRule(metric="mixed")).action == "accept_new_best"
    assert decide(candidate, before, GateRule(metric="mixed", mixed_weight=0.0)).action == "reject"


def test_every_evaluated_text_is_remembered_with_its_first_rows():
    current = skill("old", [1, 0])
    verdict = decide(skill("new", [0, 0]), state(current), RULE)
    assert verdict.state.scored == {"old": "old.jsonl", "new": "new.jsonl"}


def test_style_counts_only_when_it_is_switched_on():
    plain, shouting = skill("plain", [1, 0]), skill("shouting", [1, 0], density=0.5)
    assert not strictly_better(shouting, plain, RULE)
    rule = GateRule(density_weight=0.1)
    assert strictly_better(shouting, plain, rule)
    assert decide(shouting, state(plain), rule).density == {"weight": 0.1, "candidate": 0.5, "current": 0.0}
    assert decide(shouting, state(plain), RULE).density is None


def test_density_is_the_share_of_strong_words():
    assert density("Always answer. You MUST check it", ("always", "must")) == pytest.approx(2 / 6)
    assert density("", ("always",)) == 0.0


def test_improved_and_regressed_follow_the_metric():
    current = skill("old", [1, 0, 0, 1], [1.0, 0.2, 0.4, 1.0])
    candidate = skill("new", [1, 1, 0, 0], [0.9, 0.2, 0.6, 1.0])

    def lists(rule):
        verdict = decide(candidate, state(current), rule)
        return verdict.improved, verdict.regressed

    assert lists(GateRule(metric="hard")) == (("i1",), ("i3",))
    assert lists(GateRule(metric="soft")) == (("i2",), ("i0",))
    assert lists(GateRule(metric="mixed", mixed_weight=0.5)) == (("i1", "i2"), ("i0", "i3"))


def test_resolution_and_headroom():
    assert resolution(40) == "with 40 selection items, hard moves in steps of 0.025"
    assert resolution(3).endswith("steps of 0.333")
    assert has_headroom(skill("a", [1, 0]), RULE)
    assert has_headroom(skill("a", [None]), RULE)
    assert not has_headroom(skill("a", [1, 1]), RULE)
    assert has_headroom(skill("a", [1, 1]), GateRule(density_weight=0.1))


def test_a_skill_is_too_long_only_above_the_limit():
    assert too_long(5, 11, 0) == ""
    assert too_long(5, 10, 10) == ""
    assert too_long(5, 11, 10) == (
        "the candidate has 11 characters, expected at most 10 (env.max_skill_chars); the current skill has 5"
    )


@pytest.mark.parametrize("use_gate", [True, False])
def test_the_best_is_replaced_only_by_what_is_taken(use_gate):
    """Where outages leave other items to compare, a rejected candidate may look better than the best."""
    before = state(skill("old", [1, 0, 0]), skill("best", [None, 0, 0]))
    tie = decide(skill("tie", [0, 1, 0]), before, GateRule(use_gate=use_gate))
    assert (tie.action, tie.state.best.sha256) == (
        ("reject", "best") if use_gate else ("force_accept", "tie")
    )
