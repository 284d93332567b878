"""A skill document: a body, then at most one protected region of each kind (arXiv 2605.23904)."""

import hashlib
from pathlib import Path

import msgspec

from skillopt.errors import ConfigError
from skillopt.files import read_text
from skillopt.skill.markers import (
    MARKERS,
    Edge,
    Kind,
    clean_lines,
    has_marker,
    line_end,
    lines_of,
    marker,
    without_blocks,
)


class Region(msgspec.Struct, frozen=True, kw_only=True):
    """A protected region; `start` and `end` bound what lies between its marker lines (characters)."""

    kind: Kind
    start: int
    end: int


class SkillDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A parsed document. `body` is everything before the first region, as it stands in `text`."""

    text: str
    body: str
    regions: tuple[Region, ...] = ()

    @classmethod
    def parse(cls, text: str) -> "SkillDocument":
        """Find the regions; raises ConfigError naming the line when markers are broken."""
        return _Parser().parse(text)

    @property
    def slow_update(self) -> str | None:
        """The guidance in the slow-update region, "" when it is empty, None when there is no region."""
        return self.inner("slow_update")

    @property
    def appendix(self) -> str | None:
        """The text of the appendix region, "" when it is empty, None when there is no region."""
        return self.inner("appendix")

    def region(self, kind: Kind) -> Region | None:
        """Return the region of a kind, if there is one."""
        return next((region for region in self.regions if region.kind == kind), None)

    def inner(self, kind: Kind) -> str | None:
        """Return what lies in a region, without blank lines at both ends."""
        region = self.region(kind)
        return None if region is None else _trim(self.text[region.start : region.end])


def read_document(path: Path) -> SkillDocument:
    """Read a skill file; raises ConfigError naming the file and the line when markers are broken."""
    try:
        return SkillDocument.parse(read_text(path))
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def sha256(text: str) -> str:
    """Return the hexadecimal SHA-256 of a text's UTF-8 bytes."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def visible(text: str) -> str:
    """Return what a target is shown: body and filled regions without marker lines.

    Parts are separated by one blank line, and the text ends with one line end, so that an empty
    region leaves no trace. An empty document gives "".
    """
    document = SkillDocument.parse(text)
    end = line_end(text)
    inner = (_trim(text[region.start : region.end]) for region in document.regions)
    parts = [part for part in (document.body.rstrip(), *inner) if part.strip()]
    return (end * 2).join(parts) + end if parts else ""


def with_slow_update(text: str, content: str) -> str:
    """Put guidance into the slow-update region, which is made when it is missing."""
    return with_region(text, "slow_update", clean_lines(content))


def with_region(text: str, kind: Kind, lines: list[str]) -> str:
    """Replace what lies in a region by `lines` (without line ends or markers).

    A missing region is made at the end of the document, after a blank line. A region that
    already holds these lines stays as it is, byte for byte.
    """
    document = SkillDocument.parse(text)
    end = line_end(text)
    content = "".join(line + end for line in lines)
    region = document.region(kind)
    if region is None:
        block = marker(kind, "start") + end + content + marker(kind, "end") + end
        return _before_region(text, end) + block
    if clean_lines(text[region.start : region.end]) == lines:
        return text
    return text[: region.start] + content + text[region.end :]


def replace_body(text: str, new_body: str) -> str:
    """Replace the body; the regions are carried over as they are.

    Regions that `new_body` brings along are dropped, and so are single markers; line ends become
    those of the document. An equal body (blank lines at both ends aside) gives `text` itself.
    """
    document = SkillDocument.parse(text)
    lines = clean_lines(without_blocks(new_body)) or clean_lines(new_body)
    if lines == clean_lines(document.body):
        return text
    end = line_end(text)
    body = "".join(line + end for line in lines)
    regions = text[len(document.body) :]
    return _before_region(body, end) + regions if regions else body


def _before_region(text: str, end: str) -> str:
    """Return text that a region can follow: it ends with a blank line, or is empty."""
    if text and not text.endswith("\n"):
        text += end
    lines = lines_of(text)
    return text + end if lines and lines[-1].strip() else text


def _trim(text: str) -> str:
    """Drop blank lines at both ends and the last line end."""
    lines = lines_of(text)
    while lines and not lines[0].strip():
        del lines[0]
    return "".join(lines).rstrip()


class _Parser:
    """Reads a document line by line and keeps where it is."""

    def __init__(self) -> None:
        self.regions: list[Region] = []
        self.open: tuple[Kind, int, int] | None = None  # kind, line of its marker, start of what it holds
        self.body_end: int | None = None

    def parse(self, text: str) -> SkillDocument:
        position = 0
        for number, line in enumerate(lines_of(text), 1):
            found = MARKERS.get(line.strip())
            if found:
                self._marker(found, number, position, len(line))
            elif has_marker(line):
                raise ConfigError(
                    f"line {number}: expected a region marker alone on its line and spelt like "
                    f"{marker('slow_update', 'start')}, found {line.strip()[:80]!r}"
                )
            elif self.body_end is not None and self.open is None and line.strip():
                raise ConfigError(
                    f"line {number}: expected no text after a protected region, found "
                    f"{line.strip()[:80]!r}; move it above the first region"
                )
            position += len(line)
        if self.open:
            kind, number, _ = self.open
            raise ConfigError(
                f"line {number}: {marker(kind, 'start')} opens a region that never ends; "
                f"add {marker(kind, 'end')}"
            )
        body = text if self.body_end is None else text[: self.body_end]
        return SkillDocument(text=text, body=body, regions=tuple(self.regions))

    def _marker(self, found: tuple[Kind, Edge], number: int, position: int, length: int) -> None:
        kind, edge = found
        if edge == "start":
            self._start(kind, number, position, length)
        elif self.open is None or self.open[0] != kind:
            raise ConfigError(
                f"line {number}: {marker(kind, 'end')} ends a region that was not opened; remove the line"
            )
        else:
            self.regions.append(Region(kind=kind, start=self.open[2], end=position))
            self.open = None

    def _start(self, kind: Kind, number: int, position: int, length: int) -> None:
        if self.open:
            raise ConfigError(
                f"line {number}: {marker(kind, 'start')} stands inside the region opened in line "
                f"{self.open[1]}; end that one first"
            )
        if any(region.kind == kind for region in self.regions):
            raise ConfigError(
                f"line {number}: a second region {marker(kind, 'start')}; at most one is allowed"
            )
        self.open = kind, number, position + length
        if self.body_end is None:
            self.body_end = position
