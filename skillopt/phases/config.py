"""The resolved configuration of a run becomes a file, with where each value came from."""

import argparse
from pathlib import Path

import msgspec

from skillopt.config.resolved import Resolved
from skillopt.errors import ConfigError
from skillopt.files import write_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line of `skillopt config`."""
    parser.add_argument(
        "--run-file", type=Path, help="configuration of the run, such as config/searchqa.yaml (read)"
    )
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="overrides of the file")
    parser.add_argument("--resolved", help="an already resolved configuration as JSON, instead of --run-file")
    parser.add_argument("--out", type=Path, required=True, help="config.json (written)")


def main(args: argparse.Namespace) -> None:
    """Run the phase."""
    if bool(args.resolved) == bool(args.run_file):
        raise ConfigError("skillopt config: expected either --run-file or --resolved")
    if args.resolved:
        write_json(args.out, msgspec.json.decode(args.resolved, type=Resolved))
        return
    import os

    from skillopt.config.resolve import load_run

    write_json(args.out, load_run(args.run_file, args.set, os.environ))
