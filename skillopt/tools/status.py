"""Where a run stands: what is done, what failed, how it ended. Reads the run's files only."""

import argparse
from pathlib import Path

import msgspec

from skillopt.checked import checked_config, checked_plan, checked_summary
from skillopt.errors import ConfigError, CorruptFile, ExitCode
from skillopt.files import read_json
from skillopt.naming import run_folder
from skillopt.phases.summary import Summary, rests_on, table
from skillopt.records import Gate, Plan
from skillopt.runs import gate_files

STEP_FILES = {
    "rollout": "rollouts.jsonl",
    "reflect": "reflections.json",
    "aggregate": "merged.json",
    "select": "patch.json",
    "update": "update.json",
    "evaluate": "selection.jsonl",
    "gate": "gate.json",
}


class FailedPhase(msgspec.Struct, frozen=True, kw_only=True):
    """What a phase left when it failed, beside its log; gone when it succeeds."""

    command: str
    exit_code: int
    message: str

    @property
    def code(self) -> ExitCode:
        """Return the exit code by its name."""
        return ExitCode(self.exit_code)


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """Where a run stands. `outdated`: there is a summary, of what the run was before a change."""

    run: str
    steps_done: int
    steps: int
    next_phase: str
    last: Gate | None
    failures: tuple[FailedPhase, ...]
    summary: Summary | None
    outdated: bool = False

    @property
    def exit_code(self) -> ExitCode:
        """Return how the run ended, or that it has not."""
        if self.failures:
            return self.failures[0].code
        if self.summary:
            codes: dict[str, ExitCode] = {
                "improved": ExitCode.OK,
                "all_rejected": ExitCode.ALL_REJECTED,
                "none_better": ExitCode.NONE_BETTER,
                "nothing_proposed": ExitCode.NOTHING_PROPOSED,
            }
            return codes[self.summary.outcome]
        return ExitCode.UNFINISHED


def read_status(run: Path) -> Status:
    """Read a run's folder, finished or not; raises ConfigError when it is none."""
    if not (run / "config.json").exists():
        raise ConfigError(f"{run}: expected the folder of a run (with config.json), found none")
    plan = checked_plan(run / "plan.json") if (run / "plan.json").exists() else None
    done = sorted(run.glob("steps/step_*/gate.json"))
    summary = checked_summary(run / "summary.json") if (run / "summary.json").exists() else None
    outdated = summary is not None and not _is_of(summary, run, plan)
    records = gate_records(run, plan)
    return Status(
        run=run.name,
        steps_done=max(len(done) - 1, 0),
        steps=len(plan.steps) if plan else 0,
        next_phase="" if summary and not outdated else _next_phase(run, len(done), plan),
        last=read_json(records[-1], Gate) if records else None,
        failures=failed_phases(run),
        summary=None if outdated else summary,
        outdated=outdated,
    )


def _is_of(summary: Summary, run: Path, plan: Plan | None) -> bool:
    """Tell whether a summary is of the run as its configuration, plan and decisions are now."""
    resolved = checked_config(run / "config.json")
    return plan is not None and summary.rests_on == rests_on(run, resolved, plan)


def gate_records(run: Path, plan: Plan | None) -> list[Path]:
    """Return the gate records that are there, the oldest first, those of ends of epochs among them."""
    paths = [run / name for name in gate_files(plan, slow_update=True)] if plan else []
    return [path for path in paths if path.exists()]


def failed_phases(run: Path) -> tuple[FailedPhase, ...]:
    """Return the failures since the last summary (what failed before it is no longer part of the run).

    Those that were only interrupted come last.
    """
    summary = run / "summary.json"
    since = summary.stat().st_mtime_ns if summary.exists() else 0
    notes = (path for path in sorted(run.glob("logs/**/*.failure.json")) if path.stat().st_mtime_ns > since)
    found = [_failure(path) for path in notes]
    return tuple(sorted(found, key=lambda failure: failure.code == ExitCode.INTERRUPTED))


def _failure(path: Path) -> FailedPhase:
    failure = read_json(path, FailedPhase)
    if failure.exit_code not in set(map(int, ExitCode)):
        raise CorruptFile(
            f"{path}: expected an exit code of docs/exit-codes.md, found {failure.exit_code}. Delete the file"
        )
    return failure


def _next_phase(run: Path, gates: int, plan: Plan | None) -> str:
    step = max(gates, 1)
    if plan is not None and step > len(plan.steps):
        return "what follows the last step"
    folder = run / f"steps/step_{step:04d}"
    missing = [phase for phase, name in STEP_FILES.items() if not (folder / name).exists()]
    return f"{missing[0]} of step {step}" if missing else "end of the epoch"


def text(status: Status) -> str:
    """Return the status as lines for a person."""
    lines = [f"{status.run}: {status.steps_done} of {status.steps} steps done"]
    if status.last:
        state = status.last.state
        of_epoch = status.last.phase == "slow_update"
        place = f"end of epoch {status.last.epoch}" if of_epoch else f"step {status.last.step}"
        lines.append(f"last decision: {place}, {status.last.action}")
        lines.append(
            f"{status.last.metric} on selection: current {_number(state.current.score.value)}, "
            f"best {_number(state.best.score.value)} ({state.best.skill})"
        )
    for failure in status.failures:
        name = failure.code.name.lower().replace("_", " ")
        lines.append(f"failed: {failure.command} ({name}): {failure.message}")
    if status.outdated:
        lines.append(
            "summary.json and best_skill.md are those from before a change: run the same command again"
        )
    if status.summary and not status.failures:
        lines.append(table(status.summary).rstrip("\n"))
    elif not status.summary and status.next_phase:
        lines.append(f"next: {status.next_phase}")
    return "\n".join(lines)


def _number(value: float | None) -> str:
    return "no score" if value is None else f"{value:.4f}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line of `skillopt status`."""
    parser.add_argument("run", type=run_folder, help="name of a run, or its folder (read)")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="how to print it")


def main(args: argparse.Namespace) -> int:
    """Print the status; the exit code tells how the run ended."""
    status = read_status(args.run)
    if args.format == "json":
        print(msgspec.json.format(msgspec.json.encode(status), indent=2).decode())
    else:
        print(text(status))
    return int(status.exit_code)
