"""Runs side by side: settings that differ, scores with intervals, calls and cost."""

import argparse
import shutil
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from skillopt.files import write_text
from skillopt.models.prices import dollars
from skillopt.naming import run_folder
from skillopt.phases.evaluate import SplitScore
from skillopt.report.facts import measure
from skillopt.report.figures import as_csv
from skillopt.report.record import RunRecord
from skillopt.report.render import cut, picture
from skillopt.report.runs import Comparison, RunRow, cells, compare, find_runs, render_runs, scores_chart
from skillopt.texts import plain

WIDTH = 120
"""Width of the text where there is no terminal."""
LONGEST_SCORE = 27
"""Width of a cell such as `0.100 -> 0.500 [0.39, 0.61]`; beside it, the run's name has to fit."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line of `skillopt runs`."""
    parser.add_argument(
        "runs", type=run_folder, nargs="*", help="names or folders of runs (read); all of results/ if none"
    )
    parser.add_argument(
        "--format", choices=("text", "csv", "json", "html", "svg"), default="text", help="how to write it"
    )
    parser.add_argument("--out", type=Path, help="file (written); printed without it")


def main(args: argparse.Namespace) -> None:
    """Write the comparison."""
    records = find_runs(args.runs, Path("results"))
    content = render(records, compare(records), args.format)
    if args.out:
        write_text(args.out, content)
    else:
        print(content.rstrip("\n"))


def render(records: Sequence[RunRecord], comparison: Comparison, form: str) -> str:
    """Return the comparison in one of the forms."""
    if form == "csv":
        return as_csv(*cells(comparison))
    if form == "json":
        return msgspec.json.format(msgspec.json.encode(comparison), indent=2).decode() + "\n"
    if form == "html":
        return render_runs(records, comparison)
    if form == "svg":
        return picture(scores_chart(comparison))
    return plain(text(comparison, shutil.get_terminal_size(fallback=(WIDTH, 24)).columns))


def text(comparison: Comparison, width: int) -> str:
    """Return an aligned table, below it the settings that differ and what makes scores hard to compare.

    No line is longer than `width` characters: long values are cut in their middle, and columns for
    which there is no room follow in another block.
    """
    scores = [f"{split} {kind}" for kind in comparison.kinds for split in ("selection", "test")]
    header = ["run", "state", *scores, "steps", "calls made", "cost"]
    lines = [*_blocks([header, *(_line(row, comparison) for row in comparison.rows)], width)]
    for key in comparison.settings:
        lines += _setting(key, comparison.rows, width)
    simulated = [row.run for row in comparison.rows if row.simulated]
    if simulated:
        lines += _listed("simulated", simulated, width)
    notes = [line for note in comparison.notes for line in textwrap.wrap(note, width, subsequent_indent="  ")]
    return "\n".join([*lines, *notes]) + "\n"


def _line(row: RunRow, comparison: Comparison) -> list[str]:
    scores: list[str] = []
    for kind in comparison.kinds:
        scores.append(_change(row.selection_initial, row.selection_best, kind))
        scores.append(_change(row.test_initial, row.test_best, kind))
    calls = "unknown" if row.calls is None else f"{row.calls:,}"
    return [row.run, row.state, *scores, row.steps, calls, dollars(row.cost)]


def _blocks(table: Sequence[Sequence[str]], width: int) -> Iterator[str]:
    """Yield the lines of a table, each block of columns beginning with the first one."""
    names, *others = zip(*table, strict=True)
    room = max(min(width // 3, width - LONGEST_SCORE - 2), 8)
    first, columns = _column([cut(name, room) for name in names]), [_column(cells) for cells in others]
    while columns:
        block = [first, columns.pop(0)]
        while columns and sum(len(column[0]) + 2 for column in [*block, columns[0]]) - 2 <= width:
            block.append(columns.pop(0))
        yield from ("  ".join(cells).rstrip() for cells in zip(*block, strict=True))
        yield ""


def _column(cells: Sequence[str]) -> list[str]:
    """Pad the cells of a column to one length."""
    return [cell.ljust(max(map(len, cells))) for cell in cells]


def _setting(key: str, rows: Sequence[RunRow], width: int) -> list[str]:
    """Write `key: run=value, ...`, without the runs that do not have the setting."""
    values = [(row.run, row.settings[key]) for row in rows if row.settings.get(key)]
    return _listed(key, [f"{cut(run, width // 3)}={cut(value, width // 2)}" for run, value in values], width)


def _listed(name: str, entries: Sequence[str], width: int) -> list[str]:
    """Write entries after a name, on as many lines as they need."""
    lines = [f"{name}:"]
    for number, entry in enumerate(entries):
        told = cut(entry, width - 4) + ("," if number < len(entries) - 1 else "")
        if len(lines[-1]) + 1 + len(told) > width:
            lines.append(" ")
        lines[-1] += f" {told}"
    return lines


def _change(before: SplitScore | None, after: SplitScore | None, kind: str) -> str:
    """Write `0.100 -> 0.500 [0.39, 0.61]`: the initial skill, the best one, its interval."""
    if after is None:
        return "-"
    first, last = measure(before, kind) if before else None, measure(after, kind)
    if last.mean is None:
        return "no score"
    start = f"{first.mean:.3f} -> " if first and first.mean is not None else ""
    return f"{start}{last.mean:.3f} [{last.low:.2f}, {last.high:.2f}]"
