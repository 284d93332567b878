"""The table of evaluated skills as text for people."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from skillopt.phases.evaluate import SplitScore
from skillopt.records import Comparison, Difference, Spread

if TYPE_CHECKING:
    from skillopt.phases.tabulate import Evaluated, Table

Part = Literal["hard", "soft"]
_ALL = "all"
_WIDTH = 22


def table_text(table: "Table", comparisons: Sequence[Comparison]) -> str:
    """Return skills as columns, task types as lines, and below it what the comparisons say."""
    kinds = sorted({kind for entry in table.skills for kind in entry.scores.task_types})
    kinds = kinds if len(kinds) > 1 else []
    total = table.skills[0].scores.overall.score.total
    names = [f"{_ALL} ({total})", *(f"{kind} ({_size(table, kind)})" for kind in kinds)]
    label = max(len(name) for name in [*names, "items with a score"]) + 7
    width = max(_WIDTH, *(len(entry.skill) + 2 for entry in table.skills))
    lines = [f"{table.run}, {table.split} split", _line("", [e.skill for e in table.skills], label, width)]
    for part in ("hard", "soft"):
        for name, kind in zip(names, ["", *kinds], strict=True):
            cells = [cell(_scored(entry, kind), part) for entry in table.skills]
            lines.append(_line(f"{part}   {name}", cells, label, width))
        if any(entry.repeats for entry in table.skills):
            spreads = [_spread(entry, part) for entry in table.skills]
            lines.append(_line(f"{part}   over repeats", spreads, label, width))
    scores = [entry.scores.overall.score for entry in table.skills]
    lines.append(_line("items with a score", [f"{s.n} of {s.total}" for s in scores], label, width))
    return "\n".join([*lines, *_comparison_lines(comparisons)]) + "\n"


def cell(scored: SplitScore | None, part: Part) -> str:
    """Return a mean with its interval, or why there is none."""
    if scored is None:
        return "-"
    mean = scored.score.hard if part == "hard" else scored.score.soft
    bounds = scored.hard_interval if part == "hard" else scored.soft_interval
    if mean is None or bounds is None:
        return "no score"
    return f"{mean:.3f} [{bounds[0]:.2f}, {bounds[1]:.2f}]"


def _line(name: str, cells: Sequence[str], label: int, width: int) -> str:
    return (f"{name:<{label}}" + "".join(f"{text:>{width}}" for text in cells)).rstrip()


def _size(table: "Table", kind: str) -> int:
    return max(entry.scores.task_types[kind].score.total for entry in table.skills)


def _scored(entry: "Evaluated", kind: str) -> SplitScore | None:
    return entry.scores.task_types.get(kind) if kind else entry.scores.overall


def _spread(entry: "Evaluated", part: Part) -> str:
    if entry.repeats is None:
        return "-"
    found: Spread = getattr(entry.repeats.overall, part)
    if found.mean is None or found.deviation is None:
        return "no score"
    return f"{found.mean:.3f} ± {found.deviation:.3f} ({entry.repeats.repeats}x)"


def _comparison_lines(comparisons: Sequence[Comparison]) -> Iterator[str]:
    for found in comparisons:
        yield (
            f"{found.skill} against {found.baseline}: {len(found.improved)} improved, "
            f"{len(found.regressed)} regressed of {found.paired} (McNemar, exact, p = {found.p_value:.3g}); "
            f"hard {_change(found.hard)}, soft {_change(found.soft)}"
        )


def _change(found: Difference) -> str:
    if found.mean is None or found.interval is None:
        return "no score"
    return f"{found.mean:+.3f} [{found.interval[0]:+.3f}, {found.interval[1]:+.3f}]"
