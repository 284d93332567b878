"""Items of DocVQA: a question, accepted answers, the image of a page."""

import ast
from pathlib import Path, PurePosixPath
from typing import Any

from skillopt.envs.itemfiles import id_text, is_text, read_entries
from skillopt.records import Item

GENERAL_TYPE = "docvqa"
_MARKER = "document_path:"
MEDIA_TYPES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".webp": "image/webp"}


def read_items(path: Path) -> list[Item]:
    """Read one data file or split folder; image paths are below the folder of the file.

    Raises DataError naming the file and the entry that has no id.
    """
    folder = path if path.is_dir() else path.parent
    return [_item(folder, place, entry) for place, entry in read_entries(path)]


def _item(folder: Path, place: str, entry: dict[str, Any]) -> Item:
    given = id_text(place, entry.get("questionId", entry.get("id")), "an `id` or `questionId`")
    question, path = _question_and_path(entry.get("question"))
    data = {
        "id": given,
        "question": question,
        "answers": _answers(entry.get("answers", entry.get("answer", entry.get("ground_truth")))),
        "image_path": entry.get("image_path", path),
    }
    kind = entry.get("topic") or entry.get("category")
    task_type = kind if isinstance(kind, str) else GENERAL_TYPE
    return Item(id=given, data=data, task_type=task_type, folder=folder.as_posix())


def _question_and_path(given: Any) -> tuple[Any, str | None]:
    """Split a question from the path of the image that tables of the original project put behind it."""
    if not isinstance(given, str) or _MARKER not in given:
        return given, None
    question, _, path = given.partition(_MARKER)
    return question.strip(), path.strip()


def _answers(given: Any) -> Any:
    """Return answers as a list; in a table they may be a list written as text."""
    if not isinstance(given, str):
        return given
    if given.lstrip().startswith("["):
        try:
            found = ast.literal_eval(given.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return [given]
        return [answer.strip() if isinstance(answer, str) else answer for answer in found]
    return [given]


def image_file(item: Item) -> Path:
    """Return where the page of a checked item lies."""
    return Path(item.folder, item.data["image_path"])


def problem(item: Item) -> str:
    """Say what is wrong with an item ("" when nothing is)."""
    if not is_text(item.data["question"]):
        return f"expected a text in `question` that is not blank, found {item.data['question']!r}"
    answers = item.data["answers"]
    if not isinstance(answers, list) or not answers or not all(is_text(answer) for answer in answers):
        return f"expected a list of texts that are not blank in `answers`, found {answers!r}"
    return _problem_of_image(item)


def _problem_of_image(item: Item) -> str:
    given = item.data["image_path"]
    if not is_text(given):
        return f"expected the path of an image in `image_path`, found {given!r}"
    path = PurePosixPath(given)
    if path.is_absolute() or ".." in path.parts:
        return f"expected a path below the data folder in `image_path`, found {given!r}"
    if path.suffix.lower() not in MEDIA_TYPES:
        return f"expected an image ({', '.join(MEDIA_TYPES)}) in `image_path`, found {given!r}"
    file = image_file(item)
    if not file.is_file() or not file.resolve().is_relative_to(Path(item.folder).resolve()):
        return f"expected an image below the data folder, found none at {file}"
    return ""
