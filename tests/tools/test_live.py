import io
import json
import os
import socket
import time

import pytest
from clients import role_at
from loop import until
from rich.console import Console

from skillopt.config.resolve import load_run
from skillopt.errors import ConfigError
from skillopt.files import read_json, write_json
from skillopt.models.base import CallError, Reply
from skillopt.models.ledger import Ledger, read_ledger
from skillopt.phases.plan import plan_run
from skillopt.progress import Board, Part, Running, in_words
from skillopt.records import Usage
from skillopt.signs import SILENCE, lives
from skillopt.tools.live import Viewer
from skillopt.tools.train import open_stale_lock
from skillopt.tools.watch import frame, span

RUN = """
train: {num_epochs: 1, batch_size: 2}
env: {name: searchqa, split_mode: split_dir, split_dir: data}
budget: {max_calls: 9}
"""
NOW = 1_000_000.0
HERE = socket.gethostname()


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run that has begun and decided nothing yet."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config").mkdir()
    (tmp_path / "config/run.yaml").write_text(RUN)
    for split in ("train", "val", "test"):
        (tmp_path / "data" / split).mkdir(parents=True)
        entries = [
            {"id": f"{split}{n}", "question": "Q?", "context": "c", "answers": ["a"]} for n in range(4)
        ]
        (tmp_path / "data" / split / "items.json").write_text(json.dumps(entries))
    resolved = load_run(tmp_path / "config/run.yaml", [], {})
    folder = tmp_path / "results/run"
    write_json(folder / "config.json", resolved)
    write_json(folder / "plan.json", plan_run("run", resolved)[0])
    return folder


def sign(folder, place, *, host=HERE, pid=None, beat=NOW, parts=()):
    content = Running(
        command="x",
        host=host,
        pid=os.getpid() if pid is None else pid,
        started=NOW - 90,
        beat=beat,
        parts=parts,
    )
    write_json(folder / f"logs/{place}.progress.json", content)


def failure(folder, code, message):
    note = {"command": "rollout", "exit_code": code, "message": message}
    write_json(folder / "logs/step_0001/rollout.failure.json", note)


def shown(folder, width=100):
    console = Console(file=io.StringIO(), width=width)
    console.print(frame(Viewer(folder).look(NOW)))
    return console.file.getvalue()


def test_where_life_is_seen():
    def of(**fields):
        return Running(
            **{"command": "x", "host": HERE, "pid": os.getpid(), "started": 0.0, "beat": NOW} | fields
        )

    gone = 2**22 + 1  # above the largest process number
    assert lives(of(), NOW)
    assert lives(of(), NOW + SILENCE)
    assert not lives(of(), NOW + SILENCE + 1)
    assert not lives(of(pid=gone), NOW)
    assert lives(of(pid=gone, host="elsewhere"), NOW)


def test_a_lock_is_not_opened_while_another_machine_works_in_the_folder(run, monkeypatch):
    lock = run.parents[1] / ".snakemake/locks/0.output.lock"
    lock.parent.mkdir(parents=True)
    lock.write_text("results/run/best_skill.md")
    sign(run, "workflow", host="elsewhere", pid=7, beat=time.time())
    with pytest.raises(ConfigError, match="process 7 on elsewhere"):
        open_stale_lock()
    assert lock.exists()
    sign(run, "workflow", host="elsewhere", pid=7, beat=time.time() - SILENCE - 1)
    open_stale_lock()
    assert not lock.exists()


def test_in_a_narrow_terminal_names_and_numbers_stay_whole(run):
    part = Part(what="w", total=140, done=10, statuses={"scored": 9, "timeout": 1}, hard=0.25, seconds=500.0)
    sign(run, "workflow")
    sign(run, "step_0001/rollout", parts=(part,))
    seen = shown(run, width=80)
    assert "step_0001/rollout  10/140 " in seen
    assert " 0.0/s  1 h 48 min left" in seen
    assert "9 scored" in seen
    assert max(map(len, seen.splitlines())) <= 80


def test_running_with_what_is_at_work(run):
    part = Part(what="w", total=40, done=10, statuses={"scored": 9, "timeout": 1}, hard=0.25, seconds=5.0)
    sign(run, "workflow")
    sign(run, "step_0001/rollout", parts=(part,))
    sign(run, "step_0001/select")
    seen = shown(run, width=140)
    assert seen.startswith("run  running  epoch 1 of 1, step 0 of 2, for 1 min 30 s")
    (line,) = [line for line in seen.splitlines() if line.startswith("step_0001/rollout")]
    said = "step_0001/rollout 10/40 ##........ 2.0/s 15 s left 9 scored, 1 timeout, mean hard 0.250"
    assert " ".join(line.split()) == said
    assert "step_0001/select   for 1 min 30 s" in seen
    assert "none yet" in seen
    assert "nothing yet" in seen


@pytest.mark.parametrize(
    ("signs", "code", "condition", "note"),
    [
        (None, None, "stopped", "next: rollout of step 1"),
        (NOW - 100, None, "dead", "no sign of life since 100 s (workflow"),
        (NOW - 100, 130, "dead", "no sign of life since 100 s"),
        (NOW - 100, 3, "failed", "rollout (provider dead): no answer"),
        (None, 6, "failed", "rollout (cap reached): no answer"),
        (None, 130, "interrupted", "rollout (interrupted): no answer"),
        (NOW, 3, "running", ""),
    ],
)
def test_the_condition_of_a_run(run, signs, code, condition, note):
    if signs:
        sign(run, "workflow", beat=signs)
    if code:
        failure(run, code, "no answer")
    view = Viewer(run).look(NOW)
    assert view.condition == condition
    assert note in view.note


def test_spending_and_errors_by_kind(run):
    viewer = Viewer(run)
    ledger = Ledger(run.parent / ".calls", run="run", phase="rollout", label="0001")
    reply = Reply(text="", usage=Usage(calls=1, prompt=1000, completion=5))
    for number in range(3):
        ledger.replied("made", str(number), role_at("x"), reply)
    ledger.failed("k", role_at("x"), CallError("x", code="http_429"), 0.1)
    assert viewer.look(NOW).errors == {"http_429": 1}
    for code in ("timeout", "timeout"):
        ledger.failed("k", role_at("x"), CallError("x", code=code), 0.1)
    ledger.replied("replayed", "1", role_at("x"), reply)
    assert viewer.look(NOW).errors == {"timeout": 2, "http_429": 1}
    seen = [line.split() for line in shown(run).splitlines()]
    assert ["target", "3", "1", "3,000", "15", "unknown"] in seen
    assert ["2", "timeout,", "1", "http_429"] in seen
    assert ["budget:", "3", "of", "9", "calls"] in seen


def test_spending_of_a_run_that_was_copied_from_elsewhere(run):
    """Its call store stayed there; calls.json is what it says of it."""
    elsewhere = Ledger(run.parent / "elsewhere", run="run", phase="rollout", label="0001")
    elsewhere.replied(
        "made", "1", role_at("x"), Reply(text="", usage=Usage(calls=1, prompt=1000, completion=5))
    )
    write_json(run / "calls.json", read_ledger(run.parent / "elsewhere", "run"))
    seen = [line.split() for line in shown(run).splitlines()]
    assert ["target", "1", "0", "1,000", "5", "unknown"] in seen


def test_texts_of_others_are_no_commands(run):
    failure(run, 3, "[red]\x1b[31m:smile: [link=http://x]bell\x07\nsecond line")
    seen = shown(run, width=200)
    assert "[red] [31m:smile: [link=http://x]bell  second line" in seen
    assert "\x1b" not in seen
    assert "\x07" not in seen


def test_a_board_shows_life_and_progress_and_is_taken_away(tmp_path):
    path = tmp_path / "logs/rollout.progress.json"
    board = Board("rollout", path, every=0.01)
    before = time.time()
    board.start()
    first = read_json(path, Running)
    assert (first.command, first.pid, first.host, first.parts) == ("rollout", os.getpid(), HERE, ())
    assert abs(first.beat - before) < 60
    progress = board.part("rollout of step 1", 4)
    progress.step("scored", 1.0)
    progress.step("timeout")
    until(lambda: [part.done for part in read_json(path, Running).parts] == [2])
    (part,) = read_json(path, Running).parts
    assert (part.what, part.total, part.statuses, part.hard) == (
        "rollout of step 1",
        4,
        {"scored": 1, "timeout": 1},
        1.0,
    )
    board.end()
    assert list(path.parent.iterdir()) == []


def test_a_board_without_a_place_shows_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    board = Board()
    board.start()
    board.part("x", 1).step("scored", 0.0)
    board.end()
    assert list(tmp_path.iterdir()) == []


def test_progress_in_words():
    def part(done, seconds=2.0):
        return Part(what="w", total=4, done=done, statuses={"scored": done}, hard=0.5, seconds=seconds)

    assert in_words(part(1)) == "w: 1/4 done, 1 scored, mean hard 0.500, 0.5/s, 6 s left"
    assert in_words(part(4)) == "w: 4/4 done, 4 scored, mean hard 0.500"
    assert part(0).left is None


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "0 s"),
        (59.4, "59 s"),
        (60, "1 min 00 s"),
        (3599, "59 min 59 s"),
        (7500, "2 h 05 min"),
        (-3, "0 s"),
    ],
)
def test_time_spans(seconds, words):
    assert span(seconds) == words
