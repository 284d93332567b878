"""Write the sample of OfficeQA: bulletins of invented offices, and questions about their figures.

    python data/officeqa/make_sample.py

Writes documents/*.txt and {train,val,test}/items.json beside this file, the same bytes each time: the
figures are drawn from a hash of their place, and the answers are calculated from them.
"""

import hashlib
import json
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
YEARS = (1929, 1931, 1933, 1935)
"""Years of the bulletins; each gives the figures of its own year and of the year before."""
SCALES = {"thousand": 3, "million": 6}


class Table(NamedTuple):
    """A table: caption, unit as printed in it, and its rows with a figure to start from."""

    caption: str
    unit: str
    rows: tuple[tuple[str, str], ...]


class Office(NamedTuple):
    """An office: name, place, stem of its file names, what it says each time, its tables."""

    title: str
    stem: str
    about: str
    remarks: tuple[str, str, str, str]
    tables: tuple[Table, ...]


class Question(NamedTuple):
    """A question; `{}` stands for rise or fall. `how` is one of figure, change, sum, share."""

    text: str
    office: str
    row: str
    years: tuple[int, ...]
    how: str = "figure"
    unit: str = ""


OFFICES = {
    "maren": Office(
        "Harbour Office of Maren",
        "maren_harbour",
        "The Harbour Office counts what is landed on the four quays of Maren and the ships that call there.",
        (
            "Ice closed the outer quay for eleven days in February.",
            "The new crane on the east quay came into use in May.",
            "Dues were lowered by a tenth on the first of July.",
            "A storm in October damaged two sheds; no goods were lost.",
        ),
        (
            Table(
                "Goods landed",
                "thousand tonnes",
                (
                    ("Hard coal", "412.4"),
                    ("Fish, salted", "38.6"),
                    ("Timber, sawn", "97.3"),
                    ("Grain", "155.8"),
                ),
            ),
            Table("Ships entered", "number", (("Steamers", "1846"), ("Sailing ships", "735"))),
        ),
    ),
    "tolvia": Office(
        "Railway Board of Tolvia",
        "tolvia_railways",
        "The Board reports what was carried on the state lines, all of which are open again.",
        (
            "The line to the coast was doubled as far as the river.",
            "Through carriages now run to Maren twice a day.",
            "Forty old engines were sold for scrap.",
            "The bridge at Sorn was strengthened and takes heavier trains.",
        ),
        (
            Table(
                "Journeys made",
                "thousand",
                (("Passengers, second class", "2140"), ("Passengers, third class", "9385")),
            ),
            Table(
                "Freight carried",
                "thousand tonnes",
                (("Hard coal", "640.5"), ("Livestock", "71.2"), ("Building stone", "204.9")),
            ),
        ),
    ),
    "dorrin": Office(
        "Forest Service of Dorrin",
        "dorrin_forests",
        "The Service looks after the crown forests of Dorrin and sells what is felled in them by auction.",
        (
            "Bark beetle was seen in the northern district and fought with success.",
            "A nursery was laid out near the old mill.",
            "The winter was mild, so that felling stopped early.",
            "Two wardens' houses were built of the Service's own wood.",
        ),
        (
            Table("Land planted", "hectares", (("Spruce", "1260"), ("Larch", "342"), ("Mixed oak", "185"))),
            Table(
                "Wood sold",
                "thousand cubic metres",
                (("Logs, peeled", "88.4"), ("Pit props", "41.7"), ("Firewood", "126.3")),
            ),
        ),
    ),
    "halmar": Office(
        "Post and Telegraph Office of Halmar",
        "halmar_post",
        "The Office reports the mail of the province of Halmar, its telegraph and its savings accounts.",
        (
            "Sunday delivery ended in the towns.",
            "Motor vans took the place of the last mail coaches.",
            "The telegraph cable to the islands was relaid.",
            "Nine offices were moved into railway stations.",
        ),
        (
            Table(
                "Mail",
                "million",
                (("Letters", "24.6"), ("Printed papers", "11.3"), ("Parcels, insured", "1.2")),
            ),
            Table("Telegraph", "thousand", (("Inland telegrams", "318.5"), ("Foreign telegrams", "46.1"))),
        ),
    ),
    "usk": Office(
        "Mines Inspectorate of Usk",
        "usk_mines",
        "The Inspectorate visits every pit of the Usk basin twice a year and collects its returns.",
        (
            "Electric lamps were made compulsory below ground.",
            "One pit was flooded in March and pumped dry by June.",
            "The rescue station at Arle was given a second motor car.",
            "Three small pits closed for good.",
        ),
        (
            Table(
                "Raised",
                "thousand tonnes",
                (("Brown coal", "1310.2"), ("Iron ore", "276.4"), ("Rock salt", "58.9")),
            ),
            Table("Hands", "number", (("Miners, underground", "8452"), ("Surface workers", "2210"))),
        ),
    ),
    "lenna": Office(
        "Water Board of Lenna",
        "lenna_water",
        "The Board supplies the town of Lenna and eleven villages from the springs above the valley.",
        (
            "The upper reservoir was emptied and cleaned.",
            "Meters were fitted in all new houses.",
            "A dry summer made it necessary to forbid the watering of gardens for six weeks.",
            "The pumping station changed from steam to electricity.",
        ),
        (
            Table(
                "Water delivered",
                "million litres",
                (("Households, metered", "946.0"), ("Factories", "1288.5"), ("Public fountains", "63.5")),
            ),
            Table("Network", "number", (("Hydrants", "1124"), ("House connections", "13270"))),
        ),
    ),
    "norvia": Office(
        "Treasury of Norvia",
        "norvia_treasury",
        "The Treasury states what was received into the chest of the realm and what was paid out of it.",
        (
            "The loan of the year was taken up in a single day.",
            "The duty on sugar was lowered in the autumn.",
            "Old silver coins were called in.",
            "The stamp duty was extended to cheques.",
        ),
        (
            Table(
                "Receipts",
                "million crowns",
                (("Customs duties", "84.2"), ("Land tax", "37.9"), ("Stamps, judicial", "6.3")),
            ),
            Table("Payments", "million crowns", (("Public schools", "29.5"), ("Road works", "18.8"))),
        ),
    ),
}

QUESTIONS = {
    "train": (
        Question("How many hectares of larch were planted at Dorrin in 1929?", "dorrin", "Larch", (1929,)),
        Question("How many steamers entered the port of Maren in 1929?", "maren", "Steamers", (1929,)),
        Question(
            "How many million crowns of land tax were received in Norvia in 1929?",
            "norvia",
            "Land tax",
            (1929,),
        ),
        Question(
            "How many thousand tonnes of hard coal were landed at Maren in 1933?",
            "maren",
            "Hard coal",
            (1933,),
        ),
        Question(
            "How many house connections did the network of Lenna have in 1935?",
            "lenna",
            "House connections",
            (1935,),
        ),
        Question(
            "How many million printed papers were posted at Halmar in 1930?",
            "halmar",
            "Printed papers",
            (1930,),
        ),
        Question(
            "How many thousand tonnes of building stone were carried in Tolvia in 1932?",
            "tolvia",
            "Building stone",
            (1932,),
        ),
        Question(
            "How many thousand tonnes of salted fish were landed at Maren in 1929?",
            "maren",
            "Fish, salted",
            (1929,),
        ),
        Question(
            "How many underground miners were there at Usk in 1931?", "usk", "Miners, underground", (1931,)
        ),
        Question(
            "How many thousand third class passengers travelled in Tolvia in 1934?",
            "tolvia",
            "Passengers, third class",
            (1934,),
        ),
        Question(
            "How many tonnes of rock salt were raised at Usk in 1929?",
            "usk",
            "Rock salt",
            (1929,),
            unit="tonnes",
        ),
        Question(
            "How many crowns were spent on road works in Norvia in 1933?",
            "norvia",
            "Road works",
            (1933,),
            unit="crowns",
        ),
        Question(
            "How many foreign telegrams were sent from Halmar in 1932?",
            "halmar",
            "Foreign telegrams",
            (1932,),
            unit="telegrams",
        ),
        Question(
            "By how many hectares did the planting of spruce at Dorrin {} from 1930 to 1931?",
            "dorrin",
            "Spruce",
            (1930, 1931),
            "change",
        ),
        Question(
            "How many thousand tonnes of iron ore were raised at Usk in 1929 and 1933 together?",
            "usk",
            "Iron ore",
            (1929, 1933),
            "sum",
        ),
        Question(
            "In 1931, what percentage of the receipts of Norvia were customs duties, to one decimal?",
            "norvia",
            "Customs duties",
            (1931,),
            "share",
        ),
    ),
    "val": (
        Question(
            "How many thousand inland telegrams were sent from Halmar in 1929?",
            "halmar",
            "Inland telegrams",
            (1929,),
        ),
        Question(
            "How many thousand tonnes of brown coal were raised at Usk in 1929?", "usk", "Brown coal", (1929,)
        ),
        Question("How many hydrants did the network of Lenna have in 1929?", "lenna", "Hydrants", (1929,)),
        Question(
            "How many sailing ships entered the port of Maren in 1931?", "maren", "Sailing ships", (1931,)
        ),
        Question(
            "How many thousand tonnes of hard coal were carried in Tolvia in 1933?",
            "tolvia",
            "Hard coal",
            (1933,),
        ),
        Question(
            "How many million crowns did the public schools of Norvia cost in 1930?",
            "norvia",
            "Public schools",
            (1930,),
        ),
        Question(
            "How many thousand cubic metres of pit props were sold at Dorrin in 1934?",
            "dorrin",
            "Pit props",
            (1934,),
        ),
        Question(
            "How many thousand tonnes of sawn timber were landed at Maren in 1929?",
            "maren",
            "Timber, sawn",
            (1929,),
        ),
        Question(
            "How many million litres did metered households at Lenna use in 1933?",
            "lenna",
            "Households, metered",
            (1933,),
        ),
        Question(
            "How many tonnes of building stone were carried in Tolvia in 1935?",
            "tolvia",
            "Building stone",
            (1935,),
            unit="tonnes",
        ),
        Question(
            "By how many surface workers did the mines of Usk {} from 1929 to 1935?",
            "usk",
            "Surface workers",
            (1929, 1935),
            "change",
        ),
        Question(
            "In 1933, what percentage of the planting at Dorrin was mixed oak, to one decimal?",
            "dorrin",
            "Mixed oak",
            (1933,),
            "share",
        ),
    ),
    "test": (
        Question(
            "How many million printed papers were posted at Halmar in 1929?",
            "halmar",
            "Printed papers",
            (1929,),
        ),
        Question(
            "How many sailing ships entered the port of Maren in 1929?", "maren", "Sailing ships", (1929,)
        ),
        Question(
            "How many million crowns did the public schools of Norvia cost in 1935?",
            "norvia",
            "Public schools",
            (1935,),
        ),
        Question(
            "How many thousand tonnes of rock salt were raised at Usk in 1933?", "usk", "Rock salt", (1933,)
        ),
        Question(
            "How many million crowns of customs duties were received in Norvia in 1928?",
            "norvia",
            "Customs duties",
            (1928,),
        ),
        Question(
            "How many hectares of mixed oak were planted at Dorrin in 1932?", "dorrin", "Mixed oak", (1932,)
        ),
        Question(
            "How many thousand second class passengers travelled in Tolvia in 1929?",
            "tolvia",
            "Passengers, second class",
            (1929,),
        ),
        Question(
            "How many thousand cubic metres of peeled logs were sold at Dorrin in 1931?",
            "dorrin",
            "Logs, peeled",
            (1931,),
        ),
        Question(
            "How many litres did the public fountains of Lenna use in 1931?",
            "lenna",
            "Public fountains",
            (1931,),
            unit="litres",
        ),
        Question(
            "How many million crowns of judicial stamps were sold in Norvia in 1930 and 1935 together?",
            "norvia",
            "Stamps, judicial",
            (1930, 1935),
            "sum",
        ),
        Question(
            "By how many thousand tonnes did landings of hard coal at Maren {} from 1928 to 1929?",
            "maren",
            "Hard coal",
            (1928, 1929),
            "change",
        ),
        Question(
            "In 1934, what percentage of the freight of Tolvia was building stone, to one decimal?",
            "tolvia",
            "Building stone",
            (1934,),
            "share",
        ),
    ),
}


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
