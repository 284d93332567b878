"""Items of ALFWorld: a game described in place, or the file of a game of the real engine."""

import os
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from skillopt.data import read_items as read_plain
from skillopt.envs.alfworld.household import Blueprint, fault
from skillopt.errors import DataError
from skillopt.records import Item

TASK_TYPES = (
    "pick_and_place_simple",
    "pick_two_obj_and_place",
    "look_at_obj_in_light",
    "pick_heat_then_place_in_recep",
    "pick_cool_then_place_in_recep",
    "pick_clean_then_place_in_recep",
)
OTHER_TYPE = "other"
GAME_FILE = ".tw-pddl"


def read_items(path: Path) -> list[Item]:
    """Read one data file or split folder; raises DataError naming the file and the entry without an id."""
    return [msgspec.structs.replace(item, task_type=_type_of(item)) for item in read_plain(path)]


def _type_of(item: Item) -> str:
    """Return the declared type, else the one whose name the path of the game holds."""
    if item.task_type:
        return item.task_type
    path = item.data.get("gamefile")
    found = [name for name in TASK_TYPES if isinstance(path, str) and name in path]
    return found[0] if found else OTHER_TYPE


def problem(item: Item) -> str:
    """Say what is wrong with an item ("" when nothing is)."""
    data = item.data
    if ("game" in data) == ("gamefile" in data):
        return "expected either `game` (a game described here) or `gamefile` (the path of one), found " + (
            "both" if "game" in data else "neither"
        )
    if "gamefile" in data:
        return _problem_of_path(data["gamefile"])
    try:
        found = fault(blueprint_of(item))
    except msgspec.ValidationError as error:
        found = f"{error}"
    return f"a game that cannot be played: {found}" if found else ""


def _problem_of_path(given: Any) -> str:
    if not isinstance(given, str) or not given.endswith(GAME_FILE):
        return f"expected the path of a game file (game{GAME_FILE}) in `gamefile`, found {given!r}"
    if ".." in PurePosixPath(given).parts or "\0" in given:
        return f"expected a path without `..` in `gamefile`, found {given!r}"
    return ""


def blueprint_of(item: Item) -> Blueprint:
    """Return the game that an item describes; raises msgspec.ValidationError naming the field."""
    return msgspec.convert(item.data["game"], Blueprint)


def games_folder(given: str = "") -> Path:
    """Return the folder of the game files; a blank one stands for that of the package's own download."""
    return Path(given or os.environ.get("ALFWORLD_DATA") or "~/.cache/alfworld").expanduser()


def game_file(item: Item, folder: str) -> Path:
    """Return where the game of an item lies: relative paths are below the folder of the games.

    Raises DataError when there is no such file.
    """
    path = games_folder(folder) / str(item.data["gamefile"])
    if not path.is_file():
        raise DataError(
            f"item {item.id!r}: expected its game at {path}, found none. Games are fetched by "
            "`alfworld-download` (of the package alfworld); env.games_dir or $ALFWORLD_DATA is their folder."
        )
    return path
