"""Two sides of one item: what both were told once, long texts cut with a note, room for a page."""

import msgspec
import pytest
from madeup import MadeUp

from skillopt.records import Failure, Turn
from skillopt.report import trajectories
from skillopt.report.trajectories import Room, changed, cut, shorten, sides


@pytest.fixture
def row(tmp_path):
    made = MadeUp(tmp_path / "results" / "made")
    return lambda id_, right: made.row(id_, right)


def test_what_both_were_told_is_kept_once(row):
    pair = sides("improved", row("a", False), row("a", True))
    assert [turn.role for turn in pair.told] == ["system", "user"]
    assert [turn.content[:5] for turn in (*pair.before.turns, *pair.after.turns)] == ["wrong", "right"]


def test_an_answer_is_never_what_they_were_told(row):
    same = row("a", True)
    pair = sides("improved", same, same)
    assert [turn.role for turn in pair.after.turns] == ["assistant"]


def test_the_reason_of_an_unscored_row_is_its_error(row):
    error = Failure(kind="timeout", message="too slow")
    failed = msgspec.structs.replace(row("a", False), status="timeout", hard=None, soft=None, error=error)
    assert sides("regressed", row("a", True), failed).after.reason == "too slow"


def test_long_texts_keep_both_ends_and_say_what_is_gone():
    short = shorten("a" * 500 + "b" * 500, 300)
    assert short.startswith("a" * 200)
    assert short.endswith("b" * 100)
    assert "[... 700 characters left out ...]" in short
    assert shorten("a" * 300, 300) == "a" * 300


def test_many_turns_keep_the_first_and_the_last():
    turns = tuple(Turn(role="assistant", content=f"turn {number} " * 50) for number in range(100))
    kept = cut(turns, 3_000)
    assert kept[0].content.startswith("turn 0 ")
    assert kept[-1].content.startswith("turn 99 ")
    (note,) = [turn for turn in kept if turn.role == "note"]
    assert note.content.startswith("[85 turns left out, ")
    assert sum(len(turn.content) for turn in kept) < 4_000
    assert cut((), 100) == ()


def test_regressed_items_come_first_and_the_rest_is_named(row):
    ids = [f"i{number}" for number in range(40)]
    before = [row(id_, False) for id_ in ids]
    after = [row(id_, True) for id_ in ids]
    kinds = [(id_, "regressed" if id_ == "i39" else "improved") for id_ in ids] + [("gone", "improved")]
    found = changed(kinds, before, after, Room(places=1))
    assert [pair.id for pair in found.pairs[:2]] == ["i39", "i0"]
    assert len(found.pairs) == 24
    assert found.unshown == (*ids[23:39], "gone")


def test_a_full_page_lists_items_without_their_trajectories(row, monkeypatch):
    monkeypatch.setattr(trajectories, "PAGE", 300)
    found = changed(
        [("a", "improved"), ("b", "improved")],
        [row("a", False), row("b", False)],
        [row("a", True), row("b", True)],
        Room(places=1),
    )
    assert [pair.without for pair in found.pairs] == [False, True]
    assert (found.pairs[1].told, found.pairs[1].after.turns) == ((), ())
    assert found.pairs[1].after.hard == 1.0
