"""Runs side by side, and what differs between two: from their files alone, finished or not."""

import csv
import io
import json

import msgspec
import pytest
from madeup import MadeUp

from skillopt.cli import main
from skillopt.files import write_json, write_text
from skillopt.models.prices import dollars
from skillopt.report.options import differing
from skillopt.report.record import RunRecord
from skillopt.report.render import cut
from skillopt.report.runs import cells, compare, find_runs, render_runs
from skillopt.tools.runs import text

EVIL_MODEL = (
    "model.target_backend=openai_compatible",
    "model.openai_compatible_base_url=http://localhost:1/v1",
    "model.target=<script>alert(1)</script>",
)


@pytest.fixture
def results(tmp_path, monkeypatch):
    """Three runs: one, another learning rate and fewer workers, another seed and not finished."""
    folder = tmp_path / "results"
    monkeypatch.chdir(tmp_path)
    MadeUp(folder / "base").whole().called(2)
    MadeUp(folder / "rate", gain=2, overrides=("optimizer.learning_rate=8", "env.workers=3")).whole()
    MadeUp(folder / "seed", overrides=("train.seed=7",)).step(1)
    return folder


def records(results):
    return [RunRecord(results / name) for name in ("base", "rate", "seed")]


def test_settings_that_differ_are_columns_and_those_that_decide_nothing_are_not(results):
    found = compare(records(results))
    assert set(found.settings) == {"optimizer.learning_rate", "train.seed"}
    assert [row.settings["optimizer.learning_rate"] for row in found.rows] == ["4", "8", "4"]
    assert [row.settings["train.seed"] for row in found.rows] == ["42", "42", "7"]
    assert [row.state for row in found.rows] == ["improved", "improved", "unfinished"]
    assert [row.steps for row in found.rows] == ["4/4", "4/4", "1/4"]
    assert [(row.accepted, row.rejected) for row in found.rows] == [(2, 2), (2, 2), (1, 0)]
    assert [row.selection_best.score.hard for row in found.rows] == [0.25, 0.5, 0.125]
    assert [row.test_best and round(row.test_best.score.hard, 3) for row in found.rows] == [
        0.667,
        0.667,
        None,
    ]
    assert [(row.calls, row.tokens) for row in found.rows] == [(2, 2200), (None, None), (None, None)]


def test_as_text(results):
    lines = text(compare(records(results)), 120).splitlines()
    assert lines[0].split()[:2] == ["run", "state"]
    assert "0.000 -> 0.500 [0.22, 0.78]" in lines[2]
    assert lines[3].split("  ")[0] == "seed"
    assert len({line.index("0.000 ->") for line in lines[1:4]}) == 1
    assert lines[0].split()[2:] == ["selection", "hard", "test", "hard", "steps", "calls", "made", "cost"]
    assert lines[4:] == [
        "",
        "train.seed: base=42, rate=42, seed=7",
        "optimizer.learning_rate: base=4, rate=8, seed=4",
        "simulated: base, rate, seed",
    ]


OTHER_MODEL = (
    "model.optimizer_simulator_seed=7",
    "model.target_backend=openai_compatible",
    "model.openai_compatible_base_url=http://localhost:1/v1/a/long/path/to/one/of/many/servers",
    "model.target=an-organisation/a-model-with-a-long-name-and-a-version",
)


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_the_text_fits_the_width_and_loses_no_score(results, width):
    MadeUp(results / "a_run_with_another_model_and_a_long_name", overrides=OTHER_MODEL).whole()
    said = text(compare(find_runs([], results)), width)
    assert max(map(len, said.splitlines())) <= width
    assert said.count(" -> ") == 7
    assert said.count("0.167 -> 0.667 [0.30, 0.90]") == 3


def test_settings_of_other_backends_have_their_key_and_count_only_where_they_were_set(results):
    MadeUp(results / "seed", overrides=OTHER_MODEL)
    found = compare(records(results))
    assert [(key, [row.settings[key] for row in found.rows][1:]) for key in found.settings] == [
        ("optimizer.learning_rate", ["8", "4"]),
        ("model.target", ["simulated", OTHER_MODEL[3].partition("=")[2]]),
        ("model.target_backend", ["simulator", "openai_compatible"]),
        ("model.simulator_seed", ["0", "7"]),
        ("model.openai_compatible_base_url", ["", OTHER_MODEL[2].partition("=")[2]]),
    ]


def test_the_page_has_scores_before_settings_and_whole_values_in_titles(results):
    MadeUp(results / "seed", overrides=OTHER_MODEL)
    found = compare(records(results))
    html = render_runs(records(results), found)
    places = [html.index(f">{head}<") for head in ("state", "test hard, initial → best", "model.target")]
    assert places == sorted(places)
    url = OTHER_MODEL[2].partition("=")[2]
    assert f'title="{url}">http://localh…f/many/servers<' in html
    assert url in [row[cells(found)[0].index("model.openai_compatible_base_url")] for row in cells(found)[1]]


def test_what_decides_no_output_is_left_out_under_its_key(results):
    overrides = (
        "model.target_backend=openai_compatible",
        "model.openai_compatible_base_url=http://localhost:1/v1",
    )
    for number in (1, 2):
        more = (f"model.openai_compatible_timeout_seconds={number}", f"model.target=m{number}")
        MadeUp(results / f"limit{number}", overrides=(*overrides, *more))
    assert list(compare([RunRecord(results / f"limit{n}") for n in (1, 2)]).settings) == ["model.target"]


@pytest.mark.parametrize(
    ("content", "limit", "shown"), [("abcdef", 6, "abcdef"), ("abcdefg", 6, "ab…efg"), ("abc", 1, "…")]
)
def test_long_values_are_cut_in_the_middle(content, limit, shown):
    assert cut(content, limit) == shown


@pytest.mark.parametrize(
    ("cost", "shown"), [(None, "unknown"), (0.0, "$0.00"), (0.004, "<$0.01"), (1234.567, "$1,234.57")]
)
def test_costs_have_one_form(cost, shown):
    assert dollars(cost) == shown


def test_the_command_finds_all_runs_and_writes_every_form(results, capsys):
    assert main(["runs", "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["run"] for row in rows] == ["base", "rate", "seed"]
    assert [row["selection_best_hard"] for row in rows] == ["0.25", "0.5", "0.125"]
    assert rows[2]["test_best_hard"] == ""
    assert main(["runs", "results/seed", "results/base", "--format", "json"]) == 0
    assert [row["run"] for row in json.loads(capsys.readouterr().out)["rows"]] == ["seed", "base"]
    for form, start in (("html", "<!doctype html>"), ("svg", "<svg ")):
        assert main(["runs", "--format", form, "--out", f"all.{form}"]) == 0
        assert (results.parent / f"all.{form}").read_text().startswith(start)


def test_no_run_is_an_error(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["runs"]) == 2
    assert "expected at least one run" in capsys.readouterr().err


def test_soft_scores_are_shown_where_a_gate_compared_them(results):
    soft = MadeUp(results / "soft", overrides=("evaluation.gate_metric=soft",))
    plain = compare(records(results))
    assert plain.kinds == ("hard",)
    write_json(soft.folder / "steps/step_0000/gate.json", msgspec.structs.replace(soft.gate, metric="soft"))
    found = compare([RunRecord(results / "base"), RunRecord(soft.folder)])
    assert "selection soft" in text(found, 200)
    assert "test_best_soft_low" in cells(found)[0]


def test_a_run_that_only_replayed_calls_made_none(results):
    replayed = MadeUp(results / "replayed").whole()
    replayed.called(2, event="replayed")
    (row,) = compare([RunRecord(replayed.folder)]).rows
    assert (row.calls, row.tokens, row.cost) == (0, 0, 0)


def test_other_data_is_said(results):
    MadeUp(results / "other", val=10).whole()
    notes = compare([RunRecord(results / "base"), RunRecord(results / "other")]).notes
    assert notes == (
        "the val split is not the same in all runs (base | other): scores on it are not comparable",
    )


def test_two_runs_of_one_name_are_told_apart(results, tmp_path):
    MadeUp(tmp_path / "more" / "base")
    found = compare([RunRecord(results / "base"), RunRecord(tmp_path / "more" / "base")])
    assert [row.run for row in found.rows] == [f"{results}/base", f"{tmp_path}/more/base"]


def test_markup_in_the_names_of_runs_is_text(tmp_path):
    name = "<img src=x onerror=alert(1)>"
    MadeUp(tmp_path / "results" / name).step(1)
    MadeUp(tmp_path / "results" / "b", overrides=EVIL_MODEL).step(1)
    found = [RunRecord(tmp_path / "results" / folder) for folder in (name, "b")]
    html = render_runs(found, compare(found))
    assert "<img" not in html
    assert "<script" not in html
    assert "&lt;img src=x onerror=alert(1)&gt;" in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html


def test_a_setting_that_one_run_does_not_have(results):
    first, second = (RunRecord(results / name).resolved for name in ("base", "rate"))
    assert differing([first, second], decisive=False) == {
        "optimizer.learning_rate": ["4", "8"],
        "env.workers": ["24", "3"],
    }


@pytest.mark.parametrize("runs", [("results/base", "results/rate"), ("base", "rate")])
def test_diff_of_two_runs(results, runs, capsys):
    assert main(["diff", *runs]) == 0
    said = capsys.readouterr().out
    assert "optimizer.learning_rate: 4 -> 8" in said
    assert "env.workers: 24 -> 3" in said
    assert "best skill, selection hard: 0.250 -> 0.500 (+0.250)" in said
    assert said.endswith("the skills are equal\n")


def test_diff_of_a_run_and_a_skill_shows_control_characters_instead_of_obeying_them(results, capsys):
    write_text(results.parent / "mine.md", "# Skill\n\n- Rule 1.\n- \x1b[2JMine.\u202e\n")
    assert main(["diff", "results/base", "mine.md"]) == 0
    said = capsys.readouterr().out
    assert "--- results/base/best_skill.md\n+++ mine.md\n" in said
    assert "\n-- Rule 3.\n" in said
    assert "\n+- \N{REPLACEMENT CHARACTER}[2JMine.\N{REPLACEMENT CHARACTER}\n" in said


def test_diff_of_equal_skills_and_of_nothing(results, capsys):
    skill = "results/base/best_skill.md"
    assert main(["diff", skill, skill]) == 0
    assert capsys.readouterr().out == "no difference\n"
    assert main(["diff", skill, "nowhere.md"]) == 2
    assert "expected the folder of a run or a skill file" in capsys.readouterr().err


def test_diff_as_json(results, capsys):
    assert main(["diff", "results/base", "results/seed", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["settings"] == {"train.seed": ["42", "7"]}
    assert found["scores"]["best skill, test hard"] == [4 / 6, None]


def test_blame_prints_each_line_with_its_step(results, capsys):
    assert main(["blame", "results/base"]) == 0
    said = capsys.readouterr().out
    assert "base: best_skill.md, hard 0.250 on 8 selection items" in said
    assert "   3  step 1, edit 1          0.000 -> 0.125  | - Rule 1.\n" in said
    assert "step 1, edit 1: replace, support 3 (failures), accept new best\n" in said
    assert "  proposed as it stands from 4 training items: " in said
    assert main(["blame", "results/base", "--line", "4"]) == 0
    said = capsys.readouterr().out
    assert "Rule 3" in said
    assert "Rule 1" not in said
    for line in ("0", "99"):
        assert main(["blame", "results/base", "--line", line]) == 2
        said = capsys.readouterr()
        assert "--line: expected a line of results/base/best_skill.md, which has " in said.err
        assert said.err.endswith(f", found {line}\n")
        assert not said.out
    assert main(["blame", "results/base", "--format", "json"]) == 0
    lines = json.loads(capsys.readouterr().out)["lines"]
    assert [line["origin"]["decision"] for line in lines][:4] == ["start", "start", "step-1", "step-3"]
