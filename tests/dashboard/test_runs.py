"""What is read of runs is kept as long as their files are the same, and read again when one is not."""

import json
import os
import socket
import time

import pytest
from madeup import MadeUp

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
