"""Giving a candidate up early: never another decision, and no item that could not change it."""

import msgspec
import pytest
from candidates import skill, state
from hypothesis import given
from hypothesis import strategies as st

from skillopt.decisions.early import needed_next
from skillopt.decisions.gate import GateRule, at_best, decide
from skillopt.records import Scored

RULE = GateRule(early_reject=True)


def partial(candidate: Scored, ids) -> Scored:
    known = {id_: result for id_, result in candidate.results.items() if id_ in ids}
    return msgspec.structs.replace(candidate, results=known)


def rounds(candidate: Scored, current: Scored, rule: GateRule = RULE) -> list[tuple[str, ...]]:
    """Return what is done, batch by batch."""
    found: list[tuple[str, ...]] = []
    while needed := needed_next(partial(candidate, {id_ for ids in found for id_ in ids}), current, rule):
        found.append(needed)
    return found


def test_the_items_that_the_current_skill_fails_come_first_and_as_many_as_can_decide():
    current = skill("old", [1, 0, 1, 0, 1, 0])
    assert needed_next(skill("new", []), current, RULE) == ("i1", "i3", "i5")


def test_it_ends_when_as_many_got_worse_as_got_better():
    current = skill("old", [1, 0, 1, 0, 1, 0, 1, 1, 1, 1])
    one_better_one_worse = skill("new", [0, 1, 1, 0, 1, 0, 1, 1, 1, 1])
    assert rounds(one_better_one_worse, current) == [("i1", "i3", "i5"), ("i0", "i2", "i4")]
    done = {"i0", "i1", "i2", "i3", "i4", "i5"}
    verdict = decide(partial(one_better_one_worse, done), state(current), RULE)
    assert (verdict.action, verdict.left_out, verdict.paired) == ("reject", 4, 6)
    assert (verdict.at_most, verdict.compared.value) == (0.7, 0.7)
    assert (verdict.candidate.value, verdict.candidate.n, verdict.candidate.total) == (0.5, 6, 10)
    assert (verdict.improved, verdict.regressed) == (("i1",), ("i0",))
    assert verdict.state.scored == {"old": "old.jsonl"}


def test_rounds_grow_so_that_there_are_four_at_most():
    current = skill("old", [1] * 39 + [0])
    best = skill("new", [1] * 40)
    assert [len(ids) for ids in rounds(best, current)] == [5, 5, 10, 20]


@pytest.mark.parametrize(("failed", "done_at_once"), [(20, 20), (21, 30)])
def test_a_round_of_more_than_two_thirds_is_the_whole_split(failed, done_at_once):
    current = skill("old", [0] * failed + [1] * (30 - failed))
    assert len(needed_next(skill("new", []), current, RULE)) == done_at_once


def test_nothing_has_to_be_done_against_full_marks():
    assert rounds(skill("new", [1, 1]), skill("old", [1, 1])) == []
    assert rounds(skill("new", [1, 1]), skill("old", [1, None])) == []


def test_a_candidate_that_wins_does_every_item():
    current = skill("old", [1, 0, 1, None])
    better = skill("new", [1, 1, 1, 1])
    assert sorted(id_ for ids in rounds(better, current) for id_ in ids) == ["i0", "i1", "i2", "i3"]


def test_rows_that_leave_it_open_are_no_verdict():
    current = skill("old", [0, 0])
    with pytest.raises(ValueError, match="1 items are missing"):
        decide(skill("new", [0]), state(current), RULE)


GRADES = st.none() | st.sampled_from([0.0, 0.1, 0.3, 1 / 3, 0.5, 0.7, 1.0])
PAIRS = st.lists(st.tuples(GRADES, GRADES, st.booleans()), min_size=1, max_size=30)
METRICS = st.sampled_from(["hard", "soft"])


@given(PAIRS, METRICS)
def test_the_decision_is_that_of_all_items_and_no_item_was_done_for_nothing(pairs, metric):
    rule = GateRule(metric=metric, early_reject=True)
    current = skill("old", [grade for grade, _, _ in pairs])
    candidate = skill("new", [grade for _, grade, _ in pairs])
    if not any(a is not None and b is not None for a, b, _ in pairs):
        return  # nothing to compare is an error with all rows
    batches = rounds(candidate, current, rule)
    done = [id_ for ids in batches for id_ in ids]
    assert len(set(done)) == len(done)
    assert len(batches) <= 4
    early = decide(partial(candidate, set(done)), state(current), rule)
    assert early.action == decide(candidate, state(current), rule).action
    if early.action != "reject":
        assert (early.left_out, early.at_most) == (0, None)
    before_last = partial(candidate, {id_ for ids in batches[:-1] for id_ in ids})
    if batches:  # before the last batch, full marks on what was left would have won
        full = at_best(before_last, current)
        assert decide(full, state(current), rule).action != "reject"
