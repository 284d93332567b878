"""Reading and checking items."""

import json

import pytest

from skillopt.envs.searchqa import ENVIRONMENT
from skillopt.errors import DataError
from skillopt.records import Item

GOOD = {"id": "1", "question": "Who?", "context": "[DOC] Ann did.", "answers": ["Ann"]}


def read(tmp_path, *entries):
    file = tmp_path / "items.json"
    file.write_text(json.dumps(entries))
    return ENVIRONMENT.read(file)


def test_ids_of_any_kind_and_columns_that_play_no_part(tmp_path):
    entries = [GOOD | {"extra": 1}, GOOD | {"id": 7}, GOOD | {"id": "../ü:\n"}]
    key_only = {**GOOD, "key": "ff00"}
    del key_only["id"]
    items = read(tmp_path, *entries, key_only)
    assert [item.id for item in items] == ["1", "7", "../ü:\n", "ff00"]
    assert items[0].data == GOOD
    assert items[3].data == GOOD | {"id": "ff00"}
    assert {item.task_type for item in items} == {"qa"}
    assert [ENVIRONMENT.check(item) for item in items] == [""] * 4


@pytest.mark.parametrize("bad", [None, "", " ", 1.5, True, []])
def test_item_without_usable_id(tmp_path, bad):
    with pytest.raises(DataError, match=r"items\.json, entry 2: expected an `id`"):
        read(tmp_path, GOOD, GOOD | {"id": bad})


@pytest.mark.parametrize(
    ("field", "bad"),
    [
        ("question", None),
        ("question", " "),
        ("question", 3),
        ("context", ""),
        ("context", ["[DOC]"]),
        ("answers", None),
        ("answers", []),
        ("answers", "Ann"),
        ("answers", ["Ann", " "]),
        ("answers", [1912]),
    ],
)
def test_item_with_an_unusable_field(field, bad):
    assert f"`{field}`" in ENVIRONMENT.check(Item(id="1", data=GOOD | {field: bad}))
    missing = {name: value for name, value in GOOD.items() if name != field}
    assert f"`{field}`" in ENVIRONMENT.check(Item(id="1", data=missing))


def test_manifest_of_ids_is_named_as_such(tmp_path):
    [item] = read(tmp_path, {"id": "00af"})
    problem = ENVIRONMENT.check(item)
    assert "manifest" in problem
    assert "materialised" in problem
