"""The sample of ALFWorld: made by its script, playable, and within a scripted target's reach."""

import asyncio
import runpy
from collections import Counter
from pathlib import Path

import pytest

from skillopt.envs.alfworld import ENVIRONMENT, ALFWorldSettings
from skillopt.envs.alfworld.household import walkthrough
from skillopt.envs.alfworld.items import TASK_TYPES, blueprint_of
from skillopt.envs.base import CommonSettings
from skillopt.models.base import Reply

SAMPLE = Path(__file__).parents[3] / "data" / "alfworld"
COUNTS = {"train": 16, "val": 12, "test": 12}
SETTINGS = ALFWorldSettings(engine="household")
COMMON = CommonSettings(max_turns=30, max_completion_tokens=100)


def test_the_script_makes_what_ships(tmp_path):
    runpy.run_path(str(SAMPLE / "make_sample.py"))["main"](tmp_path)
    for split in COUNTS:
        name = f"{split}/items.json"
        assert (tmp_path / name).read_bytes() == (SAMPLE / name).read_bytes()


def test_the_games():
    splits = {name: ENVIRONMENT.read(SAMPLE / name) for name in COUNTS}
    items = [item for found in splits.values() for item in found]
    assert {name: len(found) for name, found in splits.items()} == COUNTS
    assert len({item.id for item in items}) == len({item.data["game"]["task"] for item in items}) == 40
    assert [ENVIRONMENT.check(item) for item in items] == [""] * 40
    for name, found in splits.items():
        assert Counter(item.task_type for item in found).keys() == set(TASK_TYPES), name


@pytest.mark.parametrize(("right", "score"), [(True, 1.0), (False, 0.0)])
def test_scripted_target(right, score):
    for item in ENVIRONMENT.read(SAMPLE / "test"):
        script = walkthrough(blueprint_of(item)) if right else ["look"] * COMMON.max_turns

        async def chat(messages, *, tools=(), tool_choice="", script=script):
            return Reply(text=f"<action>{script.pop(0)}</action>")

        attempt = asyncio.run(ENVIRONMENT.attempt(item, "", chat, COMMON, SETTINGS, 0))
        assert (attempt.status, attempt.hard, attempt.soft) == ("scored", score, score)
        assert script == []
