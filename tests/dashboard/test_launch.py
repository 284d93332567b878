"""Whose process a run is: only one that a dashboard of this machine started, that still lives, is stopped."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from loop import until

from skillopt.dashboard.launch import STARTED, Launcher, Started, log_tail
from skillopt.errors import ConfigError
from skillopt.files import WriteError, write_json
from skillopt.process import is_running, mark_of

SECRET = "value-of-a-variable-tail-4711"


@pytest.fixture
def sleeper():
    """A process that waits for its input to end, in a group of its own or not."""
    started = []

    def start(own_group):
        command = [sys.executable, "-c", "import sys; print(1, flush=True); sys.stdin.read()"]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=own_group
        )
        started.append(process)
        process.stdout.readline()
        return process

    yield start
    for process in started:
        process.communicate()


def launcher(folder, pid, mark, host=None, start="start"):
    record = Started(pid=pid, mark=mark, start=start, host=host or socket.gethostname())
    write_json(folder / "results/mine/logs/dashboard.json", record)
    return Launcher(folder / "results")


def test_a_process_of_its_own_group_is_interrupted(tmp_path, sleeper):
    process = sleeper(own_group=True)
    found = launcher(tmp_path, process.pid, mark_of(process.pid))
    assert found.process("mine") == process.pid
    found.stop("mine")
    assert process.wait(timeout=60) != 0
    assert found.process("mine") is None


@pytest.mark.parametrize(
    ("own_group", "later", "host"), [(False, "", None), (True, "5", None), (True, "", "elsewhere")]
)
def test_another_process_is_left_alone(tmp_path, sleeper, own_group, later, host):
    process = sleeper(own_group)
    found = launcher(tmp_path, process.pid, mark_of(process.pid) + later, host)
    with pytest.raises(ConfigError, match="A run of a terminal is stopped there"):
        found.stop("mine")
    process.communicate()
    assert process.returncode == 0


def test_a_process_that_ended_and_was_not_waited_for_is_gone(tmp_path, sleeper):
    process = sleeper(own_group=True)
    found = launcher(tmp_path, process.pid, mark_of(process.pid))
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert found.process("mine") is None


LEADER = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import sys; print(1, flush=True); sys.stdin.read()"])
print(child.pid, flush=True)
child.wait()
"""


@pytest.mark.parametrize("start", ["start", "of another dashboard", ""])
def test_what_outlives_the_process_that_started_it_is_stopped(tmp_path, start):
    """kill -9 of `train` alone: the engine goes on, and pays. Only what that start began is meant."""
    command = [sys.executable, "-c", LEADER]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(
        command, start_new_session=True, env=os.environ | {STARTED: start}, **pipes
    ) as leader:
        child = max(int(leader.stdout.readline()), int(leader.stdout.readline()))
        found = launcher(tmp_path, leader.pid, mark_of(leader.pid), start=start and "start")
        leader.kill()
        leader.wait()
        if start == "start":
            assert found.process("mine") == leader.pid
            found.stop("mine")
            until(lambda: not is_running(child))
        else:
            with pytest.raises(ConfigError, match="A run of a terminal is stopped there"):
                found.stop("mine")
            assert is_running(child)
    until(lambda: not is_running(child))
    assert found.process("mine") is None


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere the clock tells")
def test_what_tells_a_process_from_others_does_not_depend_on_the_clock():
    ticks = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert mark_of(os.getpid()) == f"{boot} {ticks}"
    assert mark_of(2**40) is None


def test_nothing_starts_while_a_run_is_at_work(tmp_path):
    with pytest.raises(ConfigError, match="other is at work, and one workflow at a time"):
        Launcher(tmp_path / "results").start("mine", iter(["other"]))
    assert not (tmp_path / "results/mine").exists()


def test_a_run_that_could_not_be_stopped_is_not_started(tmp_path):
    """Its record cannot be written: there is a folder of that name."""
    (tmp_path / "results/mine/logs/dashboard.json").mkdir(parents=True)
    found = Launcher(tmp_path / "results")
    with pytest.raises(WriteError):
        found.start("mine", iter([]))
    until(lambda: found.code("mine") is not None)
    assert found.code("mine") == -signal.SIGTERM


@pytest.mark.parametrize("before", [0, 7990, 12000])
def test_no_part_of_a_secret_is_shown_where_a_log_is_cut(tmp_path, before):
    log = tmp_path / "dashboard.log"
    log.write_text(f"{'x' * before} {SECRET} {'y' * 7990}")
    shown = log_tail(log, 20, [SECRET])
    assert SECRET[-9:] not in shown
    assert len(shown) <= 8000


def test_a_link_in_the_place_of_the_lock_is_not_emptied(tmp_path):
    (tmp_path / "results").mkdir()
    (tmp_path / "mine.txt").write_text("mine")
    (tmp_path / "results/.dashboard.lock").symlink_to(tmp_path / "mine.txt")
    with pytest.raises(ConfigError):
        Launcher(tmp_path / "results").stop("mine")
    assert (tmp_path / "mine.txt").read_text() == "mine"
