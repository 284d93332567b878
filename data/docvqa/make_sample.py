"""Draw the sample of DocVQA: pages of invented offices and shops as PNG images, and questions about them.

    pip install -e .[dev]
    python data/docvqa/make_sample.py

Writes {train,val,test}/items.json and {train,val,test}/pages/*.png beside this file from what pages.yaml
says. Each image also carries its words as a text chunk (keyword Description), for readers that cannot see.
"""

import json
from pathlib import Path

import msgspec

HERE = Path(__file__).parent
SIZE = (520, 340)
MARGIN, HEAD, BODY, LEADING = 28, 22, 16, 25
COLUMNS = (28, 250, 390)
KEYWORD = "Description"


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """A page: its name, what kind of document it is, heading, and lines; a tuple is a row of a table."""

    name: str
    topic: str
    heading: str
    lines: tuple[str | tuple[str, ...], ...]
    questions: tuple[tuple[str, str], ...]


SPLITS = msgspec.yaml.decode((HERE / "pages.yaml").read_bytes(), type=dict[str, tuple[Page, ...]])


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
