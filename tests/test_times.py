"""How long jobs were at work: ended, killed, side by side, done again."""

import logging
import os
import signal
import socket
import subprocess
import sys

import pytest
from loop import ROOT, until

from skillopt.files import read_json
from skillopt.progress import Board, Running, span_of
from skillopt.times import Span, covered, note_time, read_times

WORK = """
import sys, pathlib
from skillopt.progress import Board
board = Board("rollout", pathlib.Path(sys.argv[1]), every=0.01)
board.start()
print("begun", flush=True)
sys.stdin.readline()
board.end()
"""


@pytest.fixture
def run(tmp_path):
    """A folder that is a run's as far as logs are concerned."""
    folder = tmp_path / "results/run"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    return folder


def span(began, seconds, phase="rollout", pid=1):
    return Span(phase=phase, host="h", pid=pid, began=began, seconds=seconds)


def at_work(run):
    """Start a process that shows that it is at work, until it reads a line."""
    started = subprocess.Popen(
        [sys.executable, "-c", WORK, str(run / "logs/step_0001/rollout.progress.json")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert started.stdout.readline() == b"begun\n"
    return started


def test_time_side_by_side_counts_once():
    assert covered([]) == 0
    assert covered([span(10, 5), span(12, 1), span(14, 3), span(30, 2)]) == 9
    assert covered([span(30, 2), span(10, 5)]) == 7


def test_the_times_of_phases_and_of_the_run(run):
    place = run / "logs/x.progress.json"
    for entry in (span(0, 10), span(5, 10, pid=2), span(5, 20, "evaluate"), span(100, 1, "gate")):
        note_time(place, entry)
    times = read_times(run.parent / ".calls", "run", [span(200, 4, "gate", 9)])
    assert [(found.phase, found.jobs, found.seconds) for found in times.phases] == [
        ("evaluate", 1, 20),
        ("gate", 2, 5),
        ("rollout", 2, 15),
    ]
    assert times.seconds == 30
    assert (times.of("gate"), times.of("select")) == (5, None)
    assert list(run.parent.glob(".calls/times/*/*")) == [run.parent / ".calls/times/run/h.jsonl"]


def test_a_job_that_ends_while_it_is_looked_at_counts_once(run):
    note_time(run / "logs/x.progress.json", span(0, 10))
    times = read_times(run.parent / ".calls", "run", [span(0, 9)])
    assert [(found.jobs, found.seconds) for found in times.phases] == [(1, 10)]


def test_a_torn_line_is_left_out_and_said(run, caplog):
    note_time(run / "logs/x.progress.json", span(0, 10))
    path = run.parent / ".calls/times/run/h.jsonl"
    path.write_bytes(path.read_bytes() + b'{"phase": "ga')
    with caplog.at_level(logging.WARNING):
        assert read_times(run.parent / ".calls", "run").seconds == 10
    assert "a line is cut off" in caplog.text


def test_a_job_keeps_its_time_when_it_ends_and_a_killed_one_when_it_begins_again(run):
    place = run / "logs/step_0001/rollout.progress.json"
    store = run.parent / ".calls"
    killed = at_work(run)
    first = read_json(place, Running)
    until(lambda: read_json(place, Running).beat > first.beat)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    left = span_of(read_json(place, Running))
    assert left.seconds > 0
    assert not (store / "times").exists()
    assert read_times(store, "run", [left]).of("rollout") == left.seconds
    again = at_work(run)
    assert read_times(store, "run").of("rollout") == left.seconds
    again.communicate(b"\n")
    assert not place.exists()
    (found,) = read_times(store, "run").phases
    assert (found.phase, found.jobs) == ("rollout", 2)
    assert found.seconds > left.seconds


def test_the_engine_and_commands_beside_a_run_are_no_jobs(run, tmp_path):
    for command, place in (("workflow", run / "logs/workflow.progress.json"), ("plan", tmp_path / "logs/p")):
        board = Board(command, place)
        board.start()
        board.end()
    assert list(tmp_path.rglob("*.jsonl")) == []


def test_a_torn_sign_stops_nobody(run, caplog):
    place = run / "logs/x.progress.json"
    place.parent.mkdir()
    place.write_bytes(b"")
    board = Board("gate", place)
    board.start()
    assert read_json(place, Running).host == socket.gethostname()
    board.end()
    assert "expected a Running record" in caplog.text
