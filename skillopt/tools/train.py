"""Run the workflow for one run: typed overrides, a stale lock opened, an exit code that says how it ended.

The same as `snakemake results/<run>/best_skill.md results/<run>/report.html` with the shipped Snakefile,
with the lines of the phases only, and the score table at the end also when there was nothing to do.
"""

import argparse
import contextlib
import json
import logging
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil

from skillopt.basis import write_basis
from skillopt.config.resolve import load_run
from skillopt.decisions.gate import resolution
from skillopt.errors import ConfigError, ExitCode
from skillopt.files import make_folder
from skillopt.naming import RUN_NAME, known_ones, run_name
from skillopt.phases.plan import plan_run, write_records
from skillopt.places import require_folders
from skillopt.process import COMMAND_PID, STOPS, ask_jobs_to_end
from skillopt.progress import Running, forget_signs
from skillopt.runs import Run
from skillopt.signs import SILENCE, lives, read_signs
from skillopt.tools.status import Status, read_status, text
from skillopt.tools.workflow import workflow_root

log = logging.getLogger(__name__)

QUIET = ("--quiet", "host", "rules", "progress")
"""What the engine leaves out while a run lasts: the phases say themselves how far they are."""

RESULTS = ("best_skill.md", "summary.json", "report.html")
"""What a run is asked for. The engine does not make a file again for others that are there already."""

DRY_RUNS = frozenset({"-n", "--dry-run", "--dryrun"})
"""How the engine is told to run nothing."""

_PATIENCE = 10
"""Seconds after which an engine that goes on is interrupted: its jobs keep their replies for about five."""

_UTF8 = {"PYTHONUTF8": "1", "PYTHONIOENCODING": "utf-8:backslashreplace"}
"""The engine writes its log and its lines as this package does, whatever the terminal can show."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line of `skillopt train`."""
    parser.add_argument(
        "run", type=run_name, help="name of a run: config/<run>.yaml is read, results/<run>/ is written"
    )
    add_engine_arguments(parser, dry_run="show the training plan, run nothing")


def add_engine_arguments(parser: argparse.ArgumentParser, *, dry_run: str) -> None:
    """Declare what `engine_command` reads; `dry_run` says what that option does."""
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help="overrides of the file")
    parser.add_argument("--cores", type=int, default=8, help="jobs side by side")
    parser.add_argument("--verbose", action="store_true", help="show every job as the engine starts it")
    parser.add_argument("--dry-run", action="store_true", help=dry_run)
    parser.set_defaults(snakemake=[])
    parser.epilog = "What stands after -- is handed to snakemake."


def main(args: argparse.Namespace) -> int:
    """Run the workflow and return how the run ended."""
    root = workflow_root()
    file = run_file(root, args.run)
    if file.is_relative_to(root) and not Path.cwd().is_relative_to(root):
        log.warning("no %s here: the configuration that ships is used, %s", file.relative_to(root), file)
    resolved = load_run(file, args.set, os.environ)
    plan, splits = plan_run(args.run, resolved)
    require_folders(Path("results"), Run(resolved, plan, splits))
    log.info("the gate: %s", resolution(plan.splits["val"].used))
    get_ready(args)
    targets = [f"results/{args.run}/{name}" for name in RESULTS]
    code, interrupted = run_engine(engine_command(root, args, targets, []))
    if args.dry_run:
        return code
    results = Path("results") / args.run
    if code == 0 and not interrupted:  # with nothing to do the workflow has not said what is up to date
        write_records(results, resolved, plan)
        write_basis(results, Run(resolved, plan, splits))
    if interrupted:
        return say_interrupted()
    if code and is_locked():  # by another engine, which started in the same moment; ours is gone
        require_nobody_at_work()
    if code and not (results / "config.json").exists():
        return int(ExitCode.BAD_CONFIG)  # refused before the first job; the engine has said why
    status = read_status(results)
    print(f"\n{text(status)}")
    if code and not status.failures:  # killed, the engine's own, or no room for a note
        log.error(
            "the run has not ended: see above for the reason. What was paid for is kept; run the same "
            "command again to go on"
        )
    if status.summary and not code:
        print(f"the best skill: {results / 'best_skill.md'}")
        print(f"the report: {results / 'report.html'}")
    return int(ended(code, status))


def ended(code: int, status: Status) -> ExitCode:
    """Return how a run ended: with its outcome, or with the failure of a phase or of the engine."""
    if code == 0:
        return status.exit_code
    return status.failures[0].code if status.failures else ExitCode.UNEXPECTED


def get_ready(args: argparse.Namespace) -> None:
    """Open a stale lock and forget what failed or was killed: it is done again. Nothing of that in a dry run.

    Which may be asked for by an option of the engine's own, behind the `--`.
    """
    args.dry_run = args.dry_run or not DRY_RUNS.isdisjoint(args.snakemake)
    if args.dry_run:
        return
    make_folder(Path("results") / args.run)
    open_stale_lock()
    for note in (Path("results") / args.run).glob("logs/**/*.failure.json"):
        note.unlink()
    forget_signs(Path("results") / args.run)  # with nothing to do the workflow does not begin


def say_interrupted() -> int:
    """Say how to go on, and return the exit code."""
    log.warning("interrupted: run the same command again to go on; what was paid for is kept")
    return int(ExitCode.INTERRUPTED)


def run_engine(command: Sequence[str]) -> tuple[int, bool]:
    """Run the engine to its end; return its exit code and whether a signal ended it.

    What stops this process stops the jobs, which may have got it too (`process` takes it for one request).
    The engine ends when one of its jobs did not succeed, and opens its lock. It is not told with them: its
    own handler of SIGTERM waits for itself when it is at work on its jobs; only one that goes on, as when
    it had none, gets an interrupt. What was ignored from the start stays so (nohup).
    """
    received: list[int] = []
    stops = [number for number in STOPS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, lambda n, _: received.append(n)) for number in stops}
    try:
        engine = _start(command)
        asked: set[int] = set()
        rounds = 0
        while (code := _wait(engine)) is None:
            if received:
                ask_jobs_to_end(engine.pid, asked)
                rounds += 1
            if rounds == _PATIENCE:
                engine.send_signal(signal.SIGINT if signal.SIGINT in stops else signal.SIGTERM)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return code, bool(received) or code < 0 or code == ExitCode.INTERRUPTED


def _start(command: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start the engine with Ctrl-C held back, which it lets in when it is ready (`skillopt.snakemake`)."""
    held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return subprocess.Popen(command, env={**os.environ, **_UTF8, COMMAND_PID: str(os.getpid())})
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)


def _wait(engine: subprocess.Popen[bytes]) -> int | None:
    try:
        return engine.wait(timeout=1.0)
    except subprocess.TimeoutExpired:
        return None


def run_file(root: Path, run: str) -> Path:
    """Return the run's configuration in the working directory, else the one that ships.

    Raises ConfigError for a name that no run can have, or when there is no such file.
    """
    if not re.fullmatch(RUN_NAME, run):
        raise ConfigError(
            f"run {run!r}: expected a name of letters, digits, dots, dashes and underscores that begins with "
            "a letter or digit: the stem of a file in config/"
        )
    folders = [Path("config"), root / "config"]
    for folder in folders:
        path = folder / f"{run}.yaml"
        if path.is_file():
            return path
    names = {path.stem for folder in folders for path in folder.glob("*.yaml")} - {"config"}
    there = known_ones(run, sorted(names), "runs that are configured")
    raise ConfigError(f"run {run}: expected its configuration at config/{run}.yaml, found none{there}")


def engine_command(
    root: Path, args: argparse.Namespace, targets: Sequence[str], config: Sequence[str]
) -> list[str]:
    """Return the command line of the engine; `config` holds further `key=value` of its own configuration."""
    command = [sys.executable, "-m", "skillopt.snakemake", "--snakefile", str(root / "Snakefile")]
    command += ["--cores", str(args.cores), *args.snakemake]
    if args.dry_run:
        command.append("--dry-run")
    elif not args.verbose:
        command += QUIET
    # As a JSON list, which the engine reads as YAML: quotes, blanks and backslashes stay what they are.
    overrides = [f"set={json.dumps(args.set, ensure_ascii=False)}"] if args.set else []
    # The table is printed here, also when there was nothing to do.
    command += ["--config", "table=off", *overrides, *config]
    return [*command, "--", *targets]


def open_stale_lock() -> None:
    """Open the engine's lock when nobody who could hold it lives; raises ConfigError otherwise."""
    if not is_locked():
        return
    require_nobody_at_work()
    log.warning("opening the lock that a killed workflow left")
    with contextlib.suppress(FileNotFoundError):  # another start was quicker
        shutil.rmtree(".snakemake/locks")  # all that `snakemake --unlock` does, without a start of the engine


def is_locked() -> bool:
    """Tell whether an engine has locked this folder, be it one that was killed."""
    return any(Path(".snakemake/locks").glob("*"))


def require_nobody_at_work() -> None:
    """Raise ConfigError when the engine that locked this folder lives, here or on another machine."""
    owners = [process.pid for process in psutil.process_iter() if _works_here(process)]
    if owners:
        raise ConfigError(
            f"this folder is locked by a running workflow (process {owners[0]}): wait for it or stop it, "
            "then run the same command again"
        )
    for sign in signs_from_elsewhere(Path("results")):
        raise ConfigError(
            f"this folder is locked by a running workflow (process {sign.pid} on {sign.host}, alive within "
            f"{SILENCE:.0f} seconds): wait for it or stop it there, then run the same command again"
        )


def signs_from_elsewhere(results: Path) -> Iterator[Running]:
    """Yield what is at work on a run of this folder on another machine that shares it."""
    for run in results.glob("*"):
        for sign in read_signs(run).values():
            if sign.host != socket.gethostname() and lives(sign, time.time()):
                yield sign


def _works_here(process: psutil.Process) -> bool:
    try:
        engine = any("snakemake" in part for part in process.cmdline()[:4])
        return engine and process.pid != os.getpid() and Path(process.cwd()) == Path.cwd()
    except psutil.Error:  # gone meanwhile, or another user's
        return False
