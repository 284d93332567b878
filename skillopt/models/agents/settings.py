"""What the settings of all program backends have in common."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from skillopt.errors import ConfigError
from skillopt.models.agents.failures import Advice
from skillopt.models.base import Request, RoleModel, Setting
from skillopt.models.keys import Key

_EFFORTS = ("minimal", "low", "medium", "high", "xhigh", "max")
_OF_THE_CALL = ("HOME", "TMPDIR", "PATH")
"""Variables of each call's own: they keep the owner's files out, and tell what it left running."""

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|AUTH", re.IGNORECASE)


class ProgramSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings that every program backend has."""

    path: str = ""
    timeout: float = 0.0
    pass_env: str = ""


def common_settings(binary: str, program: str) -> tuple[Setting, ...]:
    """Return the declarations of `ProgramSettings` for one program."""
    return (
        Setting(
            name="path",
            type="str",
            default="",
            description=f"Path of {program}; blank: `{binary}` on PATH.",
            decides=False,
        ),
        Setting(
            name="timeout",
            type="float",
            default=0.0,
            description="Seconds until a run is ended and tried again; 0: only the limit that all calls have "
            "(`env.exec_timeout`, `calls.timeout`) applies.",
            decides=False,
            least=0,
        ),
        Setting(
            name="pass_env",
            type="str",
            default="",
            description="Names of further environment variables that the program gets, separated by commas, "
            "such as HTTPS_PROXY,NODE_EXTRA_CA_CERTS. Names of keys are refused.",
            decides=True,
        ),
    )


def advice(role: RoleModel, *, program: str, install: str, login: str) -> Advice:
    """Return what users of a role's program are told."""
    return Advice(
        program=program,
        install=install,
        login=f"{login} A key for the {role.role} alone: the same variable with {own_prefix(role)} before "
        "its name.",
        path_setting=role.key_of("path"),
        model_setting=f"model.{role.role}",
    )


def passed_variables(role: RoleModel, settings: ProgramSettings, env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that the owner asked to hand over; raises ConfigError for a key's name."""
    names = [name.strip() for name in settings.pass_env.split(",") if name.strip()]
    where = role.key_of("pass_env")
    for name in names:
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise ConfigError(f"{where}: expected names of environment variables, found {name!r}")
        if name in _OF_THE_CALL:
            raise ConfigError(f"{where}: {name} is set for each call; leave it out")
        if _SECRET_NAME.search(name):
            raise ConfigError(
                f"{where}: {name} sounds like a key, which a program that a model steers must not get"
            )
    return {name: env[name] for name in names if name in env}


def effort(own: str, request: Request, levels: Sequence[str]) -> str:
    """Return the reasoning effort to ask for: the backend's own setting, else the request's.

    "" and "none" ask for nothing. A level that the program does not know becomes the next lower
    one that it knows, or its lowest.
    """
    wanted = own or request.reasoning_effort
    if wanted in ("", "none", "off"):
        return ""
    reach = _EFFORTS[: _EFFORTS.index(wanted) + 1] if wanted in _EFFORTS else ()
    if not reach:
        raise ConfigError(f"reasoning effort: expected one of none, {', '.join(_EFFORTS)}, found {wanted!r}")
    known = [level for level in reach if level in levels]
    return known[-1] if known else levels[0]


def effort_sent(levels: Sequence[str], own: str = "") -> Callable[[RoleModel, Request], Request]:
    """Return the `sent` of a program: the effort it is asked for, and no limit of tokens (it takes none).

    `own` names the setting that holds the backend's own effort.
    """

    def sent(role: RoleModel, request: Request) -> Request:
        level = effort(str(role.settings.get(own) or ""), request, levels) if levels else ""
        return msgspec.structs.replace(request, reasoning_effort=level, max_completion_tokens=0)

    return sent


def handed_over(role: RoleModel, key: Key, name: str = "") -> dict[str, str]:
    """Return the variable by which a program gets a key: its own name of it, or `name`.

    The program never sees which role it plays. Raises ConfigError for a key that cannot be one.
    """
    if key.problem:
        raise ConfigError(key.problem)
    return {name or key.variable.removeprefix(own_prefix(role)): key.value}


def own_prefix(role: RoleModel) -> str:
    """Return what stands before the name of a variable that holds a key for one role alone."""
    return f"{role.role.upper()}_"


def home_of(env: Mapping[str, str]) -> Path:
    """Return the owner's home folder."""
    return Path(env["HOME"]) if env.get("HOME") else Path.home()
