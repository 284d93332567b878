"""Items of SpreadsheetBench: where the workbooks are, which are test cases, what is refused."""

import json

import pytest
from sheets import RAW, item_at, save

from skillopt.envs.spreadsheetbench import ENVIRONMENT
from skillopt.errors import DataError


def read(folder, *entries):
    (folder / "items.json").write_text(json.dumps(entries), encoding="utf-8")
    return ENVIRONMENT.read(folder)


def test_an_item(tmp_path):
    item = item_at(tmp_path, cases=((1,), (2,)))
    assert ENVIRONMENT.check(item) == ""
    assert (item.id, item.task_type) == ("1-1", "cell_level")
    assert [(case["no"], case["input"], case["answer"]) for case in item.data["cases"]] == [
        ("1", "1_x_input.xlsx", "1_x_answer.xlsx"),
        ("2", "2_x_input.xlsx", "2_x_answer.xlsx"),
    ]


def test_the_content_of_the_workbooks_is_part_of_the_item(tmp_path):
    item = item_at(tmp_path)
    files = ENVIRONMENT.files(item, ENVIRONMENT.settings())
    folder = tmp_path / "spreadsheet/1-1"
    assert files == {name: folder / name for name in ("1_x_input.xlsx", "1_x_answer.xlsx")}
    assert str(tmp_path) not in str(item.data)


def test_a_split_folder_looks_beside_itself(tmp_path):
    for split in ("train", "data"):
        (tmp_path / split).mkdir()
        save(tmp_path / split / "spreadsheet/1-1/1_input.xlsx", A=[[1]])
    save(tmp_path / "spreadsheet/1-1/initial.xlsx", A=[[1]])
    save(tmp_path / "spreadsheet/1-1/golden.xlsx", A=[[1]])
    (item,) = read(tmp_path / "train", RAW)
    assert [(case["no"], case["input"]) for case in item.data["cases"]] == [("1", "initial.xlsx")]
    (item,) = read(tmp_path / "data", RAW)
    assert "found no pair" in ENVIRONMENT.check(item)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["1_a_init.xlsx", "1_a_golden.xlsx"], [("1", "1_a_init.xlsx")]),
        (
            ["10_a_input.xlsx", "10_a_answer.xlsx", "2_a_input.xlsx", "2_a_answer.xlsx", "3_a_input.xlsx"],
            [("2", "2_a_input.xlsx"), ("10", "10_a_input.xlsx")],
        ),
        (["1_a_input.xlsx", "1_a_answer.xlsx", "initial.xlsx", "golden.xlsx"], [("1", "1_a_input.xlsx")]),
        (["initial.xlsx"], []),
    ],
)
def test_which_files_are_test_cases(tmp_path, names, expected):
    for name in names:
        save(tmp_path / "spreadsheet/1-1" / name, A=[[1]])
    (item,) = read(tmp_path, RAW)
    assert [(case["no"], case["input"]) for case in item.data["cases"]] == expected


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"instruction": "  "}, "expected a text in `instruction`"),
        ({"answer_position": ""}, "`answer_position`: expected cells such as Sheet1!A1:C9, found nothing"),
        ({"answer_position": 7}, "expected text in `answer_position`"),
        ({"spreadsheet_path": "../elsewhere"}, "expected a folder below that of the data"),
        ({"spreadsheet_path": "/etc"}, "expected a folder below that of the data"),
        ({"spreadsheet_path": "spreadsheet/../spreadsheet/1-1"}, "expected a folder below that of the data"),
        ({"spreadsheet_path": 7}, "expected a folder below that of the data"),
        ({"spreadsheet_path": "nothing"}, "found no pair"),
    ],
)
def test_items_that_cannot_be_used(tmp_path, changes, problem):
    item_at(tmp_path)
    (item,) = read(tmp_path, RAW | changes)
    assert problem in ENVIRONMENT.check(item)


def test_a_link_out_of_the_data_is_refused(tmp_path):
    (tmp_path / "secret").mkdir()
    (tmp_path / "data").mkdir()
    item_at(tmp_path / "secret")
    (tmp_path / "data/spreadsheet").symlink_to(tmp_path / "secret/spreadsheet")
    (item,) = read(tmp_path / "data", RAW)
    assert "expected a folder below that of the data" in ENVIRONMENT.check(item)


def test_a_manifest_says_that_it_is_one(tmp_path):
    (item,) = read(tmp_path, {"id": "13-1"})
    assert "this is a manifest of ids" in ENVIRONMENT.check(item)
    with pytest.raises(DataError, match=r"items\.json, entry 1: expected an `id`"):
        read(tmp_path, {"instruction": "x"})


def test_kinds_of_task(tmp_path):
    kinds = {"Cell-Level Manipulation": "cell_level", "Sheet-Level Manipulation": "sheet_level", "x": "other"}
    entries = [RAW | {"id": str(n), "instruction_type": kind} for n, kind in enumerate(kinds)]
    assert [item.task_type for item in read(tmp_path, *entries)] == list(kinds.values())
