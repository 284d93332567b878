"""Claude as a chat model, through the command line of Claude Code: no tools, no settings of the owner."""

import json
from collections.abc import Mapping

import msgspec

from skillopt.models.agents import claude, claude_cli, toolcalls
from skillopt.models.agents.backend import Invocation
from skillopt.models.agents.dialogue import prompt_text, system_text
from skillopt.models.agents.outcome import Outcome
from skillopt.models.agents.place import Place
from skillopt.models.agents.program import Program
from skillopt.models.agents.requests import write_images
from skillopt.models.agents.settings import (
    ProgramSettings,
    common_settings,
    effort,
)
from skillopt.models.base import BackendSpec, Request, RoleModel


class ClaudeChat:
    """A prompt on standard input, the system text in a file, one JSON object back."""

    def __init__(self, role: RoleModel, env: Mapping[str, str]) -> None:
        self._role = role
        self._env = env

    def prepare(self, request: Request, place: Place, *, again: bool) -> Invocation:
        """Write system text and images into the call's folders; images are read with the Read tool."""
        images = write_images(place.work, request)
        arguments = claude_cli.arguments(
            self._role,
            output=("json",),
            tools=("Read",) if images else (),
            mode="dontAsk",
            settings=claude_cli.write_settings(place, self._env, read=bool(images), shell=False),
            effort=effort("", request, claude_cli.EFFORTS),
        )
        system = system_text(request.messages)
        if request.tools:
            system = f"{system}\n\n{toolcalls.offer(request)}".strip()
            arguments += ("--json-schema", json.dumps(toolcalls.SCHEMA))
        if system:
            path = place.private / "system.md"
            path.write_text(system, "utf-8", "replace")
            arguments += ("--system-prompt-file", str(path))
        limit = {"CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(request.max_completion_tokens)}
        return Invocation(
            arguments=arguments,
            stdin=prompt_text(request.messages, images),
            env={**claude_cli.ENVIRONMENT, **limit},
        )

    def read(self, out: bytes) -> Outcome:
        """Return what a run came to."""
        return claude.read(out)


def sent(role: RoleModel, request: Request) -> Request:
    """Return the request as far as it is sent."""
    level = effort("", request, claude_cli.EFFORTS)
    return msgspec.structs.replace(request, reasoning_effort=level)


PROGRAM = Program(
    binary=claude_cli.BINARY,
    settings=ProgramSettings,
    advice=claude_cli.claude_advice,
    login=lambda role, settings, env: claude_cli.login(role, env),
    kind=lambda role, settings, env: ClaudeChat(role, env),
)

BACKEND = BackendSpec(
    name="claude_chat",
    description="Claude as a chat model, through the command line of Claude Code (key or login).",
    open=PROGRAM.open,
    check=PROGRAM.check,
    sent=sent,
    aliases=("claude", "anthropic"),
    default_model=claude_cli.DEFAULT_MODEL,
    settings=common_settings(claude_cli.BINARY, claude_cli.PROGRAM),
    secrets=claude_cli.KEYS,
    capabilities=frozenset({"tools", "images", "usage"}),
)
