"""The result: the skill with the highest selection score, the earliest on ties."""

import argparse
from pathlib import Path

from skillopt.config.resolved import read_resolved
from skillopt.decisions.gate import GateRule, strictly_better
from skillopt.errors import CorruptFile
from skillopt.files import read_json, read_jsonl, read_text, write_json, write_text
from skillopt.phases.gate import Files, gate_rule, scored
from skillopt.records import Gate, Row, Scored
from skillopt.skill import sha256


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
    last = None
    if args.last_rows:
        files = Files(
            skill=args.last.relative_to(run).as_posix(), rows=args.last_rows.relative_to(run).as_posix()
        )
        last = scored(read_text(args.last), read_jsonl(args.last_rows, Row), files, rule)
    best = best_of(read_json(args.gates[-1], Gate), last, rule)
    text = read_text(run / best.skill)
    if sha256(text) != best.sha256:
        raise CorruptFile(
            f"{run / best.skill}: expected the text that was scored (SHA-256 {best.sha256}), found another. "
            "Delete the file and run the same command again."
        )
    write_text(args.out, text)
    write_json(args.record, best)
