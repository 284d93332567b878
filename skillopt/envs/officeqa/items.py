"""Items of OfficeQA: a question, its answer, the documents that hold it."""

from pathlib import Path
from typing import Any

import msgspec

from skillopt.envs.itemfiles import id_text, is_text, read_entries
from skillopt.envs.officeqa.scoring import normalise
from skillopt.records import Item

GENERAL_TYPE = "officeqa"
_LISTS = ("source_files", "source_docs")


def read_items(path: Path) -> list[Item]:
    """Read one data file or split folder; columns that play no part are left out.

    Raises DataError naming the file and the entry that has no id.
    """
    return [_item(place, entry) for place, entry in read_entries(path)]


def _item(place: str, entry: dict[str, Any]) -> Item:
    given = id_text(place, entry.get("uid", entry.get("id")), "a `uid` or `id`")
    answers = entry.get("answers", entry.get("ground_truth", entry.get("answer")))
    data = {
        "id": given,
        "question": entry.get("question"),
        "answers": answers if isinstance(answers, list) else [answers],
        **{name: as_list(entry.get(name)) for name in _LISTS},
    }
    kind = entry.get("category") or entry.get("difficulty")
    return Item(id=given, data=data, task_type=kind if isinstance(kind, str) else GENERAL_TYPE)


def as_list(given: Any) -> Any:
    """Return a list field as a list: it may come as text, JSON or one entry a line or between commas.

    What is neither text nor missing is returned as it is, for `problem` to judge.
    """
    if given is None:
        return []
    if not isinstance(given, str):
        return given
    if given.lstrip().startswith("["):
        try:
            return msgspec.json.decode(given, type=list[str])
        except msgspec.DecodeError:
            return given
    between = "\n" if "\n" in given.strip() else ","
    return [part.strip() for part in given.split(between) if part.strip()]


def problem(item: Item) -> str:
    """Say what is wrong with an item ("" when nothing is)."""
    data = item.data
    if data["question"] is None and data["answers"] == [None]:
        return (
            "has an id but no question or answer: this is a manifest of ids. It has to be "
            "materialised: replace each id by the whole item from the data set that it names."
        )
    if not is_text(data["question"]):
        return f"expected a text in `question` that is not blank, found {data['question']!r}"
    bad = [answer for answer in data["answers"] if not is_text(answer) or not normalise(answer)]
    if bad or not data["answers"]:
        found = bad[0] if bad else data["answers"]
        return f"expected answers as texts that hold more than punctuation, found {found!r}"
    for name in _LISTS:
        if not isinstance(data[name], list) or not all(is_text(entry) for entry in data[name]):
            return f"expected a list of texts in `{name}`, found {data[name]!r}"
    return ""
