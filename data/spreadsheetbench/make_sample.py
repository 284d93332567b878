"""Makes the workbooks and items of this folder: `python data/spreadsheetbench/make_sample.py [folder]`.

Everything is drawn from fixed seeds, so the same packages make the same files.
"""

import datetime
import json
import random
import re
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from openpyxl import Workbook

Rows = list[list[Any]]
Sheets = dict[str, Rows]
MOMENT = datetime.datetime(2024, 1, 1)
FAMILIES = {
    "train": "t4 t9 t8n s4 s10 s9c d4 d11 o4 o9n u4 u10c",
    "val": "t4 t9n s10 s4c d4 d9 o4 u9",
    "test": "t10 t4n s4 s9c d12 o9 o4n u4c",
}
"""Items of each split: family, number of rows, and whether numbers are text (n) or names untidy (c)."""


class Task(NamedTuple):
    """One item: what is asked, its kind, sheets before and after, where the answer stands."""

    instruction: str
    kind: str
    given: Sheets
    answer: Sheets
    position: str


def totals(draw: random.Random, rows: int, mark: str) -> Task:
    """Multiply two columns."""
    sheet, thing, (many, each) = draw.choice(
        [
            ("Orders", "order", ("Quantity", "Price")),
            ("Shifts", "shift", ("Hours", "Rate")),
            ("Trips", "trip", ("Kilometres", "Cost")),
        ]
    )
    head = [thing.capitalize(), many, each, "Total"]
    pairs = [(draw.randint(2, 40), draw.randint(5, 900) / 20 + 0.05) for _ in range(rows)]
    texts = set(draw.sample(range(rows), 2)) if mark == "n" else set()
    given = [
        [f"{thing} {n + 1}", str(count) if n in texts else count, round(price, 2), None]
        for n, (count, price) in enumerate(pairs)
    ]
    answer = [
        [*row[:3], round(pair[0] * round(pair[1], 2), 2)] for row, pair in zip(given, pairs, strict=True)
    ]
    return Task(
        f"On the sheet {sheet} fill column D: for each {thing} the product of columns B and C.",
        "Cell-Level Manipulation",
        {sheet: [head, *given]},
        {sheet: [head, *answer]},
        f"{sheet}!D2:D{rows + 1}",
    )


def sums(draw: random.Random, rows: int, mark: str) -> Task:
    """Add up by group, on a second sheet."""
    sheet, group, names = draw.choice(
        [
            ("Sales", "region", ("North", "South", "East", "West")),
            ("Costs", "team", ("Design", "Support", "Research", "Finance")),
            ("Harvest", "field", ("Hill", "River", "Mill", "Lake")),
        ]
    )
    chosen = list(names[: 2 if rows < 6 else 4])
    order = chosen + [draw.choice(chosen) for _ in range(rows - len(chosen))]
    amounts = [draw.randint(10, 999) / 2 for _ in order]
    shown = [_untidy(name, n) if mark == "c" and n >= len(chosen) else name for n, name in enumerate(order)]
    head, lines = [group.capitalize(), "Amount"], [list(row) for row in zip(shown, amounts, strict=True)]
    per = [[name, sum(a for n, a in zip(order, amounts, strict=True) if n == name)] for name in chosen]
    blank = [["Group", "Sum"]]
    return Task(
        f"On the sheet Summary list each {group} of column A of the sheet {sheet} once, in the order of "
        "first appearance, in column A from row 2 on, and in column B the sum of its amounts in column B.",
        "Sheet-Level Manipulation",
        {sheet: [head, *lines], "Summary": blank},
        {sheet: [head, *lines], "Summary": [*blank, *per]},
        f"Summary!A2:B{len(chosen) + 1}",
    )


def dates(draw: random.Random, rows: int, mark: str) -> Task:
    """Bring dates into another form."""
    sheet, thing = draw.choice([("Log", "entry"), ("Visits", "visit"), ("Deliveries", "delivery")])
    days = [MOMENT + datetime.timedelta(days=draw.randint(0, 700)) for _ in range(rows)]
    head = [thing.capitalize(), "Day", "Date"]
    given = [[f"{thing} {n + 1}", day.strftime("%d.%m.%Y"), None] for n, day in enumerate(days)]
    answer = [[*row[:2], day.strftime("%Y-%m-%d")] for row, day in zip(given, days, strict=True)]
    return Task(
        f"On the sheet {sheet} fill column C with the date of column B, which is written day.month.year.",
        "Cell-Level Manipulation",
        {sheet: [head, *given]},
        {sheet: [head, *answer]},
        f"{sheet}!C2:C{rows + 1}",
    )


def ordering(draw: random.Random, rows: int, mark: str) -> Task:
    """Sort a list."""
    sheet, thing = draw.choice([("Stock", "Product"), ("Scores", "Player"), ("Rooms", "Room")])
    counts = draw.sample(range(3, 99), rows)
    texts = set(draw.sample(range(rows), 2)) if mark == "n" else set()
    lines = [[f"{thing} {n + 1}", str(c) if n in texts else c] for n, c in enumerate(counts)]
    head = [thing, "Count"]
    return Task(
        f"Sort the list on the sheet {sheet} by column B, smallest first.",
        "Sheet-Level Manipulation",
        {sheet: [head, *lines]},
        {sheet: [head, *sorted(lines, key=lambda row: int(row[1]))]},
        f"{sheet}!A1:B{rows + 1}",
    )


def unique(draw: random.Random, rows: int, mark: str) -> Task:
    """Remove repeated rows."""
    sheet = draw.choice(["Contacts", "Members", "Guests"])
    towns = ["Bergen", "Turin", "Ghent", "Porto"]
    people = [[name, draw.choice(towns)] for name in ("Ada", "Bruno", "Chiara", "Dmitri", "Elif", "Farid")]
    kept = people[: 3 if rows < 6 else 6]
    again = [list(draw.choice(kept)) for _ in range(rows - len(kept))]
    shown = [[_untidy(row[0], n), row[1]] for n, row in enumerate(again)] if mark == "c" else again
    head, left = ["Name", "Town"], [[None, None] for _ in again]
    return Task(
        f"On the sheet {sheet} remove each row that repeats an earlier row. The rows that stay move up, and "
        "nothing is left below them.",
        "Sheet-Level Manipulation",
        {sheet: [head, *kept, *shown]},
        {sheet: [head, *kept, *left]},
        f"{sheet}!A1:B{rows + 1}",
    )


MAKERS: dict[str, Callable[[random.Random, int, str], Task]] = {
    "t": totals,
    "s": sums,
    "d": dates,
    "o": ordering,
    "u": unique,
}


def _untidy(name: str, number: int) -> str:
    return (f" {name}", name.upper(), f"{name.lower()} ")[number % 3]


def write(path: Path, sheets: Sheets) -> None:
    """Write a workbook whose bytes hold no time of writing."""
    book = Workbook()
    for number, (title, rows) in enumerate(sheets.items()):
        sheet = book.active if number == 0 else book.create_sheet()
        sheet.title = title
        for row in rows:
            sheet.append(row)
    book.properties.created = MOMENT
    path.parent.mkdir(parents=True, exist_ok=True)
    book.save(path)
    with zipfile.ZipFile(path) as archive:
        parts = [(entry.filename, archive.read(entry)) for entry in archive.infolist()]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts:
            stamp = MOMENT.strftime("%Y-%m-%dT%H:%M:%SZ").encode()
            fixed = re.sub(rb"(<dcterms:modified[^>]*>)[^<]*", rb"\g<1>" + stamp, content)
            entry = zipfile.ZipInfo(name, MOMENT.timetuple()[:6])
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, fixed)


def make(folder: Path) -> None:
    """Write all splits."""
    for split, tasks in FAMILIES.items():
        items = []
        for number, word in enumerate(tasks.split(), 1):
            family, rows, mark = word[0], int(word[1:].rstrip("nc")), word[-1] if word[-1] in "nc" else ""
            id_ = f"{split}-{number:02d}"
            task = MAKERS[family](random.Random(id_), rows, mark)
            # A second workbook of the same layout for the sums: the program must not know the first one.
            for case in (1, 2) if family == "s" else (1,):
                seed = random.Random(id_)
                made = MAKERS[family](seed, rows, mark) if case == 1 else _other(task, id_, rows, mark)
                place = folder / "spreadsheet" / id_
                write(place / f"{case}_{id_}_input.xlsx", made.given)
                write(place / f"{case}_{id_}_answer.xlsx", made.answer)
            items.append(
                {
                    "id": id_,
                    "instruction": task.instruction,
                    "instruction_type": task.kind,
                    "answer_position": task.position,
                    "spreadsheet_path": f"spreadsheet/{id_}",
                }
            )
        target = folder / split / "items.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(items, indent=2) + "\n", encoding="utf-8")


def _other(task: Task, id_: str, rows: int, mark: str) -> Task:
    """Draw another workbook for the same instruction."""
    number = 0
    while True:
        number += 1
        found = sums(random.Random(f"{id_} {number}"), rows, mark)
        if found.instruction == task.instruction and found.given != task.given:
            return found


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
