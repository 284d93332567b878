"""Each line of a skill with what brought it, through edits, moves, rewrites, notes and guidance."""

import msgspec
import pytest
from madeup import INITIAL, MadeUp

from skillopt.errors import ConfigError
from skillopt.files import read_json, write_json, write_text
from skillopt.records import Edit, Gate, Update
from skillopt.report import lineage
from skillopt.report.lineage import likeness, lineage_of, words_of
from skillopt.report.record import RunRecord
from skillopt.tools.blame import UNEXPLAINED, text


def lines(made):
    found = lineage_of(RunRecord(made.folder))
    return {line.text: line for line in found.lines if line.text.strip()}


@pytest.fixture
def made(tmp_path):
    return MadeUp(tmp_path / "results" / "made")


def test_a_finished_run_is_followed_from_the_initial_skill(made):
    made.whole()
    found = lines(made)
    assert list(found)[:3] == ["# Skill", "- Rule 1.", "- Rule 3."]
    assert found["# Skill"].origin.what == "initial skill"
    first, second = found["- Rule 1."].origin, found["- Rule 3."].origin
    assert (first.what, first.op, first.before, first.after) == ("step 1, edit 1", "replace", 0.0, 0.125)
    assert (second.what, second.op, second.before, second.after) == ("step 3, edit 1", "append", 0.125, 0.25)
    assert first.cause.exact
    assert set(first.cause.ids) <= {f"t{i}" for i in range(8)}
    assert first.cause.patterns == ("a rule is missing (4)",)


def test_the_edits_of_a_rejected_step_are_in_no_line(made):
    made.whole()
    assert made.folder.joinpath("steps/step_0002/candidate.md").read_text().count("Rule 2") == 1
    assert [text for text in lines(made) if "Rule 2" in text] == []


def test_a_changed_line_remembers_what_it_was(made, monkeypatch):
    made.step(1)
    change = Edit(op="replace", target="- Rule 1.", content="- Rule 1, but only for dates.", support_count=2)
    monkeypatch.setattr(made, "edits", lambda number: (change,))
    made.step(3)
    line = lines(made)["- Rule 1, but only for dates."]
    assert line.origin.name == "step 3"
    assert line.earlier.text == "- Rule 1."
    assert line.earlier.origin.name == "step 1"


def test_a_moved_line_keeps_its_origin_in_a_rewrite(made):
    made.step(1)
    made.step(3)
    new = "# Skill\n\n- Rule 3.\n- Rule 1.\n- Something quite different now.\n"
    edited = made.folder / "steps/step_0003"
    write_text(edited / "candidate.md", new)
    update = msgspec.structs.replace(
        read_json(edited / "update.json", Update), mode="rewrite_from_suggestions", edits=()
    )
    write_json(edited / "update.json", update)
    write_text(made.folder / "best_skill.md", new)
    found = lines(made)
    assert found["- Rule 1."].origin.what == "step 1, edit 1"
    assert found["- Something quite different now."].origin.what == "step 3, rewrite"
    assert not found["- Something quite different now."].origin.cause.exact


def test_a_reworded_edit_names_all_groups_of_its_side(made, monkeypatch):
    plain = made.reflections
    other = (Edit(op="append", content="- Said otherwise."),)
    monkeypatch.setattr(
        made, "reflections", lambda number, rows, edits, notes: plain(number, rows, other, notes)
    )
    made.step(1)
    cause = lines(made)["- Rule 1."].origin.cause
    assert not cause.exact
    assert len(cause.ids) == 4


def test_notes_kept_by_a_rejected_step_and_guidance_have_no_score_of_their_own(made):
    made.step(1)
    made.step(2, notes=("look twice",))
    made.end_of_epoch(1, "Read the whole question.")
    made.step(3)
    found = lines(made)
    note, guidance = found["- look twice"].origin, found["Read the whole question."].origin
    assert (note.what, note.action, note.before, note.after) == ("step 2, note", "reject", None, None)
    assert note.cause.exact
    assert (guidance.what, guidance.after) == ("end of epoch 1, guidance", None)
    assert found["<!-- SLOW_UPDATE_START -->"].origin.kind == "region"


def test_an_unfinished_run_shows_the_best_so_far(made):
    made.step(1)
    found = lineage_of(RunRecord(made.folder))
    assert found.skill == "steps/step_0001/candidate.md"
    assert (found.score, found.n) == (0.125, 8)


def test_a_run_that_only_has_its_initial_skill(made):
    assert [line.origin.kind for line in lineage_of(RunRecord(made.folder)).lines] == ["initial"] * 3
    made.folder.joinpath("skills/skill_v0000.md").unlink()
    with pytest.raises(ConfigError, match="expected a skill"):
        lineage_of(RunRecord(made.folder))


def test_a_skill_that_no_version_explains_is_said_to_be_so(made):
    made.whole()
    write_text(made.folder / "best_skill.md", "Written by hand.\n")
    assert lines(made)["Written by hand."].origin.what == "origin unknown"
    said = text(lineage_of(RunRecord(made.folder))).splitlines()
    assert said[1:4] == [
        "   1  origin unknown                  | Written by hand.",
        "",
        f"origin unknown: {UNEXPLAINED}",
    ]
    assert len(said) == 4


def test_the_initial_skill_as_the_best(made):
    gate = read_json(made.folder / "steps/step_0000/gate.json", Gate)
    assert gate.state.best.skill == "skills/skill_v0000.md"
    write_text(made.folder / "best_skill.md", INITIAL)
    assert {line.origin.kind for line in lines(made).values()} == {"initial"}


@pytest.mark.parametrize(
    ("old", "new", "like"),
    [
        ("- Rule 1.", "- Rule 1, but only for dates.", 1.0),
        ("Answer with the year.", "Answer with the year or the day.", 1.0),
        ("Answer with the year.", "Name the city of the question.", 0.0),
        ("Check twice.", "Check the units.", 0.0),
        ("用一个词回答问题", "用一个词回答这个问题", 1.0),
        ("", "Anything.", 0.0),
    ],
)
def test_likeness_counts_the_words_that_remain(old, new, like):
    assert likeness(words_of(old), words_of(new)) == like


def test_many_edits_are_each_read_once(made, monkeypatch):
    """There may be thousands: to read all of them again for each line would take hours."""
    many = tuple(
        Edit(op="append", content=f"- Rule {number} of many.", support_count=1) for number in range(50)
    )
    monkeypatch.setattr(made, "edits", lambda number: many)
    made.step(1)
    asked = []
    plain = lineage.single_line
    monkeypatch.setattr(lineage, "single_line", lambda text: asked.append(text) or plain(text))
    found = lines(made)
    assert [found[f"- Rule {n} of many."].origin.edit for n in range(50)] == list(range(1, 51))
    assert found["- Rule 7 of many."].origin.cause.exact
    assert len(asked) < 500
