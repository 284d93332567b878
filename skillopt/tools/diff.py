"""What differs between two runs (settings, scores, best skills) or between two skills."""

import argparse
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path

import msgspec

from skillopt.errors import ConfigError
from skillopt.files import read_text
from skillopt.naming import run_folder
from skillopt.report.facts import skills_of
from skillopt.report.options import differing
from skillopt.report.record import RunRecord
from skillopt.report.runs import data_notes, named
from skillopt.texts import plain


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """How two sides differ. `settings` and `scores` are empty unless both are runs."""

    sides: tuple[str, str]
    settings: dict[str, list[str]]
    notes: tuple[str, ...]
    scores: dict[str, tuple[float | None, float | None]]
    skill: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line of `skillopt diff`."""
    for side in ("left", "right"):
        parser.add_argument(side, type=run_folder, help="name or folder of a run, or a skill file (read)")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="how to print it")


def main(args: argparse.Namespace) -> None:
    """Print the difference."""
    found = difference(args.left, args.right)
    if args.format == "json":
        print(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
    else:
        print(plain(text(found)))


def difference(left: Path, right: Path) -> Difference:
    """Compare two runs, two skill files, or a run's best skill with a file; raises ConfigError."""
    runs = [RunRecord(path) for path in (left, right) if path.is_dir()]
    both = len(runs) == 2
    resolved = [run.resolved for run in runs if run.resolved]
    labels = [path.as_posix() for path in (left, right)]
    skills = [_skill(path) for path in (left, right)]
    lines = unified_diff(
        skills[0][1].splitlines(),
        skills[1][1].splitlines(),
        fromfile=skills[0][0],
        tofile=skills[1][0],
        lineterm="",
    )
    return Difference(
        sides=(labels[0], labels[1]),
        settings=differing(resolved, decisive=False) if both and len(resolved) == 2 else {},
        notes=tuple(data_notes(named(runs))) if both else (),
        scores=_scores(runs[0], runs[1]) if both else {},
        skill="\n".join(lines),
    )


def _skill(path: Path) -> tuple[str, str]:
    """Return a skill's path and text: of the file, or the best one of the run."""
    if path.is_dir():
        best = RunRecord(path).best_skill()
        if not best:
            raise ConfigError(f"{path}: expected a run that has a skill, found none yet")
        path = path / best
    if not path.is_file():
        raise ConfigError(f"{path}: expected the folder of a run or a skill file, found neither")
    return path.as_posix(), read_text(path)


def _scores(left: RunRecord, right: RunRecord) -> dict[str, tuple[float | None, float | None]]:
    sides = [{skill.name: skill for skill in skills_of(run)} for run in (left, right)]
    found = {}
    for name in ("initial", "best", "last"):
        for split in ("selection", "test"):
            both = [getattr(side.get(name), split, None) for side in sides]
            scores = [score.score.hard if score else None for score in both]
            if scores != [None, None]:
                found[f"{name} skill, {split} hard"] = (scores[0], scores[1])
    return found


def text(found: Difference) -> str:
    """Return the difference as lines for a person."""
    return "\n".join([*_parts(found)]) or "no difference"


def _parts(found: Difference) -> Iterator[str]:
    yield from found.notes
    for key, values in found.settings.items():
        yield f"{key}: {' -> '.join(value or '(none)' for value in values)}"
    for name, (before, after) in found.scores.items():
        change = f" ({after - before:+.3f})" if before is not None and after is not None else ""
        yield f"{name}: {_number(before)} -> {_number(after)}{change}"
    if found.skill:
        yield f"\n{found.skill}" if found.settings or found.scores else found.skill
    elif found.scores:
        yield "the skills are equal"


def _number(value: float | None) -> str:
    return "no score" if value is None else f"{value:.3f}"
