"""The kinds of charts: curves over the run, scores with intervals, a grid of counts, stacked bars."""

from collections.abc import Callable, Iterator, Sequence

from skillopt.report.chart import (
    Band,
    Bar,
    Chart,
    Interval,
    Mark,
    Series,
    Shape,
    box,
    empty,
    marker,
    path,
    shortened,
    text,
    ticks,
)

WIDTH = 860.0
LEFT, RIGHT, TOP, BOTTOM = 48.0, 14.0, 34.0, 44.0
ROW = 26.0
LEAST_SPAN = 0.1
"""Least height of a value axis: less would blow noise up, or nothing at all."""


def curves(
    title: str,
    summary: str,
    places: Sequence[str],
    series: Sequence[Series],
    marks: Sequence[Mark] = (),
    bands: Sequence[Band] = (),
    legend: Sequence[Mark] = (),
    height: float = 340.0,
) -> Chart:
    """Draw values over places; the value axis covers what is there, within 0 and 1.

    `legend` names the kinds of marks by their titles.
    """
    known = [value for line in series for value in line.values if value is not None]
    known += [mark.value for mark in marks if mark.value is not None]
    if not places or not known:
        return empty(title, "No score yet.")
    scale = _scale(min(known), max(known))
    head, lines = _legend([*series, *legend])
    top = TOP + 22 * (lines - 1)
    across = (WIDTH - LEFT - RIGHT) / len(places)

    def x(place: float) -> float:
        return LEFT + across * (place + 0.5)

    def y(value: float) -> float:
        share = (value - scale[0]) / (scale[-1] - scale[0])
        return top + (1 - share) * (height - top - BOTTOM)

    shapes = [
        *head,
        *_bands(bands, x, across, top, height),
        *_value_axis(scale, y),
        *_place_axis(places, x, height),
        *(shape for line in series for shape in _line(line, x, y, across)),
        *(_mark(mark, x, y, y(scale[0])) for mark in marks),
    ]
    return Chart(title=title, summary=summary, width=WIDTH, height=height, shapes=tuple(shapes))


def _scale(least: float, most: float) -> list[float]:
    """Return the ticks of a value axis around [least, most], within 0 and 1."""
    high = min(max(most + 0.02, least + LEAST_SPAN), 1.0)
    return ticks(max(min(least - 0.02, high - LEAST_SPAN), 0.0), high)


def _mark(mark: Mark, x: Callable[[float], float], y: Callable[[float], float], foot: float) -> Shape:
    """Draw a mark at its value, or standing on the axis."""
    height = foot - 6 if mark.value is None else y(mark.value)
    return marker(mark.marker, x(mark.place), height, mark.colour, mark.title, 5.5)


def _legend(entries: Sequence[Series | Mark]) -> tuple[list[Shape], int]:
    """Return names beside what they stand for, and how many lines they take."""
    shapes: list[Shape] = []
    x, lines = LEFT, 1
    for entry in entries:
        name = entry.name if isinstance(entry, Series) else entry.title
        needed = 36 + 6.6 * len(name)
        if x + needed > WIDTH and x > LEFT:
            x, lines = LEFT, lines + 1
        y = 14.0 + 22 * (lines - 1)
        if isinstance(entry, Series):
            shapes.append(path(f"M{x:.1f} {y - 4:.1f}h24", f"line s{entry.colour}", dash=entry.dash))
        if entry.marker:
            shapes.append(marker(entry.marker, x + 12, y - 4, entry.colour, size=4.5))
        shapes.append(text(x + 30, y, name))
        x += needed + 10
    return shapes, lines


def _bands(
    bands: Sequence[Band], x: Callable[[float], float], across: float, top: float, height: float
) -> Iterator[Shape]:
    for number, band in enumerate(bands):
        left, right = x(band.first) - across / 2, x(band.last) + across / 2
        if number % 2:
            yield box(left, top, right - left, height - top - BOTTOM, "band")
        yield text(
            (left + right) / 2, height - 6, shortened(band.name, int((right - left) / 7)), "muted", "middle"
        )


def _value_axis(scale: Sequence[float], y: Callable[[float], float]) -> Iterator[Shape]:
    digits = 3 if scale[1] - scale[0] < 0.01 else 2
    for value in scale:
        yield path(f"M{LEFT} {y(value):.1f}H{WIDTH - RIGHT}", "grid")
        yield text(LEFT - 8, y(value) + 4, f"{value:.{digits}f}", "muted", "end")


def _place_axis(places: Sequence[str], x: Callable[[float], float], height: float) -> Iterator[Shape]:
    """Name as many places as there is room for."""
    room = (WIDTH - LEFT - RIGHT) / len(places)
    every = max(1, round((max(map(len, places)) * 7 + 6) / room + 0.4999))
    for number in range(0, len(places), every):
        yield text(x(number), height - BOTTOM + 18, places[number], "muted", "middle")


def _line(
    line: Series, x: Callable[[float], float], y: Callable[[float], float], across: float
) -> Iterator[Shape]:
    d, before = "", False
    half = across / 2 if line.stepped else 0.0
    for place, value in enumerate(line.values):
        if value is None:
            before = False
            continue
        if not line.stepped:
            d += f"{'L' if before else 'M'}{x(place):.1f} {y(value):.1f}"
        elif before:
            d += f"V{y(value):.1f}H{x(place) + half:.1f}"
        else:
            d += f"M{x(place) - half:.1f} {y(value):.1f}H{x(place) + half:.1f}"
        before = True
    yield path(d, f"line s{line.colour}", line.name, line.dash)
    if line.marker:
        for place, value in enumerate(line.values):
            if value is not None:
                yield marker(line.marker, x(place), y(value), line.colour, f"{line.name}: {value:.3f}", 3.5)


def forest(title: str, summary: str, rows: Sequence[Interval], label_width: float = 230.0) -> Chart:
    """Draw means with their intervals, one row each, groups under headings; the axis is 0 to 1."""
    if not rows:
        return empty(title, "No score yet.")
    left, right = label_width, WIDTH - 224.0
    shapes: list[Shape] = []
    y, group = 8.0, None

    def x(value: float) -> float:
        return left + value * (right - left)

    for row in rows:
        if row.group != group:
            group = row.group
            y += 24 if shapes else 12
            shapes.append(text(4, y, shortened(row.group, 60), "strong"))
            y += 8
        y += ROW
        middle = y - 8
        shapes.append(text(16, y - 4, shortened(row.name, int((left - 24) / 6.6)), title=row.name))
        shapes.append(path(f"M{left} {middle:.1f}H{right}", "grid"))
        if row.mean is not None:
            said = f"{row.name}: {row.mean:.3f} [{row.low:.2f}, {row.high:.2f}]"
            shapes.append(
                path(f"M{x(row.low):.1f} {middle:.1f}H{x(row.high):.1f}", f"range s{row.colour}", said)
            )
            shapes.append(marker(row.marker, x(row.mean), middle, row.colour, said))
            shapes.append(text(right + 14, y - 4, f"{row.mean:.3f} [{row.low:.2f}, {row.high:.2f}]"))
        shapes.append(text(WIDTH - 4, y - 4, row.note, "muted", "end"))
    shapes += [text(x(value), y + 22, f"{value:g}", "muted", "middle") for value in (0, 0.25, 0.5, 0.75, 1)]
    return Chart(title=title, summary=summary, width=WIDTH, height=y + 32, shapes=tuple(shapes))


def grid(
    title: str, summary: str, columns: Sequence[str], rows: Sequence[tuple[str, Sequence[int]]]
) -> Chart:
    """Draw counts as cells, the darker the more; the number stands in the cell where it fits."""
    if not rows or not columns:
        return empty(title, "No failure pattern was seen.")
    label = 400.0
    side = max(9.0, min(44.0, (WIDTH - label - 40) / len(columns)))
    most = max(max(counts) for _, counts in rows) or 1
    every = max(1, round(22 / side + 0.49))
    shapes = [
        text(label + side * (i + 0.5), 14, name, "muted", "middle")
        for i, name in enumerate(columns)
        if i % every == 0
    ]
    for number, (name, counts) in enumerate(rows):
        y = 22 + number * 24.0
        shapes.append(text(label - 8, y + 15, shortened(name, 60), anchor="end", title=name))
        for i, count in enumerate(counts):
            said = f"{name}: {count} in {columns[i]}"
            opacity = 0.12 + 0.88 * count / most if count else 1
            cls = "f2" if count else "nothing"
            shapes.append(box(label + side * i + 1, y, side - 2, 22, cls, said, opacity))
            if count and side >= 16:
                where = label + side * (i + 0.5)
                shapes.append(text(where, y + 15, str(count), "over" if opacity > 0.55 else "", "middle"))
        total = f"{sum(counts)}"
        shapes.append(text(label + side * len(columns) + 6, y + 15, total, "strong"))
    height = 30 + 24.0 * len(rows)
    return Chart(title=title, summary=summary, width=WIDTH, height=height, shapes=tuple(shapes))


def bars(title: str, summary: str, rows: Sequence[Bar], parts: Sequence[tuple[str, int]]) -> Chart:
    """Draw stacked bars, one row each; `parts` names the colours."""
    most = max((sum(value for value, _ in row.parts) for row in rows), default=0)
    if not most:
        return empty(title, "No call yet.")
    left, right = 200.0, WIDTH - 150.0
    shapes: list[Shape] = []
    x = left
    for name, colour in parts:
        shapes += [box(x, 4, 14, 12, f"f{colour} part{colour}"), text(x + 20, 14, name)]
        x += 46 + 6.8 * len(name)
    for number, row in enumerate(rows):
        y = 26 + number * ROW
        shapes.append(text(left - 10, y + 14, shortened(row.name, 28), anchor="end", title=row.name))
        at = left
        for value, colour in row.parts:
            size = value / most * (right - left)
            if size:
                shapes.append(
                    box(at, y, max(size, 0.75), 18, f"f{colour} part{colour}", f"{row.name}: {value:,.0f}")
                )
            at += size
        shapes.append(text(at + 8, y + 14, row.note, "muted"))
    height = 34 + ROW * len(rows)
    return Chart(title=title, summary=summary, width=WIDTH, height=height, shapes=tuple(shapes))
