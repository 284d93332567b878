"""The skill that training starts from."""

import argparse
from pathlib import Path

from skillopt.config.resolved import read_resolved
from skillopt.envs.registry import environment
from skillopt.errors import ConfigError, changed
from skillopt.files import write_text
from skillopt.skill import read_document, sha256


def initial_skill_path(env_name: str, skill_init: str) -> Path:
    """Return the configured skill file, or the benchmark's own when none is configured."""
    path = Path(skill_init) if skill_init else environment(env_name).initial_skill
    if not path.is_file():
        raise ConfigError(f"env.skill_init: expected a skill file, found nothing at {path}")
    return path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line of `skillopt initial_skill`."""
    parser.add_argument("--config", type=Path, required=True, help="config.json of the run (read)")
    parser.add_argument(
        "--planned", default="", metavar="HASH", help="of the skill that the job is for; another is refused"
    )
    parser.add_argument("--out", type=Path, required=True, help="skill_v0000.md (written)")


def main(args: argparse.Namespace) -> None:
    """Run the phase."""
    env = read_resolved(args.config).settings.env
    path = initial_skill_path(env.name, env.skill_init)
    text = read_document(path).text
    if args.planned and sha256(text) != args.planned:
        raise ConfigError(
            f"{path}: expected the skill that the job was planned for, found another. {changed('skill')}"
        )
    write_text(args.out, text)
