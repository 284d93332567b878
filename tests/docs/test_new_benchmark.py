"""The page on adding a benchmark: its example trains as written."""

import json
import re
import subprocess
import sys

import pytest
from pages import ROOT, environment

PAGE = ROOT / "docs/new-benchmark.md"
FILE = re.compile(r"^`([\w./]+)`:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMANDS = re.compile(
    r"^<!-- not run by the tests: run by a test .*-->\n```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL
)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logbook")
    for name, text in FILE.findall(PAGE.read_text(encoding="utf-8")):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def test_the_example_is_one_package_and_one_configuration(project):
    files = {path.relative_to(project).as_posix() for path in project.rglob("*") if path.is_file()}
    assert files == {
        "config/logbook.yaml",
        "data/logbook.jsonl",
        "envs/logbook/__init__.py",
        "envs/logbook/initial.md",
        "envs/logbook/prompts/analyst_failure.md.j2",
        "envs/logbook/prompts/target_task.md",
    }
    code = (project / "envs/logbook/__init__.py").read_text(encoding="utf-8")
    assert len([line for line in code.splitlines() if line.strip()]) <= 110


def test_the_example_is_typed_and_tidy(project):
    for command in (["ruff", "check", "--config", ROOT / "pyproject.toml"], ["mypy", "--strict"]):
        done = subprocess.run(
            [sys.executable, "-m", *command, project / "envs/logbook/__init__.py"],
            cwd=ROOT,
            env=environment(ROOT),
            capture_output=True,
            text=True,
            timeout=240,
        )
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_the_example_trains(project):
    (commands,) = COMMANDS.findall(PAGE.read_text(encoding="utf-8"))
    done = subprocess.run(
        ["bash", "-euc", commands],
        cwd=project,
        env=environment(ROOT),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "logbook: improved" in done.stdout
    best = json.loads((project / "results/logbook/eval/test/best/scores.json").read_text())
    assert set(best["task_types"]) == {"name", "number"}
    assert best["overall"]["score"]["hard"] > 0.5
    assert json.loads((project / "results/logbook/config.json").read_text())["env_settings"] == {
        "tolerance": 0.01
    }
