"""The command line: one subcommand per phase, and a few for people."""

import argparse
import importlib
import logging
import sys
from collections.abc import Sequence
from pathlib import Path

from skillopt.errors import ExitCode, SkillOptError

PHASES = {
    "config": "write config.json: the resolved configuration of a run",
    "plan": "write plan.json: epochs, steps, batches, edit budgets",
    "initial_skill": "write the skill that training starts from",
    "rollout": "the target does the items of a step with the current skill",
    "reflect": "the optimizer reads trajectories and proposes changes",
    "aggregate": "merge the proposed changes",
    "select": "rank the merged changes and cut them to the edit budget",
    "update": "apply the selected changes: the candidate skill",
    "evaluate": "a skill does a split",
    "gate": "decide whether the candidate becomes the current skill",
    "compare": "the same items with the previous epoch's skill and the current one",
    "slow_update": "write guidance for the target at the end of an epoch",
    "meta_skill": "write the optimizer's memory at the end of an epoch",
    "best_skill": "choose the skill with the highest selection score",
    "history": "write history.json and history.csv",
    "summary": "write summary.json",
}
TOOLS = {
    "train": "run the workflow for a run, with typed overrides and exit codes",
    "status": "show where a run stands",
    "init": "start a project: configuration and sample data in a folder",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand and return its exit code; imports that subcommand only."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    name = arguments[0] if arguments else ""
    if name not in PHASES and name not in TOOLS:
        return _help(arguments)
    module = importlib.import_module(f"skillopt.{'phases' if name in PHASES else 'tools'}.{name}")
    parser = argparse.ArgumentParser(prog=f"skillopt {name}", description=module.__doc__)
    parser.add_argument("--log", type=Path, help="file for the full log (written)")
    module.add_arguments(parser)
    args = parser.parse_args(arguments[1:])
    _set_up_logging(args.log)
    return _run(module.main, args)


def _run(command: "object", args: argparse.Namespace) -> int:
    try:
        code = command(args)  # type: ignore[operator]
    except SkillOptError as error:
        logging.getLogger("skillopt").error("%s", error)
        return int(error.exit_code)
    except KeyboardInterrupt:
        return int(ExitCode.INTERRUPTED)
    except Exception:
        logging.getLogger("skillopt").exception("unexpected error")
        return int(ExitCode.UNEXPECTED)
    return int(code or 0)


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


def _set_up_logging(path: Path | None) -> None:
    handlers: list[logging.Handler] = [logging.StreamHandler(sys.stderr)]
    handlers[0].setFormatter(logging.Formatter("%(message)s"))
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        full = logging.FileHandler(path, mode="w", encoding="utf-8")
        full.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        handlers.append(full)
    logging.basicConfig(level=logging.WARNING, handlers=handlers, force=True)
    logging.getLogger("skillopt").setLevel(logging.INFO)


if __name__ == "__main__":
    sys.exit(main())
