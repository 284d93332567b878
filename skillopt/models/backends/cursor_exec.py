"""Cursor's agent as a target that works in a folder; flags as in https://cursor.com/docs/cli/reference/parameters."""

import json
import logging
from collections.abc import Mapping
from typing import Literal

from skillopt.errors import ConfigError
from skillopt.models.agents import cursor, workspace
from skillopt.models.agents.backend import Invocation, Login
from skillopt.models.agents.failures import Advice
from skillopt.models.agents.instruction import instruction
from skillopt.models.agents.outcome import Outcome
from skillopt.models.agents.place import Place
from skillopt.models.agents.program import Program
from skillopt.models.agents.requests import refuse
from skillopt.models.agents.settings import (
    ProgramSettings,
    advice,
    common_settings,
    effort_sent,
    handed_over,
)
from skillopt.models.base import BackendSpec, CallError, Request, RoleModel, Setting, SettingValue
from skillopt.models.keys import find_key, for_each_role, key_variables

log = logging.getLogger(__name__)

_BINARY = "cursor-agent"
_PROGRAM = "Cursor's agent"
_KEYS = for_each_role("CURSOR_API_KEY")
_LOGIN = "Set CURSOR_API_KEY to a key from the Cursor dashboard (Integrations, User API Keys)."


class CursorSettings(ProgramSettings, frozen=True, kw_only=True):
    """The settings of Cursor's agent."""

    sandbox: Literal["enabled", "disabled"] = "enabled"
    shell: bool = False


class Cursor:
    """A short instruction on standard input, a stream of events back."""

    def __init__(self, role: RoleModel, settings: CursorSettings) -> None:
        self._role = role
        self._settings = settings
        if role.reasoning_effort not in ("", "none"):
            log.warning(
                "model.reasoning_effort = %s has no effect on %s: choose a model that has it in its name",
                role.reasoning_effort,
                _PROGRAM,
            )

    def prepare(self, request: Request, place: Place, *, again: bool) -> Invocation:
        """Fill the workspace; ask mode unless files are wanted. MCP servers are never approved."""
        refuse(request, _PROGRAM, tools=True)
        may_write = workspace.wants_files(request)
        if may_write and self._settings.sandbox == "disabled":
            raise CallError(
                f"the task wants files, and {self._role.key_of('sandbox')} is disabled: set it to enabled",
                code="no_sandbox",
            )
        workspace.fill(place.work, request)
        self._write_permissions(place, may_write)
        return Invocation(
            arguments=(
                "-p",
                *("--output-format", "stream-json"),
                "--trust",
                *("--workspace", str(place.work)),
                *("--sandbox", self._settings.sandbox),
                *(("--force",) if may_write else ("--mode", "ask")),
                *(("--model", self._role.model) if self._role.model else ()),
            ),
            stdin=instruction(
                may_write=may_write, attachments=workspace.has_attachments(request), again=again
            ),
        )

    def _write_permissions(self, place: Place, may_write: bool) -> None:
        """Write the configuration of the call's own home; what is denied there `--force` does not allow."""
        shell = may_write and self._settings.shell
        permissions = {
            "allow": ["Read(**)", *(["Write(**)"] if may_write else []), *(["Shell(*)"] if shell else [])],
            "deny": [
                "Read(/proc/**)",
                *([] if may_write else ["Write(**)"]),
                *([] if shell else ["Shell(*)"]),
            ],
        }
        config = {"version": 1, "editor": {"vimMode": False}, "permissions": permissions}
        folder = place.home / ".cursor"
        folder.mkdir()
        (folder / "cli-config.json").write_text(json.dumps(config))

    def read(self, out: bytes) -> Outcome:
        """Return what a run came to."""
        return cursor.read(out)


def _advice(role: RoleModel) -> Advice:
    return advice(
        role,
        program=_PROGRAM,
        install="curl https://cursor.com/install -fsS | bash, see https://cursor.com/docs/cli/installation",
        login=_LOGIN,
    )


def login(role: RoleModel, env: Mapping[str, str]) -> Login:
    """Return the key; raises ConfigError without one (where a login lies is not documented)."""
    key = find_key(key_variables(role.role, _KEYS), env)
    if not key:
        to_do = _advice(role).login
        raise ConfigError(f"{_PROGRAM} is not logged in: no key in the environment. {to_do}")
    return Login(env=handed_over(role, key))


PROGRAM = Program(
    binary=_BINARY,
    settings=CursorSettings,
    advice=_advice,
    login=lambda role, settings, env: login(role, env),
    kind=lambda role, settings, env: Cursor(role, settings),
)


def acting(role: RoleModel, request: Request) -> dict[str, SettingValue]:
    """Return the settings that act: commands are allowed only when files are wanted."""
    idle = () if workspace.wants_files(request) else ("shell",)
    return {name: value for name, value in role.settings.items() if name not in idle}


BACKEND = BackendSpec(
    name="cursor_exec",
    description="Cursor's agent as a target that works in a folder (key).",
    open=PROGRAM.open,
    check=PROGRAM.check,
    sent=effort_sent(()),
    acting=acting,
    roles=("target",),
    aliases=("cursor", "cursor_agent"),
    default_model="composer-2.5",
    settings=(
        *common_settings(_BINARY, _PROGRAM),
        Setting(
            name="sandbox",
            type="str",
            default="enabled",
            description="Sandbox of the agent; tasks that want files are refused without it.",
            decides=True,
            choices=("enabled", "disabled"),
        ),
        Setting(
            name="shell",
            type="bool",
            default=False,
            description="Whether the agent may run commands when the task wants files. Its commands can see "
            "CURSOR_API_KEY: the program has no documented way to hide it from them.",
            decides=True,
        ),
    ),
    secrets=_KEYS,
    capabilities=frozenset({"workspace", "images"}),
)
