"""Evaluated skills side by side: one table, the items of each, and every skill against the first."""

import argparse
import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from skillopt.config.resolved import read_resolved
from skillopt.data import canonical_split
from skillopt.decisions.paired import RESAMPLES, bootstrap_interval, mcnemar
from skillopt.decisions.pairs import classify
from skillopt.decisions.repeats import differences, item_means
from skillopt.decisions.scoring import mean, results_of
from skillopt.errors import CorruptFile
from skillopt.files import read_json, read_jsonl, write_json, write_text
from skillopt.phases.evaluate import Protocol, Scores, SplitScore
from skillopt.phases.repeat import passes_of
from skillopt.phases.table_text import table_text
from skillopt.records import Comparison, Comparisons, Difference, Repeated, Repeats, Row, Spreads


class Evaluated(msgspec.Struct, frozen=True, kw_only=True):
    """A skill of `table.json`: its scores, and their spread when the items were done several times."""

    skill: str
    scores: Scores
    repeats: Repeats | None


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """`table.json`: several skills on the same split."""

    run: str
    split: str
    skills: tuple[Evaluated, ...]


def compare(names: tuple[str, str], passes: Sequence[Sequence[Sequence[Row]]], seed: int) -> Comparison:
    """Compare two skills by their passes over the same items; the first one is the baseline."""
    pairs, dropped = classify(passes[0][0], passes[1][0])
    kinds = {
        kind: tuple(pair.id for pair in pairs if pair.kind == kind)
        for kind in ("improved", "regressed", "stable_success", "persistent_fail")
    }
    before, after = (item_means([results_of(rows) for rows in side]) for side in passes)
    return Comparison(
        baseline=names[0],
        skill=names[1],
        paired=len(pairs),
        dropped=dropped,
        improved=kinds["improved"],
        regressed=kinds["regressed"],
        stable_success=len(kinds["stable_success"]),
        persistent_fail=len(kinds["persistent_fail"]),
        p_value=mcnemar(len(kinds["improved"]), len(kinds["regressed"])),
        hard=_difference(differences(before, after, 0), seed),
        soft=_difference(differences(before, after, 1), seed),
    )


def _difference(values: Sequence[float], seed: int) -> Difference:
    return Difference(mean=mean(values), interval=bootstrap_interval(values, seed))


def as_csv(table: Table) -> str:
    """Return one line per skill and task type ("" is all of them); unknown is an empty field."""
    lines = []
    for entry in table.skills:
        repeats = entry.repeats
        lines.append(_csv_line(entry, "", entry.scores.overall, repeats.overall if repeats else None))
        for kind, scored in entry.scores.task_types.items():
            lines.append(_csv_line(entry, kind, scored, repeats.task_types[kind] if repeats else None))
    return _csv(lines)


def _csv_line(entry: Evaluated, kind: str, scored: SplitScore, spreads: Spreads | None) -> dict[str, object]:
    hard, soft = scored.hard_interval or (None, None), scored.soft_interval or (None, None)
    return {
        "skill": entry.skill,
        "task_type": kind,
        "n": scored.score.n,
        "total": scored.score.total,
        "coverage": scored.coverage,
        "hard": scored.score.hard,
        "hard_low": hard[0],
        "hard_high": hard[1],
        "soft": scored.score.soft,
        "soft_low": soft[0],
        "soft_high": soft[1],
        "repeats": entry.repeats.repeats if entry.repeats else 1,
        "hard_mean": spreads.hard.mean if spreads else None,
        "hard_deviation": spreads.hard.deviation if spreads else None,
        "soft_mean": spreads.soft.mean if spreads else None,
        "soft_deviation": spreads.soft.deviation if spreads else None,
        "statuses": " ".join(f"{status}={count}" for status, count in scored.statuses.items()),
    }


def items_csv(rows: Mapping[str, Sequence[Row]]) -> str:
    """Return one line per item, with status and scores (first pass) under each skill."""
    first = next(iter(rows.values()))
    lines: list[dict[str, object]] = [{"id": row.id, "task_type": row.task_type} for row in first]
    for name, found in rows.items():
        for line, row in zip(lines, found, strict=True):
            line |= {f"{name} hard": row.hard, f"{name} soft": row.soft, f"{name} status": row.status}
    return _csv(lines)


def _csv(lines: Sequence[Mapping[str, object]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(lines[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return text.getvalue()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line of `skillopt tabulate`."""
    parser.add_argument("--config", type=Path, required=True, help="config.json of the run (read)")
    parser.add_argument("--split", required=True, help="train, val or test")
    parser.add_argument(
        "--scores",
        type=Path,
        nargs="+",
        required=True,
        help="scores.json of each skill, in a folder of its name beside the rows; the first is compared "
        "with the others (read)",
    )
    parser.add_argument("--repeats", type=Path, nargs="*", default=[], help="their repeats.json (read)")
    parser.add_argument("--table", type=Path, required=True, help="table.json (written)")
    parser.add_argument("--csv", type=Path, required=True, help="the table as CSV (written)")
    parser.add_argument("--text", type=Path, required=True, help="the table for people (written)")
    parser.add_argument("--item-csv", type=Path, required=True, help="the scores of each item (written)")
    parser.add_argument("--comparison", type=Path, required=True, help="comparison.json (written)")


def main(args: argparse.Namespace) -> None:
    """Run the phase."""
    seed = read_resolved(args.config).settings.train.seed
    split = canonical_split(args.split)
    repeats = {path.parent.name: path for path in args.repeats}
    skills, passes = [], {}
    for path in args.scores:
        name = path.parent.name
        again = repeats.get(name)
        skills.append(
            Evaluated(
                skill=name,
                scores=read_json(path, Scores),
                repeats=read_json(again, Repeats) if again else None,
            )
        )
        rows = read_jsonl(path.with_name("rollouts.jsonl"), Row)
        passes[name] = passes_of(rows, read_jsonl(again.with_suffix(".jsonl"), Repeated) if again else [])
    _require_same_items(passes)
    _require_same_protocol({entry.skill: entry.scores.protocol for entry in skills})
    table = Table(run=args.config.parent.name, split=split, skills=tuple(skills))
    first, *others = passes
    found = Comparisons(
        split=split,
        seed=seed,
        resamples=RESAMPLES,
        comparisons=tuple(compare((first, name), (passes[first], passes[name]), seed) for name in others),
    )
    write_json(args.table, table)
    write_text(args.csv, as_csv(table))
    write_text(args.item_csv, items_csv({name: found[0] for name, found in passes.items()}))
    write_json(args.comparison, found)
    write_text(args.text, table_text(table, found.comparisons))


def _require_same_items(passes: Mapping[str, Sequence[Sequence[Row]]]) -> None:
    ids = {name: [row.id for row in found[0]] for name, found in passes.items()}
    first = next(iter(ids))
    for name, found in ids.items():
        if found != ids[first]:
            raise CorruptFile(
                f"expected the same items in the rows of {first} and {name}, found others. Delete the "
                "folder of the older one in eval/ and run the same command again."
            )


def _require_same_protocol(protocols: Mapping[str, Protocol]) -> None:
    first, *others = protocols
    for name in others:
        different = list(_differences(protocols[first], protocols[name]))
        if different:
            raise CorruptFile(
                f"expected scores of {first} and {name} that were taken in the same way, found differences: "
                f"{', '.join(different)}. Delete the folder of the older one in eval/ and run the same "
                "command again."
            )


def _differences(one: Protocol, other: Protocol) -> Iterator[str]:
    if one.items != other.items:
        yield "content of the items"
    if one.prompts != other.prompts:
        yield "text that the target is told"
    for key in sorted(one.settings.keys() | other.settings.keys()):
        if one.settings.get(key) != other.settings.get(key):
            yield f"{key} ({one.settings.get(key)}, {other.settings.get(key)})"
