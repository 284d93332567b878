"""Check the models of a run before anything is paid for: keys, logins, programs, and one tiny call each.

The call is made through the same code as those of a run, and neither stored nor replayed.
"""

import argparse
import asyncio
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from skillopt.config.resolved import Resolved
from skillopt.models.base import CallError, Reply, Role
from skillopt.models.client import CallPolicy, Client
from skillopt.models.ledger import Ledger
from skillopt.models.store import Store
from skillopt.naming import run_name
from skillopt.phases.job import timeout_of
from skillopt.phases.preflight import (
    Probe,
    ask,
    name_of,
    probes,
    require_answers,
    require_machine,
    require_ready,
)

_MOST_ATTEMPTS = 3
_MOST_WAIT = 20.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line of `skillopt check`."""
    parser.add_argument("run", type=run_name, help="name of a run: config/<run>.yaml is read")
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help="overrides of the file")
    parser.add_argument("--no-call", action="store_true", help="look at keys and programs, call no model")


def main(args: argparse.Namespace) -> None:
    """Print one line per role; raises ConfigError or ProviderDead."""
    from skillopt.config.resolve import load_run
    from skillopt.tools.train import run_file
    from skillopt.tools.workflow import workflow_root

    resolved = load_run(run_file(workflow_root(), args.run), args.set, os.environ)
    asyncio.run(require_machine(resolved))
    for line in preflight(resolved, os.environ, call=not args.no_call):
        print(line)


def preflight(resolved: Resolved, env: Mapping[str, str], *, call: bool) -> list[str]:
    """Check the model of each role; return one line for each.

    Raises ConfigError with everything that is missing, and then, if `call`, ProviderDead when a
    model does not answer. Roles with one model in common share one call.
    """
    roles = list(resolved.roles.values())
    require_ready(roles, env)
    if not call:
        return [f"{name_of(role)}: ready, not called" for role in roles]
    found = asyncio.run(_ask_all(resolved, env))
    require_answers(found, env, resolved.origins)
    said = {
        role.role: f"answered in {answer.seconds:.1f} s"
        for probe, answer in found
        if isinstance(answer, Reply)
        for role in probe.roles
    }
    return [f"{name_of(role)}: {said[role.role]}" for role in roles]


async def _ask_all(resolved: Resolved, env: Mapping[str, str]) -> list[tuple[Probe, Reply | CallError]]:
    wanted = probes(resolved, env)
    answers = await asyncio.gather(*(_ask(resolved, probe, env) for probe in wanted))
    return list(zip(wanted, answers, strict=True))


async def _ask(resolved: Resolved, probe: Probe, env: Mapping[str, str]) -> Reply | CallError:
    role = probe.roles[0]
    with tempfile.TemporaryDirectory(prefix="skillopt-check-") as folder:
        client = Client(
            role,
            policy=_policy(resolved, role.role),
            width=1,
            store=Store(Path(folder)),
            ledger=Ledger(Path(folder), run="check", phase="check", label=role.role),
            env=env,
        )
        return await ask(client, probe)


def _policy(resolved: Resolved, role: Role) -> CallPolicy:
    """Return the run's limits, with less patience. One failure says nothing about the next call here."""
    settings = resolved.settings
    return CallPolicy(
        max_attempts=min(settings.calls.max_attempts, _MOST_ATTEMPTS),
        max_wait=min(settings.calls.max_wait, _MOST_WAIT),
        timeout=timeout_of(settings, role),
        systemic_failures=2,
    )
