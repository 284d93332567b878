"""Reading data files, and refusing what is none."""

import json
import os
from pathlib import Path

import pytest

from skillopt.envs.itemfiles import read_entries
from skillopt.errors import DataError

ENTRIES = [{"id": "å/1", "question": "né"}, {"id": "2"}]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", json.dumps(ENTRIES, ensure_ascii=False)),
        ("a.json", "\ufeff" + json.dumps(ENTRIES)),
        ("a.json", json.dumps({"version": 1, "data": ENTRIES})),
        ("a.json", json.dumps({"å/1": {"question": "né"}, "other key": {"id": "2"}})),
        ("a.json", "\n".join(json.dumps(entry) for entry in ENTRIES)),
        ("a.jsonl", "\n\n".join(json.dumps(entry) for entry in ENTRIES) + "\n"),
        ("a.JSONL", "\r\n".join(json.dumps(entry) for entry in ENTRIES)),
    ],
)
def test_forms_of_a_file(tmp_path, name, text):
    file = tmp_path / name
    file.write_bytes(text.encode())
    assert [entry for _, entry in read_entries(file)] == ENTRIES


def test_line_separators_inside_a_text_do_not_end_a_line(tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_text(json.dumps({"id": "1", "context": "a\u2028b\x85c"}, ensure_ascii=False), encoding="utf-8")
    assert read_entries(file)[0][1]["context"] == "a\u2028b\x85c"


def test_folder_with_one_file_and_with_items_json_among_others(tmp_path):
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / "z.json").write_text('[{"id": "z"}]')
    assert read_entries(tmp_path)[0][1] == {"id": "z"}
    (tmp_path / "items.json").write_text('[{"id": "items"}]')
    assert read_entries(tmp_path)[0][1] == {"id": "items"}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.json", '[\n{"id": 1 2}]', "line 2, column 10: broken JSON"),
        ("a.json", '[{"id": NaN}]', "line 1: JSON that cannot be used"),
        ("a.json", "[" * 100_000, "line 1: JSON that cannot be used"),
        ("a.jsonl", '{"id": "1"}\n{"id": ', "line 2, column 8: broken JSON"),
        ("a.json", '{"id": "1"}\n{"id": ', "line 2, column 8: broken JSON"),
        ("a.json", "[1]", "entry 1: expected an object, found a number"),
        ("a.json", '[{"id": "1"}, "00af"]', "entry 2.*manifest.*materialised"),
        ("a.json", '"text"', "expected an array of items.*found a string"),
        ("a.json", '{"id": "1"}', "expected an array of items.*found an object"),
        ("a.json", '[{"id": "1", "n": ' + "9" * 5000 + "}]", "line 1: JSON that cannot be used: Integer"),
        ("a.jsonl", '{"id": "0"}\n{"id": "1", "n": ' + "9" * 5000 + "}", "line 2: JSON that cannot be used"),
        ("a.json", '{"same": {"q": "1"}, "same": {"q": "2"}}', r"a\.json: expected each key .*'same'"),
        ("a.json", '{"data": [], "data": [{"id": "1"}]}', r"a\.json: expected each key .*'data'"),
        ("a.json", '[{"id": "1"}, {"id": "2", "id": "3"}]', "a.json, entry 2: expected each key .*'id'"),
        ("a.json", '{"x": {"a": [{"b": 1, "b": 2}]}}', "a.json, entry 'x': expected each key .*'b'"),
        ("a.json", '{"data": [{"id": "1", "id": "1"}]}', "a.json, entry 1: expected each key .*'id'"),
        ("a.json", '[{"a": 1, "\\u0061": 2}]', "a.json, entry 1: expected each key .*'a'"),
        ("a.jsonl", '{"id": "1"}\n{"id": "2", "id": "2"}', "a.jsonl, line 2: expected each key .*'id'"),
        ("a.csv", "id,q,id\n1,2,3\n", "a.csv, line 1: expected each column once, found 'id'"),
    ],
)
def test_refused_with_the_place(tmp_path, name, text, message):
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(DataError, match=message) as caught:
        read_entries(file)
    assert str(file) in str(caught.value)


def test_refused_files_and_folders(tmp_path):
    with pytest.raises(DataError, match=r"nothing\.json: expected a data file"):
        read_entries(tmp_path / "nothing.json")
    (tmp_path / "latin.json").write_bytes(b'["\xe9"]')
    with pytest.raises(DataError, match="expected UTF-8"):
        read_entries(tmp_path / "latin.json")
    (tmp_path / "second.jsonl").write_text("")
    with pytest.raises(DataError, match=r"exactly one.*latin\.json, second\.jsonl"):
        read_entries(tmp_path)


def test_a_folder_of_splits_is_not_raw_data(tmp_path):
    for split in ("train", "val", "test"):
        (tmp_path / split).mkdir()
    with pytest.raises(DataError, match="split_mode: split_dir"):
        read_entries(tmp_path)


def test_a_table_gives_texts_and_leaves_out_empty_values(tmp_path):
    file = tmp_path / "a.csv"
    file.write_bytes('\ufeffuid,question,files\r\nå/1,"Why, ""when""?","a.txt\nb.txt"\r\n2,x,\r\n'.encode())
    assert read_entries(file) == [
        (f"{file}, line 3", {"uid": "å/1", "question": 'Why, "when"?', "files": "a.txt\nb.txt"}),
        (f"{file}, line 4", {"uid": "2", "question": "x"}),
    ]
    assert read_entries(tmp_path) == read_entries(file)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,question\n1,x,y\n", "line 2: expected 2 values, found more"),
        ('id,question\n1,"x\n', "CSV that cannot be used"),
        ('id,question\n1,"x"y\n', "entry 1: CSV that cannot be used"),
    ],
)
def test_a_broken_table_is_refused_with_its_place(tmp_path, text, message):
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_entries(tmp_path / "a.csv")


def test_what_is_no_file_is_not_read(tmp_path):
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    held = os.open(pipe, os.O_RDWR)  # a reader would wait for its end
    try:
        os.write(held, b"[]")
        for path in (pipe, Path("/dev/zero")):
            with pytest.raises(
                DataError, match=f"{path}: expected a readable data file, found: a pipe or device"
            ):
                read_entries(path)
    finally:
        os.close(held)


def test_a_field_of_a_table_may_be_long(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text(f"id,context\n1,{'x' * 200_000}\n")
    assert read_entries(file)[0][1]["context"] == "x" * 200_000
