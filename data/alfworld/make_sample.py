"""Write the sample of ALFWorld: household games of our own.

    python data/alfworld/make_sample.py

Writes {train,val,test}/items.json beside this file, the same bytes each time. A room is drawn from a
hash of the game's id: what lies where, and what lies about without being wanted.
"""

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
ROOMS = {
    "kitchen": (
        ("countertop 1", False),
        ("countertop 2", False),
        ("cabinet 1", True),
        ("cabinet 2", True),
        ("drawer 1", True),
        ("diningtable 1", False),
        ("fridge 1", True),
        ("microwave 1", True),
        ("sinkbasin 1", False),
        ("garbagecan 1", False),
    ),
    "bedroom": (
        ("bed 1", False),
        ("desk 1", False),
        ("drawer 1", True),
        ("drawer 2", True),
        ("dresser 1", False),
        ("shelf 1", False),
        ("shelf 2", False),
        ("sidetable 1", False),
    ),
    "parlour": (
        ("armchair 1", False),
        ("cabinet 1", True),
        ("coffeetable 1", False),
        ("drawer 1", True),
        ("shelf 1", False),
        ("sidetable 1", False),
        ("sofa 1", False),
        ("tvstand 1", False),
    ),
}
"""The places of each kind of room, and whether they can be opened."""
ABOUT = {
    "kitchen": ("spoon", "saltshaker", "pan", "kettle", "sponge", "ladle", "bottle", "napkin"),
    "bedroom": ("pen", "clock", "keychain", "box", "scarf", "comb", "wallet", "mirror"),
    "parlour": ("newspaper", "statue", "candle", "vase", "remote", "pipe", "tissuebox", "photo"),
}
"""Things that lie about in each kind of room."""


class Game(NamedTuple):
    """A game: room, task in words, what is wanted, where it lies at first, where it goes or which lamp."""

    room: str
    task: str
    thing: str
    start: tuple[str, ...]
    place: str = ""
    state: str = ""
    lamp: str = ""
    lamp_at: str = ""

    @property
    def kind(self) -> str:
        """The type of the task."""
        states = {"clean": "pick_clean", "hot": "pick_heat", "cool": "pick_cool"}
        if self.state:
            return f"{states[self.state]}_then_place_in_recep"
        if self.lamp:
            return "look_at_obj_in_light"
        return "pick_two_obj_and_place" if len(self.start) > 1 else "pick_and_place_simple"


def place(room: str, task: str, thing: str, *start: str, to: str, state: str = "") -> Game:
    """A game whose things, one or two, have to be brought somewhere."""
    return Game(room, task, thing, start, place=to, state=state)


def light(room: str, task: str, thing: str, start: str, lamp: str, lamp_at: str) -> Game:
    """A game whose thing has to be looked at by a lamp."""
    return Game(room, task, thing, (start,), lamp=lamp, lamp_at=lamp_at)


GAMES = {
    "train": (
        place("bedroom", "bring a book to the bed", "book", "shelf 2", to="bed"),
        place("parlour", "lay a cushion on the sofa", "cushion", "armchair 1", to="sofa"),
        place("bedroom", "put a phone in a drawer", "phone", "desk 1", to="drawer"),
        place(
            "parlour",
            "put two magazines on the coffeetable",
            "magazine",
            "shelf 1",
            "sofa 1",
            to="coffeetable",
        ),
        place(
            "kitchen",
            "bring two plates to the diningtable",
            "plate",
            "cabinet 2",
            "countertop 1",
            to="diningtable",
        ),
        light(
            "bedroom",
            "look at a letter by the light of the desklamp",
            "letter",
            "dresser 1",
            "desklamp",
            "desk 1",
        ),
        light("parlour", "study a map with the floorlamp", "map", "drawer 1", "floorlamp", "sidetable 1"),
        light("bedroom", "examine a watch under the desklamp", "watch", "shelf 1", "desklamp", "sidetable 1"),
        place("kitchen", "put a clean mug in a cabinet", "mug", "countertop 2", to="cabinet", state="clean"),
        place(
            "kitchen",
            "wash a fork and put it on the diningtable",
            "fork",
            "drawer 1",
            to="diningtable",
            state="clean",
        ),
        place(
            "kitchen", "put a clean bowl in the fridge", "bowl", "garbagecan 1", to="fridge", state="clean"
        ),
        place(
            "kitchen",
            "bring a hot potato to the diningtable",
            "potato",
            "fridge 1",
            to="diningtable",
            state="hot",
        ),
        place(
            "kitchen",
            "heat a bread and lay it on a countertop",
            "bread",
            "diningtable 1",
            to="countertop",
            state="hot",
        ),
        place(
            "kitchen",
            "put a cool apple in the garbagecan",
            "apple",
            "countertop 1",
            to="garbagecan",
            state="cool",
        ),
        place(
            "kitchen",
            "chill a lettuce and place it on the diningtable",
            "lettuce",
            "cabinet 1",
            to="diningtable",
            state="cool",
        ),
        place("kitchen", "put a cold cup in a cabinet", "cup", "sinkbasin 1", to="cabinet", state="cool"),
    ),
    "val": (
        place("parlour", "put a key on the tvstand", "key", "coffeetable 1", to="tvstand"),
        place("bedroom", "bring a pillow to the dresser", "pillow", "bed 1", to="dresser"),
        place(
            "kitchen",
            "lay two spatulas on the diningtable",
            "spatula",
            "countertop 2",
            "drawer 1",
            to="diningtable",
        ),
        place(
            "parlour", "bring two glasses to the sidetable", "glass", "tvstand 1", "cabinet 1", to="sidetable"
        ),
        light(
            "parlour", "look at a coin under the floorlamp", "coin", "armchair 1", "floorlamp", "tvstand 1"
        ),
        light(
            "bedroom",
            "examine a ring by the light of the desklamp",
            "ring",
            "drawer 1",
            "desklamp",
            "shelf 1",
        ),
        place(
            "kitchen", "put a clean knife in a drawer", "knife", "diningtable 1", to="drawer", state="clean"
        ),
        place(
            "kitchen",
            "rinse a tomato and put it on a countertop",
            "tomato",
            "fridge 1",
            to="countertop",
            state="clean",
        ),
        place("kitchen", "put a hot egg in the garbagecan", "egg", "cabinet 2", to="garbagecan", state="hot"),
        place(
            "kitchen", "warm a cup and put it in a cabinet", "cup", "countertop 1", to="cabinet", state="hot"
        ),
        place(
            "kitchen",
            "put a cool melon on a countertop",
            "melon",
            "garbagecan 1",
            to="countertop",
            state="cool",
        ),
        place(
            "kitchen",
            "chill a jar and put it on the diningtable",
            "jar",
            "cabinet 1",
            to="diningtable",
            state="cool",
        ),
    ),
    "test": (
        place(
            "kitchen", "put a peppermill on the diningtable", "peppermill", "countertop 1", to="diningtable"
        ),
        place("bedroom", "put a notebook in a drawer", "notebook", "sidetable 1", to="drawer"),
        place("bedroom", "bring two shirts to the bed", "shirt", "dresser 1", "drawer 2", to="bed"),
        place("parlour", "lay two cards on the coffeetable", "card", "shelf 1", "drawer 1", to="coffeetable"),
        light("bedroom", "look at a stamp under the desklamp", "stamp", "drawer 2", "desklamp", "dresser 1"),
        light(
            "parlour", "hold a feather by the floorlamp", "feather", "sofa 1", "floorlamp", "coffeetable 1"
        ),
        place(
            "kitchen", "put a clean dish in a cabinet", "dish", "garbagecan 1", to="cabinet", state="clean"
        ),
        place(
            "kitchen",
            "clean a carrot and bring it to the diningtable",
            "carrot",
            "fridge 1",
            to="diningtable",
            state="clean",
        ),
        place(
            "kitchen", "put a hot plate on a countertop", "plate", "cabinet 1", to="countertop", state="hot"
        ),
        place(
            "kitchen",
            "heat a tomato and put it in the garbagecan",
            "tomato",
            "diningtable 1",
            to="garbagecan",
            state="hot",
        ),
        place(
            "kitchen", "put a cold pear on a countertop", "pear", "drawer 1", to="countertop", state="cool"
        ),
        place(
            "kitchen",
            "cool a jug and place it in a cabinet",
            "jug",
            "countertop 2",
            to="cabinet",
            state="cool",
        ),
    ),
}


def drawn(most: int, *parts: str) -> int:
    """Draw a whole number below `most` from the parts alone."""
    return int.from_bytes(hashlib.sha256("/".join(parts).encode()).digest()[:4], "big") % most


def described(game: Game, id_: str) -> dict[str, Any]:
    """Describe a game as its item has it."""
    places = ROOMS[game.room]
    holds: dict[str, list[str]] = {name: [] for name, _ in places}
    for number, where in enumerate(game.start, 1):
        holds[where].append(f"{game.thing} {number}")
    if game.lamp:
        holds[game.lamp_at].append(f"{game.lamp} 1")
    for thing in ABOUT[game.room]:
        if thing != game.thing:
            holds[places[drawn(len(places), id_, thing)][0]].append(f"{thing} 1")
    goal: dict[str, Any] = {"thing": game.thing}
    if game.place:
        goal["place"] = game.place
    if game.state:
        goal["state"] = game.state
    if game.lamp:
        goal["lamp"] = game.lamp
    if len(game.start) > 1:
        goal["count"] = len(game.start)
    return {
        "task": game.task,
        "places": [
            {
                "name": name,
                **({"holds": holds[name]} if holds[name] else {}),
                **({"openable": True} if opens else {}),
            }
            for name, opens in places
        ],
        "goal": goal,
    }


def main(folder: Path = HERE) -> None:
    """Write the sample into a folder."""
    for split, games in GAMES.items():
        entries = []
        for number, game in enumerate(games, 1):
            id_ = f"{split}_{number:02d}"
            entries.append({"id": id_, "task_type": game.kind, "game": described(game, id_)})
        file = folder / split / "items.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(entries, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
