"""Draw the sample of DocVQA: pages of invented offices and shops as PNG images, and questions about them.

    pip install -e .[dev]
    python data/docvqa/make_sample.py

Writes {train,val,test}/items.json and {train,val,test}/pages/*.png beside this file. Each image also
carries its words as a text chunk (keyword Description), for readers that cannot see.
"""

import json
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
SIZE = (520, 340)
MARGIN, HEAD, BODY, LEADING = 28, 22, 16, 25
COLUMNS = (28, 250, 390)
KEYWORD = "Description"


class Page(NamedTuple):
    """A page: its name, what kind of document it is, heading, and lines; a tuple is a row of a table."""

    name: str
    topic: str
    heading: str
    lines: tuple[str | tuple[str, ...], ...]
    questions: tuple[tuple[str, str], ...]


SPLITS: dict[str, tuple[Page, ...]] = {
    "train": (
        Page(
            "lamp_invoice",
            "form",
            "Brandt & Sons, Lamp Makers",
            (
                "Invoice number 20417",
                "Date of invoice: 12 March 1931",
                "Sold to the Northern Lighthouse Office in Arnsund",
                "The parcel holds 36 signal lamps and 144 wicks.",
                "Amount due: 412.50 crowns",
                "Received with thanks, Ida Brandt",
            ),
            (
                ("When was the invoice dated?", "12 March 1931"),
                ("How many signal lamps does the parcel hold?", "36"),
            ),
        ),
        Page(
            "ferry_notice",
            "layout",
            "Ferry across the Skell",
            (
                "The ferry to Otterby leaves every 40 minutes.",
                "The last boat leaves Karl's Quay at 21:15.",
                "Children under 6 years travel free.",
                "This notice replaces that of 3 May 1928.",
                "Signed by harbour master Olaf Rehn",
            ),
            (
                ("Who signed the notice?", "Olaf Rehn"),
                ("When was the notice dated that this one replaces?", "3 May 1928"),
            ),
        ),
        Page(
            "school_report",
            "form",
            "Girls' School of Veldam",
            (
                "Report for Hanna Lind, class four",
                "Head teacher: Berta Falk",
                "Days absent: 7",
                "Drawing: very good. Sums: fair.",
                "The next term begins on 9 January 1934.",
            ),
            (
                ("Who is the head teacher?", "Berta Falk"),
                ("When does the next term begin?", "9 January 1934"),
            ),
        ),
        Page(
            "seed_list",
            "table/list",
            "Price list of the Gronau Nursery",
            (
                ("Plant", "Packets", "Price"),
                ("Sweet peas", "250", "0.40"),
                ("Blue lupins", "120", "0.65"),
                ("White asters", "310", "0.35"),
                "Prices hold from 1 February 1930.",
                "Orders go to Wilhelm Stracke in Gronau.",
            ),
            (
                ("From when do the prices hold?", "1 February 1930"),
                ("Who takes the orders?", "Wilhelm Stracke"),
            ),
        ),
        Page(
            "mine_telegram",
            "free_text",
            "Telegram",
            (
                "Handed in at Usk on 17 August 1932",
                "To Inspector Conrad Meyer, Halmar",
                "Shaft two is dry again.",
                "We need 14 pumps and 900 metres of hose before Friday.",
                "Greetings, Anton Keller",
            ),
            (
                ("How many pumps are needed?", "14"),
                ("When was the telegram handed in?", "17 August 1932"),
            ),
        ),
        Page(
            "concert_bill",
            "layout",
            "Town Hall of Lenna",
            (
                "Concert of the Harmony Choir",
                "The choir is led by Clara Winther.",
                "Doors open on 22 November 1933 at seven.",
                "Tickets cost 2 crowns at the door.",
                "The hall seats 480 guests.",
            ),
            (
                ("Who leads the choir?", "Clara Winther"),
                ("How many guests does the hall seat?", "480"),
            ),
        ),
        Page(
            "rail_waybill",
            "form",
            "Waybill of the Tolvia Railways",
            (
                "Wagon number 7731",
                "Load: 65 sacks of barley",
                "Sent from Sorn by the miller Jakob Thiel",
                "The wagon was weighed on 30 September 1929.",
                "Station master: Emil Brock",
            ),
            (
                ("How many sacks of barley were loaded?", "65"),
                ("When was the wagon weighed?", "30 September 1929"),
            ),
        ),
        Page(
            "museum_label",
            "layout",
            "Museum of Dorrin",
            (
                "Bronze kettle with three feet",
                "It was found in 1887 by the farmer Niels Aaby.",
                "The kettle weighs 11 kilograms.",
                "Lent by the parish of Ostrum",
            ),
            (
                ("Who found the kettle?", "Niels Aaby"),
                ("When was the kettle found?", "1887"),
            ),
        ),
    ),
    "val": (
        Page(
            "clock_invoice",
            "form",
            "Petersen, Clocks and Watches",
            (
                "Invoice number 881",
                "Date of invoice: 4 June 1930",
                "Sold to the Railway Board in Tolvia",
                "The crate holds 24 station clocks.",
                "Amount due: 1,260 crowns",
            ),
            (
                ("When was the invoice dated?", "4 June 1930"),
                ("How many station clocks does the crate hold?", "24"),
            ),
        ),
        Page(
            "bath_notice",
            "layout",
            "Public Baths of Lenna",
            (
                "The baths stay closed until 15 April 1931.",
                "A cabin costs 30 ore for one hour.",
                "There are 52 cabins on two floors.",
                "Lost keys are kept by the bath warden Selma Hoeg.",
            ),
            (
                ("Until when do the baths stay closed?", "15 April 1931"),
                ("Who keeps lost keys?", "Selma Hoeg"),
            ),
        ),
        Page(
            "forest_permit",
            "form",
            "Forest Service of Dorrin",
            (
                "Permit to gather firewood",
                "Given to the carpenter Mads Lorentz",
                "It ends on 31 October 1934.",
                "At most 12 cart loads may be taken.",
            ),
            (
                ("Who was given the permit?", "Mads Lorentz"),
                ("How many cart loads may be taken?", "12"),
            ),
        ),
        Page(
            "library_card",
            "form",
            "Reading Room of Halmar",
            (
                "Reader number 3056",
                "Name of the reader: Elsa Quist",
                "The card was issued on 8 July 1932.",
                "The reader may borrow 5 books at a time.",
            ),
            (
                ("When was the card issued?", "8 July 1932"),
                ("How many books may the reader borrow?", "5"),
            ),
        ),
        Page(
            "ship_letter",
            "free_text",
            "Steamship Company Norvia",
            (
                "Maren, 19 December 1935",
                "The steamer Aurora lies at the east quay.",
                "Her captain is Rasmus Dahl.",
                "She carries 210 barrels of tar.",
            ),
            (
                ("Who is the captain of the steamer?", "Rasmus Dahl"),
                ("How many barrels of tar does she carry?", "210"),
            ),
        ),
        Page(
            "fair_table",
            "table/list",
            "Cattle Fair of Ostrum",
            (
                ("Animal", "Shown", "Sold"),
                ("Horses", "184", "97"),
                ("Cows", "406", "288"),
                "The fair was opened on 2 September 1933.",
                "The first prize went to the breeder Paul Gude.",
            ),
            (
                ("When was the fair opened?", "2 September 1933"),
                ("Who got the first prize?", "Paul Gude"),
            ),
        ),
    ),
    "test": (
        Page(
            "paint_invoice",
            "form",
            "Colour Mill of Sorn",
            (
                "Invoice number 5590",
                "Date of invoice: 27 January 1932",
                "Sold to the painter Gustav Rohde",
                "The order holds 18 tins of white lead.",
                "Amount due: 96.20 crowns",
            ),
            (
                ("When was the invoice dated?", "27 January 1932"),
                ("How many tins of white lead does the order hold?", "18"),
            ),
        ),
        Page(
            "tram_notice",
            "layout",
            "Tramways of Halmar",
            (
                "Line three runs to the brewery from 6 May 1930.",
                "A ticket for the whole line costs 15 ore.",
                "Each car has 32 seats.",
                "Complaints are heard by the manager Tora Vinge.",
            ),
            (
                ("How many seats does each car have?", "32"),
                ("Who hears complaints?", "Tora Vinge"),
            ),
        ),
        Page(
            "weather_sheet",
            "table/list",
            "Weather Station of Arnsund",
            (
                ("Month", "Rain", "Sun"),
                ("April", "61", "143"),
                ("May", "38", "207"),
                "The storm of 23 May 1931 broke the wind gauge.",
                "Observer: Knut Solheim",
            ),
            (
                ("When did the storm break the wind gauge?", "23 May 1931"),
                ("Who is the observer?", "Knut Solheim"),
            ),
        ),
        Page(
            "hospital_form",
            "form",
            "Hospital of Veldam",
            (
                "Ward two has 28 beds.",
                "The ward is run by Sister Agnes Holm.",
                "Visits are allowed again from 11 February 1933.",
                "Linen is counted every Monday.",
            ),
            (
                ("How many beds does ward two have?", "28"),
                ("From when are visits allowed again?", "11 February 1933"),
            ),
        ),
        Page(
            "bridge_plate",
            "layout",
            "Sorn Bridge",
            (
                "This bridge was built by the engineer Viktor Palme.",
                "It was opened on 14 October 1926.",
                "The middle span is 88 metres long.",
                "No more than 2 carts at a time",
            ),
            (
                ("Who built this bridge?", "Viktor Palme"),
                ("When was the bridge opened?", "14 October 1926"),
            ),
        ),
        Page(
            "garden_letter",
            "free_text",
            "Gardeners' Society of Gronau",
            (
                "Gronau, 5 March 1934",
                "Our treasurer Lotte Kamp has counted the members.",
                "The society now has 173 members.",
                "The summer outing goes to the springs of Lenna.",
            ),
            (
                ("Who has counted the members?", "Lotte Kamp"),
                ("How many members does the society have now?", "173"),
            ),
        ),
    ),
}


def words_of(page: Page) -> str:
    """Return the words of a page as they stand on it, a line each."""
    rows = [line if isinstance(line, str) else " | ".join(line) for line in page.lines]
    return "\n".join([page.heading, *rows])


def draw(page: Page, file: Path) -> None:
    """Draw a page."""
    from PIL import Image, ImageDraw, ImageFont, PngImagePlugin

    image = Image.new("L", SIZE, 255)
    pen = ImageDraw.Draw(image)
    head, body = ImageFont.load_default(HEAD), ImageFont.load_default(BODY)
    pen.rectangle((8, 8, SIZE[0] - 9, SIZE[1] - 9), outline=0)
    pen.text((MARGIN, MARGIN), page.heading, font=head, fill=0)
    pen.line((MARGIN, 64, SIZE[0] - MARGIN, 64), fill=0)
    for number, line in enumerate(page.lines):
        top = 84 + number * LEADING
        if isinstance(line, str):
            pen.text((MARGIN, top), line, font=body, fill=0)
            continue
        for left, cell in zip(COLUMNS, line, strict=True):
            pen.text((left, top), cell, font=body, fill=0)
        pen.line((MARGIN, top + LEADING - 4, SIZE[0] - MARGIN, top + LEADING - 4), fill=160)
    words = PngImagePlugin.PngInfo()
    words.add_text(KEYWORD, words_of(page))
    image.quantize(4).save(file, pnginfo=words, optimize=True)


def items(split: str) -> list[dict[str, object]]:
    """Make the items of a split."""
    return [
        {
            "id": f"{page.name}-{number}",
            "question": question,
            "answers": [right],
            "image_path": f"pages/{page.name}.png",
            "topic": page.topic,
        }
        for page in SPLITS[split]
        for number, (question, right) in enumerate(page.questions, 1)
    ]


def main(folder: Path = HERE) -> None:
    """Write pages and items."""
    for split, pages in SPLITS.items():
        (folder / split / "pages").mkdir(parents=True, exist_ok=True)
        for page in pages:
            draw(page, folder / split / "pages" / f"{page.name}.png")
        text = json.dumps(items(split), ensure_ascii=False, indent=1) + "\n"
        (folder / split / "items.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
