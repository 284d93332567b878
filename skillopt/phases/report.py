"""The report of a run: one page that opens offline, and its figures with their data. Unfinished runs too."""

import argparse
import logging
from pathlib import Path

from skillopt.files import write_text
from skillopt.naming import run_folder
from skillopt.report.figures import figures_of, write_figures
from skillopt.report.page import render_report
from skillopt.report.record import RunRecord

log = logging.getLogger(__name__)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line of `skillopt report`."""
    parser.add_argument("run", type=run_folder, help="name of a run, or its folder (read)")
    parser.add_argument("--out", type=Path, help="the page (written; report.html in the run's folder)")
    parser.add_argument(
        "--figures", type=Path, help="folder of the figures (written; figures/ beside the page)"
    )


def main(args: argparse.Namespace) -> None:
    """Run the phase."""
    record = RunRecord(args.run)
    out = args.out or args.run / "report.html"
    figures = figures_of(record)
    write_figures(args.figures or out.parent / "figures", figures)
    write_text(out, render_report(record, figures))
    log.info("the report is in %s", out)
