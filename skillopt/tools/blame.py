"""For each line of a run's best skill: which step and edit brought it, from which failures, at what gain."""

import argparse
from collections.abc import Iterator

import msgspec

from skillopt.errors import ConfigError
from skillopt.naming import run_folder
from skillopt.report.lineage import Cause, Line, Lineage, Origin, lineage_of
from skillopt.report.record import RunRecord
from skillopt.texts import plain

UNEXPLAINED = (
    "no version that the run's folder holds is this text. The skill was changed by hand, or the folder has "
    "files of different runs."
)
SHOWN_IDS, SHOWN_PATTERNS = 12, 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line of `skillopt blame`."""
    parser.add_argument("run", type=run_folder, help="name of a run, or its folder (read)")
    parser.add_argument("--line", type=int, help="one line, counted from 1, with all that led to it")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="how to print it")


def main(args: argparse.Namespace) -> None:
    """Print the lineage."""
    record = RunRecord(args.run)
    lineage = lineage_of(record)
    if args.line is not None and not 1 <= args.line <= len(lineage.lines):
        raise ConfigError(
            f"--line: expected a line of {args.run / lineage.skill}, which has {len(lineage.lines)}, "
            f"found {args.line}"
        )
    for problem in record.files.problems:
        print(f"warning: {problem}")
    if args.format == "json":
        print(msgspec.json.format(msgspec.json.encode(lineage), indent=2).decode())
    else:
        print(plain(text(lineage, args.line)))


def text(lineage: Lineage, number: int | None = None) -> str:
    """Return the lines with their origins, then what each origin rests on."""
    lines = [line for at, line in enumerate(lineage.lines, 1) if number in (None, at)]
    start = 1 if number is None else number
    width = max((len(line.origin.what) for line in lines), default=0)
    score = "no score" if lineage.score is None else f"{lineage.metric} {lineage.score:.3f}"
    shown = [f"{lineage.run}: {lineage.skill}, {score} on {lineage.n} selection items"]
    for at, line in enumerate(lines, start):
        shown.append(f"{at:>4}  {line.origin.what:<{width}}  {_gain(line.origin):<14}  | {line.text}")
    return "\n".join([*shown, *_origins(lines, whole=number is not None)])


def _gain(origin: Origin) -> str:
    if origin.before is None or origin.after is None:
        return "" if origin.kind in ("initial", "unknown") else "no own score"
    return f"{origin.before:.3f} -> {origin.after:.3f}"


def _origins(lines: list[Line], *, whole: bool) -> Iterator[str]:
    """Tell once what each origin was: the edit, the items, the patterns, and the lines it changed."""
    seen: set[Origin] = set()
    for line in lines:
        if line.origin.kind == "initial" or not line.text.strip():
            continue
        if line.origin not in seen:
            seen.add(line.origin)
            yield f"\n{line.origin.what}: {_deed(line.origin)}"
            yield from _cause(line.origin.cause, whole=whole)
        if line.earlier:
            yield f"  changed ({line.earlier.origin.what}): {line.earlier.text}"


def _deed(origin: Origin) -> str:
    if origin.kind == "unknown":
        return UNEXPLAINED
    action = origin.action.replace("_", " ")
    if not origin.op:
        return action
    return f"{origin.op.replace('_', ' ')}, support {origin.support} ({origin.side}s), {action}"


def _cause(cause: Cause | None, *, whole: bool) -> Iterator[str]:
    if cause is None:
        return
    how = "proposed as it stands from" if cause.exact else "drawn from"
    ids = cause.ids if whole else cause.ids[:SHOWN_IDS]
    yield f"  {how} {len(cause.ids)} training items: {', '.join(ids)}{_more(cause.ids, ids)}"
    patterns = cause.patterns if whole else cause.patterns[:SHOWN_PATTERNS]
    if patterns:
        yield f"  patterns: {'; '.join(patterns)}{_more(cause.patterns, patterns)}"


def _more(every: tuple[str, ...], shown: tuple[str, ...]) -> str:
    return f" and {len(every) - len(shown)} more" if len(every) > len(shown) else ""
