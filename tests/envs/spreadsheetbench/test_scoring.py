"""When cells are equal, and how positions are read."""

from datetime import date, datetime, time, timedelta

import pytest

from skillopt.envs.spreadsheetbench.position import read_position
from skillopt.envs.spreadsheetbench.reader import LAST_COLUMN, LAST_ROW, decoded, encoded
from skillopt.envs.spreadsheetbench.scoring import mismatches, same

NEW_YEAR = datetime(2024, 1, 1)
EQUAL = [
    *[(5, 5.0), (5, "5"), (5.0, "5"), ("5.004", 5), (True, 1), (None, ""), (None, None), ("", "")],
    *[("1e3", 1000), (NEW_YEAR, 45292), (datetime(2024, 1, 1, 12), 45292), (datetime(2024, 1, 2, 12), 45294)],
    *[
        (time(8, 30, 15), time(8, 30, 45)),
        (time(8, 30), "08:30"),
        ("abc", "abc"),
        (date(2024, 1, 1), date(2024, 1, 1)),
    ],
]
DIFFERENT = [
    *[(5.005, 5.01), (2.675, 2.68), (True, "TRUE"), (None, 0), (" ", None), ("abc", "Abc"), ("nan", "nan")],
    *[
        ("1,000", 1000),
        (NEW_YEAR, "2024-01-01"),
        (date(2024, 1, 1), NEW_YEAR),
        ("", 0),
        (float("nan"), float("nan")),
    ],
]


@pytest.mark.parametrize(("left", "right"), EQUAL)
def test_equal(left, right):
    assert same(left, right)
    assert same(right, left)


@pytest.mark.parametrize(("left", "right"), DIFFERENT)
def test_different(left, right):
    assert not same(left, right)
    assert not same(right, left)


def test_mismatches_in_the_order_of_what_is_expected():
    found = mismatches({"S!A1": 1, "S!A2": None}, {"S!A2": 5, "S!A1": 1.001, "S!A3": "x"}, ["S!A2"])
    assert [(wrong.cell, wrong.got, wrong.expected, wrong.formula) for wrong in found] == [
        ("S!A2", None, 5, True),
        ("S!A3", None, "x", False),
    ]


@pytest.mark.parametrize(
    "value",
    [None, True, 3, 2.5, "x", NEW_YEAR, date(2024, 1, 1), time(8, 30, 15), datetime(2024, 1, 1, 1, 2, 3, 4)],
)
def test_values_survive_json(value):
    assert decoded(encoded(value)) == value
    assert type(decoded(encoded(value))) is type(value)


def test_what_json_lacks_compares_by_its_text():
    assert same(decoded(encoded(timedelta(hours=30))), decoded(encoded(timedelta(hours=30))))
    assert not same(decoded(encoded(timedelta(hours=30))), decoded(encoded(timedelta(hours=31))))


def corners(position, sheet=""):
    return [(a.sheet, a.left, a.top, a.right, a.bottom) for a in read_position(position, sheet)]


@pytest.mark.parametrize(
    ("position", "expected"),
    [
        ("A1", [("", 1, 1, 1, 1)]),
        ("$B$2:$D$9", [("", 2, 2, 4, 9)]),
        ("b2:d9", [("", 2, 2, 4, 9)]),
        ("D9:B2", [("", 2, 2, 4, 9)]),
        ("AA10:AB11", [("", 27, 10, 28, 11)]),
        ("Sheet1!A1:A2, 'My, Sheet''s'!B3", [("Sheet1", 1, 1, 1, 2), ("My, Sheet's", 2, 3, 2, 3)]),
        ("'Sheet 1'!'A1:B2'", [("Sheet 1", 1, 1, 2, 2)]),
        ("C:A", [("", 1, 1, 3, LAST_ROW)]),
        ("2:3", [("", 1, 2, LAST_COLUMN, 3)]),
        ("A1,", [("", 1, 1, 1, 1)]),
    ],
)
def test_positions(position, expected):
    assert corners(position) == expected


def test_the_sheet_of_parts_that_name_none():
    assert corners("A1,Other!B2", "Main") == [("Main", 1, 1, 1, 1), ("Other", 2, 2, 2, 2)]


@pytest.mark.parametrize(
    "position", ["", " , ", "A0", "A", "1", "A1:B", "XFE1", "A1048577", "A1-B2", "Sheet1!"]
)
def test_positions_that_are_none(position):
    with pytest.raises(ValueError, match="expected cells"):
        read_position(position)
