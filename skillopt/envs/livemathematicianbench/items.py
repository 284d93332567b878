"""Items of LiveMathematicianBench: one normal form, whatever form the file has."""

from pathlib import Path
from string import ascii_uppercase
from typing import Any

from skillopt.envs.itemfiles import id_text, is_text, read_entries
from skillopt.records import Item

GENERAL_TYPE = "math_mcq"
MOST_CHOICES = len(ascii_uppercase)
_CARRIED = ("month", "no", "paper_link", "theorem", "sketch")


def read_items(path: Path) -> list[Item]:
    """Read a data file, a split folder, or a folder that holds `qa_*_final.json` files at any depth.

    Raises DataError naming the file and the entry that has neither id nor number.
    """
    files = sorted(path.rglob("qa_*_final.json")) if path.is_dir() else []
    return [_item(place, entry) for file in files or [path] for place, entry in read_entries(file)]


def _item(place: str, entry: dict[str, Any]) -> Item:
    id_ = _id(place, entry)
    data: dict[str, Any] = {name: entry[name] for name in _CARRIED if name in entry}
    kinds = _theorem_types(entry.get("theorem_type"))
    source = entry["mcq"] if isinstance(entry.get("mcq"), dict) else entry
    data |= {"id": id_, "theorem_type": kinds, "question": source.get("question")}
    if source.get("choices") is not None or source.get("correct_choice") is not None:
        choices, correct = _choices(source.get("choices")), _correct(source.get("correct_choice"))
        if correct["label"] and correct["text"] and correct["label"] not in {c["label"] for c in choices}:
            choices = sorted([*choices, correct], key=lambda choice: choice["label"])
        data |= {"choices": choices, "correct_choice": correct}
    return Item(id=id_, data=data, task_type=kinds[0] if kinds else GENERAL_TYPE)


def _id(place: str, entry: dict[str, Any]) -> str:
    given = entry.get("id")
    if given is None and entry.get("no") is not None:
        month = entry.get("month")
        given = f"{month}:{entry['no']}" if month else str(entry["no"])
    return id_text(place, given, "an `id` or a `no`")


def _theorem_types(given: Any) -> list[str]:
    kinds = given if isinstance(given, list) else [given]
    return [kind.strip() for kind in kinds if isinstance(kind, str) and kind.strip()]


def label_of(given: Any) -> str:
    """Return a label in its plain form: upper case, without the mark behind it."""
    return given.strip().rstrip(".):").strip().upper() if isinstance(given, str) else ""


def _choices(given: Any) -> list[dict[str, str]]:
    if isinstance(given, dict):
        pairs = sorted((label_of(label), text) for label, text in given.items())
    elif isinstance(given, list):
        pairs = [_pair(number, choice) for number, choice in enumerate(given)]
    else:
        pairs = []
    return [
        {"label": label, "text": text.strip()}
        for label, text in pairs
        if isinstance(text, str) and text.strip()
    ]


def _pair(number: int, choice: Any) -> tuple[str, Any]:
    by_place = ascii_uppercase[number] if number < MOST_CHOICES else str(number + 1)
    if isinstance(choice, dict):
        return label_of(choice.get("label")) or by_place, choice.get("text") or choice.get("content")
    return by_place, choice


def _correct(given: Any) -> dict[str, str]:
    if isinstance(given, dict):
        text = given.get("text") or given.get("content")
        return {
            "label": label_of(given.get("label")),
            "text": text.strip() if isinstance(text, str) else "",
        }
    return {"label": label_of(given), "text": ""}


def problem(item: Item) -> str:
    """Say what is wrong with an item ("" when nothing is)."""
    question = item.data.get("question")
    if question is None and "choices" not in item.data:
        return (
            "has an id but no question and no choices: this is a manifest of ids. It has to be "
            "materialised, each id replaced by its whole item: "
            "skillopt materialise livemathematicianbench --manifest FOLDER"
        )
    if not is_text(question):
        return f"expected a text in `question` that is not blank, found {question!r}"
    return _problem_of_choices(item)


def _problem_of_choices(item: Item) -> str:
    labels = [choice["label"] for choice in item.data.get("choices", [])]
    if not 2 <= len(labels) <= MOST_CHOICES:
        return f"expected 2 to {MOST_CHOICES} options that are not blank in `choices`, found {len(labels)}"
    if len(set(labels)) != len(labels):
        return f"expected each label once in `choices`, found {', '.join(labels)}"
    texts = [choice["text"] for choice in item.data["choices"]]
    if len(set(texts)) != len(texts):
        return "expected options that differ in `choices`, found the same text twice"
    correct = item.data["correct_choice"]["label"]
    if correct not in labels:
        return f"expected one of the labels {', '.join(labels)} in `correct_choice`, found {correct!r}"
    return ""
