"""Claude Code as a target that works in a folder. Command line only: its SDK is not used."""

from collections.abc import Mapping

from skillopt.models.agents import claude, claude_cli, workspace
from skillopt.models.agents.backend import Invocation
from skillopt.models.agents.instruction import instruction
from skillopt.models.agents.outcome import Outcome
from skillopt.models.agents.place import Place
from skillopt.models.agents.program import Program
from skillopt.models.agents.requests import refuse
from skillopt.models.agents.settings import (
    ProgramSettings,
    common_settings,
    effort,
    effort_sent,
)
from skillopt.models.base import BackendSpec, Request, RoleModel, Setting

_READ = ("Read", "Glob", "Grep")
_WRITE = (*_READ, "Edit", "Write", "Bash")


class ClaudeCodeSettings(ProgramSettings, frozen=True, kw_only=True):
    """The settings of Claude Code as an agent."""

    profile: str = ""
    effort: str = ""
    max_thinking_tokens: int = 16384


class ClaudeCode:
    """A short instruction on standard input, a stream of events back."""

    def __init__(self, role: RoleModel, settings: ClaudeCodeSettings, env: Mapping[str, str]) -> None:
        self._role = role
        self._settings = settings
        self._env = env

    def prepare(self, request: Request, place: Place, *, again: bool) -> Invocation:
        """Fill the workspace; the agent may write and run commands only when files are wanted."""
        refuse(request, claude_cli.PROGRAM, tools=True)
        workspace.fill(place.work, request)
        may_write = workspace.wants_files(request)
        arguments = claude_cli.arguments(
            self._role,
            output=("stream-json", "--verbose"),
            tools=_WRITE if may_write else _READ,
            mode="acceptEdits" if may_write else "dontAsk",
            settings=claude_cli.write_settings(place, self._env, read=True, shell=may_write),
            effort=effort(self._settings.effort, request, claude_cli.EFFORTS),
        )
        if self._settings.profile:
            path = place.private / "profile.md"
            path.write_text(f"Profile: {self._settings.profile}\n", "utf-8")
            arguments += ("--append-system-prompt-file", str(path))
        return Invocation(
            arguments=arguments,
            stdin=instruction(
                may_write=may_write, attachments=workspace.has_attachments(request), again=again
            ),
            env=self._environment(may_write),
        )

    def _environment(self, may_write: bool) -> dict[str, str]:
        env = dict(claude_cli.ENVIRONMENT)
        if may_write:  # commands must not see the key
            env["CLAUDE_CODE_SUBPROCESS_ENV_SCRUB"] = "1"
        if self._settings.max_thinking_tokens > 0:
            env["MAX_THINKING_TOKENS"] = str(self._settings.max_thinking_tokens)
        return env

    def read(self, out: bytes) -> Outcome:
        """Return what a run came to."""
        return claude.read(out)


PROGRAM = Program(
    binary=claude_cli.BINARY,
    settings=ClaudeCodeSettings,
    advice=claude_cli.claude_advice,
    login=lambda role, settings, env: claude_cli.login(role, env),
    kind=ClaudeCode,
)

BACKEND = BackendSpec(
    name="claude_code_exec",
    description="Claude Code as a target that works in a folder (key or login).",
    open=PROGRAM.open,
    check=PROGRAM.check,
    sent=effort_sent(claude_cli.EFFORTS, own="effort"),
    roles=("target",),
    default_model=claude_cli.DEFAULT_MODEL,
    settings=(
        *common_settings(claude_cli.BINARY, claude_cli.PROGRAM),
        Setting(
            name="profile",
            type="str",
            default="",
            description="Text that is added to the agent's system prompt, after `Profile: `.",
            decides=True,
        ),
        Setting(
            name="effort",
            type="str",
            default="",
            description="Reasoning effort; blank: as `model.reasoning_effort`.",
            decides=True,
            in_request=True,
            choices=("", "none", *claude_cli.EFFORTS),
        ),
        Setting(
            name="max_thinking_tokens",
            type="int",
            default=ClaudeCodeSettings().max_thinking_tokens,
            description="Limit of the tokens of thought (MAX_THINKING_TOKENS); 0: the program's own.",
            decides=True,
        ),
    ),
    secrets=claude_cli.KEYS,
    capabilities=frozenset({"workspace", "images", "usage"}),
)
