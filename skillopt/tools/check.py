"""Check the models of a run before anything is paid for: keys, logins, programs, and one tiny call each.

The call is made through the same code as those of a run, and neither stored nor replayed.
"""

import argparse
import asyncio
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

import msgspec

from skillopt.config.resolved import Resolved
from skillopt.errors import ConfigError, ProviderDead
from skillopt.files import canonical
from skillopt.models.base import CallError, Message, Request, Role, RoleModel
from skillopt.models.client import CallPolicy, open_client
from skillopt.models.ledger import Ledger
from skillopt.models.registry import backend_spec
from skillopt.models.store import Store

_PROMPT = "Reply with the single word OK."
_MOST_TOKENS = 1024
"""Enough for a model that thinks first: some refuse a limit that leaves no room for an answer."""

_MOST_ATTEMPTS = 3
_MOST_WAIT = 20.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line of `skillopt check`."""
    parser.add_argument("run", help="name of a run: config/<run>.yaml is read")
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help="overrides of the file")
    parser.add_argument("--no-call", action="store_true", help="look at keys and programs, call no model")


def main(args: argparse.Namespace) -> None:
    """Print one line per role; raises ConfigError or ProviderDead."""
    from skillopt.config.resolve import load_run
    from skillopt.tools.train import run_file
    from skillopt.tools.workflow import workflow_root

    resolved = load_run(run_file(workflow_root(), args.run), args.set, os.environ)
    for line in preflight(resolved, os.environ, call=not args.no_call):
        print(line)


def preflight(resolved: Resolved, env: Mapping[str, str], *, call: bool) -> list[str]:
    """Check the model of each role; return one line for each.

    Raises ConfigError with everything that is missing, and then, if `call`, ProviderDead when a
    model does not answer. Roles with one model in common share one call.
    """
    roles = list(resolved.roles.values())
    missing = [
        f"{_name(role)}: {problem}"
        for role in roles
        for problem in backend_spec(role.backend).check(role, env)
    ]
    if missing:
        raise ConfigError("\n".join(missing))
    if not call:
        return [f"{_name(role)}: ready, not called" for role in roles]
    answers = asyncio.run(_call_all(resolved, env))
    silent = [f"{_name(role)}: {error}" for role in roles if (error := answers[role.role].error)]
    if silent:
        raise ProviderDead("\n".join(silent))
    return [f"{_name(role)}: {answers[role.role].said}" for role in roles]


class _Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a call came to: the words to print, or what went wrong."""

    said: str = ""
    error: str = ""


async def _call_all(resolved: Resolved, env: Mapping[str, str]) -> dict[Role, _Outcome]:
    groups: dict[str, list[RoleModel]] = {}
    for role in resolved.roles.values():
        groups.setdefault(_identity(role, env), []).append(role)
    outcomes = await asyncio.gather(*(_call(resolved, group[0], env) for group in groups.values()))
    return {
        role.role: outcome for group, outcome in zip(groups.values(), outcomes, strict=True) for role in group
    }


async def _call(resolved: Resolved, role: RoleModel, env: Mapping[str, str]) -> _Outcome:
    request = Request(messages=(Message(role="user", content=_PROMPT),), max_completion_tokens=_MOST_TOKENS)
    with tempfile.TemporaryDirectory(prefix="skillopt-check-") as folder:
        client = open_client(
            role,
            policy=_policy(resolved, role),
            width=1,
            store=Store(Path(folder)),
            ledger=Ledger(Path(folder), run="check", phase="check", label=role.role),
            env=env,
        )
        try:
            async with client:
                reply = await client.call(request)
        except CallError as error:
            return _Outcome(error=str(error))
    return _Outcome(said=f"answered in {reply.seconds:.1f} s")


def _policy(resolved: Resolved, role: RoleModel) -> CallPolicy:
    """Return the run's limits, with less patience. One failure says nothing about the next call here."""
    settings = resolved.settings
    return CallPolicy(
        max_attempts=min(settings.calls.max_attempts, _MOST_ATTEMPTS),
        max_wait=min(settings.calls.max_wait, _MOST_WAIT),
        timeout=settings.env.exec_timeout if role.role == "target" else settings.calls.timeout,
        systemic_failures=2,
    )


def _identity(role: RoleModel, env: Mapping[str, str]) -> str:
    """Return what tells two roles apart: all but the role, unless it has a key or login of its own."""
    own = [name.format(ROLE=role.role.upper()) for name in backend_spec(role.backend).secrets if "{" in name]
    name = role.role if any(env.get(variable) for variable in own) else ""
    return name + canonical({**msgspec.to_builtins(role), "role": ""})


def _name(role: RoleModel) -> str:
    return f"{role.role} ({role.backend}, {role.model or 'its own model'})"
