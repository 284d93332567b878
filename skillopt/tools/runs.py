"""Runs side by side: settings that differ, scores with intervals, calls and cost."""

import argparse
from collections.abc import Sequence
from pathlib import Path

import msgspec

from skillopt.files import write_text
from skillopt.models.prices import dollars
from skillopt.naming import run_folder
from skillopt.phases.evaluate import SplitScore
from skillopt.report.facts import measure
from skillopt.report.figures import as_csv
from skillopt.report.record import RunRecord
from skillopt.report.render import picture
from skillopt.report.runs import Comparison, RunRow, cells, compare, find_runs, render_runs, scores_chart
from skillopt.tools.terminal import plain


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
    return plain(text(comparison))


def text(comparison: Comparison) -> str:
    """Return an aligned table, with what makes scores hard to compare below it."""
    scores = [f"{split} {kind}" for kind in comparison.kinds for split in ("selection", "test")]
    header = ["run", "state", *comparison.settings, *scores, "steps", "calls", "cost"]
    rows = [_line(row, comparison) for row in comparison.rows]
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in [header, *rows]
    ]
    return "\n".join([*lines, *comparison.notes]) + "\n"


def _line(row: RunRow, comparison: Comparison) -> list[str]:
    state = f"{row.state} (simulated)" if row.simulated else row.state
    scores: list[str] = []
    for kind in comparison.kinds:
        scores.append(_change(row.selection_initial, row.selection_best, kind))
        scores.append(_change(row.test_initial, row.test_best, kind))
    return [
        row.run,
        state,
        *(row.settings.get(key, "") for key in comparison.settings),
        *scores,
        row.steps,
        "unknown" if row.calls is None else f"{row.calls:,}",
        dollars(row.cost),
    ]


def _change(before: SplitScore | None, after: SplitScore | None, kind: str) -> str:
    """Write `0.100 -> 0.500 [0.39, 0.61]`: the initial skill, the best one, its interval."""
    if after is None:
        return "-"
    first, last = measure(before, kind) if before else None, measure(after, kind)
    if last.mean is None:
        return "no score"
    start = f"{first.mean:.3f} -> " if first and first.mean is not None else ""
    return f"{start}{last.mean:.3f} [{last.low:.2f}, {last.high:.2f}]"
