"""Where each published benchmark's items come from, and what of a source row makes an item.

Sources, revisions and look-up keys are those of the published splits (arXiv 2605.23904 and its data).
"""

import csv
import hashlib
import shutil
import tarfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from skillopt.envs.alfworld.items import games_folder
from skillopt.envs.itemfiles import read_entries
from skillopt.errors import ConfigError, DataError
from skillopt.sources.manifest import Wanted, listed
from skillopt.sources.upstream import Upstream

Found = Iterator[tuple[str, dict[str, Any]]]
Fetch = Callable[[Upstream, Mapping[str, Wanted], Path], Found]
_IMAGES = {b"\x89PNG": ".png", b"\xff\xd8\xff": ".jpg", b"RIFF": ".webp"}


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """A benchmark's source. `manifest` is the name of its folder in the original project.

    `fetch(upstream, wanted, folder)` yields id and item for what it finds of `wanted` (by id), and
    writes files that belong to items below `folder`. `fields` must be there in every item.
    """

    manifest: str
    repo: str
    revision: str
    fetch: Fetch
    fields: tuple[str, ...]


def searchqa(upstream: Upstream, wanted: Mapping[str, Wanted], folder: Path) -> Found:
    """Look items up by `key` in all splits."""
    for row in upstream.rows("key", wanted):
        yield row["key"], {"id": row["key"], **_fields(row, "question", "context", "answers")}


def livemathematicianbench(upstream: Upstream, wanted: Mapping[str, Wanted], folder: Path) -> Found:
    """Look items up by month and number in the files of the months."""
    for month in sorted({id_.partition(":")[0] for id_ in wanted}):
        file = upstream.file(f"data/{month}/qa_{month}_final.json")
        for number, (_, entry) in enumerate(read_entries(file), 1):
            no = entry.get("no", number)
            question = entry["mcq"] if isinstance(entry.get("mcq"), dict) else entry
            yield (
                f"{month}:{no}",
                {
                    "id": f"{month}:{no}",
                    "month": month,
                    "no": no,
                    **_fields(question, "question", "choices", "correct_choice"),
                    **_fields(entry, "theorem_type", "theorem", "sketch", "paper_link"),
                },
            )


def docvqa(upstream: Upstream, wanted: Mapping[str, Wanted], folder: Path) -> Found:
    """Look items up by `questionId` in the validation split; write each page once per split."""
    by_question = {str(one.entry.get("questionId", one.id)): one for one in wanted.values()}
    for row in upstream.rows("questionId", by_question, config="DocVQA", split="validation"):
        one = by_question[str(row["questionId"])]
        image = row["image"]["bytes"]
        suffix = next((end for magic, end in _IMAGES.items() if image.startswith(magic)), "")
        if not suffix:
            raise DataError(f"{upstream.place}: question {one.id}: expected a PNG, JPEG or WebP page")
        name = f"images/{hashlib.sha256(image).hexdigest()[:32]}{suffix}"
        path = folder / one.split / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(image)
        carried = _fields(one.entry, "topic", "docId", "ucsf_document_id", "ucsf_document_page_no")
        item = {"question": row["question"], "answers": list(row["answers"]), "image_path": name}
        yield one.id, {"id": one.id, **item, **carried}


def officeqa(upstream: Upstream, wanted: Mapping[str, Wanted], folder: Path) -> Found:
    """Look items up by `uid` in the table of all questions. The documents are a download of their own."""
    by_uid = {str(one.entry.get("uid", one.id)): one for one in wanted.values()}
    with upstream.file("officeqa_full.csv").open(encoding="utf-8-sig", newline="") as file:
        for row in csv.DictReader(file):
            one = by_uid.get(row.get("uid") or "")
            if one is not None:
                hints = _fields({**row, **one.entry}, "category", "difficulty", "source_files", "source_docs")
                answer = row.get("ground_truth") or row.get("answer")
                yield (
                    one.id,
                    {"id": one.id, "uid": row["uid"], "question": row.get("question"), "ground_truth": answer}
                    | hints,
                )


def spreadsheetbench(upstream: Upstream, wanted: Mapping[str, Wanted], folder: Path) -> Found:
    """Look tasks up by `id` in the archive; copy each one's folder of workbooks."""
    unpacked = upstream.scratch / "archive"
    with tarfile.open(upstream.file("spreadsheetbench_verified_400.tar.gz")) as archive:
        try:
            archive.extractall(unpacked, filter="data")
        except tarfile.FilterError as error:
            raise DataError(f"{upstream.place}: the archive holds what leaves its folder: {error}") from error
    tables = sorted(unpacked.rglob("dataset.json"))
    if len(tables) != 1:
        raise DataError(f"{upstream.place}: expected one dataset.json in the archive, found {len(tables)}")
    for _, row in read_entries(tables[0]):
        one = wanted.get(str(row.get("id")))
        if one is None:
            continue
        path = str(row.get("spreadsheet_path") or f"spreadsheet/{one.id}")
        if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
            raise DataError(
                f"{upstream.place}: task {one.id}: expected a path in the archive, found {path!r}"
            )
        workbooks = tables[0].parent / path
        if not workbooks.is_dir():
            raise DataError(f"{upstream.place}: task {one.id}: expected workbooks in {path}, found none")
        shutil.copytree(workbooks, folder / path)
        task = _fields(row, "instruction", "instruction_type", "answer_position", "answer_sheet")
        yield one.id, {"id": one.id, **task, "spreadsheet_path": path}


def alfworld(upstream: Upstream, wanted: Mapping[str, Wanted], folder: Path) -> Found:
    """Take the manifest's own entries, whose games have to be there below $ALFWORLD_DATA."""
    root = games_folder(str(upstream.local or ""))
    gone = [one.id for one in wanted.values() if not (root / str(one.entry.get("gamefile"))).is_file()]
    if gone:
        raise DataError(
            f"alfworld: expected the games of the manifest below {root} (ALFWORLD_DATA); missing are "
            f"{listed(gone)}. Fetch them, with a network:\n  alfworld-download\nand name their folder "
            "in ALFWORLD_DATA."
        )
    for one in wanted.values():
        yield one.id, {"id": one.id, **_fields(one.entry, "gamefile", "task_type")}


def _fields(row: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: row[name] for name in names if row.get(name) is not None}


SOURCES: Mapping[str, Source] = {
    "searchqa": Source(
        manifest="searchqa_id_split",
        repo="lucadiliello/searchqa",
        revision="main",
        fetch=searchqa,
        fields=("question", "context", "answers"),
    ),
    "livemathematicianbench": Source(
        manifest="livemathematicianbench_id_split",
        repo="LiveMathematicianBench/LiveMathematicianBench",
        revision="b72450f6ce96c26158d64d945a5d31ef7727be41",
        fetch=livemathematicianbench,
        fields=(
            *("question", "choices", "correct_choice"),
            *("theorem_type", "theorem", "sketch", "paper_link"),
        ),
    ),
    "docvqa": Source(
        manifest="docvqa_id_split",
        repo="lmms-lab/DocVQA",
        revision="539088ef8a8ada01ac8e2e6d4e372586748a265e",
        fetch=docvqa,
        fields=("question", "answers", "image_path"),
    ),
    "officeqa": Source(
        manifest="officeqa_id_split",
        repo="databricks/officeqa",
        revision="8ecbf18d3833daf4750a903d14963e4c4c1d4cd8",
        fetch=officeqa,
        fields=("question", "ground_truth"),
    ),
    "spreadsheetbench": Source(
        manifest="spreadsheetbench_id_split",
        repo="KAKA22/SpreadsheetBench",
        revision="ab0b742b0fc95b946f212d80ac7771b5531272e4",
        fetch=spreadsheetbench,
        fields=("instruction", "answer_position", "spreadsheet_path"),
    ),
    "alfworld": Source(
        manifest="alfworld_path_split",
        repo="alfworld",
        revision="json_2.1.1",
        fetch=alfworld,
        fields=("gamefile", "task_type"),
    ),
}


def source_of(benchmark: str) -> Source:
    """Return a benchmark's source; raises ConfigError when it has none."""
    if benchmark not in SOURCES:
        raise ConfigError(
            f"expected a benchmark with public data ({', '.join(SOURCES)}), found {benchmark!r}"
        )
    return SOURCES[benchmark]
