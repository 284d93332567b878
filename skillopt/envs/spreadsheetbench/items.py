"""Items of SpreadsheetBench: an instruction, workbooks with their answers, where the answer stands."""

from pathlib import Path, PurePosixPath
from typing import Any

from skillopt.envs.itemfiles import SPLIT_FOLDERS, id_text, is_text, read_entries
from skillopt.envs.spreadsheetbench.position import Area, read_position
from skillopt.records import Item

_PAIRS = (("_input.xlsx", "_answer.xlsx"), ("_init.xlsx", "_golden.xlsx"))
_SINGLE = ("initial.xlsx", "golden.xlsx")


def read_items(path: Path) -> list[Item]:
    """Read one data file or split folder.

    `spreadsheet_path` of an item (default `spreadsheet/<id>`) is below the folder of the data: the
    one that holds `train`, `val` and `test`, else that of the file. Raises DataError naming the
    file and the entry that has no id.
    """
    folder = path if path.is_dir() else path.parent
    root = folder.parent if folder.name in SPLIT_FOLDERS else folder
    return [_item(root, place, entry) for place, entry in read_entries(path)]


def _item(root: Path, place: str, entry: dict[str, Any]) -> Item:
    id_ = id_text(place, entry.get("id"))
    given = entry.get("instruction_type")
    kind = given if isinstance(given, str) else ""
    data = {
        "id": id_,
        "instruction": entry.get("instruction"),
        "instruction_type": kind,
        "answer_position": entry.get("answer_position"),
        "answer_sheet": entry.get("answer_sheet") or "",
        "spreadsheet_path": entry.get("spreadsheet_path") or f"spreadsheet/{id_}",
    }
    data["cases"] = _cases(root, data)
    return Item(id=id_, data=data, task_type=_task_type(kind), folder=root.as_posix())


def _task_type(kind: str) -> str:
    lower = kind.lower()
    return "cell_level" if "cell" in lower else "sheet_level" if "sheet" in lower else "other"


def _cases(root: Path, data: dict[str, Any]) -> list[dict[str, str]]:
    """List the test cases of an item."""
    folder = _folder(root, data["spreadsheet_path"])
    if folder is None or not folder.is_dir():
        return []
    names = sorted(entry.name for entry in folder.iterdir() if entry.is_file())
    pairs = [
        (name.split("_")[0], name, name.removesuffix(before) + after)
        for before, after in _PAIRS
        for name in names
        if name.endswith(before) and name.removesuffix(before) + after in names
    ]
    if not pairs and set(_SINGLE) <= set(names):
        pairs = [("1", *_SINGLE)]
    return [
        {"no": number, "input": given, "answer": answer}
        for number, given, answer in sorted(pairs, key=_by_number)
    ]


def _by_number(pair: tuple[str, str, str]) -> tuple[int, tuple[str, str, str]]:
    return (int(pair[0]) if pair[0].isascii() and pair[0].isdigit() else 0, pair)


def _folder(root: Path, given: Any) -> Path | None:
    """Return the folder of an item's workbooks, None when its path leaves that of the data."""
    if not isinstance(given, str) or PurePosixPath(given).is_absolute() or ".." in PurePosixPath(given).parts:
        return None
    folder = root / given
    return folder if folder.resolve().is_relative_to(root.resolve()) else None


def workbook(item: Item, name: str) -> Path:
    """Return where a workbook of a checked item lies."""
    return Path(item.folder, item.data["spreadsheet_path"], name)


def areas_of(item: Item) -> tuple[Area, ...]:
    """Return where the answer of a checked item stands."""
    return read_position(item.data["answer_position"], item.data["answer_sheet"])


def problem(item: Item) -> str:
    """Say what is wrong with an item ("" when nothing is)."""
    data = item.data
    if data["instruction"] is None and data["answer_position"] is None:
        return (
            "has an id but no instruction: this is a manifest of ids. It has to be materialised: replace "
            "each id by the whole item from the data set that it names."
        )
    if not is_text(data["instruction"]):
        return f"expected a text in `instruction` that is not blank, found {data['instruction']!r}"
    if not isinstance(data["answer_position"], str) or not isinstance(data["answer_sheet"], str):
        return f"expected text in `answer_position` and `answer_sheet`, found {data['answer_position']!r}"
    try:
        areas_of(item)
    except ValueError as error:
        return f"`answer_position`: {error}"
    if _folder(Path(item.folder), data["spreadsheet_path"]) is None:
        found = data["spreadsheet_path"]
        return f"expected a folder below that of the data in `spreadsheet_path`, found {found!r}"
    if not data["cases"]:
        return (
            f"expected workbooks *_input.xlsx with *_answer.xlsx (or *_init.xlsx with *_golden.xlsx, or "
            f"initial.xlsx with golden.xlsx) in {Path(item.folder, data['spreadsheet_path'])}, found no pair"
        )
    return ""
