"""The household engine: what each command does, what is offered when, what wins."""

import msgspec
import pytest

from skillopt.envs.alfworld.household import NOTHING, Blueprint, House, fault, walkthrough

PLACES = [
    {"name": "desk 1", "holds": ["apple 1", "desklamp 1", "apple 2"]},
    {"name": "fridge 1", "openable": True, "holds": ["apple 3"]},
    {"name": "microwave 1", "openable": True},
    {"name": "sinkbasin 1"},
]


def house(**goal):
    return House(blueprint(**goal))


def blueprint(**goal):
    given = {"task": "do it", "places": PLACES, "goal": {"thing": "apple"} | goal}
    return msgspec.convert(given, Blueprint)


def after(game, *commands):
    scene = game.start()
    for command in commands:
        scene = game.act(command)
        assert scene.observation != NOTHING, command
    return scene


def test_what_is_seen_at_first():
    scene = house(place="microwave").start()
    assert scene.observation == (
        "You are in the middle of a room. Around you there is a desk 1, a fridge 1, a microwave 1 and a "
        "sinkbasin 1.\n\nYour task is to: do it."
    )
    assert scene.commands == (
        *("go to desk 1", "go to fridge 1", "go to microwave 1", "go to sinkbasin 1"),
        *("inventory", "look"),
    )
    assert (scene.won, scene.over) == (False, False)


def test_at_a_place():
    scene = after(house(place="fridge"), "go to desk 1")
    assert scene.observation == (
        "You are now at desk 1. On desk 1 there is an apple 1, a desklamp 1 and an apple 2."
    )
    here = [command for command in scene.commands if not command.startswith("go to ")]
    assert here == [
        *("examine apple 1", "examine apple 2", "examine desk 1", "examine desklamp 1"),
        *("inventory", "look", "take apple 1 from desk 1", "take apple 2 from desk 1", "use desklamp 1"),
    ]
    assert "go to desk 1" not in scene.commands


def test_doors():
    game = house(place="microwave")
    assert after(game, "go to fridge 1").observation.endswith("The fridge 1 is closed.")
    assert game.act("take apple 3 from fridge 1").observation == NOTHING
    opened = game.act("open fridge 1")
    assert opened.observation == "You open fridge 1. The fridge 1 is open; in it there is an apple 3."
    assert "take apple 3 from fridge 1" in opened.commands
    assert game.act("close fridge 1").observation == "You close fridge 1."
    assert "take apple 3 from fridge 1" not in game.act("look").commands


def test_hands_hold_one_thing():
    scene = after(house(place="fridge"), "go to desk 1", "take apple 1 from desk 1", "inventory")
    assert scene.observation == "You carry an apple 1."
    assert not [command for command in scene.commands if command.startswith("take ")]
    assert "move apple 1 to desk 1" in scene.commands


@pytest.mark.parametrize("command", ["", "jump", "go to moon 1", "take apple 1", "open desk 1", "help"])
def test_what_cannot_be_done_changes_nothing(command):
    game = house(place="fridge")
    before = after(game, "go to desk 1")
    scene = game.act(command)
    assert (scene.observation, scene.commands) == (NOTHING, before.commands)


TAKEN = ("go to desk 1", "take apple 1 from desk 1")
HOT = (*TAKEN, "go to microwave 1", "heat apple 1 with microwave 1")
COOL = ("go to fridge 1", "cool apple 1 with fridge 1")
CLEAN = ("go to sinkbasin 1", "clean apple 1 with sinkbasin 1")


@pytest.mark.parametrize(
    ("state", "made", "said"),
    [
        ("hot", HOT, "hot"),
        ("cool", (*HOT, *COOL), "cool"),
        ("clean", (*HOT, *CLEAN), "clean and hot"),
    ],
)
def test_states(state, made, said):
    game = house(place="sinkbasin", state=state)
    assert after(game, *made, "examine apple 1").observation == f"The apple 1 is {said}."
    if made[-2] != "go to sinkbasin 1":
        game.act("go to sinkbasin 1")
    assert game.act("move apple 1 to sinkbasin 1").won


def test_what_is_cooled_is_hot_no_more():
    game = house(place="sinkbasin", state="hot")
    assert not after(game, *HOT, *COOL, "go to sinkbasin 1", "move apple 1 to sinkbasin 1").won


def test_in_the_light():
    game = house(lamp="desklamp")
    assert not after(game, "go to desk 1", "use desklamp 1").won
    assert game.act("take apple 1 from desk 1").won
    game = house(lamp="desklamp")
    assert after(game, *TAKEN, "use desklamp 1").won
    assert after(house(lamp="desklamp"), *TAKEN, "examine desklamp 1").observation == "The desklamp 1 is off."


def test_two_of_a_kind():
    game = house(place="sinkbasin", count=2)
    one = after(game, *TAKEN, "go to sinkbasin 1", "move apple 1 to sinkbasin 1")
    assert not one.won
    game.act("go to desk 1")
    game.act("take apple 2 from desk 1")
    game.act("go to sinkbasin 1")
    scene = game.act("move apple 2 to sinkbasin 1")
    assert (scene.won, scene.over) == (True, True)


@pytest.mark.parametrize(
    "goal",
    [
        {"place": "sinkbasin"},
        {"place": "fridge", "count": 2},
        {"place": "fridge", "count": 3},
        {"place": "fridge", "state": "cool"},
        {"place": "desk", "state": "hot"},
        {"place": "desk", "state": "clean", "count": 3},
        {"lamp": "desklamp"},
    ],
)
def test_a_walkthrough_wins(goal):
    plan = blueprint(**goal)
    assert fault(plan) == ""
    assert after(House(plan), *walkthrough(plan)).won
