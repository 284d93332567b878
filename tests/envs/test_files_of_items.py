"""Files that items bring along count like the items; where they lie does not."""

import json
import shutil

import pytest

from skillopt.config.resolve import load_run
from skillopt.errors import ConfigError
from skillopt.phases.plan import plan_run
from skillopt.runs import Run


def pages(folder):
    for number, split in enumerate(("train", "val", "test")):
        (folder / split / "p").mkdir(parents=True)
        entries = []
        for part in (0, 1):
            (folder / split / "p" / f"{part}.png").write_bytes(b"\x89PNG" + split.encode() + bytes([part]))
            item = {"question": "Which date?", "answers": ["1999"], "image_path": f"p/{part}.png"}
            entries.append(item | {"id": f"{number}-{part}"})
        (folder / split / "items.json").write_text(json.dumps(entries), encoding="utf-8")
    return f"env: {{name: docvqa, split_mode: split_dir, split_dir: {folder}}}\nmodel: {{target_backend: "


def bulletins(folder):
    (folder / "documents").mkdir(parents=True)
    for number, split in enumerate(("train", "val", "test")):
        (folder / split).mkdir()
        entries = []
        for part in (0, 1):
            name = f"{split}_{part}.txt"
            (folder / "documents" / name).write_text(f"coal {name}", encoding="utf-8")
            item = {"question": "How much?", "answer": "5", "source_files": [name]}
            entries.append(item | {"id": f"{number}-{part}"})
        (folder / split / "items.json").write_text(json.dumps(entries), encoding="utf-8")
    return (
        f"env: {{name: officeqa, max_turns: 4, split_mode: split_dir, split_dir: {folder},"
        f" data_dirs: [{folder}/documents]}}\nmodel: {{target_backend: "
    )


def digests(tmp_path, text, folder, *overrides):
    file = tmp_path / "run.yaml"
    tail = "openai_compatible, target: m}\ntrain: {batch_size: 1, num_epochs: 1}\n"
    file.write_text(text.replace("FOLDER", str(folder)) + tail, encoding="utf-8")
    resolved = load_run(file, overrides, {})
    run = Run(resolved, *plan_run("run", resolved))
    steps = [run.batch_digest(step) for step in (1, 2)]
    planned = [batch.ids[0] for step in run.plan.steps for batch in step.batches]
    splits = {split: run.split_digest(split) for split in ("val", "test")}
    return dict(zip(planned, steps, strict=True)) | splits | {"settings": run.deciding("rollout")}


@pytest.mark.parametrize(
    ("make", "changed"),
    [(pages, "train/p/1.png"), (bulletins, "documents/train_1.txt")],
    ids=["docvqa", "officeqa"],
)
def test_a_changed_file_counts_for_its_items_and_a_moved_folder_for_none(tmp_path, make, changed):
    old, new = tmp_path / "old", tmp_path / "new place"
    text = make(old).replace(str(old), "FOLDER")
    before = digests(tmp_path, text, old)
    shutil.move(old, new)
    assert digests(tmp_path, text, new) == before
    (new / changed).write_bytes(b"\x89PNG other content")
    after = digests(tmp_path, text, new)
    assert [key for key in before if before[key] != after[key]] == ["0-1"]


def test_with_the_whole_corpus_open_any_document_counts_for_all(tmp_path):
    text = bulletins(tmp_path / "data")
    before = digests(tmp_path, text, "", "env.document_scope=corpus")
    (tmp_path / "data/documents/test_0.txt").write_text("iron", encoding="utf-8")
    after = digests(tmp_path, text, "", "env.document_scope=corpus")
    assert {key for key in before if before[key] != after[key]} == {"0-0", "0-1", "val", "test"}


def test_a_missing_folder_of_documents_stops_the_run_before_it_is_planned(tmp_path):
    text = bulletins(tmp_path / "data")
    shutil.rmtree(tmp_path / "data/documents")
    with pytest.raises(ConfigError, match=r"env\.data_dirs: expected a folder with documents"):
        digests(tmp_path, text, "")


def test_folders_of_documents_are_found_beside_the_run_file(tmp_path):
    text = bulletins(tmp_path / "project/data").replace(str(tmp_path / "project/data"), "data")
    (tmp_path / "project/config").mkdir()
    file = tmp_path / "project/config/run.yaml"
    file.write_text(text + "openai_compatible, target: m}\n", encoding="utf-8")
    resolved = load_run(file, [], {})
    assert resolved.env_settings["data_dirs"] == [str(tmp_path / "project/data/documents")]
