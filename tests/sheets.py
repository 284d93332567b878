"""Workbooks and items for tests, and a chat that answers from a script."""

import asyncio
import json
from pathlib import Path

import pytest
from openpyxl import Workbook

from skillopt.envs.base import CommonSettings
from skillopt.envs.spreadsheetbench import ENVIRONMENT, SpreadsheetSettings
from skillopt.models.base import Reply, ToolCall
from skillopt.sandbox.program import Sandbox

PROBLEM = asyncio.run(Sandbox().problem("full"))
needs_isolation = pytest.mark.skipif(bool(PROBLEM), reason=f"no isolation here: {PROBLEM}")
ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "data" / "spreadsheetbench"
RAW = {
    "id": "1-1",
    "instruction": "Double column A into column B.",
    "instruction_type": "Cell-Level Manipulation",
    "answer_position": "B1:B3",
}
DOUBLE = """
import openpyxl
book = openpyxl.load_workbook(INPUT_PATH)
for row in book["Data"].iter_rows():
    book["Data"].cell(row[0].row, 2).value = row[0].value * 2
book.save(OUTPUT_PATH)
"""


def save(path, **sheets):
    book = Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    path.parent.mkdir(parents=True, exist_ok=True)
    book.save(path)


def item_at(folder, *, cases=((1, 2, 3),), **changes):
    raw = RAW | changes
    for number, values in enumerate(cases, 1):
        place = folder / "spreadsheet" / raw["id"]
        save(place / f"{number}_x_input.xlsx", Data=[[value] for value in values])
        save(place / f"{number}_x_answer.xlsx", Data=[[value, value * 2] for value in values])
    (folder / "items.json").write_text(json.dumps([raw]), encoding="utf-8")
    (item,) = ENVIRONMENT.read(folder / "items.json")
    return item


def fenced(code):
    return f"Here it is.\n```python\n{code.strip()}\n```\nDone."


def tool(name, **arguments):
    return Reply(text="", tool_calls=(ToolCall(id=f"t-{name}", name=name, arguments=json.dumps(arguments)),))


def attempt(item, *replies, skill="", max_turns=1, feedback=False, **settings):
    """Let a scripted target do an item; return the attempt and the dialogues that it was sent."""
    left, sent = list(replies), []

    async def chat(messages, *, tools=(), tool_choice=""):
        sent.append(messages)
        reply = left.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply if isinstance(reply, Reply) else Reply(text=reply)

    common = CommonSettings(max_turns=max_turns, max_completion_tokens=100, feedback=feedback)
    made = ENVIRONMENT.attempt(item, skill, chat, common, SpreadsheetSettings(**settings), 0)
    return asyncio.run(made), sent
