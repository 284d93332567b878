"""What happened, one record per step and epoch boundary."""

import argparse
import csv
import io
from pathlib import Path

import msgspec

from skillopt.config.resolved import read_resolved
from skillopt.files import read_json, write_json, write_text
from skillopt.records import Gate, Merged, Plan, Reflections, Selected, Update


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the history: a step, or the slow update at the end of an epoch."""

    epoch: int
    step: int
    phase: str
    action: str
    metric: str
    candidate: float | None
    compared: float | None
    paired: int
    left_out: int
    at_most: float | None
    current: float | None
    best: float | None
    best_skill: str
    improved: int
    regressed: int
    failed: int | None = None
    rows: int | None = None
    groups: int | None = None
    groups_without_answer: int | None = None
    merged: int | None = None
    budget: int | None = None
    selected: int | None = None
    clipped: int | None = None
    applied: int | None = None
    notes_added: int | None = None
    skill_chars: int | None = None


def event_of(gate: Gate) -> Event:
    """Return the event of one gate record."""
    return Event(
        epoch=gate.epoch,
        step=gate.step,
        phase=gate.phase,
        action=gate.action,
        metric=gate.metric,
        candidate=gate.candidate.value if gate.candidate and not gate.left_out else None,
        compared=gate.compared.value if gate.compared else None,
        paired=gate.paired,
        left_out=gate.left_out,
        at_most=gate.at_most,
        current=gate.state.current.score.value,
        best=gate.state.best.score.value,
        best_skill=gate.state.best.skill,
        improved=len(gate.improved),
        regressed=len(gate.regressed),
    )


def with_step(event: Event, folder: Path) -> Event:
    """Add what the step's own files tell."""
    reflections = read_json(folder / "reflections.json", Reflections)
    merged = read_json(folder / "merged.json", Merged)
    selected = read_json(folder / "patch.json", Selected)
    update = read_json(folder / "update.json", Update)
    return msgspec.structs.replace(
        event,
        failed=reflections.failed,
        rows=reflections.rows,
        groups=len(reflections.groups),
        groups_without_answer=sum(group.patch is None for group in reflections.groups),
        merged=merged.patch.size,
        budget=selected.budget,
        selected=selected.patch.size,
        clipped=selected.clipped.size,
        applied=sum(report.status.startswith("applied") for report in update.edits),
        notes_added=update.notes_added,
        skill_chars=update.chars_after,
    )


def history(run: Path, plan: Plan, slow_update: bool) -> list[Event]:
    """Return the events of a finished run in order."""
    events = [event_of(read_json(run / "steps/step_0000/gate.json", Gate))]
    for epoch in plan.epochs:
        for step in range(epoch.first_step, epoch.last_step + 1):
            folder = run / f"steps/step_{step:04d}"
            events.append(with_step(event_of(read_json(folder / "gate.json", Gate)), folder))
        if slow_update:
            gate = read_json(run / f"slow_update/epoch_{epoch.epoch:02d}/gate.json", Gate)
            events.append(event_of(gate))
    return events


def as_csv(events: list[Event]) -> str:
    """Return the events as comma-separated values; unknown is an empty field."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=Event.__struct_fields__, lineterminator="\n")
    writer.writeheader()
    writer.writerows(msgspec.structs.asdict(event) for event in events)
    return text.getvalue()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line of `skillopt history`."""
    parser.add_argument("--config", type=Path, required=True, help="config.json of the run (read)")
    parser.add_argument(
        "--plan", type=Path, required=True, help="plan.json; the run's folder is its own (read)"
    )
    parser.add_argument("--out", type=Path, required=True, help="history.json (written)")
    parser.add_argument("--csv", type=Path, required=True, help="history.csv (written)")


def main(args: argparse.Namespace) -> None:
    """Run the phase."""
    slow_update = read_resolved(args.config).settings.optimizer.use_slow_update
    events = history(args.plan.parent, read_json(args.plan, Plan), slow_update)
    write_json(args.out, events)
    write_text(args.csv, as_csv(events))
