"""Manifests and sources put together, from small files in the forms of the public data sets."""

import csv
import io
import json
import tarfile
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from skillopt.errors import ConfigError, DataError
from skillopt.sources.benchmarks import SOURCES, source_of
from skillopt.sources.manifest import read_manifest
from skillopt.sources.materialise import materialise

PNG = b"\x89PNG\r\n\x1a\n first page"
JPEG = b"\xff\xd8\xff second page"


@pytest.fixture
def work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "source").mkdir()
    return tmp_path


def write_manifest(folder, splits, **described):
    for split, entries in splits.items():
        path = folder / split / "items.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps([e if isinstance(e, dict) else {"id": e} for e in entries]))
    if described:
        (folder / "split_manifest.json").write_text(json.dumps(described))
    return folder


def table(path, rows):
    columns = {name: [row.get(name) for row in rows] for name in rows[0]}
    pyarrow.parquet.write_table(pyarrow.table(columns), path)


def question(key, **fields):
    row = {"key": key, "question": f"What is {key}?", "context": f"[DOC] It is {key}.", "answers": [key]}
    return {**row, "labels": 7, **fields}


def run(benchmark, manifest, local="source", out=None):
    target = out or Path("data/paper") / benchmark
    materialise(benchmark, SOURCES[benchmark], read_manifest(manifest, benchmark), Path(local), target)
    return target


def items(folder, split):
    return json.loads((folder / split / "items.json").read_text())


SPLITS = {"train": ["c", "a"], "val": ["e"], "test": ["b", "d"]}


@pytest.fixture
def searchqa(work):
    """Two files, as the data set has splits of its own; more rows than are wanted."""
    table(work / "source/train-0.parquet", [question(key) for key in ("a", "x", "b", "c")])
    table(work / "source/validation-0.parquet", [question(key) for key in ("d", "y", "e")])
    return write_manifest(
        work / "manifest",
        SPLITS,
        benchmark="searchqa",
        manifest_type="id_split",
        source_repo="lucadiliello/searchqa",
        counts={"train": 2, "val": 1, "test": 2},
    )


def test_items_are_in_the_order_of_the_manifest_with_what_a_run_needs(searchqa):
    folder = run("searchqa", searchqa)
    assert [item["id"] for item in items(folder, "train")] == ["c", "a"]
    assert items(folder, "val") == [
        {"id": "e", "question": "What is e?", "context": "[DOC] It is e.", "answers": ["e"]}
    ]
    record = json.loads((folder / "split_manifest.json").read_text())
    assert (record["counts"], record["source_repo"]) == (
        {"train": 2, "val": 1, "test": 2},
        "lucadiliello/searchqa",
    )
    assert set(record["files"]) == {f"{split}/items.json" for split in SPLITS}
    assert {path.name for path in folder.iterdir()} == {"train", "val", "test", "split_manifest.json"}
    assert [path.name for path in folder.parent.iterdir()] == ["searchqa"]


def test_what_is_there_and_whole_is_kept_without_a_look_at_the_source(searchqa, work):
    folder = run("searchqa", searchqa)
    before = (folder / "train/items.json").stat()
    for file in (work / "source").iterdir():
        file.unlink()
    run("searchqa", searchqa)
    assert (folder / "train/items.json").stat().st_mtime_ns == before.st_mtime_ns
    (folder / "train/items.json").write_text("[]")
    with pytest.raises(DataError, match="expected files of lucadiliello/searchqa"):
        run("searchqa", searchqa)


def test_what_it_writes_is_itself_a_manifest(searchqa):
    folder = run("searchqa", searchqa)
    assert read_manifest(folder, "searchqa").counts == {"train": 2, "val": 1, "test": 2}


def test_an_id_that_the_source_has_twice(searchqa, work):
    table(work / "source/extra.parquet", [question("e")])
    said = r"expected each of the 5 items .* once; 1 \(e\) found more than once"
    with pytest.raises(DataError, match=said):
        run("searchqa", searchqa)
    assert not (work / "data/paper/searchqa").exists()
    assert list((work / "data/paper").iterdir()) == []


def test_ids_that_the_source_does_not_have_are_counted_and_the_first_named(searchqa, work):
    write_manifest(searchqa, {"test": [f"gone{n}" for n in range(7)]}, counts={"test": 7})
    with pytest.raises(DataError, match=r"7 \(gone0, gone1, gone2, gone3, gone4, \.\.\.\) not found"):
        run("searchqa", searchqa)
    assert list((work / "data/paper").iterdir()) == []


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"answers": []}, "item e: expected question, context, answers; answers missing"),
        ({"question": ""}, "item e: expected question, context, answers; question missing"),
        (
            {"answers": [" "]},
            r"val/items\.json, entry 1 \(id 'e'\): expected texts that are not blank in `answers`",
        ),
    ],
)
def test_a_row_that_is_no_item_is_refused_and_nothing_stays(searchqa, work, fields, said):
    table(work / "source/validation-0.parquet", [question("d"), question("e", **fields)])
    with pytest.raises(DataError, match=said):
        run("searchqa", searchqa)
    assert list((work / "data/paper").iterdir()) == []


def test_another_column_than_the_key(searchqa, work):
    for file in (work / "source").iterdir():
        file.unlink()
    table(work / "source/a.parquet", [{"id": "a"}])
    with pytest.raises(DataError, match="expected a column 'key', found id"):
        run("searchqa", searchqa)


@pytest.mark.parametrize(
    ("splits", "described", "said"),
    [
        (SPLITS | {"val": ["c"]}, {}, "found 1 more than once: 'c' in train and val"),
        (SPLITS, {"counts": {"train": 3}}, "train: 3 items are declared, 2 are listed"),
        (SPLITS, {"counts": {"valid_unseen": 9}}, "valid_unseen: 9 items are declared, 2 are listed"),
        (SPLITS, {"benchmark": "docvqa"}, "expected a manifest of searchqa, found one of docvqa"),
        ({"train": ["a"], "val": ["b"]}, {}, "test missing"),
        (SPLITS | {"val": [{"key": "e"}]}, {}, "expected an `id`"),
    ],
)
def test_manifests_that_cannot_be_meant(work, splits, described, said):
    folder = write_manifest(work / "manifest", splits, **described)
    with pytest.raises(DataError, match=said):
        read_manifest(folder, "searchqa")


def test_livemathematicianbench_by_month_and_number(work):
    def theorem(no, **fields):
        mcq = {
            "question": f"Q{no}?",
            "choices": [{"label": "A", "text": f"a{no}"}, {"label": "B", "text": "b"}],
        }
        mcq["correct_choice"] = {"label": "A", "text": f"a{no}"}
        found = {"no": no, "mcq": mcq, "theorem_type": ["Uniqueness"], "theorem": "T.", "sketch": "S."}
        return {**found, "paper_link": "https://example.org", **fields}

    for month in ("202511", "202602"):
        file = work / f"source/data/{month}/qa_{month}_final.json"
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps([theorem(1), theorem(2), theorem(22)]))
    entries = {"train": ["202602:22"], "val": ["202511:1"], "test": ["202511:22", "202602:1"]}
    folder = run("livemathematicianbench", write_manifest(work / "manifest", entries))
    (found,) = items(folder, "train")
    assert found == {
        "id": "202602:22",
        "month": "202602",
        "no": 22,
        "question": "Q22?",
        "choices": [{"label": "A", "text": "a22"}, {"label": "B", "text": "b"}],
        "correct_choice": {"label": "A", "text": "a22"},
        "theorem_type": ["Uniqueness"],
        "theorem": "T.",
        "sketch": "S.",
        "paper_link": "https://example.org",
    }
    assert [item["id"] for item in items(folder, "test")] == ["202511:22", "202602:1"]


def test_docvqa_writes_each_page_once_per_split(work):
    def page(number, image):
        image = {"bytes": image, "path": f"../{number}.png"}
        return {"questionId": number, "question": f"Q{number}?", "answers": ["a", "A"], "image": image}

    table(work / "source/validation.parquet", [page(1, PNG), page(2, PNG), page(3, JPEG), page(4, PNG)])
    entries = {
        "train": [{"id": "1", "questionId": 1, "topic": "form"}, {"id": "2", "questionId": "2"}],
        "val": [{"id": "v-3", "questionId": "3"}],
        "test": [{"id": "4"}],
    }
    folder = run("docvqa", write_manifest(work / "manifest", entries))
    first, second = items(folder, "train")
    assert first["image_path"] == second["image_path"]
    assert (folder / "train" / first["image_path"]).read_bytes() == PNG
    assert (first["topic"], first["answers"]) == ("form", ["a", "A"])
    (third,) = items(folder, "val")
    assert third["id"] == "v-3"
    assert third["image_path"].endswith(".jpg")
    record = json.loads((folder / "split_manifest.json").read_text())
    assert sum("images/" in name for name in record["files"]) == 3


def test_docvqa_refuses_a_page_that_is_no_image(work):
    row = {"questionId": 1, "question": "Q?", "answers": ["a"], "image": {"bytes": b"<svg>", "path": "x"}}
    table(work / "source/validation.parquet", [row, row | {"questionId": 2}, row | {"questionId": 3}])
    manifest = write_manifest(work / "manifest", {"train": ["1"], "val": ["2"], "test": ["3"]})
    with pytest.raises(DataError, match="question 1: expected a PNG, JPEG or WebP page"):
        run("docvqa", manifest)
    assert list((work / "data/paper").iterdir()) == []


def test_officeqa_by_uid_with_the_hints_of_the_manifest(work):
    text = io.StringIO()
    writer = csv.DictWriter(text, ["uid", "question", "answer", "difficulty"])
    writer.writeheader()
    writer.writerows(
        {"uid": f"U{n}", "question": f"Q{n}?", "answer": f"{n},5", "difficulty": "hard"} for n in range(4)
    )
    (work / "source/officeqa_full.csv").write_text("\ufeff" + text.getvalue(), encoding="utf-8")
    entries = {
        "train": [{"id": "U1", "uid": "U1", "category": "easy", "source_files": ["a.txt"]}],
        "val": ["U3"],
        "test": ["U0"],
    }
    folder = run("officeqa", write_manifest(work / "manifest", entries))
    assert items(folder, "train") == [
        {
            "id": "U1",
            "uid": "U1",
            "question": "Q1?",
            "ground_truth": "1,5",
            "category": "easy",
            "difficulty": "hard",
            "source_files": ["a.txt"],
        }
    ]


def archive(path, files):
    with tarfile.open(path, "w:gz") as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))


TASKS = [
    {
        "id": number,
        "instruction": "Add.",
        "instruction_type": "Cell-Level Manipulation",
        "answer_position": "A1",
        "spreadsheet_path": f"spreadsheet/{number}",
    }
    for number in ("10", "11-2", 12, "13")
]


def workbooks():
    return {
        f"all/spreadsheet/{task['id']}/1_{task['id']}_{kind}.xlsx": f"{kind} {task['id']}".encode()
        for task in TASKS
        for kind in ("init", "golden")
    }


ENTRIES = {"train": ["12", "10"], "val": ["11-2"], "test": ["13"]}


def test_spreadsheetbench_copies_the_workbooks_that_are_wanted(work):
    files = {"all/dataset.json": json.dumps(TASKS).encode(), **workbooks()}
    archive(work / "source/spreadsheetbench_verified_400.tar.gz", files)
    folder = run("spreadsheetbench", write_manifest(work / "manifest", ENTRIES))
    assert [item["id"] for item in items(folder, "train")] == ["12", "10"]
    assert items(folder, "train")[0]["spreadsheet_path"] == "spreadsheet/12"
    assert (folder / "spreadsheet/11-2/1_11-2_golden.xlsx").read_bytes() == b"golden 11-2"
    assert len(list(folder.glob("spreadsheet/*/*.xlsx"))) == 8


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"../evil.txt": b"x"}, "the archive holds what leaves its folder"),
        (
            {"a/dataset.json": b"[]", "b/dataset.json": b"[]"},
            "expected one dataset.json in the archive, found 2",
        ),
        (
            {"a/dataset.json": json.dumps([{"id": "10", "spreadsheet_path": "../../x"}]).encode()},
            "task 10: expected a path in the archive",
        ),
        (
            {"a/dataset.json": json.dumps([{"id": "10"}]).encode()},
            "task 10: expected workbooks in spreadsheet/10",
        ),
    ],
)
def test_spreadsheetbench_archives_that_are_refused(work, files, said):
    archive(work / "source/spreadsheetbench_verified_400.tar.gz", files)
    with pytest.raises(DataError, match=said):
        run("spreadsheetbench", write_manifest(work / "manifest", ENTRIES))
    assert not list(work.rglob("evil.txt"))
    assert not list(work.glob("data/paper/*"))


def test_alfworld_looks_for_the_games_it_names(work, monkeypatch):
    def entry(number):
        return {
            "id": f"train:{number:04d}",
            "gamefile": f"json_2.1.1/train/t{number}/game.tw-pddl",
            "task_type": "x",
        }

    manifest = write_manifest(work / "m", {"train": [entry(0)], "val": [entry(1)], "test": [entry(2)]})
    for number in (0, 1):
        game = work / "games" / entry(number)["gamefile"]
        game.parent.mkdir(parents=True)
        game.write_text("{}")
    monkeypatch.setenv("ALFWORLD_DATA", str(work / "games"))
    plan = SOURCES["alfworld"], read_manifest(manifest, "alfworld"), None, Path("data/paper/alfworld")
    with pytest.raises(DataError, match=r"missing are 1 \(train:0002\).*\n  alfworld-download"):
        materialise("alfworld", *plan)
    game = work / "games" / entry(2)["gamefile"]
    game.parent.mkdir(parents=True)
    game.write_text("{}")
    materialise("alfworld", *plan)
    assert items(Path("data/paper/alfworld"), "test") == [entry(2)]


def test_a_benchmark_without_public_data():
    with pytest.raises(ConfigError, match="expected a benchmark with public data"):
        source_of("mine")
