"""What every phase that may call a model shares: its arguments, and opening the model of a role."""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from skillopt.config.resolved import Resolved, read_resolved
from skillopt.config.settings import Settings
from skillopt.envs.registry import environment
from skillopt.errors import ConfigError, changed
from skillopt.models.base import Role
from skillopt.progress import Board
from skillopt.prompting import GENERAL

if TYPE_CHECKING:
    from skillopt.models.client import Client


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a phase. `label` names the step, epoch or evaluation in the accounts.

    `prompts` is a hash of the templates that the job was planned with, "" for any. `board` is where the
    phase shows how far it is.
    """

    resolved: Resolved
    run: str
    phase: str
    label: str
    store: Path
    width: int
    prompts: str
    board: Board

    def client(self, role: Role, *, width: int) -> "Client":
        """Return the model of a role; at most `width` calls at once, and never more than was granted."""
        # Late: a phase that turns out to need no model starts in half the time.
        from skillopt.models.client import CallPolicy, Client
        from skillopt.models.ledger import Ledger
        from skillopt.models.store import Store
        from skillopt.phases.spending import allowance

        if self.prompts:
            require_prompts(self.resolved, self.phase, self.prompts)
        settings = self.resolved.settings
        timeout = timeout_of(settings, role)
        return Client(
            self.resolved.roles[role],
            policy=CallPolicy(
                max_attempts=settings.calls.max_attempts,
                max_wait=settings.calls.max_wait,
                timeout=timeout,
                systemic_failures=settings.calls.systemic_failures,
            ),
            width=min(self.width, width),
            store=Store(self.store),
            ledger=Ledger(self.store, run=self.run, phase=self.phase, label=self.label),
            env=os.environ,
            board=self.board,
            allowance=allowance(
                self.resolved, role, root=self.store, run=self.run, phase=self.phase, patience=timeout
            ),
        )


def require_prompts(resolved: Resolved, phase: str, planned: str) -> None:
    """Raise ConfigError when the templates are not those that the job was planned with.

    The engine takes the output for made with the templates that it knows.
    """
    from skillopt.config.templates import prompts_digest, used_prompts

    folder = environment(resolved.settings.env.name).prompts
    if prompts_digest(used_prompts(resolved, phase), folder) != planned:
        raise ConfigError(
            f"{folder}, {GENERAL}: expected the templates that the job was planned with, found others. "
            + changed("prompts")
        )


def timeout_of(settings: Settings, role: Role) -> float:
    """Return the seconds that one attempt of a call may take."""
    return settings.env.exec_timeout if role == "target" else settings.calls.timeout


def add_job_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments that `open_job` reads."""
    parser.add_argument("--config", type=Path, required=True, help="config.json of the run (read)")
    parser.add_argument(
        "--store", type=Path, default=Path("results/.calls"), help="call store (read and written)"
    )
    parser.add_argument(
        "--prompts",
        default="",
        metavar="HASH",
        help="of the templates that the job is for; others are refused",
    )
    parser.add_argument("--label", default="by-hand", help="step or epoch, for the accounts")
    parser.add_argument("--width", type=int, default=64, help="most model calls in flight")
    parser.set_defaults(board=Board())  # the command line puts one with a place there


def open_job(args: argparse.Namespace, phase: str) -> Job:
    """Read the run's resolved configuration."""
    return Job(
        resolved=read_resolved(args.config),
        run=args.config.parent.name,
        phase=phase,
        label=args.label,
        store=args.store,
        width=args.width,
        prompts=args.prompts,
        board=args.board,
    )
