"""The skeleton of a benchmark: written, judged, trained."""

import asyncio
import json
import subprocess

import pytest
from pages import ROOT, environment

from skillopt.cli import main
from skillopt.envs import registry
from skillopt.envs.base import CommonSettings
from skillopt.models.base import Reply


@pytest.fixture
def started(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["new-benchmark", "village_lore"]) == 0
    return tmp_path


def test_every_file_has_the_new_name(started):
    files = {path.relative_to(started).as_posix(): path for path in started.rglob("*") if path.is_file()}
    assert set(files) == {
        "config/village_lore.yaml",
        "data/village_lore/test/items.json",
        "data/village_lore/train/items.json",
        "data/village_lore/val/items.json",
        "envs/village_lore/__init__.py",
        "envs/village_lore/initial.md",
        "envs/village_lore/prompts/analyst_failure.md.j2",
        "envs/village_lore/prompts/target_system.md",
        "envs/village_lore/prompts/target_user.md",
    }
    assert not [name for name, path in files.items() if "mybench" in path.read_text().lower()]
    assert "class VillageLoreSettings" in files["envs/village_lore/__init__.py"].read_text()


def test_nothing_is_overwritten(started, capsys):
    assert main(["new-benchmark", "village_lore"]) == 2
    assert "expected no such file, found one" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["Mine", "a-b", "9", "class", "../up", "searchqa"])
def test_names_that_cannot_be_used(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    assert main(["new-benchmark", name]) == 2
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("reply", "status", "hard", "soft"),
    [
        (Reply(text="So. <answer>lena marsh</answer>"), "scored", 1.0, 1.0),
        (Reply(text="<answer>Lena Marsh, I think</answer>"), "scored", 0.0, 1 / 5),
        (Reply(text="<answer>nobody</answer>"), "scored", 0.0, 0.0),
        (Reply(text="Lena Marsh"), "unparsed", 0.0, 0.0),
        (Reply(text=""), "no_answer", 0.0, 0.0),
        (Reply(text="<answer>Lena", finish_reason="length"), "truncated", 0.0, 0.0),
    ],
)
def test_its_replies_are_judged(started, reply, status, hard, soft):
    bench = registry.environment("village_lore")
    item = bench.read(started / "data/village_lore/val")[0]

    async def chat(messages, *, tools=(), tool_choice=""):
        assert "- A rule." in messages[0].content
        return reply

    attempt = asyncio.run(
        bench.attempt(
            item,
            "- A rule.",
            chat,
            CommonSettings(max_turns=1, max_completion_tokens=9),
            bench.settings(),
            0,
        )
    )
    assert (attempt.status, attempt.hard, attempt.soft) == (status, hard, pytest.approx(soft))
    assert "A rule" not in str(attempt.trajectory)


@pytest.mark.slow
def test_it_trains(started):
    command = ["skillopt", "train", "village_lore", "--set", "train.num_epochs=1"]
    env = environment(ROOT)
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    summary = json.loads((started / "results/village_lore/summary.json").read_text())
    assert summary["outcome"] == "improved"
    hard = {name: scores["test"]["score"]["hard"] for name, scores in summary["skills"].items()}
    assert hard["initial"] == 0.0 < hard["best"]
