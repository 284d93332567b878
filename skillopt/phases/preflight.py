"""One tiny call to each model before the first paid phase: a wrong key or address stops here.

So does a machine that lacks what the benchmark needs.

The reply is kept like any other, so a run that is replayed or continued makes no call and needs no
key; a provider that died meanwhile is noticed by the phases themselves.
"""

import argparse
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from skillopt.concurrent import gather
from skillopt.config.resolved import Resolved
from skillopt.envs.base import WithMachine
from skillopt.envs.registry import environment
from skillopt.errors import ConfigError, ProviderDead
from skillopt.files import canonical, write_json
from skillopt.models.base import BackendSpec, CallError, Message, Reply, Request, RoleModel
from skillopt.models.client import Client
from skillopt.models.keys import find_key, key_variables
from skillopt.models.registry import backend_spec
from skillopt.models.store import Store, call_key
from skillopt.phases.job import Job, add_job_arguments, open_job
from skillopt.phases.spending import is_simulated
from skillopt.process import run_async

_PROMPT = "Reply with the single word OK."
_MOST_TOKENS = 1024
"""Enough for a model that thinks first: some refuse a limit that leaves no room for an answer."""


class Preflight(msgspec.Struct, frozen=True, kw_only=True):
    """`preflight.json`: always the same, so that nothing re-runs when it is written again."""

    ready: bool = True


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """The tiny call for roles that have model and key in common."""

    roles: tuple[RoleModel, ...]
    request: Request


def probes(resolved: Resolved, env: Mapping[str, str]) -> list[Probe]:
    """Return the calls to make, one for roles with model and key in common."""
    groups: dict[str, list[RoleModel]] = {}
    for role in resolved.roles.values():
        groups.setdefault(_identity(role, env), []).append(role)
    return [
        Probe(roles=tuple(group), request=_request(number)) for number, group in enumerate(groups.values())
    ]


def _request(sample: int) -> Request:
    message = Message(role="user", content=_PROMPT)
    return Request(messages=(message,), max_completion_tokens=_MOST_TOKENS, sample=sample)


def _identity(role: RoleModel, env: Mapping[str, str]) -> str:
    """Return what tells two roles apart: all but the role, unless it has a key or login of its own."""
    own = key_variables(role.role, [name for name in backend_spec(role.backend).secrets if "{" in name])
    name = role.role if any(env.get(variable) for variable in own) else ""
    return name + canonical({**msgspec.to_builtins(role), "role": "", "named": {}})


def require_ready(roles: Sequence[RoleModel], env: Mapping[str, str]) -> None:
    """Raise ConfigError with all that is missing to call these models: keys, logins, programs."""
    missing = [
        f"{name_of(role)}: {problem}"
        for role in roles
        for problem in backend_spec(role.backend).check(role, env)
    ]
    if missing:
        raise ConfigError("\n".join(missing))


def name_of(role: RoleModel) -> str:
    """Return a role with its model, for messages."""
    return f"{role.role} ({role.backend}, {role.model or 'its own model'})"


async def ask(client: Client, probe: Probe) -> Reply | CallError:
    """Make the call; its failure is an answer here."""
    try:
        async with client:
            return await client.call(probe.request)
    except CallError as error:
        return error


def require_answers(
    found: Sequence[tuple[Probe, Reply | CallError]], env: Mapping[str, str], origins: Mapping[str, str]
) -> None:
    """Raise ProviderDead naming every model that gave no answer, with what to do.

    `origins` tells where each setting came from.
    """
    silent = [
        f"{name_of(role)}: {answer}{_to_do(role, answer, env, origins)}"
        for probe, answer in found
        for role in probe.roles
        if isinstance(answer, CallError)
    ]
    if silent:
        raise ProviderDead("\n".join(silent))


def _to_do(role: RoleModel, error: CallError, env: Mapping[str, str], origins: Mapping[str, str]) -> str:
    """Return what to do about an error of an endpoint; programs and logins say it themselves."""
    spec = backend_spec(role.backend)
    where = [_named(role, setting.name, origins) for setting in spec.settings if setting.form == "address"]
    if not where or "To do:" in str(error):
        return ""
    names = _key_names(role, spec, env)
    key = find_key(names, env)
    keys = key.variable if key else f"none is set: set {' or '.join(names)}"
    match error.code:
        case "http_401" | "http_403":
            return f". To do: correct the key ({keys}), or {where[0]}"
        case "http_402" | "insufficient_quota":
            return f". To do: add credit to the account of the key ({keys})"
        case "http_400" | "http_404" | "http_422":
            return f". To do: correct model.{role.role}, or {where[0]}"
        case "connection" | "tls" | "bad_body" | "no_choices":
            return f". To do: correct {where[0]}, or start what answers there"
    return f". To do: correct {where[0]}" if error.code.startswith("http_3") else ""


def _named(role: RoleModel, setting: str, origins: Mapping[str, str]) -> str:
    """Return the key or the variable that holds a backend's setting, with where the key was set."""
    key = role.key_of(setting)
    return f"{key} ({origins[key]})" if key in origins else key


def _key_names(role: RoleModel, spec: BackendSpec, env: Mapping[str, str]) -> list[str]:
    """Return the variables that may hold the key of a role, in the order they are tried."""
    if spec.keys:
        return spec.keys(role, env)
    own = str(role.settings.get("api_key_env") or "")
    return [own] if own else key_variables(role.role, spec.secrets)


async def require_machine(resolved: Resolved) -> None:
    """Raise ConfigError when this machine lacks what the benchmark needs, such as a sandbox that works."""
    bench = environment(resolved.settings.env.name)
    if not isinstance(bench, WithMachine):
        return
    problem = await bench.machine_problem(msgspec.convert(resolved.env_settings, bench.settings))
    if problem:
        raise ConfigError(f"env.name: {bench.name} cannot be done on this machine: {problem}")


async def preflight(job: Job, env: Mapping[str, str]) -> None:
    """Call each model that never answered; raises ConfigError or ProviderDead."""
    store = Store(job.store)
    new = [
        probe
        for probe in probes(job.resolved, env)
        if not is_simulated(probe.roles[0]) and store.get(call_key(probe.roles[0], probe.request)) is None
    ]
    require_ready([role for probe in new for role in probe.roles], env)
    answers = await gather(ask(job.client(probe.roles[0].role, width=1), probe) for probe in new)
    require_answers(list(zip(new, answers, strict=True)), env, job.resolved.origins)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line of `skillopt preflight`."""
    add_job_arguments(parser)
    parser.add_argument("--out", type=Path, required=True, help="preflight.json (written)")


def main(args: argparse.Namespace) -> None:
    """Run the phase."""
    job = open_job(args, "preflight")
    run_async(require_machine(job.resolved))
    if job.resolved.settings.calls.preflight_call:
        run_async(preflight(job, os.environ))
    else:
        require_ready([role for role in job.resolved.roles.values() if not is_simulated(role)], os.environ)
    write_json(args.out, Preflight())
