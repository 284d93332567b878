"""Start a benchmark of your own: a package in envs/, a configuration and a small sample, ready to train."""

import argparse
import keyword
import re
from pathlib import Path

from skillopt.envs.registry import environment_names
from skillopt.errors import ConfigError
from skillopt.files import read_text, write_text

SKELETON = Path(__file__).parent / "skeleton"
"""The files, as they are for a benchmark named `mybench`."""
_NAME = "mybench"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line of `skillopt new-benchmark`."""
    parser.add_argument("name", help="its name, as env.name has it: small letters, digits, underscores")
    parser.add_argument("--folder", type=Path, default=Path(), help="project to write into (written)")


def main(args: argparse.Namespace) -> None:
    """Write the files; never over one that is there."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", args.name) or keyword.iskeyword(args.name):
        raise ConfigError(f"name: expected small letters, digits and underscores, found {args.name!r}")
    if args.name in environment_names():
        raise ConfigError(f"name: expected one that is not taken, found {args.name!r}, which ships")
    files = {args.folder / _named(path, args.name): path for path in skeleton_files()}
    present = [target for target in files if target.exists()]
    if present:
        raise ConfigError(
            f"{present[0]}: expected no such file, found one. Take another name or move it away."
        )
    for target, source in files.items():
        text = read_text(source).replace(_NAME, args.name)
        write_text(target, text.replace(_NAME.capitalize(), _class_name(args.name)))
    package = args.folder / "envs" / args.name
    print(f"{package}: started. Next: change it, or first see it train: skillopt train {args.name}")


def skeleton_files() -> list[Path]:
    """Return the files of the skeleton."""
    return sorted(path for path in SKELETON.rglob("*") if path.is_file() and "__pycache__" not in path.parts)


def _named(path: Path, name: str) -> Path:
    return Path(*(part.replace(_NAME, name) for part in path.relative_to(SKELETON).parts))


def _class_name(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))
