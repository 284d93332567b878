"""Show what a run will take before it starts: epochs, steps, jobs; calls, tokens and cost per role and phase.

Nothing is written but `--out`, and no model is called. docs/budget.md says how the numbers are made.
"""

import argparse
import asyncio
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from skillopt.checked import checked_summary
from skillopt.config.resolve import load_run
from skillopt.config.resolved import Resolved
from skillopt.files import write_json
from skillopt.forecast.counts import Range
from skillopt.forecast.estimate import Amount, Forecast, forecast
from skillopt.models.estimates import CHARS_PER_TOKEN
from skillopt.naming import run_name
from skillopt.phases.plan import plan_run
from skillopt.phases.summary import rests_on
from skillopt.records import Plan
from skillopt.runs import Run
from skillopt.tools.train import run_file
from skillopt.tools.workflow import workflow_root

HEAD = ("role", "phase", "calls", "paid for", "held", "tokens in", "tokens out", "USD")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line of `skillopt plan`."""
    parser.add_argument("run", type=run_name, help="name of a run: config/<run>.yaml is read")
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help="overrides of the file")
    parser.add_argument("--store", type=Path, default=Path("results/.calls"), help="call store (read)")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="how to print it")
    parser.add_argument("--out", type=Path, help="plan.json: batches, seeds, edit budgets (written)")


def main(args: argparse.Namespace) -> None:
    """Print the forecast."""
    resolved = load_run(run_file(workflow_root(), args.run), args.set, os.environ)
    plan, splits = plan_run(args.run, resolved)
    found = asyncio.run(forecast(Run(resolved, plan, splits), args.store))
    if args.out:
        write_json(args.out, plan)
    if args.format == "json":
        print(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
    else:
        if _is_finished(args.store.parent / args.run, resolved, plan):
            print("the run is finished with these settings: nothing would be run. In all it took:\n")
        print(text(found))


def _is_finished(folder: Path, resolved: Resolved, plan: Plan) -> bool:
    path = folder / "summary.json"
    return path.exists() and checked_summary(path).rests_on == rests_on(folder, resolved, plan)


def headline(found: Forecast) -> str:
    """Return a forecast as one line."""
    total = found.total
    parts = [
        f"{found.run} in all: {_several(found.epochs, 'epoch')}, {_several(found.steps, 'step')}, "
        f"{_several(found.jobs, 'job')}",
        f"{_range(total.paid)} calls to pay for",
        f"about {_range(total.prompt + total.completion, _rough)} tokens",
    ]
    if total.cost is not None and found.prices:
        parts.append(f"{_cost(total)} USD by {found.prices}")
    if found.made:
        parts.append(f"this run has made {_several(found.made, 'call')} so far")
    if total.held:
        parts.append(f"of the {total.known:,} that are known now, the call store holds {total.held:,}")
    return "; ".join(parts)


def text(found: Forecast) -> str:
    """Return a forecast for a person."""
    rows = [HEAD, *cells(found)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    table = [
        "  ".join(
            cell.ljust(width) if column < 2 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    return "\n".join([headline(found), "", *table, "", *notes(found)])


def cells(found: Forecast) -> list[tuple[str, ...]]:
    """Return the table of a forecast below HEAD: a line per role and phase, the sum last."""
    lines = [line for line in found.lines if line.asks.high]
    return [*(_row(line.role, line.phase, line) for line in lines), _row("all", "", found.total)]


def _row(role: str, phase: str, amount: Amount) -> tuple[str, ...]:
    return (
        role,
        phase,
        _range(amount.asks),
        _range(amount.paid),
        f"{amount.held:,} of {amount.known:,}" if amount.known else "unknown",
        _range(amount.prompt, _rough),
        _range(amount.completion, _rough),
        _cost(amount),
    )


def notes(found: Forecast) -> Iterator[str]:
    """Yield what explains the table."""
    yield "models: " + ", ".join(f"{role} {name}" for role, name in found.models.items())
    if found.simulated:
        yield f"simulated, and free: {', '.join(found.simulated)}"
    yield from found.caps
    yield "calls: what the phases ask for; paid for: what the provider gets when the call store is empty."
    yield "held: replies in the call store, of the requests that are known before the run starts."
    yield (
        f"tokens: {CHARS_PER_TOKEN} characters each, of the real prompts; replies "
        + ("as long as this run's so far." if found.total.measured else "of a usual length.")
    )
    if found.total.most_paid > found.total.paid.high:
        yield (
            f"at most {found.total.most_paid:,} calls, if each answer of the optimizer has to be asked for "
            "again as often as is allowed (calls.answer_attempts)."
        )
    for model, others in found.unpriced.items():
        yield f"cost: unknown, since {found.prices} has no price for {model!r}{others}"
    if found.total.cost is None and not found.unpriced:
        yield "cost: unknown without a price table (calls.prices)."


def _whole(number: int) -> str:
    return f"{number:,}"


def _rough(number: int) -> str:
    """Return an estimate no more exactly than it is known."""
    if number < 10_000:
        return f"{number:,}"
    return f"{number / 1e3:.0f}k" if number < 1_000_000 else f"{number / 1e6:.2f}M"


def _range(found: Range, number: Callable[[int], str] = _whole) -> str:
    low, high = number(found.low), number(found.high)
    return low if low == high else f"{low}-{high}"


def _cost(amount: Amount) -> str:
    if amount.cost is None:
        return "unknown"
    low, high = (f"{value:.2f}" for value in amount.cost)
    return low if low == high else f"{low}-{high}"


def _several(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
