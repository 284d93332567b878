"""Synthetic items in the form of SearchQA: any number of them, the same ones for the same seed."""

import json
import random
from collections.abc import Sequence
from pathlib import Path

SYLLABLES = (
    *("ba", "cor", "den", "fi", "gal", "hem", "is", "jo", "kar", "lum", "mor", "nev", "ost"),
    *("pel", "qui", "rad", "sol", "tan", "ur", "ves", "wi", "yar", "zel"),
)
SPLITS = ("train", "val", "test")


def make_splits(folder: Path, sizes: Sequence[int], chars: int, seed: int = 1) -> None:
    """Write train, val and test with so many items, each with about `chars` characters of passages."""
    draw = random.Random(seed)
    words = sorted({"".join(draw.choices(SYLLABLES, k=draw.randint(1, 3))) for _ in range(2000)})
    number = 0
    for split, size in zip(SPLITS, sizes, strict=True):
        entries = [make_item(number + place, chars, words, draw) for place in range(1, size + 1)]
        number += size
        (folder / split).mkdir(parents=True, exist_ok=True)
        (folder / split / "items.json").write_text(json.dumps(entries), encoding="utf-8")


def make_item(number: int, chars: int, words: Sequence[str], draw: random.Random) -> dict[str, object]:
    """Return one question; the passage that answers it lies at a random place among the others."""
    keeper = " ".join(draw.sample(words, 2)).title()
    passages: list[str] = []
    while sum(map(len, passages)) < chars:
        passages.append(" ".join(draw.choices(words, k=30)) + ".")
    passages.insert(draw.randint(0, len(passages)), f"The keeper of tower {number} is {keeper}.")
    return {
        "id": f"tower-{number}",
        "question": f"Who is the keeper of tower number {number}?",
        "context": " ".join(f"[DOC] {passage}" for passage in passages),
        "answers": [keeper],
    }
