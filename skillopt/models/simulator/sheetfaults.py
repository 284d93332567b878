"""Why a program failed on a workbook: what a reader of the attempt sees in its program and in the note."""

import re
from typing import NamedTuple

_INSTRUCTION = re.compile(r"^## Instruction\s*\n(.*?)^## ", re.MULTILINE | re.DOTALL)
_PROGRAM = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
_MORE_ROWS = re.compile(r"^\(\d+ more rows\)$", re.MULTILINE)
_WRONG = re.compile(r"^- .+!([A-Z]+)(\d+): got (.*), expected (.*)$", re.MULTILINE)
_ISO = re.compile(r"'\d{4}-\d\d-\d\d'")
DESCRIPTIONS = {
    "values": "cells hold formulas, which nobody computes, instead of values",
    "all_rows": "the program stops at the last row of the preview, and the sheet goes on",
    "iso": "dates were written as dates where text in the form year-month-day is expected",
    "header": "the header was moved along with the data",
    "numeric": "numbers that are stored as text were used as they are",
    "normalise": "texts that differ in case or spaces only were taken for different ones",
    "program": "the reply tells what to do and holds no program",
}


class Wrong(NamedTuple):
    """A cell that is wrong, as the note tells it."""

    row: int
    got: str
    expected: str


def is_program_attempt(trace: str) -> bool:
    """Whether an attempt was one at a workbook."""
    return bool(_INSTRUCTION.search(trace) and re.search(r"^## Workbook\s*$", trace, re.MULTILINE))


def program_causes(trace: str) -> list[str]:
    """Name the rules whose lack a failed attempt shows, the plainest first."""
    programs = _PROGRAM.findall(trace.partition("\n[assistant]\n")[2])
    if not programs:
        return ["program"]
    program = programs[-1]
    wrong = [Wrong(int(row), got, expected) for _, row, got, expected in _WRONG.findall(trace)]
    found = []
    if any(cell.got == "a formula without a value" for cell in wrong):
        found.append("values")
    if "sheet.max_row" not in program and _MORE_ROWS.search(trace):
        found.append("all_rows")
    if any(_ISO.fullmatch(cell.expected) and cell.got.startswith("date") for cell in wrong):
        found.append("iso")
    if any(cell.row == 1 for cell in wrong):
        found.append("header")
    if re.search(r"\bTypeError\b", trace) or (not found and ".sort(" in program):
        found.append("numeric")
    if not found and re.search(r"\b(?:each|repeats)\b", _asked(trace)):
        found.append("normalise")
    return found


def _asked(trace: str) -> str:
    match = _INSTRUCTION.search(trace)
    return match.group(1) if match else ""
