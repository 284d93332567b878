import json
from pathlib import Path

import msgspec
import pytest

from skillopt.data import (
    canonical_split,
    content_digest,
    load_splits,
    parse_ratio,
    read_items,
    split_counts,
    used,
)
from skillopt.errors import ConfigError, DataError
from skillopt.records import Item


class EnvSection(msgspec.Struct, frozen=True, kw_only=True):
    split_mode: str = "ratio"
    split_ratio: str = "2:1:7"
    split_seed: int = 42
    split_dir: str = ""
    data_path: str = ""
    limit: int = 0


class Settings(msgspec.Struct, frozen=True):
    env: EnvSection


class Resolved(msgspec.Struct, frozen=True):
    settings: Settings


class Questions:
    """A benchmark whose items need a question."""

    def read(self, path):
        return read_items(path)

    def check(self, item):
        return "" if item.data.get("q") else f"expected a question in `q`, found {item.data.get('q')!r}"


def load(**values):
    return load_splits(Resolved(Settings(EnvSection(**values))), Questions())


def entries(*ids):
    return [{"id": id_, "q": f"question {id_}"} for id_ in ids]


def write(path: Path, content) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def write_splits(folder, **splits):
    for name, content in {"train": entries("a"), "val": entries("b"), "test": entries("c"), **splits}.items():
        write(folder / name / "items.json", content)
    return {"split_mode": "split_dir", "split_dir": str(folder)}


def ids(items):
    return [item.id for item in items]


COUNTS = [
    ((2, 1, 7), 1, (0, 0, 1)),
    ((2, 1, 7), 2, (1, 0, 1)),
    ((2, 1, 7), 3, (1, 0, 2)),
    ((2, 1, 7), 7, (1, 1, 5)),
    ((2, 1, 7), 10, (2, 1, 7)),
    ((2, 1, 7), 20, (4, 2, 14)),
    ((2, 1, 7), 177, (35, 18, 124)),
    ((2, 1, 7), 246, (49, 25, 172)),
    ((2, 1, 7), 400, (80, 40, 280)),
    ((2, 1, 7), 534, (107, 53, 374)),
    ((2, 1, 7), 2000, (400, 200, 1400)),
    ((1, 1, 1), 10, (4, 3, 3)),
    ((1, 1, 1), 7, (3, 2, 2)),
    ((4, 1, 5), 10, (4, 1, 5)),
    ((4, 1, 5), 177, (71, 18, 88)),
    ((3, 1, 1), 50, (30, 10, 10)),
]


@pytest.mark.parametrize(("weights", "total", "counts"), COUNTS)
def test_counts_by_largest_remainder(weights, total, counts):
    assert split_counts(total, weights) == counts


def test_ratio_mode_draws_by_the_split_seed(tmp_path):
    path = write(tmp_path / "raw.json", entries(*(f"i{n:02d}" for n in range(10))))
    splits = load(data_path=str(path))
    assert (ids(splits.train), ids(splits.val)) == (["i07", "i03"], ["i02"])
    assert ids(splits.test) == ["i08", "i05", "i06", "i09", "i04", "i00", "i01"]
    assert splits.source("val") == f"{path} (ratio 2:1:7, seed 42)"
    assert ids(load(data_path=str(path), split_seed=43).train) == ["i08", "i01"]


def test_nothing_is_written(tmp_path):
    write(tmp_path / "raw.json", entries(*(f"i{n:02d}" for n in range(10))))
    load(data_path=str(tmp_path))
    assert [path.name for path in tmp_path.rglob("*")] == ["raw.json"]


def test_split_dir_mode_keeps_the_file_order(tmp_path):
    settings = write_splits(tmp_path, train=entries("z", "a", "m"))
    splits = load(**settings)
    assert (ids(splits.train), ids(splits.val), ids(splits.test)) == (["z", "a", "m"], ["b"], ["c"])
    assert splits.source("train") == str(tmp_path / "train")


def test_limit_keeps_the_first_items_of_each_split(tmp_path):
    settings = write_splits(tmp_path, train=entries(*"defg"), val=entries(*"hij"))
    splits = load(**settings, limit=2)
    assert (ids(splits.train), ids(splits.val), ids(splits.test)) == (["d", "e"], ["h", "i"], ["c"])


def test_used_takes_the_first_items_and_zero_means_all():
    items = [Item(id=id_, data={}) for id_ in "abc"]
    assert (ids(used(items, 2)), ids(used(items, 0)), ids(used(items, 9))) == (["a", "b"], [*"abc"], [*"abc"])


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("train", "train"),
        ("val", "val"),
        ("valid_seen", "val"),
        ("selection", "val"),
        ("test", "test"),
        ("valid_unseen", "test"),
    ],
)
def test_old_names_of_splits(tmp_path, name, split):
    splits = load(**write_splits(tmp_path))
    assert canonical_split(name) == split
    assert splits.named(name) is getattr(splits, split)


@pytest.mark.parametrize("name", ["dev", "VAL", ""])
def test_other_names_of_splits_are_refused(name):
    with pytest.raises(
        ConfigError, match=f"train, val, valid_seen, selection, test, valid_unseen; found '{name}'"
    ):
        canonical_split(name)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", entries("1", "2")),
        ("a.json", {"data": entries("1", "2"), "version": 3}),
        ("a.json", {"x": entries("1")[0], "y": entries("2")[0]}),
        ("a.json", "\n".join(map(json.dumps, entries("1", "2")))),
        ("a.jsonl", "\n\n".join(map(json.dumps, entries("1", "2"))) + "\r\n"),
        ("a.json", "\ufeff" + json.dumps(entries("1", "2"))),
    ],
)
def test_forms_of_a_data_file(tmp_path, name, content):
    items = read_items(write(tmp_path / name, content))
    assert items == [Item(id=e["id"], data=e) for e in entries("1", "2")]


def test_ids_may_hold_anything_and_whole_numbers_become_text(tmp_path):
    given = ["../../etc/passwd", "a b\n", "ü", "x" * 500, "0", " 1"]
    items = read_items(write(tmp_path / "a.json", [*entries(*given), {"id": 7, "task_type": "math"}]))
    assert ids(items) == [*given, "7"]
    assert (items[-1].data, items[-1].task_type) == ({"id": 7, "task_type": "math"}, "math")
    assert items[0].task_type == ""


def test_a_task_type_that_is_no_text_is_left_out(tmp_path):
    path = write(tmp_path / "a.json", [{"id": "a", "task_type": ["x"]}])
    assert read_items(path)[0].task_type == ""


@pytest.mark.parametrize(
    "bad", [{}, {"id": None}, {"id": ""}, {"id": " "}, {"id": 1.5}, {"id": True}, {"id": []}]
)
def test_items_without_an_id_are_refused(tmp_path, bad):
    path = write(tmp_path / "a.json", [{"id": "1"}, bad])
    with pytest.raises(DataError, match=r"a\.json, entry 2: expected an `id`"):
        read_items(path)


def test_ids_in_two_splits_are_refused_up_to_five_listed(tmp_path):
    shared = [f"s{n}" for n in range(7)]
    settings = write_splits(tmp_path, val=entries("v", *shared), test=entries(*shared))
    with pytest.raises(DataError) as caught:
        load(**settings)
    message = str(caught.value)
    assert f"'s0' in {tmp_path}/val/items.json (entry 2) and {tmp_path}/test/items.json (entry 1)" in message
    assert "'s4'" in message
    assert "'s5'" not in message
    assert "and 2 more" in message


def test_an_id_twice_in_a_split_is_refused(tmp_path):
    settings = write_splits(tmp_path, train=[*entries("x", "7"), {"id": 7, "q": "again"}])
    with pytest.raises(
        DataError, match=r"'7' in .*train/items\.json \(entry 2\) and .*train/items\.json \(entry 3\)"
    ):
        load(**settings)
    path = write(tmp_path / "raw.json", entries(*"abcdefghij", "a"))
    with pytest.raises(DataError, match=r"'a' in .*raw\.json \(entry 1\) and .*raw\.json \(entry 11\)"):
        load(data_path=str(path))


def test_an_item_of_another_split_is_found_even_past_the_limit(tmp_path):
    settings = write_splits(tmp_path, train=entries(*"def"), test=entries("c", "f"))
    with pytest.raises(DataError, match="'f'"):
        load(**settings, limit=1)


def test_items_that_the_benchmark_cannot_use_are_refused(tmp_path):
    bad = [{"id": f"bad{n}"} for n in range(3)]
    settings = write_splits(tmp_path, val=[*entries("v"), *bad])
    with pytest.raises(DataError) as caught:
        load(**settings)
    assert str(caught.value).splitlines() == [
        f"{tmp_path}/val/items.json, entry {n + 2} (id 'bad{n}'): expected a question in `q`, found None"
        for n in range(3)
    ]


def test_of_many_unusable_items_the_first_five_are_told(tmp_path):
    bad = [{"id": f"bad{n}"} for n in range(9)]
    with pytest.raises(DataError) as caught:
        load(**write_splits(tmp_path, val=[*entries("v"), *bad]))
    told = str(caught.value).splitlines()
    assert ("'bad4'" in told[4], told[5:]) == (True, ["4 more of this file"])


@pytest.mark.parametrize("split", ["train", "val", "test"])
def test_empty_and_missing_splits_are_refused(tmp_path, split):
    settings = write_splits(tmp_path, **{split: []})
    with pytest.raises(DataError, match=f"{split}/items.json: expected items, found none; the {split} split"):
        load(**settings)
    (tmp_path / split / "items.json").unlink()
    with pytest.raises(DataError, match=rf"{split}: expected exactly one \.json"):
        load(**settings)
    (tmp_path / split).rmdir()
    with pytest.raises(DataError, match=f"expected the folders train, val, test; {split} missing"):
        load(**settings)


def test_a_ratio_that_leaves_a_split_empty_is_refused(tmp_path):
    path = write(tmp_path / "raw.json", entries(*"abc"))
    with pytest.raises(DataError, match=r"3 items at env\.split_ratio 2:1:7 give train 1, val 0, test 2"):
        load(data_path=str(path))
    write(path, [])
    with pytest.raises(DataError, match=r"raw\.json: expected items, found none"):
        load(data_path=str(path))


def test_finished_splits_are_no_data_file(tmp_path):
    write_splits(tmp_path)
    with pytest.raises(DataError, match="split_mode: split_dir"):
        load(data_path=str(tmp_path))


@pytest.mark.parametrize("values", [{}, {"split_mode": "split_dir"}])
@pytest.mark.parametrize("path", ["", "/nowhere/at/all"])
def test_missing_data_is_refused(values, path):
    name = "split_dir" if values else "data_path"
    with pytest.raises(DataError, match=rf"env\.{name}: expected .*'{path}'"):
        load(**values, **{name: path})


@pytest.mark.parametrize("ratio", ["2:1", "2:1:0", "a:1:7", "2:1:7:1", "2:-1:7", "", "2.5:1:7"])
def test_ratios_that_are_none(ratio):
    with pytest.raises(ConfigError, match="three positive whole numbers"):
        parse_ratio(ratio)


def test_the_digest_is_that_of_contents_in_order():
    a, b = Item(id="a", data={"id": "a", "x": 1, "y": {"k": 1, "l": 2}}), Item(id="b", data={"id": "b"})
    same = Item(id="a", data={"y": {"l": 2, "k": 1}, "x": 1, "id": "a"})
    changed = Item(id="a", data={"id": "a", "x": 2, "y": {"k": 1, "l": 2}})
    assert content_digest([a, b]) == content_digest([same, b])
    assert len({content_digest(items) for items in ([a, b], [b, a], [a], [], [changed, b])}) == 5
    assert content_digest([]) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
