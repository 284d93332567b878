"""Start a project in a folder: a run's configuration and the sample data, to change into your own."""

import argparse
import shutil
from pathlib import Path

from skillopt.errors import ConfigError
from skillopt.tools.workflow import workflow_root

NOTES = {"README.md": "project.md", "data/README.md": "project_data.md"}
"""The READMEs of a project, and the files beside this one that they begin as."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line of `skillopt init`."""
    parser.add_argument("folder", type=Path, help="folder to start in; made when it is not there (written)")


def main(args: argparse.Namespace) -> None:
    """Copy the configuration, the sample and the notes; never over a file that is there."""
    copies = {args.folder / name: source for name, source in project_files(workflow_root()).items()}
    present = [target for target in copies if target.exists()]
    if present:
        raise ConfigError(
            f"{present[0]}: expected no such file, found one. Name another folder or move it away."
        )
    for target, source in copies.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    print(f"{args.folder}: started. Next: cd {args.folder} && skillopt train searchqa")


def project_files(root: Path) -> dict[str, Path]:
    """Return what a project begins with: its path in the project, and the file to copy."""
    shipped = [root / "config/config.yaml", root / "config/searchqa.yaml"]
    shipped += sorted((root / "data/searchqa").rglob("*.json"))
    notes = {name: Path(__file__).with_name(source) for name, source in NOTES.items()}
    return notes | {path.relative_to(root).as_posix(): path for path in shipped}
