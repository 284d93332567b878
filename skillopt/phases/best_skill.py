"""The result: the skill with the highest selection score, the earliest on ties."""

import argparse
from pathlib import Path

from skillopt.config.resolved import read_resolved
from skillopt.decisions.gate import GateRule, strictly_better
from skillopt.errors import CorruptFile
from skillopt.files import read_json, read_jsonl, write_json, write_text
from skillopt.phases.gate import Files, gate_rule, scored
from skillopt.phases.recorded import read_recorded
from skillopt.records import Gate, Row, Scored


def best_of(gate: Gate, last: Scored | None, rule: GateRule) -> Scored:
    """Return the best skill after the last gate; `last` counts when it got its score afterwards."""
    best = gate.state.best
    return last if last is not None and strictly_better(last, best, rule) else best


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line of `skillopt best_skill`."""
    parser.add_argument("--config", type=Path, required=True, help="config.json of the run (read)")
    parser.add_argument(
        "--gates",
        type=Path,
        nargs="+",
        required=True,
        help="gate.json files, the oldest first; the last counts (read)",
    )
    parser.add_argument("--last", type=Path, required=True, help="skill at the end of training (read)")
    parser.add_argument(
        "--last-rows", type=Path, nargs="?", help="its selection rows, when no gate has seen it (read)"
    )
    parser.add_argument("--out", type=Path, required=True, help="best_skill.md (written)")
    parser.add_argument(
        "--record", type=Path, required=True, help="best_skill.json: origin and score (written)"
    )


def main(args: argparse.Namespace) -> None:
    """Run the phase."""
    run = args.config.parent
    rule = gate_rule(read_resolved(args.config).settings)
    final, last = read_json(args.gates[-1], Gate), None
    if args.last_rows:
        files = Files(
            skill=args.last.relative_to(run).as_posix(), rows=args.last_rows.relative_to(run).as_posix()
        )
        last = scored(_read_last(args, final), _read_last_rows(args.last_rows, final), files, rule)
    best = best_of(final, last, rule)
    text = read_recorded(run / best.skill, best.sha256, "the record of its score")
    write_text(args.out, text)
    write_json(args.record, best)


def _read_last(args: argparse.Namespace, final: Gate) -> str:
    return read_recorded(args.last, final.state.current.sha256, str(args.gates[-1]))


def _read_last_rows(path: Path, final: Gate) -> list[Row]:
    """Read the selection rows of the last skill; raises CorruptFile when they are of other items."""
    rows = read_jsonl(path, Row)
    if {row.id for row in rows} != final.state.current.results.keys():
        raise CorruptFile(
            f"{path}: expected a row for each of {len(final.state.current.results)} selection items, found "
            f"{len(rows)} rows. Delete the file and run the same command again; paid replies are kept in the "
            "call store."
        )
    return rows
