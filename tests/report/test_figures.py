"""Figures as files: well-formed SVG that names its marks, and the data that they show."""

import csv
import io
import re
from xml.etree import ElementTree

import pytest
from madeup import MadeUp
from msgspec.structs import replace

from skillopt.files import read_json, write_json
from skillopt.records import Gate
from skillopt.report.chart import Mark, Series, ticks
from skillopt.report.figures import as_csv, figures_of
from skillopt.report.plots import curves
from skillopt.report.record import RunRecord
from skillopt.report.render import picture

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def made(tmp_path):
    return MadeUp(tmp_path / "results" / "made")


def figures(made):
    return figures_of(RunRecord(made.folder))


def drawn(figure):
    """Return the parsed picture and what pointers over its parts say."""
    root = ElementTree.fromstring(picture(figure.chart))
    return root, [element.text for element in root.iter(f"{SVG}title")]


def test_the_learning_curve_marks_every_candidate(made):
    made.whole()
    root, said = drawn(figures(made)["learning"])
    assert "step 1: candidate accepted, hard 0.125, compared with 0.000" in said
    assert "step 4: rejected, hard 0.125, compared with 0.250" in said
    assert "end of epoch 2: no candidate" in said
    assert sum(text.endswith("compared with 0.125") for text in said) == 2
    outlines = {}
    for element in root.iter(f"{SVG}path"):
        title = element.find(f"{SVG}title")
        if title is not None and title.text.startswith("step "):
            fate = title.text.partition(": ")[2].partition(",")[0]
            outlines.setdefault(fate, set()).add(re.sub(r"^M[\d.]+ [\d.]+", "", element.get("d")))
    assert {fate: len(shapes) for fate, shapes in outlines.items()} == {
        "candidate accepted": 1,
        "rejected": 1,
    }
    assert outlines["candidate accepted"] != outlines["rejected"]
    words = [element.text for element in root.iter(f"{SVG}text")]
    assert {"current skill", "best skill", "training batch", "rejected", "epoch 2", "e1"} <= set(words)


def test_a_candidate_given_up_early_is_said_to_be_drawn_at_its_most(made):
    made.whole()
    path = made.folder / "steps/step_0004/gate.json"
    gate = read_json(path, Gate)
    assert (gate.action, gate.left_out) == ("reject", 0)
    assert "given up" not in drawn(figures(made)["learning"])[0].find(f"{SVG}desc").text
    write_json(path, replace(gate, left_out=3, at_most=0.125))
    figure = figures(made)["learning"]
    root, said = drawn(figure)
    assert "1 candidate was given up early: it stands at the most" in root.find(f"{SVG}desc").text
    assert "step 4: rejected, hard at most 0.125, compared with 0.250" in said
    labels = [element.text for element in root.iter(f"{SVG}text")]
    assert "given up early, at most" in labels
    rows = list(csv.DictReader(io.StringIO(as_csv(figure.header, figure.rows))))
    assert [row["left_out"] for row in rows] == ["0", "0", "0", "0", "0", "3", "0"]
    assert (rows[5]["candidate"], rows[5]["at_most"]) == ("", "0.125")


def test_a_mark_without_a_value_stands_on_the_axis_and_not_on_the_line():
    line = Series(name="score", values=(0.5, 0.5), colour=1, stepped=True)
    mark = Mark(place=1, value=None, marker="tick", colour=7, title="no candidate")
    shapes = curves("t", "s", ["1", "2"], [line], [mark]).shapes
    (drawn_mark,) = [shape for shape in shapes if shape.title == "no candidate"]
    (drawn_line,) = [shape for shape in shapes if shape.title == "score"]
    top, length = map(float, re.fullmatch(r"M[\d.]+ ([\d.]+)v([\d.]+)", drawn_mark.attributes["d"]).groups())
    on_line = float(re.match(r"M[\d.]+ ([\d.]+)", drawn_line.attributes["d"])[1])
    axis = max(
        float(shape.attributes["d"].split()[1].partition("H")[0])
        for shape in shapes
        if shape.attributes["class"] == "grid"
    )
    assert on_line + 20 < top < axis < top + length + 3


@pytest.mark.parametrize(
    ("value", "ends"), [(0.0, ("0.00", "0.10")), (0.5, ("0.48", "0.60")), (1.0, ("0.90", "1.00"))]
)
def test_equal_scores_get_an_axis_of_a_tenth(value, ends):
    shapes = curves("t", "s", ["1"], [Series(name="a", values=(value,), colour=1)]).shapes
    labels = [shape.text for shape in shapes if shape.attributes.get("text-anchor") == "end"]
    assert (labels[0], labels[-1]) == ends


def test_the_data_of_the_learning_curve(made):
    made.whole()
    figure = figures(made)["learning"]
    rows = list(csv.DictReader(io.StringIO(as_csv(figure.header, figure.rows))))
    assert [row["decision"] for row in rows] == [
        "start", "step 1", "step 2", "end of epoch 1", "step 3", "step 4", "end of epoch 2",
    ]  # fmt: skip
    assert [row["candidate"] for row in rows] == ["0.0", "0.125", "0.125", "", "0.25", "0.125", ""]
    assert [row["best"] for row in rows] == ["0.0", "0.125", "0.125", "0.125", "0.25", "0.25", "0.25"]
    assert [row["training_batch"] for row in rows] == ["", "0.0", "0.25", "", "0.25", "0.5", ""]


def test_scores_and_task_types_have_their_intervals(made):
    made.whole()
    found = figures(made)
    assert [row[:3] for row in found["scores"].rows] == [
        ("selection", "initial", 0.0),
        ("selection", "best", 0.25),
        ("selection", "last", 0.25),
        ("test", "initial", 1 / 6),
        ("test", "best", 4 / 6),
        ("test", "last", 4 / 6),
    ]
    assert "best skill: 0.250 [0.07, 0.59]" in drawn(found["scores"])[1]
    assert [row[:2] for row in found["task_types"].rows] == [("kind", "initial"), ("kind", "best")]


def test_patterns_are_counted_step_by_step(made):
    made.whole()
    assert figures(made)["patterns"].rows == tuple(
        ("a rule is missing", step, count) for step, count in ((1, 4), (2, 3), (3, 3), (4, 2))
    )


def test_usage_is_that_of_the_call_store(made):
    made.whole().called(3)
    (row,) = figures(made)["usage"].rows
    assert row == ("target", "rollout", 3, 0, 0, 3000, None, 300, None, None, 6.0)


def test_pictures_of_nothing_say_so(made):
    made.folder.joinpath("steps/step_0000/gate.json").unlink()
    found = figures(made)
    assert [drawn(figure)[0].find(f"{SVG}text").text for figure in found.values()] == [
        "No score yet.", "No score yet.", "No score yet.", "No failure pattern was seen.", "No call yet.",
    ]  # fmt: skip
    assert [figure.rows for figure in found.values()] == [()] * 5


def test_markup_in_names_is_text_in_pictures_and_no_formula_in_data(tmp_path):
    evil = "=<script>alert(1)</script>"
    made = MadeUp(tmp_path / "results" / "<b>run", say=lambda text: f"{evil}{text}").whole()
    root, said = drawn(figures(made)["patterns"])
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
        "svg", "title", "desc", "style", "rect", "text", "path",
    }  # fmt: skip
    assert said[0] == "<b>run: failure patterns in the training batches"
    assert f"{evil}a rule is missing" in said
    figure = figures(made)["patterns"]
    assert as_csv(figure.header, figure.rows).splitlines()[1].startswith("'=<script>")


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.0, 0.6, [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6]),
        (0.0, 1.0, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (0.48, 0.52, [0.48, 0.49, 0.5, 0.51, 0.52]),
        (0.5, 0.5, [0.5, 0.5]),
    ],
)
def test_ticks_are_round_and_cover_the_range(low, high, expected):
    assert ticks(low, high)[: len(expected)] == pytest.approx(expected, abs=0.001)
    assert ticks(low, high)[-1] >= high
