"""Write the sample of OfficeQA: bulletins of invented offices, and questions about their figures.

    python data/officeqa/make_sample.py

Writes documents/*.txt and {train,val,test}/items.json beside this file from what offices.yaml and
questions.yaml say, the same bytes each time: the figures are drawn from a hash of their place, and the
answers are calculated from them.
"""

import hashlib
import json
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Literal

import msgspec

HERE = Path(__file__).parent
YEARS = (1929, 1931, 1933, 1935)
"""Years of the bulletins; each gives the figures of its own year and of the year before."""
SCALES = {"thousand": 3, "million": 6}


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """A table: caption, unit as printed in it, and its rows with a figure to start from."""

    caption: str
    unit: str
    rows: tuple[tuple[str, str], ...]


class Office(msgspec.Struct, frozen=True, kw_only=True):
    """An office: name, stem of its file names, what it says each time and in one year, its tables."""

    title: str
    stem: str
    about: str
    remarks: tuple[str, str, str, str]
    tables: tuple[Table, ...]


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A question; `{}` stands for rise or fall. With a `unit` the answer is in another than the table."""

    text: str
    office: str
    row: str
    years: tuple[int, ...]
    how: Literal["figure", "change", "sum", "share"] = "figure"
    unit: str = ""


OFFICES = msgspec.yaml.decode((HERE / "offices.yaml").read_bytes(), type=dict[str, Office])
QUESTIONS = msgspec.yaml.decode((HERE / "questions.yaml").read_bytes(), type=dict[str, tuple[Question, ...]])


def figure(office: str, row: str, start: str, year: int) -> Decimal:
    """Draw a figure: within a fifth of where the row starts, with as many decimals."""
    digest = hashlib.sha256(f"{office}/{row}/{year}".encode()).digest()
    share = Decimal(int.from_bytes(digest[:4], "big")) / 2**32
    return (Decimal(start) * (Decimal("0.8") + Decimal("0.4") * share)).quantize(Decimal(start))


def bulletin(key: str, number: int) -> str:
    """Write one bulletin."""
    office, year = OFFICES[key], YEARS[number]
    lines = [office.title, f"Bulletin for {year}", "", office.about, office.remarks[number]]
    for place, table in enumerate(office.tables, 1):
        lines += ["", f"Table {place}. {table.caption} ({table.unit})", ""]
        lines += [f"| | {year} | {year - 1} |", "|---|---|---|"]
        columns = [[figure(key, row, start, y) for row, start in table.rows] for y in (year, year - 1)]
        for (row, _), *figures in zip(table.rows, *columns, strict=True):
            lines.append(f"| {row} | {' | '.join(map(str, figures))} |")
        lines.append(f"| Total | {' | '.join(str(sum(column)) for column in columns)} |")
    lines += ["", f"Given out by the {office.title} in the spring of {year + 1}."]
    return "\n".join(lines) + "\n"


def answer(question: Question) -> tuple[str, str]:
    """Return the text of a question and its answer."""
    table = next(t for t in OFFICES[question.office].tables if question.row in dict(t.rows))
    start = dict(table.rows)[question.row]
    figures = [figure(question.office, question.row, start, year) for year in question.years]
    text, result = question.text, figures[0]
    if question.unit:
        scale = SCALES[table.unit.split()[0]]
        result = result.scaleb(scale).quantize(Decimal(1))
    elif question.how == "change":
        result = abs(figures[1] - figures[0])
        text = text.format("rise" if figures[1] > figures[0] else "fall")
    elif question.how == "sum":
        result = sum(figures, Decimal(0))
    elif question.how == "share":
        whole = sum(figure(question.office, row, s, question.years[0]) for row, s in table.rows)
        result = (100 * figures[0] / whole).quantize(Decimal("0.1"), ROUND_HALF_UP)
    return text, f"{result:,}"


def sources(question: Question) -> list[str]:
    """Name the bulletins that hold the figures."""
    stem = OFFICES[question.office].stem
    found = [f"{stem}_{year + (year + 1) % 2}.txt" for year in question.years]
    return list(dict.fromkeys(found))


def items(split: str) -> list[dict[str, object]]:
    """Make the items of a split."""
    found = []
    for number, question in enumerate(QUESTIONS[split], 1):
        text, right = answer(question)
        easy = question.how == "figure" and not question.unit
        found.append(
            {
                "uid": f"{split}-{number:02d}",
                "question": text,
                "ground_truth": right,
                "category": "easy" if easy else "hard",
                "source_files": sources(question),
            }
        )
    return found


def main(folder: Path = HERE) -> None:
    """Write documents and items."""
    (folder / "documents").mkdir(exist_ok=True)
    for key, office in OFFICES.items():
        for number, year in enumerate(YEARS):
            path = folder / "documents" / f"{office.stem}_{year}.txt"
            path.write_text(bulletin(key, number), encoding="utf-8")
    for split in QUESTIONS:
        (folder / split).mkdir(exist_ok=True)
        text = json.dumps(items(split), ensure_ascii=False, indent=1) + "\n"
        (folder / split / "items.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
