"""Lines, line ends, and the comment markers that bound a protected region."""

import re
from itertools import pairwise
from typing import Literal

Kind = Literal["slow_update", "appendix"]
Edge = Literal["start", "end"]

KINDS: tuple[Kind, ...] = ("slow_update", "appendix")
_MARKER = re.compile(r"<!--[^\S\n]*(SLOW_UPDATE|APPENDIX)_(START|END)[^\S\n]*-->", re.IGNORECASE)
_OPEN, _CLOSE = list("<!--"), list("-->")
_NAME = re.compile(r"(?:SLOW_UPDATE|APPENDIX)_(?:START|END)", re.IGNORECASE)
_NAME_LENGTHS = sorted({len(f"{kind}_{edge}") for kind in KINDS for edge in ("start", "end")})
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_LINE_END = re.compile(r"\r\n|\r|\n")


def marker(kind: Kind, edge: Edge) -> str:
    """Return the one spelling of a marker that a document may hold."""
    return f"<!-- {kind.upper()}_{edge.upper()} -->"


MARKERS: dict[str, tuple[Kind, Edge]] = {
    marker(kind, edge): (kind, edge) for kind in KINDS for edge in ("start", "end")
}


def has_marker(text: str) -> bool:
    """Whether a marker, in any case or spacing, stands anywhere in `text`."""
    return _MARKER.search(text) is not None


def without_markers(line: str) -> str:
    """Remove markers until none is left: taking one out may put another together.

    One pass: no two markers can overlap, so each is taken out as soon as its last character is there.
    """
    if not has_marker(line):
        return line
    kept: list[str] = []
    for char in line:
        kept.append(char)
        if char == ">" and (start := _last_marker(kept)) is not None:
            del kept[start:]
    return "".join(kept)


def _last_marker(kept: list[str]) -> int | None:
    """Return where the marker starts that `kept` ends with."""
    if kept[-3:] != _CLOSE:
        return None
    stop = _before_blanks(kept, len(kept) - len(_CLOSE))
    for length in _NAME_LENGTHS:
        start = stop - length
        if start >= 0 and _NAME.fullmatch("".join(kept[start:stop])):
            start = _before_blanks(kept, start)
            opened = start - len(_OPEN)
            return opened if opened >= 0 and kept[opened:start] == _OPEN else None
    return None


def _before_blanks(kept: list[str], at: int) -> int:
    while at and kept[at - 1] != "\n" and kept[at - 1].isspace():
        at -= 1
    return at


def without_blocks(text: str) -> str:
    """Remove whole regions, from a start marker to the next marker when that is its end."""
    kept, at = [], 0
    for first, last in pairwise(_MARKER.finditer(text)):
        kinds = first[1].upper(), last[1].upper()
        if kinds[0] == kinds[1] and (first[2].upper(), last[2].upper()) == ("START", "END"):
            kept.append(text[at : first.start()])
            at = last.end()
    return "".join((*kept, text[at:]))


def lines_of(text: str) -> list[str]:
    """Cut into lines with their line ends; only a line feed ends a line."""
    return _LINE.findall(text)


def line_end(text: str) -> str:
    """Return the line end that a text uses first (a line feed when it has none)."""
    first = text.partition("\n")[0]
    return "\r\n" if first.endswith("\r") else "\n"


def clean_lines(content: str) -> list[str]:
    """Cut content into lines without line ends, markers, and blank lines at both ends.

    A line that held nothing but markers goes; every other line stays, white space included.
    """
    lines = []
    for line in _LINE_END.split(content):
        cleaned = without_markers(line)
        if cleaned == line or cleaned.strip():
            lines.append(cleaned)
    filled = [number for number, line in enumerate(lines) if line.strip()]
    return lines[filled[0] : filled[-1] + 1] if filled else []
