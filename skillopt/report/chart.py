"""A few kinds of charts as lists of SVG shapes: data in, geometry out; a template writes them, escaped.

Colours and fonts are classes of `chart.css`. Series differ in marker or dash, never only in colour.
"""

import math
from typing import Literal

import msgspec

Marker = Literal["circle", "square", "up", "cross", "diamond", "ring", "tick", "below"]
Value = float | None


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """One SVG element; `text` is its content, `title` what a pointer over it says."""

    tag: Literal["path", "text", "rect"]
    attributes: dict[str, str | float]
    text: str = ""
    title: str = ""


class Chart(msgspec.Struct, frozen=True, kw_only=True):
    """A picture in a box of `width` x `height` units; `summary` says in words what it shows."""

    title: str
    summary: str
    width: float
    height: float
    shapes: tuple[Shape, ...]


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """A line over the places of the x axis; None leaves a gap. `colour` counts from 1."""

    name: str
    values: tuple[Value, ...]
    colour: int
    marker: Marker | None = None
    stepped: bool = False
    dash: str = ""


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """One point at a place of the x axis; without a value it stands on the axis."""

    place: int
    value: Value
    marker: Marker
    colour: int
    title: str


class Band(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of the x axis with a name, such as an epoch; places from `first` to `last`."""

    name: str
    first: int
    last: int


class Interval(msgspec.Struct, frozen=True, kw_only=True):
    """One row of a forest plot: a mean with its bounds (None: no score), under a group's heading."""

    group: str
    name: str
    mean: Value
    low: float = 0.0
    high: float = 0.0
    marker: Marker = "circle"
    colour: int = 1
    note: str = ""


class Bar(msgspec.Struct, frozen=True, kw_only=True):
    """One row of stacked bars; a part is its value and colour."""

    name: str
    parts: tuple[tuple[float, int], ...]
    note: str


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return round values that cover [low, high], at most about `most` of them."""
    span = max(high - low, 1e-9)
    power = 10.0 ** math.floor(math.log10(span / most))
    step = next(power * nice for nice in (1, 2, 2.5, 5, 10) if span / (power * nice) <= most)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(step * i, 10) for i in range(first, max(last, first + 1) + 1)]


def text(x: float, y: float, content: str, cls: str = "", anchor: str = "start", title: str = "") -> Shape:
    """Return one line of text."""
    where: dict[str, str | float] = {"x": round(x, 1), "y": round(y, 1), "text-anchor": anchor, "class": cls}
    return Shape(tag="text", attributes=where, text=content, title=title)


def path(d: str, cls: str, title: str = "", dash: str = "") -> Shape:
    """Return one path."""
    attributes: dict[str, str | float] = {"d": d, "class": cls}
    if dash:
        attributes["stroke-dasharray"] = dash
    return Shape(tag="path", attributes=attributes, title=title)


def box(
    x: float, y: float, width: float, height: float, cls: str, title: str = "", opacity: float = 1
) -> Shape:
    """Return one rectangle."""
    attributes: dict[str, str | float] = {
        "x": round(x, 1),
        "y": round(y, 1),
        "width": round(width, 1),
        "height": round(height, 1),
        "class": cls,
    }
    if opacity < 1:
        attributes["fill-opacity"] = round(opacity, 2)
    return Shape(tag="rect", attributes=attributes, title=title)


def marker(kind: Marker, x: float, y: float, colour: int, title: str = "", size: float = 5.0) -> Shape:
    """Return a marker centred at a point; lines are drawn, the others filled; `below` hangs from it."""
    r = size
    outlines = {
        "circle": f"M{x - r:.1f} {y:.1f}a{r} {r} 0 1 0 {2 * r} 0a{r} {r} 0 1 0 {-2 * r} 0z",
        "ring": f"M{x - r:.1f} {y:.1f}a{r} {r} 0 1 0 {2 * r} 0a{r} {r} 0 1 0 {-2 * r} 0z",
        "square": f"M{x - r * 0.9:.1f} {y - r * 0.9:.1f}h{1.8 * r:.1f}v{1.8 * r:.1f}h{-1.8 * r:.1f}z",
        "up": f"M{x:.1f} {y - r * 1.2:.1f}l{r * 1.15:.1f} {r * 2.1:.1f}h{-r * 2.3:.1f}z",
        "diamond": f"M{x:.1f} {y - r * 1.3:.1f}l{r * 1.2:.1f} {r * 1.3:.1f}l{-r * 1.2:.1f} {r * 1.3:.1f}"
        f"l{-r * 1.2:.1f} {-r * 1.3:.1f}z",
        "below": f"M{x - r:.1f} {y:.1f}h{2 * r}m{-r} 0v{2.6 * r:.1f}"
        f"m{-r / 2} {-r / 2}l{r / 2} {r / 2}l{r / 2} {-r / 2}",
        "cross": f"M{x - r:.1f} {y - r:.1f}l{2 * r} {2 * r}m0 {-2 * r}l{-2 * r} {2 * r}",
        "tick": f"M{x:.1f} {y - r * 1.3:.1f}v{2.6 * r:.1f}",
    }
    drawn = kind in ("cross", "ring", "tick", "below")
    return path(outlines[kind], f"mark {'s' if drawn else 'f'}{colour}", title)


def shortened(content: str, limit: int) -> str:
    """Cut a label to what fits."""
    return content if len(content) <= limit else content[: limit - 1].rstrip() + "…"


def empty(title: str, why: str) -> Chart:
    """Return a picture that says why there is nothing to see."""
    return Chart(
        title=title, summary=why, width=860, height=80, shapes=(text(430, 45, why, "muted", "middle"),)
    )
