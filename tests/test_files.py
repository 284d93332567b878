"""Files of a run: whole or not at all, the same bytes each time."""

import os
from datetime import date

import msgspec
import pytest

from skillopt.errors import CorruptFile
from skillopt.files import (
    WriteError,
    canonical,
    read_json,
    read_jsonl,
    read_text,
    write_bytes,
    write_json,
    write_jsonl,
    write_text,
)


class Entry(msgspec.Struct, frozen=True):
    name: str
    count: int = 0


def test_a_file_is_replaced_and_never_written_into(tmp_path):
    path, old = tmp_path / "below/a.txt", tmp_path / "old"
    write_bytes(path, b"old")
    os.link(path, old)
    write_bytes(path, b"new")
    assert (path.read_bytes(), old.read_bytes()) == (b"new", b"old")
    assert [found.name for found in path.parent.iterdir()] == ["a.txt"]


def test_what_cannot_be_written_leaves_the_old_file_and_nothing_else(tmp_path):
    (tmp_path / "a").mkdir()
    with pytest.raises(WriteError, match=r"/a: cannot be written: Is a directory"):
        write_bytes(tmp_path / "a", b"x")
    (tmp_path / "file").write_bytes(b"old")
    with pytest.raises(WriteError, match=r"/file/b: cannot be written: "):
        write_bytes(tmp_path / "file/b", b"x")
    assert (tmp_path / "file").read_bytes() == b"old"
    assert sorted(found.name for found in tmp_path.rglob("*")) == ["a", "file"]


def test_what_a_killed_process_left_is_overwritten(tmp_path):
    (tmp_path / ".a.partial").write_bytes(b"half of somethi")
    write_bytes(tmp_path / "a", b"x")
    assert {found.name: found.read_bytes() for found in tmp_path.iterdir()} == {"a": b"x"}


def test_text_keeps_its_line_ends(tmp_path):
    path = tmp_path / "a.md"
    write_text(path, "ä\r\nb\rc\u2028\n")
    assert path.read_bytes() == "ä\r\nb\rc\u2028\n".encode()
    assert read_text(path) == "ä\r\nb\rc\u2028\n"
    path.write_bytes(b"abc\xff")
    with pytest.raises(CorruptFile, match="expected UTF-8 text, found byte 3 that is not"):
        read_text(path)


def test_what_is_no_file_is_not_read(tmp_path):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")  # which would be waited for
    for name, kind in (("folder", "a folder"), ("pipe", "a pipe or device")):
        for read in (read_text, lambda path: read_json(path, Entry), lambda path: read_jsonl(path, Entry)):
            with pytest.raises(CorruptFile, match=f"{name}: expected a file, found {kind}. Delete it"):
                read(tmp_path / name)


def test_records_in_the_order_of_their_fields_and_one_per_line(tmp_path):
    write_json(tmp_path / "a.json", Entry("ü", 1))
    assert (tmp_path / "a.json").read_bytes() == '{\n  "name": "ü",\n  "count": 1\n}\n'.encode()
    assert read_json(tmp_path / "a.json", Entry) == Entry("ü", 1)
    write_jsonl(tmp_path / "a.jsonl", [Entry("a", 1), Entry("b\n")])
    assert (tmp_path / "a.jsonl").read_bytes() == b'{"name":"a","count":1}\n{"name":"b\\n","count":0}\n'
    assert read_jsonl(tmp_path / "a.jsonl", Entry) == [Entry("a", 1), Entry("b\n")]
    write_jsonl(tmp_path / "a.jsonl", [])
    assert read_jsonl(tmp_path / "a.jsonl", Entry) == []


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"name": "a"}\n{"name": "b"}', "the last line is cut off"),
        (b'{"name": "a"}\n{"name": \n', "line 2: expected a Entry record"),
        (b'{"name": "a"}\n{"count": 1}\n', "line 2: expected a Entry record"),
    ],
)
def test_damaged_lines_are_named(tmp_path, content, said):
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    with pytest.raises(CorruptFile, match=said):
        read_jsonl(path, Entry)


def test_equal_values_give_equal_text():
    assert (
        canonical({"b": 1, "a": {"d": date(2024, 1, 2), "c": "ü"}})
        == '{"a":{"c":"ü","d":"2024-01-02"},"b":1}'
    )
    assert canonical(dict(reversed({"x": 1, "y": 2}.items()))) == canonical({"x": 1, "y": 2})
