"""The simulated target before workbooks: it knows some kinds of task and writes a program for each.

Its habits are those of a hasty programmer: formulas where values are wanted, dates as objects, only
the rows that the preview shows, a header that is sorted along, numbers and names taken as they
are. Rules of the skill mend them one by one; it never sees what the result is compared with.
"""

import re
from collections.abc import Callable

RULES = ("values", "all_rows", "iso", "header", "numeric", "normalise")
_SHEETS = re.compile(r"^### Sheet '(.*)': ", re.MULTILINE)
_WORKBOOK = re.compile(r"^## Workbook\s*$", re.MULTILINE)
_INSTRUCTION = re.compile(r"^## Instruction\s*\n(.*?)^## ", re.MULTILINE | re.DOTALL)
_SHOWN_ROW = 5
_TOTAL = re.compile(r"fill column ([A-Z]): .*product of columns ([A-Z]) and ([A-Z])")
_SUM = re.compile(
    r"On the sheet (\w+) list each .* of column ([A-Z]) of the sheet (\w+) once.*"
    r"in column ([A-Z]) from row (\d+).*in column ([A-Z]) the sum of .* in column ([A-Z])"
)
_DATE = re.compile(r"fill column ([A-Z]) with the date of column ([A-Z])")
_SORT = re.compile(r"Sort the list .* by column ([A-Z]), (smallest|largest) first")
_REPEATS = re.compile(r"remove each row that repeats")
_ON_SHEET = re.compile(r"[Oo]n the sheet (\w+)")


def is_workbook_task(user: str) -> bool:
    """Whether a prompt shows a workbook and asks for a program."""
    return bool(_WORKBOOK.search(user) and _INSTRUCTION.search(user))


def write_program(user: str, rules: frozenset[str]) -> str:
    """Return the whole reply to a prompt with an instruction and a workbook under the rules in force."""
    found = _INSTRUCTION.search(user)
    asked = " ".join(found.group(1).split()) if found else ""
    sheets = _SHEETS.findall(user)
    place = _ON_SHEET.search(asked)
    sheet = place.group(1) if place else sheets[0] if sheets else "Sheet1"
    lines = _lines(asked, sheet, rules)
    if "full_sentence" in rules:
        return (
            f"I would open the workbook, go to the sheet {sheet} and do this: {asked} Then I would save it."
        )
    program = "\n".join(["import openpyxl", "", *_helpers(rules), *lines, "book.save(OUTPUT_PATH)"])
    return f"```python\n{program}\n```"


def _helpers(rules: frozenset[str]) -> list[str]:
    last = "sheet.max_row" if "all_rows" in rules else str(_SHOWN_ROW)
    number = "float(value)" if "numeric" in rules else "value"
    name = '" ".join(str(value).split()).casefold()' if "normalise" in rules else "value"
    return [
        *_book(rules),
        "",
        "def last_row(sheet):",
        f"    return {last}",
        "",
        "def rows_of(sheet, first):",
        "    found = sheet.iter_rows(min_row=first, max_row=last_row(sheet))",
        "    return [[cell.value for cell in row] for row in found]",
        "",
        "def number(value):",
        f"    return {number}",
        "",
        "def key_of(value):",
        f"    return {name}",
        "",
    ]


def _book(rules: frozenset[str]) -> list[str]:
    if "new_book" not in rules:
        return ["book = openpyxl.load_workbook(INPUT_PATH)"]
    return [
        "book = openpyxl.Workbook()",
        "for name in openpyxl.load_workbook(INPUT_PATH).sheetnames:",
        "    book.create_sheet(name)",
    ]


def _lines(asked: str, sheet: str, rules: frozenset[str]) -> list[str]:
    kinds: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], str, frozenset[str]], list[str]]], ...] = (
        (_TOTAL, _total),
        (_SUM, _sum),
        (_DATE, _date),
        (_SORT, _sort),
        (_REPEATS, _unique),
    )
    found = next(((match, write) for kind, write in kinds if (match := kind.search(asked))), None)
    return found[1](found[0], sheet, rules) if found else [f"sheet = book[{sheet!r}]"]


def _total(match: re.Match[str], sheet: str, rules: frozenset[str]) -> list[str]:
    target, left, right = match.groups()
    computed = f'round(number(sheet[f"{left}{{row}}"].value) * number(sheet[f"{right}{{row}}"].value), 2)'
    formula = f'f"={left}{{row}}*{right}{{row}}"'
    return [
        f"sheet = book[{sheet!r}]",
        "for row in range(2, last_row(sheet) + 1):",
        f'    sheet[f"{target}{{row}}"] = {computed if "values" in rules else formula}',
    ]


def _sum(match: re.Match[str], sheet: str, rules: frozenset[str]) -> list[str]:
    summary, group, source, names, first, target, amount = match.groups()
    formula = f'f"=SUMIF({source}!{group}:{group},{names}{{row}},{source}!{amount}:{amount})"'
    return [
        f"sheet, summary = book[{source!r}], book[{summary!r}]",
        "names, sums = {}, {}",
        "for row in range(2, last_row(sheet) + 1):",
        f'    name = sheet[f"{group}{{row}}"].value',
        "    key = key_of(name)",
        "    names.setdefault(key, name)",
        f'    sums[key] = sums.get(key, 0) + number(sheet[f"{amount}{{row}}"].value)',
        f"for row, key in enumerate(names, {first}):",
        f'    summary[f"{names}{{row}}"] = names[key]',
        f'    summary[f"{target}{{row}}"] = {"sums[key]" if "values" in rules else formula}',
    ]


def _date(match: re.Match[str], sheet: str, rules: frozenset[str]) -> list[str]:
    target, source = match.groups()
    moment = f'datetime.datetime.strptime(sheet[f"{source}{{row}}"].value, "%d.%m.%Y")'
    return [
        "import datetime",
        f"sheet = book[{sheet!r}]",
        "for row in range(2, last_row(sheet) + 1):",
        f"    day = {moment}",
        f'    sheet[f"{target}{{row}}"] = {"day.date().isoformat()" if "iso" in rules else "day"}',
    ]


def _sort(match: re.Match[str], sheet: str, rules: frozenset[str]) -> list[str]:
    column, first = match.groups()
    start = 2 if "header" in rules else 1
    place = ord(column) - ord("A")
    key = (
        f"number(row[{place}])"
        if {"numeric", "header"} <= rules
        else f"(isinstance(row[{place}], str), row[{place}])"
    )
    return [
        f"sheet = book[{sheet!r}]",
        f"rows = rows_of(sheet, {start})",
        f"rows.sort(key=lambda row: {key}, reverse={first == 'largest'})",
        f"for number_of_row, row in enumerate(rows, {start}):",
        "    for column, value in enumerate(row, 1):",
        "        sheet.cell(number_of_row, column).value = value",
    ]


def _unique(match: re.Match[str], sheet: str, rules: frozenset[str]) -> list[str]:
    return [
        f"sheet = book[{sheet!r}]",
        "rows = rows_of(sheet, 2)",
        "kept = {}",
        "for row in rows:",
        "    kept.setdefault(tuple(key_of(value) for value in row), row)",
        "left = list(kept.values())",
        "left += [[None] * len(row) for row in rows[len(left):]]",
        "for number_of_row, row in enumerate(left, 2):",
        "    for column, value in enumerate(row, 1):",
        "        sheet.cell(number_of_row, column).value = value",
    ]
