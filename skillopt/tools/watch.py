"""One live screen of a run: what it does, how it scores, what it decided and spent. Reads its files only.

It ends with the run, and shows a finished, failed or dead one as it is.
"""

import argparse
import time
from collections.abc import Iterable, Sequence

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from skillopt.models.ledger import Totals, spent
from skillopt.models.prices import dollars
from skillopt.naming import run_folder
from skillopt.progress import Part
from skillopt.texts import plain, span
from skillopt.tools.live import Phase, View, Viewer
from skillopt.tools.status import again_in_words

_STYLES = {"running": "bold cyan", "finished": "bold green", "failed": "bold red", "dead": "bold red"}
_MARGIN = (0, 2, 0, 0)
_SPENT = ("calls made", "replayed", "tokens in", "tokens out", "USD")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line of `skillopt watch`."""
    parser.add_argument("run", type=run_folder, help="name of a run, or its folder (read)")
    parser.add_argument("--once", action="store_true", help="print it once, for pipes")
    parser.add_argument("--every", type=float, default=2.0, help="seconds between two looks")


def main(args: argparse.Namespace) -> None:
    """Show the run until it is over; once where the output is no terminal."""
    viewer = Viewer(args.run)
    console = Console(highlight=False, emoji=False)
    view = viewer.look()
    if view.condition == "running" and console.is_terminal and not args.once:
        view = _follow(viewer, view, console, args.every)
    console.print(frame(view))


def _follow(viewer: Viewer, view: View, console: Console, every: float) -> View:
    try:
        with Live(frame(view), console=console, screen=True, auto_refresh=False) as live:
            while view.condition == "running":
                time.sleep(every)
                view = viewer.look()
                live.update(frame(view), refresh=True)
    except KeyboardInterrupt:
        return view
    return view


def frame(view: View) -> RenderableType:
    """Return the whole screen."""
    parts: list[RenderableType] = [_head(view)]
    if view.phases:
        title = "at work" if view.condition == "running" else "was at work"
        parts += [Rule(title, align="left"), _phases(view.phases)]
    parts += [Rule("scores on the selection split", align="left"), _scores(view)]
    if view.decisions:
        parts += [Rule("last decisions", align="left"), *(Text(clean(line)) for line in view.decisions)]
    parts += [Rule("spent", align="left"), _spend(view)]
    if view.errors:
        said = ", ".join(f"{count} {kind}" for kind, count in view.errors.items())
        parts += [Rule("failed attempts", align="left"), Text(clean(said))]
    return Group(*parts)


def clean(text: str) -> str:
    """Return a text on one line without control characters: what models and providers say is no command."""
    return plain(text, kept="", mark=" ")


def _head(view: View) -> RenderableType:
    status = view.status
    steps = f"step {status.steps_done} of {status.steps}"
    where = f"epoch {min(epoch(view), view.epochs)} of {view.epochs}"
    head = Text.assemble(
        (clean(status.run), "bold"), "  ", (view.condition, _STYLES.get(view.condition, "bold yellow")), "  "
    )
    head.append(f"{where}, {steps}")
    if view.seconds is not None:
        head.append(f", for {span(view.seconds)}")
    lines: list[RenderableType] = [head, _bar(status.steps_done, status.steps, 40)]
    if again := again_in_words(status):
        lines.append(Text(again))
    if view.note:
        lines.append(Text(clean(view.note)))
    return Group(*lines)


def epoch(view: View) -> int:
    """Return the epoch that a run is in, one more than it has when it is past them."""
    per_epoch = max(view.status.steps // max(view.epochs, 1), 1)
    return view.status.steps_done // per_epoch + 1


def _bar(done: int, total: int, width: int) -> Text:
    filled = width * done // max(total, 1)
    return Text("#" * filled + "." * (width - filled))


def _phases(phases: Iterable[Phase]) -> Table:
    table = Table.grid(padding=_MARGIN)
    for wraps in (False, False, False, False, True):  # what does not fit goes on below in the last column
        table.add_column(no_wrap=not wraps)
    for phase in phases:
        for part in phase.sign.parts or (None,):
            table.add_row(Text(clean(phase.name)), *_part(part, phase))
    return table


def _part(part: Part | None, phase: Phase) -> tuple[RenderableType, ...]:
    if part is None:
        return Text(f"for {span(phase.sign.beat - phase.sign.started)}"), Text(), Text(), Text()
    left = "" if part.left is None or part.done == part.total else f"{span(part.left)} left"
    statuses = [f"{count} {status}" for status, count in part.statuses.items()]
    if part.hard is not None:
        statuses.append(f"mean hard {part.hard:.3f}")
    return (
        Text(f"{part.done}/{part.total}"),
        _bar(part.done, part.total, 10),
        Text(f"{part.rate:.1f}/s  {left}".rstrip()),
        Text(clean(", ".join(statuses))),
    )


def _scores(view: View) -> RenderableType:
    current, best = view.status.current, view.status.best
    if view.initial is None or view.last is None or current is None or best is None:
        return Text("none yet")
    first = view.initial.state.current
    table = Table.grid(padding=_MARGIN)
    for name, scored in (("initial", first), ("current", current), ("best", best)):
        score = scored.score
        value = "no score" if score.value is None else f"{view.last.metric} {score.value:.3f}"
        table.add_row(name, Text(value), Text(f"{score.n} of {score.total} items"), Text(clean(scored.skill)))
    if view.status.summary:
        for name in ("initial", "best", "last"):
            skill = view.status.summary.skills[name]
            if skill.test and skill.test.score.hard is not None:
                table.add_row(
                    f"{name}, test", Text(f"hard {skill.test.score.hard:.3f}"), f"{skill.test.score.n} items"
                )
    return table


def _spend(view: View) -> RenderableType:
    if not view.totals:
        return Text("nothing yet")
    table = Table.grid(padding=_MARGIN)
    table.add_row("", *(Text(name, justify="right") for name in _SPENT))
    for role in sorted({total.role for total in view.totals}):
        mine = [total for total in view.totals if total.role == role]
        table.add_row(role, *(Text(cell, justify="right") for cell in amounts(mine)))
    lines: list[RenderableType] = [table]
    if view.caps.any:
        lines.append(Text(caps(view)))
    if view.status.times.seconds:
        lines.append(Text(f"at work for {span(view.status.times.seconds)} in all"))
    return Group(*lines)


def amounts(totals: Sequence[Totals]) -> tuple[str, ...]:
    """Return calls made and replayed, tokens in and out, and cost, as text."""
    found = spent(totals)
    return (
        f"{found.made:,}",
        f"{found.replayed:,}",
        _number(found.prompt),
        _number(found.completion),
        dollars(found.cost),
    )


def _number(number: int | None) -> str:
    return "unknown" if number is None else f"{number:,}"


def caps(view: View) -> str:
    """Return what a run has spent of its budget, as a line."""
    found = spent(view.totals)
    parts = []
    if view.caps.calls:
        parts.append(f"{found.made:,} of {view.caps.calls:,} calls")
    if view.caps.tokens:
        parts.append(f"{_number(found.tokens)} of {view.caps.tokens:,} tokens")
    if view.caps.cost:
        parts.append(f"{dollars(found.cost)} of {dollars(view.caps.cost)}")
    return f"budget: {', '.join(parts)}"
