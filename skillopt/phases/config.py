"""The resolved configuration of a run becomes a file, with where each value came from."""

import argparse
import os
from pathlib import Path

from skillopt.config.resolve import load_run
from skillopt.files import write_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line of `skillopt config`."""
    parser.add_argument(
        "--run-file",
        type=Path,
        required=True,
        help="configuration of the run, such as config/searchqa.yaml (read)",
    )
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="overrides of the file")
    parser.add_argument("--out", type=Path, required=True, help="config.json (written)")


def main(args: argparse.Namespace) -> None:
    """Run the phase."""
    write_json(args.out, load_run(args.run_file, args.set, os.environ))
