from skillopt.decisions.pairs import classify, kept_by, wanted
from tests.decisions.test_scoring import row


def rows(*hards):
    statuses = ["timeout" if hard is None else "scored" for hard in hards]
    return [
        row(f"i{n}", hard, status=status)
        for n, (hard, status) in enumerate(zip(hards, statuses, strict=True))
    ]


PREVIOUS = rows(0.0, 1.0, 0.0, 1.0, None, 1.0)
CURRENT = rows(1.0, 0.0, 0.0, 1.0, 1.0, None)


def test_pairs_are_named_and_unscored_ids_dropped():
    pairs, dropped = classify(PREVIOUS, CURRENT)
    assert [(pair.id, pair.kind) for pair in pairs] == [
        ("i0", "improved"),
        ("i1", "regressed"),
        ("i2", "persistent_fail"),
        ("i3", "stable_success"),
    ]
    assert dropped == ("i4", "i5")


def test_each_policy_keeps_its_pairs():
    pairs, _ = classify(PREVIOUS, CURRENT)
    assert [pair.id for pair in kept_by("mixed", pairs)] == ["i0", "i1", "i2", "i3"]
    assert [pair.id for pair in kept_by("changed", pairs)] == ["i0", "i1"]
    assert [pair.id for pair in kept_by("unchanged", pairs)] == ["i2", "i3"]


def test_only_changed_tops_up_until_the_sample_is_full_or_the_split_is_used_up():
    pairs, _ = classify(PREVIOUS, CURRENT)
    assert wanted("changed", 6, pairs, 100) == 4
    assert wanted("changed", 6, pairs, 3) == 3
    assert wanted("changed", 6, pairs, 0) == 0
    assert wanted("changed", 2, pairs, 100) == 0
    assert wanted("mixed", 6, pairs, 100) == 0
    assert wanted("unchanged", 6, pairs, 100) == 0
