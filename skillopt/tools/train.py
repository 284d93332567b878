"""Run the workflow for one run: typed overrides, a stale lock opened, an exit code that says how it ended.

The same as `snakemake results/<run>/best_skill.md results/<run>/summary.json` with the shipped Snakefile,
with the lines of the phases only, and the score table at the end also when there was nothing to do.
"""

import argparse
import logging
import os
import shlex
import subprocess
import sys
from pathlib import Path

import psutil

from skillopt.config.resolve import load_run
from skillopt.errors import ConfigError, ExitCode
from skillopt.tools.status import read_status, text
from skillopt.tools.workflow import workflow_root

log = logging.getLogger(__name__)

QUIET = ("--quiet", "host", "rules", "progress")
"""What the engine leaves out while a run lasts: the phases say themselves how far they are."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line of `skillopt train`."""
    parser.add_argument("run", help="name of a run: config/<run>.yaml is read, results/<run>/ is written")
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help="overrides of the file")
    parser.add_argument("--cores", type=int, default=8, help="jobs side by side")
    parser.add_argument("--verbose", action="store_true", help="show every job as the engine starts it")
    parser.add_argument("--dry-run", action="store_true", help="show the training plan, run nothing")
    parser.add_argument("snakemake", nargs="*", help="after --, further arguments for snakemake")


def main(args: argparse.Namespace) -> int:
    """Run the workflow and return how the run ended."""
    root = workflow_root()
    load_run(run_file(root, args.run), args.set, os.environ)
    if not args.dry_run:
        open_stale_lock(root)
    done = subprocess.run(workflow_command(root, args), check=False)
    if done.returncode < 0 or done.returncode == ExitCode.INTERRUPTED:
        return int(ExitCode.INTERRUPTED)
    if args.dry_run:
        return done.returncode
    folder = Path("results") / args.run
    if done.returncode and not (folder / "config.json").exists():
        return int(ExitCode.BAD_CONFIG)  # refused before the first job; the engine has said why
    status = read_status(folder)
    print(f"\n{text(status)}")
    ended = (ExitCode.OK, ExitCode.UNFINISHED, ExitCode.ALL_REJECTED, ExitCode.NOTHING_PROPOSED)
    failed = done.returncode and status.exit_code in ended
    return int(ExitCode.UNEXPECTED if failed else status.exit_code)


def run_file(root: Path, run: str) -> Path:
    """Return the run's configuration in the working directory, else the one that ships."""
    for folder in (Path(), root):
        path = folder / "config" / f"{run}.yaml"
        if path.is_file():
            return path
    raise ConfigError(f"run {run}: expected its configuration at config/{run}.yaml, found none")


def workflow_command(root: Path, args: argparse.Namespace) -> list[str]:
    """Return the command line of the engine."""
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(root / "Snakefile")]
    command += ["--cores", str(args.cores), "--no-hooks", *args.snakemake]
    if args.dry_run:
        command.append("--dry-run")
    elif not args.verbose:
        command += QUIET
    if args.set:
        command += ["--config", f"set={shlex.join(args.set)}"]
    folder = f"results/{args.run}"
    return [*command, "--", f"{folder}/best_skill.md", f"{folder}/summary.json"]


def open_stale_lock(root: Path) -> None:
    """Open the engine's lock when nobody who could hold it lives; raises ConfigError otherwise."""
    if not any(Path(".snakemake/locks").glob("*")):
        return
    owners = [process.pid for process in psutil.process_iter() if _works_here(process)]
    if owners:
        raise ConfigError(
            f"this folder is locked by a running workflow (process {owners[0]}): wait for it or stop it, "
            "then run the same command again"
        )
    log.warning("opening the lock that a killed workflow left")
    subprocess.run(
        [sys.executable, "-m", "snakemake", "--snakefile", str(root / "Snakefile"), "--unlock"], check=True
    )


def _works_here(process: psutil.Process) -> bool:
    try:
        engine = any("snakemake" in part for part in process.cmdline()[:4])
        return engine and process.pid != os.getpid() and Path(process.cwd()) == Path.cwd()
    except psutil.Error:  # gone meanwhile, or another user's
        return False
