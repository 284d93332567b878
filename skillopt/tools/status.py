"""Where a run stands: what is done, what failed, how it ended. Reads the run's files only."""

import argparse
from collections.abc import Mapping
from pathlib import Path

import msgspec

from skillopt.checked import checked_config, checked_plan, checked_summary
from skillopt.config.resolved import Resolved
from skillopt.errors import CorruptFile, ExitCode
from skillopt.files import read_json
from skillopt.naming import no_run, run_folder
from skillopt.phases.summary import Summary, rests_on, table
from skillopt.progress import ENGINE, Running, span_of
from skillopt.records import Gate, Plan, Scored
from skillopt.signs import read_signs
from skillopt.standing import Standing, StandingReader
from skillopt.texts import span
from skillopt.times import Times, read_times

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
    """Where a run stands.

    `again` counts the steps whose files of before a change lie there and will be made anew; `outdated`: there
    is a summary, of what the run was before a change; `best_made`: best_skill.md is of the run as it is now.
    `current` and `best` are skills with their scores, and the last one may have got its own after `last`, the
    last decision. `times` is the wall time of all jobs.
    """

    run: str
    steps_done: int
    steps: int
    next_phase: str
    last: Gate | None
    current: Scored | None
    best: Scored | None
    failures: tuple[FailedPhase, ...]
    summary: Summary | None
    outdated: bool = False
    best_made: bool = False
    again: int = 0
    times: Times = Times()

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
    plan, resolved = read_records(run)
    standing = StandingReader(run).look(plan, resolved)
    return status_of(run, plan, resolved, standing, read_signs(run))


def read_records(run: Path) -> tuple[Plan | None, Resolved]:
    """Read the plan, when there is one, and the configuration; raises ConfigError when it is no run."""
    if not (run / "config.json").exists():
        raise no_run(run)
    plan = checked_plan(run / "plan.json") if (run / "plan.json").exists() else None
    return plan, checked_config(run / "config.json")


def status_of(
    run: Path, plan: Plan | None, resolved: Resolved, standing: Standing, signs: Mapping[str, Running]
) -> Status:
    """Return where a run stands, given which of its files belong to it."""
    summary = checked_summary(run / "summary.json") if (run / "summary.json").exists() else None
    outdated = summary is not None and not _is_of(summary, run, plan, resolved, standing)
    last = read_json(run / standing.gates[-1], Gate) if standing.gates else None
    current, best = _scored_skills(run, last, standing) if last else (None, None)
    return Status(
        run=run.name,
        steps_done=standing.steps_done,
        steps=len(plan.steps) if plan else 0,
        again=standing.again,
        next_phase="" if summary and not outdated else _next_phase(run, standing),
        last=last,
        current=current,
        best=best,
        failures=failed_phases(run),
        summary=None if outdated else summary,
        outdated=outdated,
        best_made=_best_is_made(run, standing),
        times=times_of(run, signs),
    )


def _best_is_made(run: Path, standing: Standing) -> bool:
    name = "best_skill.md"
    return standing.complete and (run / name).exists() and not standing.is_of_before(name)


def _scored_skills(run: Path, last: Gate, standing: Standing) -> tuple[Scored, Scored]:
    """Return the current and the best skill; the end of training may have scored what no gate has seen."""
    current, chosen = last.state.current, run / "best_skill.json"
    if standing.is_of_before(chosen.name) or not chosen.exists():
        return current, last.state.best
    best = read_json(chosen, Scored)
    return (best if best.sha256 == current.sha256 else current), best


def _is_of(summary: Summary, run: Path, plan: Plan | None, resolved: Resolved, standing: Standing) -> bool:
    """Tell whether a summary is of the run as its configuration, plan and decisions are now."""
    return plan is not None and standing.complete and summary.rests_on == rests_on(run, resolved, plan)


def times_of(run: Path, signs: Mapping[str, Running]) -> Times:
    """Return the wall time of a run, with what is at work now and what was killed."""
    spans = [span_of(sign) for sign in signs.values() if sign.command != ENGINE]
    return read_times(run.parent / ".calls", run.name, spans)


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


def _next_phase(run: Path, standing: Standing) -> str:
    made = set(standing.gates)
    gate = next((name for name in standing.wanted if name not in made), "")
    if standing.wanted and not gate:
        if not _best_is_made(run, standing):
            return "best_skill.md, then final scores, summary and report"
        return (
            "final scores, summary and report, which skillopt train makes, with the same --set "
            "(best_skill.md is finished)"
        )
    number = int(Path(gate).parent.name.rpartition("_")[2]) if gate else 1
    if gate.startswith("slow_update/"):
        return f"the end of epoch {number}"
    step = max(number, 1)  # the first one runs beside the evaluation of the initial skill
    folder = f"steps/step_{step:04d}"
    files = {phase: f"{folder}/{name}" for phase, name in STEP_FILES.items()}
    missing = [
        phase for phase, name in files.items() if standing.is_of_before(name) or not (run / name).exists()
    ]
    return f"{missing[0]} of step {step}" if missing else "the score of the initial skill"


def again_in_words(status: Status) -> str:
    """Say what lies there from before a change, "" for nothing."""
    if not status.again:
        return ""
    steps = "1 step" if status.again == 1 else f"{status.again} steps"
    return f"again from step {status.steps_done + 1}: {steps} of before a change will be made anew"


def text(status: Status) -> str:
    """Return the status as lines for a person."""
    lines = [f"{status.run}: {status.steps_done} of {status.steps} steps done"]
    if again := again_in_words(status):
        lines.append(again)
    if status.times.seconds:
        lines.append(f"at work for {span(status.times.seconds)} in all")
    if status.last and status.current and status.best:
        of_epoch = status.last.phase == "slow_update"
        place = f"end of epoch {status.last.epoch}" if of_epoch else f"step {status.last.step}"
        lines.append(f"last decision: {place}, {status.last.action}")
        lines.append(
            f"{status.last.metric} on selection: current {_number(status.current.score.value)}, "
            f"best {_number(status.best.score.value)} ({status.best.skill})"
        )
    for failure in status.failures:
        name = failure.code.name.lower().replace("_", " ")
        lines.append(f"failed: {failure.command} ({name}): {failure.message}")
    if status.outdated:
        lines.append(
            "summary.json is from before a change"  # what to do is said by what comes next
            if status.best_made
            else "summary.json and best_skill.md are from before a change: run the same command again"
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
