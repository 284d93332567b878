"""The command line as a program among programs."""

import argparse
import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from project import ROOT

from skillopt.cli import PHASES, TOOLS, main

COMMAND = (sys.executable, "-m", "skillopt")


@pytest.mark.parametrize("lines", [1, 50_000], ids=["kept in a buffer", "written at once"])
def test_output_that_nobody_reads_ends_a_command_quietly(lines, tmp_path):
    for name in ("one", "two"):
        (tmp_path / f"{name}.md").write_text(f"{name}\n" * lines, encoding="utf-8")
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as output:
        done = subprocess.run(
            [*COMMAND, "diff", "one.md", "two.md"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=output,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    assert (done.returncode, done.stderr) == (141, b"")


def test_a_file_that_is_not_there_is_named(tmp_path, capsys):
    missing = tmp_path / "config.json"
    command = ["history", "--config", str(missing), "--plan", "p", "--out", "o", "--csv", "o"]
    assert main(command) == 1
    assert f"history: expected a file at {missing}, found none" in capsys.readouterr().err


def test_a_deleted_file_of_a_run_is_named_with_how_to_make_it_again(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    missing = "results/run/plan.json"
    command = ["summary", "--config", "results/run/config.json", "--last", missing, "--gate", missing]
    assert main([*command, "--out", "o", "--calls", "c"]) == 1
    said = f"found none. If it was deleted: skillopt train run -- --forcerun {missing}"
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("name", [*PHASES, *TOOLS])
def test_help_says_which_files_are_read_and_written(name):
    package = "phases" if name in PHASES else "tools"
    module = importlib.import_module(f"skillopt.{package}.{name.replace('-', '_')}")
    parser = argparse.ArgumentParser(description=module.__doc__)
    module.add_arguments(parser)
    paths = [action for action in parser._actions if action.type is Path]
    assert [action.dest for action in paths if not _says(action.help or "")] == []
    assert _says(" ".join(parser.format_help().split()))
    if name in PHASES:
        assert any("written" in (action.help or "") for action in paths)


def _says(text):
    return any(word in text for word in ("(read", "written", " read"))


def test_a_variable_that_is_no_text_is_refused_with_its_name(tmp_path):
    run = tmp_path / "config" / "demo.yaml"
    run.parent.mkdir()
    run.write_text(
        "env: {name: searchqa, split_mode: split_dir, split_dir: data}\nmodel: {backend: qwen_chat}\n"
    )
    done = subprocess.run(
        [*COMMAND, "config", "--run-file", str(run), "--out", str(tmp_path / "config.json")],
        env={**os.environb, b"PYTHONPATH": os.fsencode(ROOT), b"TARGET_MODEL": b"m-\xff-1"},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    expected = b"environment variable TARGET_MODEL: model.target: expected text that can be written as UTF-8"
    assert expected in done.stderr
    assert b"Traceback" not in done.stderr
    assert not (tmp_path / "config.json").exists()
