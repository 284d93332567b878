"""Ctrl-C while a command starts: no traceback, whichever module is being imported."""

import os
import re
import signal
import subprocess
import sys
import tomllib

import pytest
from project import ROOT

# Python imports a module of this name as it starts. The signal comes while the named module is looked for.
SIGNAL_AT_IMPORT = """
import os, signal, sys

class Finder:
    def find_spec(name, path=None, target=None):
        if name == os.environ["SIGNAL_AT"]:
            sys.meta_path.remove(Finder)
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder)
"""
SCRIPTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
MODULE, FUNCTION = SCRIPTS["skillopt"].split(":")
# The second is what pip writes as the script.
WAYS = {
    "module": ("-m", "skillopt"),
    "script": ("-c", f"import sys; from {MODULE} import {FUNCTION}; sys.exit({FUNCTION}())"),
}


def interrupted(tmp_path, python, command, at):
    (tmp_path / "sitecustomize.py").write_text(SIGNAL_AT_IMPORT, encoding="utf-8")
    return subprocess.run(
        [sys.executable, *python, *command],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}", "SIGNAL_AT": at},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("at", ["skillopt.cli", "msgspec", "skillopt.phases.rollout", "skillopt.data"])
@pytest.mark.parametrize("way", WAYS)
def test_a_command_that_is_being_imported_dies_of_it_quietly(tmp_path, way, at):
    done = interrupted(tmp_path, WAYS[way], ("rollout", "--help"), at)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


@pytest.mark.parametrize("way", WAYS)
def test_a_command_at_work_ends_with_its_exit_code_and_a_note(tmp_path, way):
    (tmp_path / "config").mkdir()
    (tmp_path / "config/mine.yaml").write_text("train: {seed: 1}\n", encoding="utf-8")
    done = interrupted(tmp_path, WAYS[way], ("plan", "mine", "--log", "logs/plan.log"), "yaml")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
    note = (tmp_path / "logs/plan.failure.json").read_text(encoding="utf-8")
    assert re.sub(r"\s", "", note) == '{"command":"plan","exit_code":130,"message":"interrupted"}'


def test_a_process_that_was_started_to_ignore_it_starts(tmp_path):
    code = f"import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); {WAYS['script'][1]}"
    done = interrupted(tmp_path, ("-c", code), ("--version",), "msgspec")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("skillopt ")
