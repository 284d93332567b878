"""Lines, line ends, and the comment markers that bound a protected region."""

import re
from itertools import pairwise
from typing import Literal

Kind = Literal["slow_update", "appendix"]
Edge = Literal["start", "end"]

KINDS: tuple[Kind, ...] = ("slow_update", "appendix")
_MARKER = re.compile(r"<!--[^\S\n]*(SLOW_UPDATE|APPENDIX)_(START|END)[^\S\n]*-->", re.IGNORECASE)
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
    """Remove markers until none is left: taking one out may put another together."""
    while has_marker(line):
        line = _MARKER.sub("", line)
    return line


def without_blocks(text: str) -> str:
    """Remove whole regions, from a start marker to the next marker when that is its end."""
    found = list(_MARKER.finditer(text))
    for first, last in reversed(list(pairwise(found))):
        kinds = first[1].upper(), last[1].upper()
        if kinds[0] == kinds[1] and (first[2].upper(), last[2].upper()) == ("START", "END"):
            text = text[: first.start()] + text[last.end() :]
    return text


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
    while lines and not lines[0].strip():
        del lines[0]
    while lines and not lines[-1].strip():
        del lines[-1]
    return lines
