"""The command line: one subcommand per phase, and a few for people."""

import argparse
import importlib
import logging
import os
import select
import shlex
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from skillopt.errors import ExitCode, SkillOptError
from skillopt.files import WriteError, write_json
from skillopt.made import MadeNote
from skillopt.models.base import CallError
from skillopt.progress import SUFFIX, Board
from skillopt.texts import plain

log = logging.getLogger("skillopt")

PHASES = {
    "config": "write config.json: the resolved configuration of a run",
    "initial_skill": "write the skill that training starts from",
    "preflight": "one tiny call to each model before the first paid phase",
    "rollout": "the target does the items of a step with the current skill",
    "reflect": "the optimizer reads trajectories and proposes changes",
    "aggregate": "merge the proposed changes",
    "select": "rank the merged changes and cut them to the edit budget",
    "update": "apply the selected changes: the candidate skill",
    "evaluate": "a skill does a split",
    "gate": "decide whether the candidate becomes the current skill",
    "sample": "the items of an epoch's comparison with the skill that it began with",
    "compare": "the same items with the previous epoch's skill and the current one",
    "slow_update": "write guidance for the target at the end of an epoch",
    "meta_skill": "write the optimizer's memory at the end of an epoch",
    "best_skill": "choose the skill with the highest selection score",
    "history": "write history.json and history.csv",
    "summary": "write summary.json",
    "repeat": "an evaluation again with fresh samples: mean and spread",
    "tabulate": "evaluated skills side by side, and compared",
    "report": "write report.html and its figures, of an unfinished run too",
}
TOOLS = {
    "train": "run the workflow for a run, with typed overrides and exit codes",
    "eval": "evaluate skill files on a split and compare them; nothing is trained",
    "plan": "show what a run will take: steps, jobs, calls, tokens, cost",
    "check": "check the models of a run: keys, logins, programs, one tiny call each",
    "status": "show where a run stands",
    "watch": "watch a run while it lasts, from any shell",
    "blame": "tell which step and edit brought each line of the best skill",
    "diff": "show what differs between two runs or two skills",
    "runs": "show runs side by side: settings that differ, scores, calls, cost",
    "dashboard": "a web page of this folder's runs: watch, report, plan, start and stop",
    "init": "start a project: configuration and sample data in a folder",
    "materialise": "fetch the real data of a published benchmark by its split manifest",
    "new-benchmark": "start a benchmark of your own: package, configuration, sample",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand and return its exit code; imports that subcommand only."""
    try:
        try:
            return _command(list(sys.argv[1:] if argv is None else argv))
        finally:  # argparse leaves by SystemExit
            sys.stdout.flush()
    except BrokenPipeError:  # nobody reads on, as in `skillopt runs | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE


def _command(arguments: list[str]) -> int:
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    name = arguments[0] if arguments else ""
    if name not in PHASES and name not in TOOLS:
        return _help(arguments)
    package = "phases" if name in PHASES else "tools"
    module = importlib.import_module(f"skillopt.{package}.{name.replace('-', '_')}")
    parser = argparse.ArgumentParser(prog=f"skillopt {name}", description=module.__doc__)
    parser.add_argument("--log", type=Path, help="file for the full log (written)")
    module.add_arguments(parser)
    own, passed_on = _cut(arguments[1:])
    args = parser.parse_intermixed_args(own)
    if passed_on and not hasattr(args, "snakemake"):
        parser.error(f"expected nothing after --, found {' '.join(passed_on)}")
    args.snakemake = passed_on
    try:
        _set_up_logging(args.log)
    except OSError as error:
        print(f"cannot write the log {args.log}: {error.strerror}. Nothing was done.", file=sys.stderr)
        return int(ExitCode.UNEXPECTED)
    return _run(name, module.main, args)


def _cut(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Return what stands before a `--` and what stands after it, which is meant for another program."""
    if "--" not in arguments:
        return arguments, []
    at = arguments.index("--")
    return arguments[:at], arguments[at + 1 :]


def _run(name: str, command: Callable[[argparse.Namespace], int | None], args: argparse.Namespace) -> int:
    failure = FailureNote(name, args.log)
    failure.clear()
    args.board = Board(name, args.log.with_suffix(SUFFIX) if args.log else None)
    args.board.start()
    try:
        if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:  # from the start of the process (`__main__`) on
            signal.signal(signal.SIGINT, signal.default_int_handler)
        note = MadeNote(args)
        note.begin()
        code = int(command(args) or 0)
        if not code:
            note.leave()
        return code
    except SkillOptError as error:
        log.error("%s", error)
        return failure.leave(error.exit_code, str(error))
    except CallError as error:  # of a call without which the phase has no result
        message = (
            f"{name}: a model call failed for good: {error}. Nothing was decided without its reply; "
            "what was paid for is kept. Run the same command again."
        )
        log.error("%s", message)
        return failure.leave(ExitCode.PROVIDER_DEAD, message)
    except KeyboardInterrupt:
        return failure.leave(ExitCode.INTERRUPTED, "interrupted")
    except OSError as error:
        if isinstance(error, BrokenPipeError) and _nobody_reads():
            raise
        missing = isinstance(error, FileNotFoundError) and error.filename
        message = _not_there(name, error.filename) if missing else str(error)
        log.debug("where it happened", exc_info=True)
        log.error("%s", message)
        return failure.leave(ExitCode.UNEXPECTED, message)
    except Exception as error:
        log.exception("unexpected error")
        return failure.leave(ExitCode.UNEXPECTED, f"{type(error).__name__}: {error}")
    finally:
        args.board.end()


def _not_there(phase: str, file: str) -> str:
    message = f"{phase}: expected a file at {file}, found none"
    parts = Path(file).parts
    if len(parts) < 3 or parts[0] != "results":
        return message
    return f"{message}. If it was deleted: skillopt train {parts[1]} -- --forcerun {shlex.quote(file)}"


def _nobody_reads() -> bool:
    """Tell whether the standard output is a pipe whose reader is gone."""
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))


class FailureNote:
    """What a failed phase leaves beside its log, for `skillopt status`; gone when it runs again."""

    def __init__(self, command: str, log_file: Path | None) -> None:
        self._command = command
        self._path = log_file.with_suffix(".failure.json") if log_file else None

    def clear(self) -> None:
        """Remove the note of an earlier run."""
        if self._path:
            self._path.unlink(missing_ok=True)

    def leave(self, code: ExitCode, message: str) -> int:
        """Write the note and return the exit code."""
        if self._path:
            note = {"command": self._command, "exit_code": int(code), "message": plain(message)}
            try:
                write_json(self._path, note)
            except WriteError as error:  # a full disk: the message has been printed already
                log.warning("could not write %s: %s", self._path, error)
        return int(code)


def _help(arguments: Sequence[str]) -> int:
    lines = ["usage: skillopt COMMAND [options]    (skillopt COMMAND --help tells what it reads and writes)"]
    for title, commands in (("commands for people", TOOLS), ("phases, in the order of the data", PHASES)):
        lines += ["", f"{title}:", *(f"  {name:<15}{text}" for name, text in commands.items())]
    if arguments and arguments[0] in ("-h", "--help"):
        print("\n".join(lines))
        return 0
    if arguments and arguments[0] == "--version":
        from skillopt import __version__

        print(f"skillopt {__version__}")
        return 0
    found = f"found {arguments[0]!r}" if arguments else "found none"
    print(f"skillopt: expected a command, {found}\n\n" + "\n".join(lines), file=sys.stderr)
    return int(ExitCode.BAD_CONFIG)


class PlainFormatter(logging.Formatter):
    """Shows control characters in what models, providers and files say, instead of sending them."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as text for a terminal."""
        return plain(super().format(record))


def _set_up_logging(path: Path | None) -> None:
    handlers: list[logging.Handler] = [logging.StreamHandler(sys.stderr)]
    handlers[0].setLevel(logging.INFO)
    handlers[0].setFormatter(PlainFormatter("%(message)s"))
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        full = logging.FileHandler(path, mode="w", encoding="utf-8")
        full.setFormatter(PlainFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        handlers.append(full)
    logging.raiseExceptions = False  # a full disk is told once, by what cannot write its result
    logging.basicConfig(level=logging.WARNING, handlers=handlers, force=True)
    log.setLevel(logging.DEBUG)
