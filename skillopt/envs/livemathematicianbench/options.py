"""The options of an item as they are shown: in what order, under which labels."""

import hashlib
import random
from string import ascii_uppercase
from typing import Any

import msgspec


class Option(msgspec.Struct, frozen=True, kw_only=True):
    """An option under the label that the target sees."""

    label: str
    text: str


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """The options in the order in which they are shown, and the right one among them."""

    options: tuple[Option, ...]
    correct: Option


def generator_seed(seed: int, id_: str) -> int:
    """Return the seed of an item's shuffle: the first 64 bits of a hash of the seed and the id."""
    return int(hashlib.sha256(f"{seed}:{id_}".encode()).hexdigest()[:16], 16)


def shown(data: dict[str, Any], seed: int | None) -> Shown:
    """Return the options shuffled by `seed` (None: as stored) and relabelled A, B, C by position."""
    choices = list(data["choices"])
    if seed is not None:
        random.Random(generator_seed(seed, data["id"])).shuffle(choices)
    right = data["correct_choice"]["label"]
    options = tuple(
        Option(label=label, text=choice["text"])
        for label, choice in zip(ascii_uppercase, choices, strict=False)
    )
    place = [choice["label"] for choice in choices].index(right)
    return Shown(options=options, correct=options[place])
