"""ALFWorld: items, commands in replies, prompts, and what comes of each kind of game."""

import asyncio
import importlib.machinery
import json
import sys

import msgspec
import pytest
from analysts import failure_prompt

from skillopt.config.resolve import load_run
from skillopt.envs.alfworld import ENVIRONMENT, ALFWorldSettings
from skillopt.envs.alfworld.commands import MOST_CHARS, find_command
from skillopt.envs.alfworld.engine import EngineFailure
from skillopt.envs.alfworld.household import NOTHING, Blueprint, HouseholdGame
from skillopt.envs.alfworld.items import TASK_TYPES
from skillopt.envs.alfworld.prompt import (
    NO_COMMAND,
    WITHOUT_COMMAND,
    Step,
    system_message,
    user_message,
)
from skillopt.envs.alfworld.rollout import MOST_MISSES, play
from skillopt.envs.base import CommonSettings
from skillopt.envs.told import SKILL_LEFT_OUT
from skillopt.errors import ConfigError, DataError
from skillopt.models.base import CallError, Reply
from skillopt.phases.plan import plan_run

GAME = {
    "task": "put a mug in a cabinet",
    "places": [{"name": "desk 1", "holds": ["mug 1"]}, {"name": "cabinet 1", "openable": True}],
    "goal": {"thing": "mug", "place": "cabinet"},
}
RIGHT = (
    "go to desk 1",
    "take mug 1 from desk 1",
    "go to cabinet 1",
    "open cabinet 1",
    "move mug 1 to cabinet 1",
)
HOUSEHOLD = ALFWorldSettings(engine="household")


def do(command):
    return f"<think>So.</think><action>{command}</action>"


class Watched(HouseholdGame):
    """A game that counts how often it was closed, and may break at a step."""

    def __init__(self, breaks_at=None, over_at=None):
        super().__init__(msgspec.convert(GAME, Blueprint))
        self.closed, self.steps, self._breaks_at, self._over_at = 0, 0, breaks_at, over_at

    async def reset(self):
        if self._breaks_at == 0:
            raise EngineFailure("no world")
        return await super().reset()

    async def step(self, command):
        self.steps += 1
        if self.steps == self._breaks_at:
            raise EngineFailure("the world fell apart")
        scene = await super().step(command)
        return msgspec.structs.replace(scene, over=scene.over or self.steps == self._over_at)

    async def close(self):
        self.closed += 1


def attempt(*replies, game=None, max_turns=10, skill="", history=2):
    """Play with these replies, the last of them over and over."""
    left, sent = list(replies), []

    async def chat(messages, **tools):
        sent.append(messages)
        reply = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(reply, Exception):
            raise reply
        return reply if isinstance(reply, Reply) else Reply(text=reply)

    made = play(game or Watched(), skill, chat, max_turns=max_turns, history=history)
    return asyncio.run(made), sent


@pytest.mark.parametrize(
    ("reply", "command", "where"),
    [
        ("<think>x</think>\n<action>go to desk 1</action>", "go to desk 1", "tag"),
        ("<ACTION>Go To  Desk 1\n</Action>", "go to desk 1", "tag"),
        ("<action>look</action> then <action>go to desk 1</action>", "look", "tag"),
        ("<think>not <action>look</action></think><action>open desk 1</action>", "open desk 1", "tag"),
        ("<action>'go to desk 1.'</action>", "go to desk 1", "tag"),
        ("<action>`go to desk 1`</action>", "go to desk 1", "tag"),
        ("<action> </action>", "", "tag"),
        (f"<action>{'x' * (MOST_CHARS + 1)}</action>", "", "tag"),
        ("<action>go to desk 1", "go to desk 1", "unclosed"),
        ("<action>go to the moon", "", "unclosed"),
        ("<action>a <action>look</action>", "look", "tag"),
        ("<think>a <think>b <action>x</action></think> <action>look</action>", "look", "tag"),
        ("go to desk 1", "", "nowhere"),
        ("go to desk 1</action>", "", "nowhere"),
        ("", "", "nowhere"),
    ],
)
def test_the_command_of_a_reply(reply, command, where):
    found = find_command(reply, ("go to desk 1", "look"))
    assert (found.text, found.where) == (command, where)


def test_a_game_that_is_won():
    game = Watched()
    made, sent = attempt(*map(do, RIGHT), game=game, skill="Open doors.")
    assert (made.status, made.hard, made.soft, made.turns) == ("scored", 1.0, 1.0, 5)
    assert (made.answer, made.reason, game.closed) == (RIGHT[-1], "", 1)
    assert made.extra == {
        "task": "put a mug in a cabinet.",
        "won": True,
        "unknown_commands": 0,
        "replies_without_command": 0,
    }
    assert len(sent) == 5
    assert made.trajectory[-1].content == (
        "task: put a mug in a cabinet.\nresult: the task was done in 5 steps"
    )
    assert "Open doors." in sent[0][0].content
    assert SKILL_LEFT_OUT in made.trajectory[0].content
    assert not any("Open doors." in turn.content for turn in made.trajectory)


def test_a_game_that_runs_out_of_steps():
    game = Watched()
    made, sent = attempt(do("look"), game=game, max_turns=4)
    assert (made.status, made.hard, made.turns, len(sent), game.closed) == ("scored", 0.0, 4, 4, 1)
    assert made.reason == "the task was not done within 4 steps"


def test_a_win_with_the_last_step_counts():
    made, _ = attempt(*map(do, RIGHT), max_turns=5)
    assert made.hard == 1.0
    assert attempt(*map(do, RIGHT), max_turns=4)[0].hard == 0.0


def test_a_game_that_ends_without_being_won():
    made, _ = attempt(do("look"), game=Watched(over_at=2))
    assert (made.status, made.hard, made.reason) == (
        "scored",
        0.0,
        "the task was not done: the game ended after 2 steps",
    )


def test_commands_that_are_not_listed_change_nothing_and_are_counted():
    made, _ = attempt(do("fly to desk 1"), *map(do, RIGHT))
    assert (made.hard, made.turns, made.extra["unknown_commands"]) == (1.0, 6, 1)
    assert made.trajectory[4].content.startswith(NOTHING)


CUT = Reply(text="<think>The", finish_reason="length")


@pytest.mark.parametrize(
    ("reply", "status", "why"),
    [
        ("I go to the desk.", "unparsed", "the reply held no action tags"),
        ("<action></action>", "unparsed", "what stood between the action tags is no command"),
        ("<action>go to Rome", "unparsed", "the action tag was never closed"),
        (" \n", "no_answer", "the reply was empty"),
        (CUT, "truncated", "the reply was cut off before its command"),
    ],
)
def test_replies_without_a_command_end_a_game(reply, status, why):
    made, sent = attempt(do("look"), reply)
    assert (made.status, made.hard, made.soft) == (status, 0.0, 0.0)
    assert made.turns == len(sent) == 1 + MOST_MISSES
    assert made.reason == f"the task was not done: {why}, {MOST_MISSES} times at the end"
    assert made.extra["replies_without_command"] == MOST_MISSES
    assert WITHOUT_COMMAND in sent[-1][1].content


def test_a_target_that_finds_its_way_back_goes_on():
    made, sent = attempt("hm", "hm", do(RIGHT[0]), "hm", *map(do, RIGHT[1:]))
    assert (made.status, made.hard, made.turns) == ("scored", 1.0, 8)
    assert f"1. {NO_COMMAND} -> {WITHOUT_COMMAND}" in sent[1][1].content


def test_no_command_within_the_limit_is_no_score_by_play():
    assert attempt("hm", max_turns=2)[0].status == "unparsed"
    assert attempt(do("look"), "hm", max_turns=2)[0].status == "scored"


def test_an_engine_that_breaks_is_not_the_targets_fault():
    for breaks_at, turns in ((0, 0), (2, 1)):
        game = Watched(breaks_at=breaks_at)
        made, _ = attempt(do("look"), game=game)
        assert (made.status, made.turns, game.closed) == ("harness_error", turns, 1)
        assert made.error.kind == "game_engine"
        assert made.error.message in ("no world", "the world fell apart")


def test_a_failed_call_is_passed_on_and_the_game_closed():
    game = Watched()
    with pytest.raises(CallError):
        attempt(do("look"), CallError("down", transient=True), game=game)
    assert game.closed == 1


def test_a_trajectory_grows_with_its_steps_and_no_faster():
    def size(steps):
        made, _ = attempt(do("look"), max_turns=steps, history=50)
        return sum(len(turn.content) for turn in made.trajectory), len(made.trajectory)

    (ten, entries), (twenty, _), (thirty, _) = size(10), size(20), size(30)
    assert thirty - twenty == twenty - ten
    assert entries == 2 + 1 + 2 * 10 + 1


def test_what_the_target_is_told():
    steps = [Step(command=f"go to shelf {n}", seen=f"Shelf\n{n}.") for n in (1, 2, 3)]
    first = user_message("put it away", "A room.", [], ("help", "look"), 2).content
    assert first == "## Your task\n\nput it away\n\n## Step 1\n\nA room.\n\n## Commands\n\n- look"
    later = user_message("t", "A room.", steps, ("look",), 2).content
    assert "2. go to shelf 2 -> Shelf 2.\n3. go to shelf 3 -> Shelf 3.\n" in later
    assert "1. go" not in later
    assert "## Step 4\n\nShelf\n3." in later
    assert "3 so far" in later
    assert "Earlier" not in user_message("t", "A room.", steps, ("look",), 0).content
    assert "1. go to shelf 1" in user_message("t", "A room.", steps, ("look",), 9).content
    assert "## Skill" not in system_message(" \n", 50).content
    told = system_message("Costs $task and ${x}.", 50).content
    assert "\n## Skill\n" in told
    assert "Costs $task and ${x}." in told
    assert "at most 50 steps" in told


def test_the_analysts_are_told_the_kinds_of_task_and_of_failure():
    told = failure_prompt(ENVIRONMENT.prompts)[0].content
    labels = ("navigation_loop", "missed_object", "wrong_sequence", "premature_stop", "action_loop")
    for label in (*labels, "appliance_error", "rule_missing", "rule_wrong", "rule_ignored", "other"):
        assert told.count(f"\n- {label}") == 1
    assert all(name in told for name in TASK_TYPES)


def items_of(tmp_path, *entries):
    file = tmp_path / "items.json"
    file.write_text(json.dumps(list(entries)), encoding="utf-8")
    return ENVIRONMENT.read(file)


PATH = "json_2.1.1/valid_seen/pick_cool_then_place_in_recep-Apple-None-Desk-1/trial_T1/game.tw-pddl"


def test_task_types(tmp_path):
    named = {"id": 1, "gamefile": PATH, "task_type": "mine"}
    found = items_of(tmp_path, named, {"id": 2, "gamefile": PATH}, {"id": 3, "game": GAME})
    assert [item.task_type for item in found] == ["mine", "pick_cool_then_place_in_recep", "other"]
    assert [item.id for item in found] == ["1", "2", "3"]
    assert [ENVIRONMENT.check(item) for item in found] == ["", "", ""]
    with pytest.raises(DataError, match="entry 1: expected an `id`"):
        items_of(tmp_path, {"gamefile": PATH})


def changed(**changes):
    return {"game": GAME | changes}


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({}, "found neither"),
        ({"game": GAME, "gamefile": PATH}, "found both"),
        ({"gamefile": 5}, "expected the path of a game file"),
        ({"gamefile": "a/game.z8"}, "expected the path of a game file"),
        ({"gamefile": "../x/game.tw-pddl"}, "without `..`"),
        ({"game": 5}, "Expected `object`"),
        (changed(places=[]), "length >= 1"),
        (changed(places=[{"name": "Desk"}]), "matching regex"),
        (changed(lamps=[]), "unknown field `lamps`"),
        (changed(goal={"thing": "mug", "place": "cabinet", "state": "wet"}), "Invalid enum value 'wet'"),
        (changed(goal={"thing": "mug"}), "either a place or a lamp"),
        (changed(goal={"thing": "mug", "place": "cabinet", "lamp": "desklamp"}), "either a place or a lamp"),
        (changed(goal={"thing": "mug", "place": "sofa"}), "expected a sofa"),
        (changed(goal={"thing": "mug", "lamp": "desklamp"}), "expected a desklamp"),
        (changed(goal={"thing": "cup", "place": "cabinet"}), "expected 1 of 'cup', found 0"),
        (changed(goal={"thing": "mug", "place": "cabinet", "count": 2}), "expected 2 of 'mug', found 1"),
        (changed(goal={"thing": "mug", "place": "cabinet", "state": "hot"}), "makes a thing hot"),
        (changed(goal={"thing": "mug", "place": "desk"}), "still to be done"),
        (changed(places=[*GAME["places"], {"name": "shelf 1", "holds": ["mug 1"]}]), "'mug 1' more than"),
    ],
)
def test_items_that_cannot_be_used(tmp_path, entry, said):
    (item,) = items_of(tmp_path, {"id": "x", **entry})
    assert said in ENVIRONMENT.check(item)


def test_each_engine_takes_its_own_items(tmp_path):
    own, real = items_of(tmp_path, {"id": "own", "game": GAME}, {"id": "real", "gamefile": PATH})
    assert ENVIRONMENT.files(own, HOUSEHOLD) == {}
    with pytest.raises(DataError, match=r"item 'real': env\.engine household plays games that"):
        ENVIRONMENT.files(real, HOUSEHOLD)
    there = ALFWorldSettings(games_dir=str(tmp_path))
    with pytest.raises(DataError, match=r"item 'own': env\.engine textworld plays the game file"):
        ENVIRONMENT.files(own, there)
    with pytest.raises(DataError, match=f"item 'real': expected its game at {tmp_path}/json_2.1.1"):
        ENVIRONMENT.files(real, there)
    (tmp_path / PATH).parent.mkdir(parents=True)
    (tmp_path / PATH).write_text("{}", encoding="utf-8")
    assert ENVIRONMENT.files(real, there) == {PATH: tmp_path / PATH}


def test_a_reference_is_a_way_to_win(tmp_path):
    own, real = items_of(tmp_path, {"id": "own", "game": GAME}, {"id": "real", "gamefile": PATH})
    assert ENVIRONMENT.reference(own) == f"one way to do it: {', '.join(RIGHT)}"
    assert ENVIRONMENT.reference(real) == ""


class Without:
    """An import system in which a package is not installed."""

    def __init__(self, name):
        self.name = name

    def find_spec(self, name, path=None, target=None):
        return None if name == self.name else importlib.machinery.PathFinder.find_spec(name, path, target)


def test_what_keeps_a_run_from_starting(tmp_path, monkeypatch):
    common = CommonSettings(max_turns=50, max_completion_tokens=100)
    assert ENVIRONMENT.obstacles(HOUSEHOLD, common) == []
    (said,) = ENVIRONMENT.obstacles(HOUSEHOLD, msgspec.structs.replace(common, max_turns=1))
    assert said.startswith("env.max_turns: expected at least 2, found 1")
    monkeypatch.setattr(sys, "meta_path", [Without("alfworld")])
    missing = ENVIRONMENT.obstacles(ALFWorldSettings(games_dir=str(tmp_path)), common)
    assert missing[0].startswith("env.name: alfworld needs alfworld")
    assert missing[0].endswith("Install it: python -m pip install 'skillopt[alfworld]'")
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path / "no"))
    assert f"found none at '{tmp_path}/no'" in ENVIRONMENT.obstacles(ALFWorldSettings(), common)[1]
    nowhere = ENVIRONMENT.obstacles(ALFWorldSettings(games_dir=str(tmp_path / "no")), common)
    assert nowhere[1].startswith("env.games_dir: expected a folder of games")


def test_the_originals_settings_load_and_the_run_says_what_it_needs(tmp_path, monkeypatch):
    file = tmp_path / "run.yaml"
    own = "max_steps: 50, workers: 8, max_api_workers: 8, split_mode: split_dir, split_dir: d"
    file.write_text(f"env: {{name: alfworld, {own}}}\n", encoding="utf-8")
    resolved = load_run(file, [], {})
    assert (resolved.settings.env.max_turns, resolved.settings.env.workers) == (50, 8)
    assert resolved.env_settings["history"] == 2
    monkeypatch.setattr(sys, "meta_path", [Without("textworld")])
    with pytest.raises(ConfigError, match=r"pip install 'skillopt\[alfworld\]'"):
        plan_run("run", resolved)
