"""Whose process a run is: only one that a dashboard of this machine started, that still lives, is stopped."""

import os
import socket
import subprocess
import sys

import psutil
import pytest

from skillopt.dashboard.launch import Launcher, Started
from skillopt.errors import ConfigError
from skillopt.files import write_json


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


def launcher(folder, pid, created, host=None):
    record = Started(pid=pid, created=created, host=host or socket.gethostname())
    write_json(folder / "results/mine/logs/dashboard.json", record)
    return Launcher(folder / "results")


def test_a_process_of_its_own_group_is_interrupted(tmp_path, sleeper):
    process = sleeper(own_group=True)
    found = launcher(tmp_path, process.pid, psutil.Process(process.pid).create_time())
    assert found.process("mine") == process.pid
    found.stop("mine")
    assert process.wait(timeout=60) != 0
    assert found.process("mine") is None


@pytest.mark.parametrize(
    ("own_group", "later", "host"), [(False, 0.0, None), (True, 5.0, None), (True, 0.0, "elsewhere")]
)
def test_another_process_is_left_alone(tmp_path, sleeper, own_group, later, host):
    process = sleeper(own_group)
    found = launcher(tmp_path, process.pid, psutil.Process(process.pid).create_time() - later, host)
    with pytest.raises(ConfigError, match="A run of a terminal is stopped there"):
        found.stop("mine")
    process.communicate()
    assert process.returncode == 0


def test_a_process_that_ended_and_was_not_waited_for_is_gone(tmp_path, sleeper):
    process = sleeper(own_group=True)
    created = psutil.Process(process.pid).create_time()
    found = launcher(tmp_path, process.pid, created)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert found.process("mine") is None


def test_nothing_starts_while_a_run_is_at_work(tmp_path):
    with pytest.raises(ConfigError, match="other is at work, and one workflow at a time"):
        Launcher(tmp_path / "results").start("mine", iter(["other"]))
    assert not (tmp_path / "results/mine").exists()
