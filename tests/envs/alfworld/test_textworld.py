"""Games of ALFWorld's own engine, each in a process of its own."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from pddlgames import write_game

from skillopt.envs.alfworld import ENVIRONMENT, ALFWorldSettings
from skillopt.envs.alfworld.engine import EngineFailure
from skillopt.envs.alfworld.household import walkthrough
from skillopt.envs.alfworld.items import blueprint_of
from skillopt.envs.alfworld.process import TextWorldGame
from skillopt.envs.base import CommonSettings
from skillopt.models.backends.simulator import BACKEND
from skillopt.models.base import Reply, Request, RoleModel
from skillopt.models.simulator.playing import RULES
from skillopt.models.simulator.wordings import RULES as WORDINGS
from skillopt.records import Item

ROOT = Path(__file__).parents[3]
SAMPLE = ENVIRONMENT.read(ROOT / "data/alfworld/test")[::2]
"""A game of each type."""
COMMON = CommonSettings(max_turns=30, max_completion_tokens=100)


def real(item, folder):
    name = f"json_2.1.1/{item.task_type}/{item.id}/game.tw-pddl"
    write_game(blueprint_of(item), folder / name)
    return Item(id=item.id, data={"id": item.id, "gamefile": name}, task_type=item.task_type)


def attempt(item, folder, chat, skill="", common=COMMON):
    settings = ALFWorldSettings(games_dir=str(folder), history=30)
    return asyncio.run(ENVIRONMENT.attempt(item, skill, chat, common, settings, 0))


@pytest.mark.parametrize("item", SAMPLE, ids=lambda item: item.task_type)
def test_a_game_is_won_by_its_walkthrough(item, tmp_path):
    pytest.importorskip("alfworld")
    script = ["dance", *walkthrough(blueprint_of(item))]

    async def chat(messages, **tools):
        return Reply(text=f"<action>{script.pop(0)}</action>")

    made = attempt(real(item, tmp_path), tmp_path, chat)
    assert (made.status, made.hard, script) == ("scored", 1.0, [])
    assert made.extra["task"] == f"{item.data['game']['task']}."
    assert made.extra["unknown_commands"] == 1
    assert made.trajectory[4].content.startswith("Nothing happens.")


def test_the_simulated_target_plays_it_by_its_rules(tmp_path):
    pytest.importorskip("alfworld")
    model = BACKEND.open(RoleModel(role="target", backend="simulator", model="m"), {})
    skill = "\n".join(f"- {WORDINGS[rule][0]}" for rule in RULES)

    async def chat(messages, **tools):
        return await model.complete(Request(messages=messages, max_completion_tokens=1024, **tools))

    made = [attempt(real(item, tmp_path), tmp_path, chat, skill) for item in SAMPLE[3:5]]
    assert [one.hard for one in made] == [1.0, 1.0]


def test_steps_beyond_fifty_are_made(tmp_path):
    pytest.importorskip("alfworld")

    async def chat(messages, **tools):
        return Reply(text="<action>look</action>")

    long = CommonSettings(max_turns=55, max_completion_tokens=100)
    made = attempt(real(SAMPLE[0], tmp_path), tmp_path, chat, common=long)
    assert (made.turns, made.reason) == (55, "the task was not done within 55 steps")


def test_a_process_that_dies_is_an_engine_failure(tmp_path):
    pytest.importorskip("alfworld")
    file = tmp_path / real(SAMPLE[0], tmp_path).data["gamefile"]

    async def main():
        game = TextWorldGame(file)
        await game.reset()
        game._process.kill()
        await game._process.wait()
        try:
            await game.step("look")
        finally:
            await game.close()

    with pytest.raises(EngineFailure, match="the engine's process ended with code -9"):
        asyncio.run(main())


def test_the_process_ends_when_nothing_more_is_to_be_read(tmp_path):
    pytest.importorskip("alfworld")
    file = tmp_path / real(SAMPLE[0], tmp_path).data["gamefile"]
    command = [sys.executable, "-m", "skillopt.envs.alfworld.player", file]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=True, cwd=ROOT)
    (line,) = done.stdout.splitlines()
    assert b'"commands":["go to cabinet 1",' in line


def test_a_broken_game_is_a_harness_error(tmp_path):
    (tmp_path / "game.tw-pddl").write_text("{", encoding="utf-8")
    item = Item(id="x", data={"id": "x", "gamefile": "game.tw-pddl"})
    made = attempt(item, tmp_path, None)
    assert (made.status, made.error.kind, made.turns) == ("harness_error", "game_engine", 0)
    assert "Error: " in made.error.message


def test_an_engine_that_is_silent_is_given_up(tmp_path):
    async def main():
        game = TextWorldGame(tmp_path / "game.tw-pddl", patience=0.001)
        try:
            await game.reset()
        finally:
            await game.close()
        assert game._process is None

    with pytest.raises(EngineFailure, match=r"no answer within 0\.001 s"):
        asyncio.run(main())


def test_the_engine_gets_no_key(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    seen = {}

    async def start(*arguments, env, **options):
        seen.update(env)
        raise EngineFailure("not started")

    monkeypatch.setattr(asyncio, "create_subprocess_exec", start)
    with pytest.raises(EngineFailure):
        asyncio.run(TextWorldGame(tmp_path / "x").reset())
    assert "PATH" in seen
    assert "sk-secret" not in seen.values()


def test_the_benchmark_and_the_parent_process_do_not_import_the_engine():
    code = (
        "import sys, skillopt.envs.alfworld, skillopt.envs.alfworld.process;"
        "print({'alfworld', 'textworld'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "set()\n"
