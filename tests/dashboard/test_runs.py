"""What is read of runs is kept as long as their files are the same, and read again when one is not."""

import json
import os
import socket
import time
from pathlib import Path

import pytest
from madeup import MadeUp

from skillopt.config import yamlfile
from skillopt.dashboard.launch import Launcher
from skillopt.dashboard.runs import Runs


@pytest.fixture
def mine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prices.yaml").write_text("m: {prompt: 1, completion: 2}\n")
    run = MadeUp(tmp_path / "results/mine", overrides=("calls.prices=prices.yaml",)).whole()
    run.called(3)
    return run


@pytest.fixture
def runs(mine):
    results = mine.folder.parent
    return Runs(results, Launcher(results))


def in_place(mine):
    path = mine.folder / "steps/step_0002/gate.json"
    path.write_text(path.read_text() + " ")


def lost(mine):
    (mine.folder / "steps/step_0004/gate.json").unlink()


def called(mine):
    mine.called(2)


def prices(mine):
    mine.folder.parents[1].joinpath("prices.yaml").write_text("m: {prompt: 10, completion: 20}\n")


def test_what_has_not_changed_is_not_read_again(runs):
    view, record, page = runs.listed("mine").view, runs.record("mine"), runs.side_by_side(["mine"])
    assert runs.listed("mine").view is view
    assert runs.record("mine") is record
    assert runs.side_by_side(["mine"]) is page


@pytest.mark.parametrize("change", [in_place, lost, called, prices])
def test_any_change_is_seen(runs, mine, change):
    view, page = runs.listed("mine").view, runs.side_by_side(["mine"])
    change(mine)
    assert runs.listed("mine").view is not view
    assert runs.side_by_side(["mine"]) is not page


def test_a_change_is_seen_with_its_numbers(runs, mine):
    before = runs.listed("mine").view.totals[0]
    mine.called(2)
    prices(mine)
    after = runs.listed("mine").view.totals[0]
    assert (before.made, after.made) == (3, 5)
    assert after.cost == pytest.approx(before.cost / 3 * 5 * 10)


def test_a_run_with_a_sign_of_life_is_looked_at_each_time(runs, mine):
    """Whether it lives is decided by the time, too."""
    sign = {"command": "rollout", "started": 0, "beat": time.time(), "host": socket.gethostname()}
    path = mine.folder / "logs/step_0001/rollout.progress.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({**sign, "pid": os.getpid()}))
    view = runs.listed("mine").view
    assert view.condition == "running"
    assert runs.listed("mine").view is not view


RUN_FILE = "env: {name: searchqa, split_mode: split_dir, split_dir: data}\nmodel: {backend: simulator}\n"


@pytest.fixture
def configured(tmp_path, monkeypatch):
    """Return a function that lists a run which is only configured, by the text of its file."""
    monkeypatch.chdir(tmp_path)
    for split in ("train", "val", "test"):
        (tmp_path / "data" / split).mkdir(parents=True)
    (tmp_path / "config").mkdir()
    runs = Runs(tmp_path / "results", Launcher(tmp_path / "results"))

    def listed(text=RUN_FILE):
        (tmp_path / "config/mine.yaml").write_text(text)
        return runs.listed("mine")

    return listed


def own_benchmark(text):
    Path("envs/odd").mkdir(parents=True)
    Path("envs/odd/__init__.py").write_text(text)
    return RUN_FILE.replace("searchqa", "odd")


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (lambda: "optimizer: {learning_rat: 3}", "optimizer.learning_rate?"),
        (lambda: "model: [", "expected YAML"),
        (lambda: "_base_: other.yaml", "expected a configuration file, found none"),
        (lambda: RUN_FILE.replace("split_dir: data", "split_dir: nowhere"), "found none at 'nowhere'"),
        (
            lambda: "env: {name: searchqa, split_mode: ratio, data_path: none.json}",
            "found none at 'none.json'",
        ),
        (lambda: own_benchmark("1 / 0"), "ZeroDivisionError"),
        (lambda: "x" * 1000 + ": 1", "..."),
    ],
)
def test_a_configuration_that_cannot_be_planned_is_listed_with_the_reason(configured, broken, said):
    assert (configured().state, configured().note) == ("ready", "")
    found = configured(broken())
    assert (found.state, said in found.note, "\n" in found.note) == ("unusable", True, False)
    assert len(found.note) < 700
    assert configured().state == "ready"


def test_data_that_come_make_a_configuration_usable(configured):
    Path("data/test").rmdir()
    assert "test missing" in configured().note
    Path("data/test").mkdir()
    assert configured().state == "ready"


def test_a_base_that_changes_is_seen(configured):
    Path("base.yaml").write_text("train: {seed: 1}\n")
    text = "_base_: ../base.yaml\n" + RUN_FILE
    assert configured(text).state == "ready"
    Path("base.yaml").write_text("train: {sead: 1}\n")
    assert "did you mean train.seed?" in configured(text).note


def test_many_configurations_are_read_once(configured):
    configured()
    for number in range(50):
        Path(f"config/c{number}.yaml").write_text(RUN_FILE + f"train: {{seed: {number}}}\n")
    runs = Runs(Path("results"), Launcher(Path("results")))
    first = runs.all()
    read = yamlfile._kept.cache_info().misses
    assert runs.all() == first
    assert {run.state for run in first} == {"ready"}
    assert (len(first), yamlfile._kept.cache_info().misses) == (51, read)


def test_a_configuration_that_takes_long_to_read_is_left_to_its_plan(configured):
    found = configured("a: [\n" + "- b\n" * yamlfile.KEPT)
    assert (found.state, found.note) == ("ready", "")
