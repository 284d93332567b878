"""Why an answer that was searched for is wrong: what a reader of the searches can see in them."""

import re
from decimal import Decimal

from skillopt.models.simulator.briefs import Attempt
from skillopt.models.simulator.searching import HIT, NUMBER, YEAR, cells_of, operation_of

DESCRIPTIONS = {
    "search_again": "one search found nothing, and no other was made",
    "source": "the figure comes from a document of another place or year",
    "table": "the figure comes from another column of the right row",
    "unit": "the figure is right and in another unit than the one asked for",
    "operands": "one figure was given where several had to be put together",
}
_READ = re.compile(r"^\[(\S+?): lines \d+ to \d+ of", re.MULTILINE)
_FAILED = re.compile(r"^no line holds ", re.MULTILINE)
_SEARCH = re.compile(r"^grep \{", re.MULTILINE)
_SOURCES = re.compile(r"^documents with the answer: *(.+)$", re.MULTILINE)
_POWERS = (Decimal(10) ** 3, Decimal(10) ** 6, Decimal(10) ** -3, Decimal(10) ** -6)


def searched(attempt: Attempt) -> bool:
    """Whether an attempt used search tools."""
    return bool(_SEARCH.search(attempt.trace))


def causes_of_search(attempt: Attempt) -> list[str]:
    """Name the rules whose lack one failed attempt shows, the plainest first."""
    said, right = _numbers(attempt.said), _numbers(attempt.accepted[0])
    found = []
    if len(attempt.said.split()) > len(attempt.accepted[0].split()) + 4:
        found.append("short")
    if right and right[0] in said and len(attempt.said.split()) > 1:
        return [*found, "bare"]
    if not said or not right:
        failed = len(_FAILED.findall(attempt.trace))
        return [*found, "search_again"] if failed and failed == len(_SEARCH.findall(attempt.trace)) else found
    if any(said[-1] * power == right[0] for power in _POWERS):
        return [*found, "unit"]
    if _of_another_document(attempt, said[-1]):
        found.append("source")
    if _beside(attempt, said[-1], right[0]):
        return [*found, "table"]
    years = len(set(YEAR.findall(attempt.question)))
    if operation_of(attempt.question, years) != "figure" and _rows_with(attempt, said[-1]):
        found.append("operands")
    return found


def _numbers(text: str) -> list[Decimal]:
    return [Decimal(number.replace(",", "")) for number in NUMBER.findall(text)]


def _rows(attempt: Attempt) -> list[tuple[str, list[Decimal]]]:
    """Return document and figures of every row that was shown."""
    rows = [(document, cells_of(line)) for document, line in HIT.findall(attempt.trace)]
    parts = _READ.split(attempt.trace)
    for text, document in zip(parts[::2], parts[1::2], strict=False):
        read = text.rpartition("[tool]")[2].splitlines()
        rows += [(document, cells_of(line.partition(": ")[2])) for line in read]
    return [
        (document, [n for cell in cells[1:] for n in _numbers(cell)]) for document, cells in rows if cells
    ]


def _rows_with(attempt: Attempt, figure: Decimal) -> list[tuple[str, list[Decimal]]]:
    return [(document, figures) for document, figures in _rows(attempt) if figure in figures]


def _beside(attempt: Attempt, said: Decimal, right: Decimal) -> bool:
    return any(right in figures for _, figures in _rows_with(attempt, said))


def _of_another_document(attempt: Attempt, said: Decimal) -> bool:
    told = _SOURCES.findall(attempt.trace)
    used = {document for document, _ in _rows_with(attempt, said)}
    return bool(told and used) and not used & set(told[-1].split(" | "))
