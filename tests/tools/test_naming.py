"""How a run is named on the command line, and what is handed on to the engine."""

from pathlib import Path

import pytest

from skillopt.cli import main
from skillopt.naming import run_folder, run_name


@pytest.mark.parametrize(
    "given", ["demo", "results/demo", "results/demo/", "./results/demo", "config/demo.yaml"]
)
def test_a_run_has_one_name(given, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results/demo").mkdir(parents=True)
    assert run_name(given) == "demo"
    assert run_folder(given) == Path("results/demo")


def test_a_folder_elsewhere_is_taken_as_it_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/config.json").touch()
    assert run_folder("kept") == Path("kept")
    assert run_folder("nowhere") == Path("nowhere")
    assert run_name("v1.5") == "v1.5"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["train", "one", "two"], "unrecognized arguments: two"),
        (["status", "one", "--", "-n"], "expected nothing after --, found -n"),
        (["train", "--set", "train.batch_size=3", "one"], "the following arguments are required: run\n"),
    ],
)
def test_a_word_too_many_is_refused_before_anything_is_done(arguments, said, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert said in capsys.readouterr().err


def test_a_dry_run_of_the_engine_is_one_of_the_command_too(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    note = tmp_path / "results/searchqa/logs/step_0001/rollout.failure.json"
    note.parent.mkdir(parents=True)
    note.touch()
    assert main(["train", "searchqa", "--", "-n", "--quiet", "all"]) == 0
    assert note.exists()
    assert "the configuration that ships is used" in capfd.readouterr().err


@pytest.fixture
def runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("searchqa", "mine", *(f"sweep{number:02d}" for number in range(20))):
        folder = tmp_path / "results" / name
        folder.mkdir(parents=True)
        (folder / "config.json").touch()
    (tmp_path / "config").mkdir()
    (tmp_path / "config/later.yaml").touch()


@pytest.mark.parametrize("command", [["status"], ["watch"], ["report"], ["blame"], ["runs"]])
@pytest.mark.parametrize("given", ["serchqa", "results/serchqa"])
def test_a_name_that_no_run_has_is_told_with_the_nearest_and_those_there_are(command, given, runs, capsys):
    assert main([*command, given]) == 2
    said = capsys.readouterr().err
    assert f"{given}: expected the folder of a run (with config.json), found none; " in said
    assert "did you mean searchqa? (runs in results/: mine, searchqa, sweep00, " in said
    assert said.endswith("sweep17 and 2 more)\n")


def test_a_run_that_has_not_begun_is_told_how_to_begin(runs, capsys):
    assert main(["status", "later"]) == 2
    assert "found none; to begin it: skillopt train later\n" in capsys.readouterr().err


def test_no_run_at_all(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["watch", "mine", "--once"]) == 2
    assert "found none (runs in results/: none)\n" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["train", "plan", "check", "eval"])
def test_a_run_that_is_not_configured_is_told_with_the_nearest(command, runs, capsys):
    assert main([command, "latr"]) == 2
    said = capsys.readouterr().err
    assert (
        "run latr: expected its configuration at config/latr.yaml, found none; did you mean later? " in said
    )
    assert "(runs that are configured: " in said
    assert "searchqa" in said  # it ships
    assert " config," not in said
