"""When two cells are equal, and which cells of an answer are not."""

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

_EPOCH = datetime.datetime(1899, 12, 30)
_DAY = datetime.timedelta(days=1)


class Mismatch(msgspec.Struct, frozen=True, kw_only=True):
    """A cell that is not as it should be, by its name with the sheet; values as they stand there.

    `formula`: what stands there is a formula that nobody has computed, which reads as empty.
    """

    cell: str
    got: Any
    expected: Any
    formula: bool = False


def comparable(value: Any) -> Any:
    """Return what of a cell's value counts; formatting never does.

    Numbers, truth values and texts that are numbers: rounded to two decimals. Dates with a time:
    whole days since the epoch of spreadsheets. Times: hours and minutes.
    """
    if isinstance(value, bool | int | float):
        return _rounded(float(value))
    if isinstance(value, datetime.datetime):
        return float(round((value.replace(tzinfo=None) - _EPOCH) / _DAY))
    if isinstance(value, datetime.time):
        return str(value)[:-3]
    if isinstance(value, str):
        try:
            return _rounded(float(value))
        except ValueError:
            return value
    return value


def _rounded(number: float) -> float:
    return round(number, 2)


def same(left: Any, right: Any) -> bool:
    """Whether two values of cells count as equal; empty is empty, whether by no value or no text."""
    if left in (None, "") or right in (None, ""):
        return left in (None, "") and right in (None, "")
    one, other = comparable(left), comparable(right)
    return type(one) is type(other) and bool(one == other)


def mismatches(
    got: Mapping[str, Any], expected: Mapping[str, Any], formulas: Sequence[str] = ()
) -> tuple[Mismatch, ...]:
    """Compare two tables of values by the name of the cell, in the order of what is expected."""
    return tuple(
        Mismatch(cell=cell, got=got.get(cell), expected=value, formula=cell in formulas)
        for cell, value in expected.items()
        if not same(got.get(cell), value)
    )
