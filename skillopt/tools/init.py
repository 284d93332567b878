"""Start a project in a folder: a run's configuration and the sample data, to change into your own."""

import argparse
import shutil
from pathlib import Path

from skillopt.errors import ConfigError
from skillopt.tools.workflow import workflow_root


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line of `skillopt init`."""
    parser.add_argument("folder", type=Path, help="folder to start in; made when it is not there (written)")


def main(args: argparse.Namespace) -> None:
    """Copy the configuration and the sample; never over a file that is there."""
    root = workflow_root()
    sources = [root / "config" / "searchqa.yaml", *sorted((root / "data" / "searchqa").rglob("*.json"))]
    targets = [args.folder / source.relative_to(root) for source in sources]
    present = [target for target in targets if target.exists()]
    if present:
        raise ConfigError(
            f"{present[0]}: expected no such file, found one. Name another folder or move it away."
        )
    for source, target in zip(sources, targets, strict=True):
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    print(f"{args.folder}: started. Next: cd {args.folder} && skillopt train searchqa")
