"""The figures of a run, each with the data that it shows."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import msgspec

from skillopt.files import write_text
from skillopt.models.ledger import Totals
from skillopt.models.prices import dollars
from skillopt.phases.evaluate import SplitScore
from skillopt.report.chart import Band, Bar, Chart, Interval, Mark, Marker, Series
from skillopt.report.facts import (
    Patterns,
    SkillScores,
    batch_score,
    calls_of,
    measure,
    patterns_of,
    skills_of,
)
from skillopt.report.plots import bars, curves, forest, grid
from skillopt.report.record import Decision, RunRecord
from skillopt.report.render import picture

Cell = str | float | int | None
MARKS: dict[str, tuple[str, Marker, int]] = {
    "accepted": ("candidate accepted", "up", 3),
    "rejected": ("rejected", "cross", 2),
    "given_up": ("given up early, at most", "below", 2),
    "forced": ("taken without the gate", "diamond", 5),
    "skipped": ("no candidate", "tick", 7),
}
"""Name, marker and colour of what became of a candidate."""
FATES = {
    "accepted": "accepted",
    "rejected": "rejected",
    "forced": "taken without the gate",
    "skipped": "without a candidate",
}
SKILL_MARKS: dict[str, tuple[Marker, int]] = {
    "initial": ("square", 7),
    "best": ("circle", 1),
    "last": ("diamond", 4),
}


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """A chart with its data: `figures/<key>.svg` and `figures/<key>.csv`."""

    key: str
    chart: Chart
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


def figures_of(record: RunRecord) -> dict[str, Figure]:
    """Return every figure of a run by its key; one without data says so."""
    skills = skills_of(record)
    made = (
        learning(record),
        scores(record.name, skills),
        task_types(record.name, skills),
        patterns(record.name, patterns_of(record)),
        usage(record.name, calls_of(record)),
    )
    return {figure.key: figure for figure in made}


def write_figures(folder: Path, figures: dict[str, Figure]) -> None:
    """Write all figures with their data."""
    for key, figure in figures.items():
        write_text(folder / f"{key}.svg", picture(figure.chart))
        write_text(folder / f"{key}.csv", as_csv(figure.header, figure.rows))


def as_csv(header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """Return comma-separated values; unknown is an empty field.

    A text that a spreadsheet would take for a formula gets an apostrophe before it.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([_plain(cell) for cell in row] for row in rows)
    return text.getvalue()


def _plain(cell: Cell) -> Cell:
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@") else cell


def fate(decision: Decision) -> str:
    """Return what became of a decision's candidate; "" where there is nothing to decide."""
    gate = decision.gate
    if gate is None or gate.action in ("initial", "inject"):
        return ""
    if gate.candidate is None:
        return "skipped"
    if gate.action == "force_accept":
        return "forced"
    return "accepted" if decision.taken else "rejected"


def learning(record: RunRecord) -> Figure:
    """Draw train batches, the current and the best score, and what became of each candidate."""
    done = record.done
    batches = [_batch(record, decision) for decision in done]
    current = [d.gate.state.current.score.value if d.gate else None for d in done]
    best = [d.gate.state.best.score.value if d.gate else None for d in done]
    metric = record.metric
    series = (
        Series(name="training batch", values=tuple(batches), colour=6, marker="ring", dash="1 4"),
        Series(name="current skill", values=tuple(current), colour=1, stepped=True),
        Series(name="best skill", values=tuple(best), colour=4, stepped=True, dash="7 4"),
    )
    kinds = {_kind(decision) for decision in done}
    used = [kind for kind in MARKS if kind in kinds]
    chart = curves(
        f"{record.name}: {metric} score over the run",
        _in_words(record, current, fates_in_words(done)) + _given_up(done),
        [_place(decision) for decision in done],
        series,
        marks=[mark for place, d in enumerate(done) if (mark := _mark(place, d, metric))],
        bands=_epochs(done),
        legend=[
            Mark(place=0, value=0, marker=MARKS[k][1], colour=MARKS[k][2], title=MARKS[k][0]) for k in used
        ],
    )
    rows = [
        (
            d.name,
            d.epoch,
            d.gate.action,
            batch,
            d.gate.reached if not d.gate.left_out else None,
            d.gate.left_out,
            d.gate.at_most,
            now,
            top,
        )
        for d, batch, now, top in zip(done, batches, current, best, strict=True)
        if d.gate
    ]
    header = (
        *("decision", "epoch", "action", "training_batch", "candidate", "left_out", "at_most"),
        *("current", "best"),
    )
    return Figure(key="learning", chart=chart, header=header, rows=tuple(rows))


def _batch(record: RunRecord, decision: Decision) -> float | None:
    if not decision.is_step:
        return None
    return batch_score(record, record.files.rows(f"{decision.folder}/rollouts.jsonl"))


def _place(decision: Decision) -> str:
    return (
        str(decision.step)
        if decision.is_step
        else "start"
        if decision.key == "start"
        else f"e{decision.epoch}"
    )


def _mark(place: int, decision: Decision, metric: str) -> Mark | None:
    kind = _kind(decision)
    gate = decision.gate
    if not kind or gate is None:
        return None
    value = gate.reached
    if gate.candidate and value is None:
        return None
    said = f"{decision.name}: {MARKS['rejected' if gate.left_out else kind][0]}"
    if value is not None:
        said += f", {metric} {'at most ' if gate.left_out else ''}{value:.3f}"
    if gate.compared and gate.compared.value is not None:
        said += f", compared with {gate.compared.value:.3f}"
    return Mark(place=place, value=value, marker=MARKS[kind][1], colour=MARKS[kind][2], title=said)


def _kind(decision: Decision) -> str:
    """Return the kind of a decision's mark, "" for none."""
    given_up = decision.gate is not None and decision.gate.left_out
    return "given_up" if given_up else fate(decision)


def _epochs(done: Sequence[Decision]) -> list[Band]:
    bands = []
    for epoch in sorted({decision.epoch for decision in done if decision.epoch}):
        places = [place for place, decision in enumerate(done) if decision.epoch == epoch]
        bands.append(Band(name=f"epoch {epoch}", first=places[0], last=places[-1]))
    return bands


def fates_in_words(decisions: Sequence[Decision]) -> str:
    """Count what became of the candidates: of the steps, and apart from them of the ends of epochs."""
    told = []
    for name, of_steps in (("steps", True), ("ends of epochs", False)):
        fates = [fate(decision) for decision in decisions if decision.is_step == of_steps]
        counts = [f"{fates.count(kind)} {words}" for kind, words in FATES.items() if kind in fates]
        if counts:
            told.append(f"{name}: {', '.join(counts)}")
    return "; ".join(told)


def _in_words(record: RunRecord, current: Sequence[float | None], counts: str) -> str:
    best = record.best.score.value if record.best else None
    if not current or current[0] is None or best is None:
        return "No score yet."
    scale = f"{record.metric} score on the selection split"
    told = f"The {scale} began at {current[0]:.3f}; the best is {best:.3f}."
    return f"{told} {counts[0].upper()}{counts[1:]}." if counts else told


def _given_up(decisions: Sequence[Decision]) -> str:
    count = sum(decision.gate is not None and decision.gate.left_out > 0 for decision in decisions)
    if not count:
        return ""
    who, each = ("1 candidate was", "it") if count == 1 else (f"{count} candidates were", "each")
    return f" {who} given up early: {each} stands at the most that it could have reached, not at a score."


def scores(run: str, skills: Sequence[SkillScores]) -> Figure:
    """Draw the scores of the initial, best and last skill on both splits with their intervals."""
    rows: list[Interval] = []
    data: list[tuple[Cell, ...]] = []
    for split in ("selection", "test"):
        for skill in skills:
            found = skill.selection if split == "selection" else skill.test
            if found:
                rows.append(_interval(f"{split} split, hard", skill.title, skill.name, found))
                data.append((split, skill.name, *_numbers(found)))
    chart = forest(f"{run}: scores with 95% intervals", "Mean of hard per skill and split.", rows)
    return Figure(key="scores", chart=chart, header=("split", "skill", *_NUMBERS), rows=tuple(data))


_NUMBERS = ("hard", "hard_low", "hard_high", "soft", "soft_low", "soft_high", "n", "total")


def _numbers(found: SplitScore) -> tuple[Cell, ...]:
    hard, soft = found.hard_interval or (None, None), found.soft_interval or (None, None)
    return (found.score.hard, *hard, found.score.soft, *soft, found.score.n, found.score.total)


def _interval(group: str, name: str, skill: str, found: SplitScore) -> Interval:
    value = measure(found, "hard")
    marker, colour = SKILL_MARKS[skill]
    return Interval(
        group=group,
        name=name,
        mean=value.mean,
        low=value.low,
        high=value.high,
        marker=marker,
        colour=colour,
        note=f"n = {value.n}",
    )


def task_types(run: str, skills: Sequence[SkillScores]) -> Figure:
    """Draw the test scores of each task type, under the initial and the best skill."""
    shown = [skill for skill in skills if skill.name != "last"]
    names = sorted({name for skill in shown for name in skill.task_types})
    rows: list[Interval] = []
    data: list[tuple[Cell, ...]] = []
    for name in names:
        for skill in shown:
            if found := skill.task_types.get(name):
                rows.append(_interval(name, skill.title, skill.name, found))
                data.append((name, skill.name, *_numbers(found)))
    chart = forest(f"{run}: test scores by task type", "Mean of hard per task type and skill.", rows)
    return Figure(key="task_types", chart=chart, header=("task_type", "skill", *_NUMBERS), rows=tuple(data))


def patterns(run: str, found: Patterns) -> Figure:
    """Draw how often each failure pattern was seen, step by step."""
    chart = grid(
        f"{run}: failure patterns in the training batches",
        f"Failures by pattern and step; {len(found.rows)} patterns.",
        [str(step) for step in found.steps],
        found.rows,
    )
    rows = [
        (name, step, n) for name, counts in found.rows for step, n in zip(found.steps, counts, strict=True)
    ]
    return Figure(key="patterns", chart=chart, header=("pattern", "step", "failures"), rows=tuple(rows))


def usage(run: str, totals: Sequence[Totals]) -> Figure:
    """Draw the tokens of the calls that were made, per role and phase."""
    rows = [
        Bar(
            name=f"{total.role}: {total.phase}",
            parts=((total.usage.prompt or 0, 1), (total.usage.completion or 0, 2)),
            note=f"{total.made:,} call{'s' if total.made > 1 else ''}"
            + (f", {dollars(total.cost)}" if total.cost is not None else ""),
        )
        for total in totals
        if total.made
    ]
    chart = bars(
        f"{run}: tokens by role and phase", "Tokens of the calls made.", rows, [("in", 1), ("out", 2)]
    )
    data = [(t.role, t.phase, t.made, t.replayed, t.failed, *_tokens(t), t.cost, t.seconds) for t in totals]
    header = ("role", "phase", "made", "replayed", "failed", "prompt", "cached", "completion", "reasoning")
    return Figure(key="usage", chart=chart, header=(*header, "cost_usd", "seconds"), rows=tuple(data))


def _tokens(total: Totals) -> tuple[Cell, ...]:
    used = total.usage
    return (used.prompt, used.cached, used.completion, used.reasoning)
