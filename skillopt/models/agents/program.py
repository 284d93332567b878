"""One program with all that makes it a backend: how it is found, logged in, called, checked."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec

from skillopt.errors import ConfigError
from skillopt.models.agents import failures, process
from skillopt.models.agents.backend import Kind, Login, ProgramBackend, find
from skillopt.models.agents.failures import Advice
from skillopt.models.agents.place import Place, environment, make_place
from skillopt.models.agents.settings import ProgramSettings, passed_variables
from skillopt.models.base import Backend, RoleModel
from skillopt.redact import one_line

log = logging.getLogger(__name__)

_VERSION_SECONDS = 20.0
_VERSION_LIMIT = 64 * 1024


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """What a backend's module declares; `login` and `kind` get the role, its settings and the environment.

    `login` raises ConfigError when there is neither a key nor a login.
    """

    binary: str
    settings: type[ProgramSettings]
    advice: Callable[[RoleModel], Advice]
    login: Callable[[RoleModel, Any, Mapping[str, str]], Login]
    kind: Callable[[RoleModel, Any, Mapping[str, str]], Kind]

    def open(self, role: RoleModel, env: Mapping[str, str]) -> Backend:
        """Read the key or find the login; raises ConfigError when there is none."""
        settings = msgspec.convert(role.settings, self.settings)
        return ProgramBackend(
            self.kind(role, settings, env),
            self.advice(role),
            binary=settings.path or self.binary,
            timeout=settings.timeout,
            login=self.login(role, settings, env),
            env=env,
            passed=passed_variables(role, settings, env),
        )

    def check(self, role: RoleModel, env: Mapping[str, str]) -> list[str]:
        """Say what is missing: the program, or its key or login. Calls no model."""
        settings = msgspec.convert(role.settings, self.settings)
        advice, problems = self.advice(role), []
        binary = settings.path or self.binary
        program = find(binary, env)
        if program is None:
            problems.append(failures.missing_text(advice, binary))
        elif problem := _version_problem(advice, program, env):
            problems.append(problem)
        try:
            self.login(role, settings, env)
            passed_variables(role, settings, env)
        except ConfigError as error:
            problems.append(str(error))
        return problems


def _version_problem(advice: Advice, program: str, env: Mapping[str, str]) -> str:
    """Ask the program for its version; return what is wrong with it, "" for nothing."""
    with make_place() as place, ThreadPoolExecutor(1) as apart:  # the caller's loop may be running
        try:
            ended = apart.submit(asyncio.run, _ask_version(program, place, env)).result()
        except process.ProgramError as error:
            return str(failures.not_started(advice, f"{program} --version: {error}", ()))
    said = one_line(ended.out.decode("utf-8", "replace"), 80)
    if ended.code:
        problem = one_line(ended.err.decode("utf-8", "replace"), 200) or said or f"exit code {ended.code}"
        return str(failures.not_started(advice, f"{program} --version: {problem}", ()))
    log.info("%s: %s (%s)", advice.program, said, program)
    return ""


async def _ask_version(program: str, place: Place, env: Mapping[str, str]) -> process.Finished:
    return await process.run(
        [program, "--version"],
        stdin=b"",
        cwd=place.work,
        env=environment(place, env, program, {}),
        timeout=_VERSION_SECONDS,
        out_limit=_VERSION_LIMIT,
    )
