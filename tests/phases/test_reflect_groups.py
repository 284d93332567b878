import random

from msgspec.structs import replace

from skillopt.phases.reflect import failure_reasons, group_rows
from skillopt.records import Batch
from tests.decisions.test_scoring import row


def batch(ids, seed):
    return Batch(ids=tuple(ids), seed=seed)


def ids_of(groups, side, micro_batch=0):
    return [[r.id for r in g.rows] for g in groups if (g.side, g.micro_batch) == (side, micro_batch)]


def test_failures_and_successes_are_shuffled_with_their_own_seeds_and_cut():
    failures = [row(f"f{n}", 0.0) for n in range(5)]
    successes = [row(f"s{n}", 1.0) for n in range(3)]
    rows = [failures[0], successes[0], *failures[1:], *successes[1:]]
    groups = group_rows(rows, [batch([r.id for r in rows], 1043)], 2, failure_only=False)

    wanted = [r.id for r in failures]
    random.Random(1043).shuffle(wanted)
    assert ids_of(groups, "failure") == [wanted[0:2], wanted[2:4], wanted[4:5]]
    wanted = [r.id for r in successes]
    random.Random(1044).shuffle(wanted)
    assert ids_of(groups, "success") == [wanted[0:2], wanted[2:3]]


def test_a_partial_reward_is_a_success_and_no_score_is_neither():
    rows = [row("a", 1e-10), row("b", 0.2), row("c", None, status="timeout")]
    groups = group_rows(rows, [batch("abc", 1)], 8, failure_only=False)
    assert ids_of(groups, "failure") == [["a"]]
    assert ids_of(groups, "success") == [["b"]]


def test_failure_only_drops_the_successes():
    groups = group_rows([row("a", 0.0), row("b", 1.0)], [batch("ab", 1)], 8, failure_only=True)
    assert [group.side for group in groups] == ["failure"]


def test_each_micro_batch_is_reflected_on_by_itself():
    rows = [row("a", 0.0), row("b", 0.0), row("a", 1.0), row("c", 0.0)]
    groups = group_rows(rows, [batch("ab", 1), batch("ac", 2)], 8, failure_only=False)
    assert sorted(ids_of(groups, "failure", 0)[0]) == ["a", "b"]
    assert ids_of(groups, "failure", 1) == [["c"]]
    assert ids_of(groups, "success", 1) == [["a"]]
    assert ids_of(groups, "success", 0) == []


def test_reasons_of_failures_are_grouped_the_commonest_first():
    rows = [replace(row(f"f{n}", 0.0), reason="too long") for n in range(2)]
    rows += [replace(row("g", 0.0), reason="cut off"), replace(row("s", 1.0), reason="near miss")]
    rows += [replace(row("t", None, status="timeout"), reason="late")]
    found = [(pattern.description, pattern.count) for pattern in failure_reasons(rows)]
    assert found == [("too long", 2), ("cut off", 1)]
