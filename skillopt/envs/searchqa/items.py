"""Items of SearchQA: what a usable one holds."""

from pathlib import Path
from typing import Any

from skillopt.envs.itemfiles import id_text, is_text, read_entries
from skillopt.records import Item

TASK_TYPE = "qa"
_FIELDS = ("question", "context", "answers")


def read_items(path: Path) -> list[Item]:
    """Read one data file or split folder; columns that play no part are left out.

    Raises DataError naming the file and the entry that has no id.
    """
    return [_item(place, entry) for place, entry in read_entries(path)]


def _item(place: str, entry: dict[str, Any]) -> Item:
    given = id_text(place, entry.get("id", entry.get("key")))
    data = {name: entry[name] for name in _FIELDS if name in entry}
    return Item(id=given, data={"id": given, **data}, task_type=TASK_TYPE)


def problem(item: Item) -> str:
    """Say what is wrong with an item ("" when nothing is)."""
    if not any(name in item.data for name in _FIELDS):
        return (
            "has an id but no question, context or answers: this is a manifest of ids. It has to be "
            "materialised, each id replaced by its whole item: "
            "skillopt materialise searchqa --manifest FOLDER"
        )
    for name in ("question", "context"):
        if not is_text(item.data.get(name)):
            return f"expected a text in `{name}` that is not blank, found {item.data.get(name)!r}"
    answers = item.data.get("answers")
    if not isinstance(answers, list) or not answers:
        return f"expected a list of accepted answers in `answers`, found {answers!r}"
    bad = [answer for answer in answers if not is_text(answer)]
    if bad:
        return f"expected texts that are not blank in `answers`, found {bad[0]!r}"
    return ""
