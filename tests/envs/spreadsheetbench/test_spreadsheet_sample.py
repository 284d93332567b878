"""The workbooks that ship: made by their rule, right answers score 1.0, wrong ones 0.0, at any width."""

import asyncio
import hashlib
import json
import runpy
import zipfile

import pytest
from openpyxl import load_workbook
from sheets import SAMPLE, fenced, needs_isolation

from skillopt.envs.base import CommonSettings
from skillopt.envs.spreadsheetbench import ENVIRONMENT, SpreadsheetSettings
from skillopt.envs.spreadsheetbench.trial import preview
from skillopt.files import canonical
from skillopt.models.base import Reply, RoleModel
from skillopt.phases.rollout import Bench, roll_out
from skillopt.progress import Board

COUNTS = {"train": 12, "val": 8, "test": 8}


class Scripted:
    """Stands where the client stands: answers by the instruction and the preview."""

    role = RoleModel(role="target", backend="simulator", model="scripted")

    def __init__(self, programs):
        self.programs = programs
        self.board = Board()

    async def call(self, request):
        user = request.messages[1].content
        return Reply(text=next(text for marker, text in self.programs if marker in user))


def gold_program(item):
    """A program that knows the right cells of each workbook by the hash of its bytes."""
    known = {}
    for case in item.data["cases"]:
        folder = SAMPLE / item.data["spreadsheet_path"]
        book = load_workbook(folder / case["answer"])
        cells = {s.title: [[c.value for c in row] for row in s.iter_rows()] for s in book.worksheets}
        known[hashlib.sha256((folder / case["input"]).read_bytes()).hexdigest()] = cells
    return f"""
import hashlib, openpyxl
known = {known!r}
book = openpyxl.load_workbook(INPUT_PATH)
for title, rows in known[hashlib.sha256(open(INPUT_PATH, "rb").read()).hexdigest()].items():
    book[title].delete_rows(1, 99)
    for r, row in enumerate(rows, 1):
        for c, value in enumerate(row, 1):
            book[title].cell(r, c).value = value
book.save(OUTPUT_PATH)
"""


WRONG = """
import openpyxl
book = openpyxl.load_workbook(INPUT_PATH)
for sheet in book.worksheets:
    for row in sheet.iter_rows(max_row=sheet.max_row + 9):
        for cell in row: cell.value = "wrong"
book.save(OUTPUT_PATH)
"""


def rows_at(width, programs, items):
    bench = Bench(
        environment=ENVIRONMENT,
        common=CommonSettings(max_turns=1, max_completion_tokens=999),
        settings=SpreadsheetSettings(),
        item_timeout=600.0,
    )
    work = roll_out(items, "", bench, Scripted(programs), width=width, seed=1, what="test")
    return asyncio.run(work)


@needs_isolation
def test_everything_right_and_everything_wrong_at_any_width():
    items = ENVIRONMENT.read(SAMPLE / "val")
    right = rows_at(20, [(preview(item), fenced(gold_program(item))) for item in items], items)
    assert [(row.id, row.status, row.hard, row.soft) for row in right] == [
        (item.id, "scored", 1.0, 1.0) for item in items
    ]
    wrong = [rows_at(width, [("", fenced(WRONG))], items[:count]) for width, count in ((20, 8), (2, 3))]
    assert {(row.status, row.hard, row.soft) for row in wrong[0]} == {("scored", 0.0, 0.0)}
    assert canonical(wrong[0][:3]) == canonical(wrong[1])


def test_counts_and_kinds():
    ids = set()
    for split, count in COUNTS.items():
        items = ENVIRONMENT.read(SAMPLE / split)
        assert len(items) == count
        assert [ENVIRONMENT.check(item) for item in items] == [""] * count
        assert {item.task_type for item in items} == {"cell_level", "sheet_level"}
        ids |= {item.id for item in items}
    assert len(ids) == sum(COUNTS.values())


def parts(path):
    with zipfile.ZipFile(path) as archive:
        return [(part.filename, part.date_time, archive.read(part)) for part in archive.infolist()]


def test_the_files_are_what_their_rule_makes(tmp_path):
    runpy.run_path(str(SAMPLE / "make_sample.py"))["make"](tmp_path)
    made = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file())
    kept = sorted(path.relative_to(SAMPLE) for path in SAMPLE.rglob("*") if path.suffix in {".xlsx", ".json"})
    assert made == kept
    for path in made:
        if path.suffix == ".json":
            assert json.loads((tmp_path / path).read_text()) == json.loads((SAMPLE / path).read_text())
        else:
            assert parts(tmp_path / path) == parts(SAMPLE / path), path


@pytest.mark.parametrize("split", COUNTS)
def test_readme_states_the_counts(split):
    readme = (SAMPLE.parent / "README.md").read_text(encoding="utf-8")
    section = readme.partition("## `spreadsheetbench/`")[2].partition("\n## ")[0]
    assert f"`{split}/items.json` ({COUNTS[split]})" in section
