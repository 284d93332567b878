"""Where the answer of an item stands: `Sheet1!A1:C9,'Other, too'!B2`, read strictly."""

import re

import msgspec

from skillopt.envs.spreadsheetbench.reader import LAST_COLUMN, LAST_ROW

_CELLS = re.compile(r"\$?([A-Z]{1,3})\$?([0-9]{1,7})(?::\$?([A-Z]{1,3})\$?([0-9]{1,7}))?")
_COLUMNS = re.compile(r"\$?([A-Z]{1,3}):\$?([A-Z]{1,3})")
_ROWS = re.compile(r"\$?([0-9]{1,7}):\$?([0-9]{1,7})")


class Area(msgspec.Struct, frozen=True, kw_only=True):
    """A rectangle of cells, both corners in it; `sheet` "" stands for the first one.

    A whole column goes from row 1 to LAST_ROW, a whole row to LAST_COLUMN.
    """

    sheet: str
    left: int
    top: int
    right: int
    bottom: int


def read_position(position: str, sheet: str = "") -> tuple[Area, ...]:
    """Read a position; `sheet` is that of parts that name none. Raises ValueError saying what is wrong."""
    parts = _parts(position)
    if not parts:
        raise ValueError("expected cells such as Sheet1!A1:C9, found nothing")
    return tuple(_area(part, sheet) for part in parts)


def _parts(position: str) -> list[str]:
    """Split at commas, but for those in a quoted name of a sheet."""
    found, quoted = [""], False
    for char in position:
        quoted ^= char == "'"
        if char == "," and not quoted:
            found.append("")
        else:
            found[-1] += char
    return [part.strip() for part in found if part.strip()]


def _area(part: str, sheet: str) -> Area:
    name, mark, cells = part.rpartition("!")
    left, top, right, bottom = _corners(cells.strip(" '\"").upper(), part)
    return Area(
        sheet=name.strip(" '\"").replace("''", "'") if mark else sheet,
        left=min(left, right),
        top=min(top, bottom),
        right=max(left, right),
        bottom=max(top, bottom),
    )


def _corners(cells: str, part: str) -> tuple[int, int, int, int]:
    if match := _CELLS.fullmatch(cells):
        first, top, last, bottom = match.groups()
        corners = _column(first), int(top), _column(last or first), int(bottom or top)
    elif match := _COLUMNS.fullmatch(cells):
        corners = _column(match.group(1)), 1, _column(match.group(2)), LAST_ROW
    elif match := _ROWS.fullmatch(cells):
        corners = 1, int(match.group(1)), LAST_COLUMN, int(match.group(2))
    else:
        raise ValueError(f"expected cells such as Sheet1!A1:C9, found {part!r}")
    if not all(1 <= n <= LAST_COLUMN for n in corners[::2]) or not all(
        1 <= n <= LAST_ROW for n in corners[1::2]
    ):
        raise ValueError(f"expected cells that a sheet can have, found {part!r}")
    return corners


def _column(letters: str) -> int:
    """Return the number of a column, counted from 1."""
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number
