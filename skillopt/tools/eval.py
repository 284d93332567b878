"""Evaluate skill files on splits of a run's data and compare them; nothing is trained.

A skill is a file (its stem is its name), `name=file`, or one of the run's own: none (no skill at all),
initial, best, last. The first skill is the one that the others are compared with. Replies that were
paid for, in training too, are not asked for again.
"""

import argparse
import json
import os
from pathlib import Path

from skillopt.config.resolve import load_run
from skillopt.config.skillnames import read_words
from skillopt.data import SPLITS, canonical_split
from skillopt.errors import ConfigError, ExitCode
from skillopt.files import read_text
from skillopt.naming import run_name
from skillopt.phases.plan import plan_run
from skillopt.tools.status import read_status
from skillopt.tools.train import (
    add_engine_arguments,
    engine_command,
    get_ready,
    run_engine,
    run_file,
    say_interrupted,
)
from skillopt.tools.workflow import workflow_root


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line of `skillopt eval`."""
    parser.add_argument(
        "run",
        type=run_name,
        help="name of a run: config/<run>.yaml names benchmark, data and target (read); "
        "results/<run>/eval/ is written",
    )
    parser.add_argument(
        "--skill",
        nargs="+",
        default=[],
        metavar="SKILL",
        help="FILE, NAME=FILE, none, initial, best or last; default: those of evaluation.skills (read)",
    )
    parser.add_argument("--split", nargs="+", default=["test"], help=f"{', '.join(SPLITS)}; default: test")
    parser.add_argument("--repeats", type=int, help="how often each item is done (evaluation.repeats)")
    add_engine_arguments(parser, dry_run="show what would be done, run nothing")


def main(args: argparse.Namespace) -> int:
    """Run the workflow up to the tables and print them."""
    root = workflow_root()
    splits = list(dict.fromkeys(canonical_split(name) for name in args.split))
    if args.repeats is not None:
        args.set = [*args.set, f"evaluation.repeats={args.repeats}"]
    resolved = load_run(run_file(root, args.run), args.set, os.environ)
    named = read_words(args.skill)
    skills = named or resolved.settings.evaluation.skills
    _require_files(skills)
    plan_run(args.run, resolved)
    tables = [Path("results", args.run, "eval", split, "table.txt") for split in splits]
    given = ["forecast=off"]  # it would tell of the training
    given += [f"skills={json.dumps(named, ensure_ascii=False)}"] if named else []
    get_ready(args)
    code, interrupted = run_engine(engine_command(root, args, [str(path) for path in tables], given))
    if interrupted:
        return say_interrupted()
    if code and (Path("results") / args.run / "config.json").exists():
        failures = read_status(Path("results") / args.run).failures
        return int(failures[0].code if failures else ExitCode.UNEXPECTED)
    if code:
        return int(ExitCode.BAD_CONFIG)  # refused before the first job; the engine has said why
    for path in tables if not args.dry_run else []:
        print(f"\n{read_text(path)}rows, scores and comparison: {path.parent}")
    return int(ExitCode.OK)


def _require_files(skills: dict[str, str]) -> None:
    if not skills:
        raise ConfigError("expected skills to evaluate, found none: give --skill or set evaluation.skills")
    for name, path in skills.items():
        if path and not Path(path).is_file():
            raise ConfigError(
                f"skill {name}: expected none, initial, best, last or a file, found no file at {path}"
            )
