"""Reads workbooks: as a module the data set's own, as a program in the sandbox those of the target.

As a program it is alone in its folder: `read.json` says what to read, `answer.json` is the answer.
"""

import datetime
import json
import sys
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

MOST_CELLS = 500_000
LAST_ROW, LAST_COLUMN = 1_048_576, 16_384
_MOST_BYTES = 512 * 1024 * 1024
_MOST_PARTS = 5_000
_ROWS, _COLUMNS, _VALUE = 5, 20, 40
_FORMULAS = 10


class Unreadable(Exception):
    """A file that is no workbook, or one that is too large to be read."""


def open_workbook(path: str, *, values: bool) -> Any:
    """Open a workbook, with the values that formulas had when it was saved or with the formulas.

    Raises Unreadable, also for an archive that would unpack to more than is sensible.
    """
    import openpyxl

    try:
        with zipfile.ZipFile(path) as archive:
            parts = archive.infolist()
        plain = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
        if len(parts) > _MOST_PARTS or sum(part.file_size for part in parts) > _MOST_BYTES:
            raise Unreadable("it unpacks to more than is read")
        if any(part.compress_type not in plain for part in parts):
            raise Unreadable("it is packed in an unusual way")
        return openpyxl.load_workbook(path, data_only=values)
    except Unreadable:
        raise
    except Exception as error:  # the parser raises anything on a file that somebody else made
        raise Unreadable(f"{type(error).__name__}: {error}") from error


def preview(path: str) -> str:
    """Describe a workbook: each sheet with its size and the first rows, formulas as formulas."""
    book = open_workbook(path, values=False)
    return "\n\n".join(_preview(sheet) for sheet in book.worksheets)


def _preview(sheet: Any) -> str:
    rows, columns = sheet.max_row, sheet.max_column
    lines = [f"### Sheet {sheet.title!r}: {sheet.dimensions}, {rows} rows, {columns} columns", ""]
    for row in sheet.iter_rows(max_row=min(rows, _ROWS), max_col=min(columns, _COLUMNS)):
        lines.append(" | ".join(f"{cell.coordinate}={_short(cell.value)}" for cell in row))
    if rows > _ROWS:
        lines.append(f"({rows - _ROWS} more rows)")
    if columns > _COLUMNS:
        lines.append(f"({columns - _COLUMNS} more columns)")
    return "\n".join(lines)


def _short(value: Any) -> str:
    if value is None:
        return "(empty)"
    text = str(getattr(value, "text", value)).replace("\n", " ")
    return text if len(text) <= _VALUE else f"{text[: _VALUE - 3]}..."


def cells_of(book: Any, area: dict[str, Any], size: tuple[int, int]) -> dict[str, Any]:
    """Return the values of an area by the name of the cell; raises KeyError when the sheet is missing.

    `size` is the last row and column that count in an area of whole columns or rows.
    """
    sheet = {sheet.title: sheet for sheet in book.worksheets}[area["sheet"]]
    bottom = min(area["bottom"], size[0]) if area["bottom"] == LAST_ROW else area["bottom"]
    right = min(area["right"], size[1]) if area["right"] == LAST_COLUMN else area["right"]
    if (bottom - area["top"] + 1) * (right - area["left"] + 1) > MOST_CELLS:
        raise Unreadable(f"the answer has more than {MOST_CELLS} cells")
    rows: Iterable[Any] = ()
    if bottom >= area["top"] and right >= area["left"]:
        rows = sheet.iter_rows(min_row=area["top"], max_row=bottom, min_col=area["left"], max_col=right)
    return {f"{sheet.title}!{cell.coordinate}": cell.value for row in rows for cell in row}


def encoded(value: Any) -> Any:
    """Put a cell's value into JSON; what JSON lacks is an object of its kind."""
    if isinstance(value, bool) or value is None or isinstance(value, int | float | str):
        return value
    for kind in (datetime.datetime, datetime.date, datetime.time):
        if isinstance(value, kind):
            return {kind.__name__: value.isoformat()}
    return {"other": str(value)}


def decoded(value: Any) -> Any:
    """Take a cell's value out of JSON; what no cell of a data set should hold stays an object."""
    if not isinstance(value, dict):
        return value
    ((kind, text),) = value.items()
    kinds: dict[str, Any] = {
        "datetime": datetime.datetime.fromisoformat,
        "date": datetime.date.fromisoformat,
        "time": datetime.time.fromisoformat,
    }
    return kinds[kind](text) if kind in kinds else value


def read_both(prediction: str, gold: str, areas: list[dict[str, Any]]) -> dict[str, Any]:
    """Read the areas of both workbooks.

    The answer has `expected`, `got` and `formulas` (cells of `got` whose formula nobody has computed);
    or `fault`, of the gold workbook; or `problem`, of the other.
    """
    try:
        right = open_workbook(gold, values=True)
        resolved = [{**area, "sheet": area["sheet"] or right.worksheets[0].title} for area in areas]
        _all_cells(right, resolved, _sizes(right))
    except KeyError as error:
        return {"fault": f"the sheet {error} is missing"}
    except Unreadable as error:
        return {"fault": str(error)}
    try:
        answer = open_workbook(prediction, values=True)
        sizes = _sizes(right, answer)
        got = _all_cells(answer, resolved, sizes)
        if any(value is None for value in got.values()):
            unread = _all_cells(open_workbook(prediction, values=False), resolved, sizes)
            formulas = [cell for cell, value in unread.items() if got[cell] is None and _is_formula(value)]
        else:
            formulas = []
        return {"expected": _all_cells(right, resolved, sizes), "got": got, "formulas": formulas}
    except KeyError as error:
        return {"problem": f"the sheet {error} is missing"}
    except Unreadable as error:
        return {"problem": f"the file cannot be read: {error}"}


def _sizes(*books: Any) -> dict[str, tuple[int, int]]:
    """Return the last row and column of each sheet, of the largest sheet of that name."""
    found: dict[str, tuple[int, int]] = {}
    for sheet in (sheet for book in books for sheet in book.worksheets):
        rows, columns = found.get(sheet.title, (1, 1))
        found[sheet.title] = max(rows, sheet.max_row), max(columns, sheet.max_column)
    return found


def _all_cells(book: Any, areas: list[dict[str, Any]], sizes: dict[str, tuple[int, int]]) -> dict[str, Any]:
    return {
        cell: encoded(value)
        for area in areas
        for cell, value in cells_of(book, area, sizes.get(area["sheet"], (1, 1))).items()
    }


def _is_formula(value: Any) -> bool:
    """Whether the JSON of an uncomputed cell is a formula: a text, or an object that spans cells."""
    return value.startswith("=") if isinstance(value, str) else isinstance(value, dict)


def look(path: str) -> dict[str, Any]:
    """Look at an output: its preview, and some of the cells whose formulas nobody has computed."""
    try:
        values, formulas = open_workbook(path, values=True), open_workbook(path, values=False)
        found = [
            f"{sheet.title}!{cell.coordinate}"
            for sheet in formulas.worksheets
            for row in sheet.iter_rows(max_row=min(sheet.max_row, 30))
            for cell in row
            if cell.data_type == "f" and values[sheet.title][cell.coordinate].value is None
        ]
        return {"preview": _preview(formulas.worksheets[0]), "formulas": found[:_FORMULAS]}
    except Unreadable as error:
        return {"problem": f"the file cannot be read: {error}"}


if __name__ == "__main__":
    sys.modules["numpy"] = None  # type: ignore[assignment]  # which openpyxl would import for nothing
    asked = json.loads(Path("read.json").read_text(encoding="utf-8"))
    answer = read_both(**asked["both"]) if "both" in asked else look(**asked["look"])
    with Path("answer.json").open("w", encoding="utf-8") as file:  # the packages print warnings
        json.dump(answer, file)
