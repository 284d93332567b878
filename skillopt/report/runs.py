"""Any set of runs side by side: the settings that differ, scores with intervals, calls and cost."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from skillopt.errors import ConfigError
from skillopt.models.ledger import spent
from skillopt.phases.evaluate import SplitScore
from skillopt.phases.summary import simulated_roles
from skillopt.report.chart import Chart, Interval, Marker, Series
from skillopt.report.facts import calls_of, measure, skills_of
from skillopt.report.figures import Cell, fate
from skillopt.report.options import differing
from skillopt.report.page import state_of
from skillopt.report.plots import curves, forest
from skillopt.report.record import RunRecord
from skillopt.report.render import page

DASHES = ("", "7 4", "2 3", "10 3 2 3")
COLOURS = 6
MARKERS: tuple[Marker, ...] = ("circle", "square", "up", "diamond", "ring", "cross")
MOST_CURVES = COLOURS * len(DASHES)


class RunRow(msgspec.Struct, frozen=True, kw_only=True):
    """One run. `settings` are those that differ between the runs; counts are None where unknown.

    `accepted` and `rejected` count the candidates of steps and of ends of epochs, as the score table does.
    """

    run: str
    state: str
    simulated: bool
    steps: str
    accepted: int
    rejected: int
    settings: dict[str, str]
    selection_initial: SplitScore | None
    selection_best: SplitScore | None
    test_initial: SplitScore | None
    test_best: SplitScore | None
    skill_chars: int | None
    calls: int | None
    tokens: int | None
    cost: float | None


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """All rows, the kinds of scores that gates compared, and what makes scores hard to compare."""

    rows: tuple[RunRow, ...]
    settings: tuple[str, ...]
    kinds: tuple[str, ...]
    notes: tuple[str, ...]


def find_runs(folders: Sequence[Path], results: Path) -> list[RunRecord]:
    """Return the named runs, all of `results` when none is named; raises ConfigError for none."""
    wanted = list(folders) or sorted(path.parent for path in results.glob("*/config.json"))
    if not wanted:
        raise ConfigError(f"{results}: expected at least one run (a folder with config.json), found none")
    return [RunRecord(folder) for folder in wanted]


def named(records: Sequence[RunRecord]) -> dict[str, RunRecord]:
    """Name each run, by its folder where two have the same name."""
    names = [record.name for record in records]
    return {
        record.name if names.count(record.name) == 1 else record.folder.as_posix(): record
        for record in records
    }


def compare(records: Sequence[RunRecord], rows: Sequence[RunRow] | None = None) -> Comparison:
    """Put runs side by side, from their files alone; `rows` are those of `row_of`, if known."""
    runs = named(records)
    made = map(row_of, records) if rows is None else rows
    readable = {name: run.resolved for name, run in runs.items() if run.resolved}
    differ = differing(list(readable.values()), decisive=True)
    places = {name: place for place, name in enumerate(readable)}
    told = []
    for name, row in zip(runs, made, strict=True):
        settings = {key: values[places[name]] for key, values in differ.items() if name in places}
        told.append(msgspec.structs.replace(row, run=name, settings=settings))
    soft = any(run.metric != "hard" for run in runs.values())
    return Comparison(
        rows=tuple(told),
        settings=tuple(differ),
        kinds=("hard", "soft") if soft else ("hard",),
        notes=tuple(data_notes(runs)),
    )


def data_notes(runs: Mapping[str, RunRecord]) -> Iterator[str]:
    """Name the splits that are not the same in all runs: their scores cannot be compared."""
    for split in ("train", "val", "test"):
        groups: dict[str, list[str]] = {}
        for name, run in runs.items():
            if run.plan and split in run.plan.splits:
                groups.setdefault(run.plan.splits[split].sha256, []).append(name)
        if len(groups) > 1:
            sides = " | ".join(", ".join(names) for names in groups.values())
            warning = "" if split == "train" else ": scores on it are not comparable"
            yield f"the {split} split is not the same in all runs ({sides}){warning}"


def row_of(run: RunRecord) -> RunRow:
    """Return what is told of one run, without settings: which of them differ others decide."""
    skills = {skill.name: skill for skill in skills_of(run)}
    initial, best = skills.get("initial"), skills.get("best")
    fates = [fate(decision) for decision in run.done]
    calls = calls_of(run)
    found = spent(calls) if calls else None
    return RunRow(
        run=run.name,
        state=state_of(run),
        simulated=bool(run.resolved and simulated_roles(run.resolved)),
        steps=f"{run.steps_done}/{run.steps}",
        accepted=fates.count("accepted") + fates.count("forced"),
        rejected=fates.count("rejected"),
        settings={},
        selection_initial=initial.selection if initial else None,
        selection_best=best.selection if best else None,
        test_initial=initial.test if initial else None,
        test_best=best.test if best else None,
        skill_chars=best.chars if best else None,
        calls=found.made if found else None,
        tokens=found.tokens if found else None,
        cost=found.cost if found else None,
    )


COLUMNS = ("run", "state", "steps", "accepted", "rejected")
SCORES = ("selection_initial", "selection_best", "test_initial", "test_best")


def cells(comparison: Comparison) -> tuple[list[str], list[list[Cell]]]:
    """Return header and rows with a column for every number."""
    header = [*COLUMNS, "simulated", *comparison.settings]
    for name in SCORES:
        for kind in comparison.kinds:
            header += [f"{name}_{kind}", f"{name}_{kind}_low", f"{name}_{kind}_high"]
        header.append(f"{name}_n")
    header += ["skill_chars", "calls", "tokens", "cost_usd"]
    return header, [_cells(row, comparison) for row in comparison.rows]


def _cells(row: RunRow, comparison: Comparison) -> list[Cell]:
    found: list[Cell] = [getattr(row, name) for name in COLUMNS]
    found += ["yes" if row.simulated else "no", *(row.settings.get(key, "") for key in comparison.settings)]
    for name in SCORES:
        score: SplitScore | None = getattr(row, name)
        for value in [measure(score, kind) if score else None for kind in comparison.kinds]:
            known = value is not None and value.mean is not None
            found += [value.mean, value.low, value.high] if value and known else [None, None, None]
        found.append(score.score.n if score else None)
    return [*found, row.skill_chars, row.calls, row.tokens, row.cost]


def scores_chart(comparison: Comparison) -> Chart:
    """Draw the best skill of each run with its interval, the initial one as its note."""
    rows = []
    for split in ("test", "selection"):
        for number, row in enumerate(comparison.rows):
            best: SplitScore | None = getattr(row, f"{split}_best")
            initial: SplitScore | None = getattr(row, f"{split}_initial")
            if best is None or best.hard_interval is None:
                continue
            before = initial.score.hard if initial else None
            rows.append(
                Interval(
                    group=f"{split} split, hard, best skill",
                    name=row.run,
                    mean=best.score.hard,
                    low=best.hard_interval[0],
                    high=best.hard_interval[1],
                    marker=MARKERS[number % len(MARKERS)],
                    colour=number % COLOURS + 1,
                    note="" if before is None else f"from {before:.3f}",
                )
            )
    return forest("Best skill of each run", "Means of hard with 95% intervals.", rows)


def progress_chart(records: Sequence[RunRecord]) -> Chart:
    """Draw the best score so far of each run over its decisions."""
    runs = list(named(records).items())[:MOST_CURVES]
    most = max((len(run.done) for _, run in runs), default=0)
    series = []
    for number, (name, run) in enumerate(runs):
        values = [decision.gate.state.best.score.value if decision.gate else None for decision in run.done]
        series.append(
            Series(
                name=name,
                values=(*values, *[None] * (most - len(values))),
                colour=number % COLOURS + 1,
                dash=DASHES[number // COLOURS],
                marker=MARKERS[number % len(MARKERS)],
            )
        )
    left_out = len(records) - len(runs)
    summary = "Best selection score so far, decision by decision."
    summary += f" {left_out} further runs are not drawn." if left_out else ""
    places = ["start", *(str(number) for number in range(1, most))][:most]
    return curves("Best selection score so far", summary, places, series)


def render_runs(records: Sequence[RunRecord], comparison: Comparison) -> str:
    """Return the page that shows runs side by side."""
    return page(
        "runs.html.j2",
        comparison=comparison,
        scores=scores_chart(comparison),
        progress=progress_chart(records),
    )
