"""The numbers of a run, worked out again from its rows and decisions, not taken over from a summary."""

from collections import Counter
from collections.abc import Sequence

import msgspec

from skillopt.decisions.scoring import Metric, results_of, score
from skillopt.models.ledger import Totals, per_phase
from skillopt.phases.evaluate import SplitScore, by_task_type, split_score
from skillopt.records import Gate, Row
from skillopt.report.record import Decision, RunRecord
from skillopt.skill import sha256, visible
from skillopt.times import PhaseTime, Times

MOST_PATTERNS = 20


class SkillScores(msgspec.Struct, frozen=True, kw_only=True):
    """One skill: `selection` and `test` are None where there are no rows; `chars` is its size."""

    name: str
    title: str
    chars: int | None
    selection: SplitScore | None
    test: SplitScore | None
    task_types: dict[str, SplitScore]


class Measure(msgspec.Struct, frozen=True, kw_only=True):
    """One mean with its 95% interval, over `n` items; None without a score."""

    mean: float | None
    low: float
    high: float
    n: int


def measure(found: SplitScore, kind: str) -> Measure:
    """Take the hard or the soft mean out of a split's scores."""
    bounds = found.hard_interval if kind == "hard" else found.soft_interval
    low, high = bounds or (0.0, 1.0)
    mean = found.score.hard if kind == "hard" else found.score.soft
    return Measure(mean=mean, low=low, high=high, n=found.score.n)


class Patterns(msgspec.Struct, frozen=True, kw_only=True):
    """Failure patterns by step, the most frequent first; `rest` more are not among the rows."""

    steps: tuple[int, ...]
    rows: tuple[tuple[str, tuple[int, ...]], ...]
    rest: int


def skills_of(record: RunRecord) -> tuple[SkillScores, ...]:
    """Return the scores of the initial, the best and the last skill, as far as there are any."""
    gate = record.last_gate
    if gate is None:
        return ()
    so_far = "" if record.finished else " so far"
    last = record.done[-1].after
    best = record.best or gate.state.best
    named = (
        ("initial", "initial skill", "skills/skill_v0000.md", "eval/val/initial/rollouts.jsonl"),
        ("best", f"best skill{so_far}", record.best_skill(), best.origin),
        ("last", f"last skill{so_far}", last, _last_rows(record, gate, last)),
    )
    return tuple(_skill(record, *entry) for entry in named)


def _last_rows(record: RunRecord, gate: Gate, path: str) -> str:
    text = record.files.text(path)
    fallback = "eval/val/last/rollouts.jsonl"
    return gate.state.scored.get(sha256(visible(text)), fallback) if text is not None else fallback


def _skill(record: RunRecord, name: str, title: str, path: str, rows: str) -> SkillScores:
    text = record.files.text(path)
    selection = record.files.rows(rows)
    test = record.files.rows(f"eval/test/{name}/rollouts.jsonl")
    return SkillScores(
        name=name,
        title=title,
        chars=len(text) if text is not None else None,
        selection=split_score(selection) if selection else None,
        test=split_score(test) if test else None,
        task_types=by_task_type(test),
    )


def batch_score(record: RunRecord, rows: Sequence[Row]) -> float | None:
    """Score the rows of a training batch in the metric of the gate."""
    weight = record.resolved.settings.evaluation.gate_mixed_weight if record.resolved else 0.5
    metrics: dict[str, Metric] = {"hard": "hard", "soft": "soft", "mixed": "mixed"}
    return score(results_of(rows), metrics[record.metric], weight).value


def patterns_of(record: RunRecord) -> Patterns:
    """Count the failures of each pattern by step, by type where the descriptions are too many."""
    steps = [decision for decision in record.done if decision.is_step]
    counts = _counted(steps, "description")
    if len(counts) > MOST_PATTERNS:
        counts = _counted(steps, "failure_type")
    ordered = sorted(counts.items(), key=lambda entry: (-sum(entry[1].values()), entry[0]))
    numbers = tuple(decision.step for decision in steps)
    return Patterns(
        steps=numbers,
        rows=tuple((name, tuple(found[n] for n in numbers)) for name, found in ordered[:MOST_PATTERNS]),
        rest=max(0, len(ordered) - MOST_PATTERNS),
    )


def _counted(steps: Sequence[Decision], field: str) -> dict[str, Counter[int]]:
    found: dict[str, Counter[int]] = {}
    for decision in steps:
        digest = decision.gate.digest if decision.gate else None
        for pattern in digest.patterns if digest else ():
            found.setdefault(getattr(pattern, field), Counter())[decision.step] += pattern.count
    return found


def times_of(record: RunRecord) -> Times:
    """Return the wall time of the run and of its phases."""
    accounts = record.accounts()
    return accounts.times if accounts else Times()


def silent_phases(record: RunRecord) -> list[PhaseTime]:
    """Return the phases that took time and called no model, the longest first."""
    called = {total.phase for total in calls_of(record)}
    silent = [found for found in times_of(record).phases if found.phase not in called]
    return sorted(silent, key=lambda found: -found.seconds)


def calls_of(record: RunRecord) -> list[Totals]:
    """Return the calls per role and phase, the most tokens first within a role."""
    accounts = record.accounts()
    if accounts is None:
        return []
    return sorted(per_phase(accounts), key=lambda t: (t.role, -(t.usage.prompt or 0), t.phase))
