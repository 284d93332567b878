"""The simulated target with search tools: it looks a phrase up, takes a figure from a row, and answers.

It sees what the tools gave and nothing else. Its habits: one search for the words of the question as
they stand, the first row that is found, the first figure in it, as it is printed. Rules of the skill
make it search again, choose the document, read the table, convert units and calculate.
"""

import re
from collections.abc import Generator, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Literal, NamedTuple

from skillopt.models.simulator.text import FUNCTION_WORDS, chance, content_stems, stems, tokens, word_set

Operation = Literal["figure", "change", "sum", "share"]
Work = Generator["Call", str, str]

TOOLS = frozenset({"grep", "read"})
"""The tools it works with; offered others too, it leaves them alone."""
RULES = ("search_again", "source", "table", "unit", "operands")
SCALES = {"thousand": 3, "million": 6, "billion": 9}
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d\b")
HIT = re.compile(r"^(\S+?):\d+: (.*)$", re.MULTILINE)
_NUMBERED = re.compile(r"^\d+: ?", re.MULTILINE)
_NOT_SOUGHT = word_set(
    """thousand million billion tonnes hectares crowns litres metres cubic percentage percent decimal total
    number many rise fall grow change increase decrease"""
)
_MOST_SEARCHES = 5
_COMMENTS = 0.5  # share of answers that it comments on unless told not to
NOT_FOUND = "I found no line about it.\n<answer>not found</answer>"
"""Its last reply, too, when it still wanted to search."""


class Call(NamedTuple):
    """A tool call that it wants to make."""

    tool: str
    arguments: dict[str, str]


class Wanted(NamedTuple):
    """What a question asks: words to look up, years, the power of ten of its unit, what to calculate."""

    phrase: str
    stems: tuple[str, ...]
    years: tuple[str, ...]
    scale: int
    operation: Operation


class Row(NamedTuple):
    """A row of a table in a document, and what was read around it ("" when it was not read)."""

    document: str
    cells: tuple[str, ...]
    table: str


def next_step(question: str, rules: frozenset[str], outputs: Sequence[str]) -> Call | str:
    """Return the next tool call, or the whole last reply, after these outputs of its calls so far."""
    work = _investigate(question, rules)
    try:
        wanted = next(work)
        for output in outputs:
            wanted = work.send(output)
    except StopIteration as done:
        return str(done.value)
    return wanted


def read_wanted(question: str) -> Wanted:
    """Say what a question asks for."""
    longest: list[str] = max(_runs(question), key=len)
    years = tuple(dict.fromkeys(YEAR.findall(question)))
    scale = re.search(rf"\bhow (?:many|much) ({'|'.join(SCALES)})\b", question, re.IGNORECASE)
    return Wanted(
        phrase=" ".join(longest),
        stems=tuple(stem for stem in content_stems(question) if not stem[0].isdigit()),
        years=years,
        scale=SCALES[scale.group(1).lower()] if scale else 0,
        operation=operation_of(question, len(years)),
    )


def operation_of(question: str, years: int) -> Operation:
    """Say what has to be calculated."""
    lower = question.lower()
    if "percentage" in lower:
        return "share"
    if years > 1:
        return "sum" if re.search(r"\btogether\b|\bin all\b|\btotal\b", lower) else "change"
    return "figure"


def _runs(question: str) -> list[list[str]]:
    """Cut a question into runs of neighbouring words that are worth looking up."""
    runs: list[list[str]] = [[]]
    for word in tokens(question):
        if word.lower in FUNCTION_WORDS | _NOT_SOUGHT or not word.lower[0].isalpha():
            runs.append([])
        else:
            runs[-1].append(word.text)
    return runs


def _investigate(question: str, rules: frozenset[str]) -> Work:
    wanted = read_wanted(question)
    hits = yield from _search(wanted, rules)
    if not hits:
        return NOT_FOUND
    years = wanted.years if "operands" in rules else wanted.years[:1]
    found: list[tuple[Row, Decimal]] = []
    for year in years or ("",):
        row = _choose(hits, wanted, year, rules)
        if rules & {"table", "unit", "operands"}:
            row = yield from _read(row)
        found.append((row, _figure(row, row.cells, year, wanted, rules)))
    result = _calculated(found, wanted, rules) if "operands" in rules else found[0][1]
    return _worded(question, found, result, len({row.document for row in hits}), rules)


def _search(wanted: Wanted, rules: frozenset[str]) -> Generator[Call, str, list[Row]]:
    words = [word for word in wanted.phrase.split() if " " in wanted.phrase]
    again = [*words, *wanted.stems] if "search_again" in rules else []
    for words_sought in list(dict.fromkeys([wanted.phrase, *again]))[:_MOST_SEARCHES]:
        output = yield Call("grep", {"pattern": words_sought})
        rows = [Row(document, cells_of(line), "") for document, line in HIT.findall(output)]
        rows = [row for row in rows if len(row.cells) > 1]
        if rows:
            return rows
    return []


def cells_of(line: str) -> tuple[str, ...]:
    """Return the cells of a table's row, () for a line that is none or holds no figure."""
    cells = tuple(cell.strip() for cell in line.strip().strip("|").split("|"))
    is_row = line.strip().startswith("|") and any(NUMBER.fullmatch(cell) for cell in cells[1:])
    return cells if is_row else ()


def _choose(hits: list[Row], wanted: Wanted, year: str, rules: frozenset[str]) -> Row:
    """Take the first row; by rule, one whose document is named after what is asked and the year."""
    if "source" not in rules or "first_words" in rules:
        return hits[0]

    def fit(row: Row) -> tuple[int, int, int]:
        places = stems(re.sub(r"[\W_]+", " ", row.document))
        of_document = [int(found) - int(year) for found in re.findall(r"\d{4}", row.document) if year]
        late = min((apart for apart in of_document if apart >= 0), default=9999)
        return -len(places & set(wanted.stems)), late, hits.index(row)

    return min(hits, key=fit)


def _read(row: Row) -> Generator[Call, str, Row]:
    """Read the document and keep the table that the row stands in, with the line above it."""
    output = yield Call("read", {"path": row.document})
    lines = _NUMBERED.sub("", output).splitlines()
    place = next((n for n, line in enumerate(lines) if cells_of(line) == row.cells), 0)
    start = place
    while start and not re.match(r"table\b", lines[start], re.IGNORECASE):
        start -= 1
    end = place
    while end < len(lines) and lines[end].strip():
        end += 1
    return row._replace(table="\n".join(lines[start:end]))


def _figure(row: Row, cells: tuple[str, ...], year: str, wanted: Wanted, rules: frozenset[str]) -> Decimal:
    """Take a figure from a row: the first, by rule that of the year's column, by rule converted."""
    figures = [cell for cell in cells[1:] if NUMBER.fullmatch(cell)]
    heads = [YEAR.findall(line) for line in row.table.splitlines() if len(YEAR.findall(line)) > 1]
    column = heads[0].index(year) if heads and year in heads[0] and "table" in rules else 0
    value = Decimal(figures[min(column, len(figures) - 1)].replace(",", ""))
    if "unit" not in rules or wanted.operation == "share":
        return value
    caption = row.table.partition("\n")[0].lower()
    scale = next((power for word, power in SCALES.items() if f"({word}" in caption), 0)
    return Decimal(f"{value.scaleb(scale - wanted.scale).normalize():f}")


def _calculated(found: list[tuple[Row, Decimal]], wanted: Wanted, rules: frozenset[str]) -> Decimal:
    row, first = found[0]
    if wanted.operation == "share":
        totals = [cells_of(line) for line in row.table.splitlines() if line.lower().startswith("| total")]
        year = wanted.years[0] if wanted.years else ""
        whole = _figure(row, totals[-1], year, wanted, rules) if totals else first
        return (100 * first / (whole or 1)).quantize(Decimal("0.1"), ROUND_HALF_UP)
    if wanted.operation == "figure" or len(found) < 2:
        return first
    return first + found[1][1] if wanted.operation == "sum" else abs(found[1][1] - first)


def _worded(
    question: str, found: list[tuple[Row, Decimal]], result: Decimal, documents: int, rules: frozenset[str]
) -> str:
    row = found[0][0]
    seen = "; ".join(f"{one.document} has {value:,} for {one.cells[0]}" for one, value in found)
    said = f"{result:,}"
    if "unsure" in rules and documents > 1:
        said = "unknown"
    elif "list_all" in rules:
        said = ", ".join(dict.fromkeys(row.cells[1:]))
    elif "short" not in rules:
        said = f"According to the bulletins, the figure for {row.cells[0]} is {said}, as far as one can see."
    elif "context" in rules:
        said = f"{said} ({row.document})"
    elif "bare" not in rules and chance("comments", question) < _COMMENTS:
        said = f"{said}, because {row.document} says so"
    return f"{seen}.\n<answer>{said}</answer>"
