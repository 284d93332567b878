"""Codex: as optimizer used like a chat model, as target an agent in a folder. Command line only, no SDK."""

from typing import Literal

from skillopt.models.agents import codex, codex_cli, workspace
from skillopt.models.agents.backend import Invocation
from skillopt.models.agents.dialogue import one_text
from skillopt.models.agents.instruction import instruction
from skillopt.models.agents.outcome import Outcome
from skillopt.models.agents.place import Place
from skillopt.models.agents.program import Program
from skillopt.models.agents.requests import refuse, write_images
from skillopt.models.agents.settings import (
    ProgramSettings,
    common_settings,
    effort,
    effort_sent,
)
from skillopt.models.base import BackendSpec, CallError, Request, RoleModel, Setting, SettingValue

SandboxMode = Literal["", "read-only", "workspace-write", "danger-full-access"]


class CodexSettings(ProgramSettings, frozen=True, kw_only=True):
    """The settings of Codex."""

    sandbox: SandboxMode = ""
    profile: str = ""
    reasoning_effort: str = ""
    network_access: bool = False
    web_search: bool = False
    approval_policy: str = "never"


class Codex:
    """A prompt on standard input, a stream of events back."""

    def __init__(self, role: RoleModel, settings: CodexSettings) -> None:
        self._role = role
        self._settings = settings

    def prepare(self, request: Request, place: Place, *, again: bool) -> Invocation:
        """Fill the workspace of an agent; an optimizer gets an empty folder, and the prompt whole."""
        refuse(request, codex_cli.PROGRAM, tools=True)
        if self._role.role == "optimizer":
            images = [str(place.private / name) for name in write_images(place.private, request)]
            return self._invocation(request, place, one_text(request.messages), images, "read-only")
        images = [str(place.work / path) for path in workspace.fill(place.work, request)]
        may_write = workspace.wants_files(request)
        told = instruction(may_write=may_write, attachments=workspace.has_attachments(request), again=again)
        return self._invocation(request, place, told, images, self._sandbox(may_write))

    def _sandbox(self, may_write: bool) -> str:
        """Return the sandbox: read-only, unless files are wanted or the owner lifted it altogether."""
        chosen = self._settings.sandbox
        if chosen == "danger-full-access":
            return chosen
        if may_write and chosen == "read-only":
            raise CallError(
                f"the task wants files, and {self._role.key_of('sandbox')} is read-only: "
                "set it to workspace-write",
                code="read_only",
            )
        return "workspace-write" if may_write else "read-only"

    def _invocation(
        self, request: Request, place: Place, prompt: str, images: list[str], sandbox: str
    ) -> Invocation:
        settings = self._settings
        level = effort(settings.reasoning_effort, request, codex_cli.EFFORTS)
        values = {
            "approval_policy": f'"{settings.approval_policy}"',
            "sandbox_workspace_write.network_access": str(
                settings.network_access and sandbox == "workspace-write"
            ).lower(),
            "sandbox_workspace_write.exclude_slash_tmp": "true",  # where the folders of other calls are
            "web_search": '"live"' if settings.web_search else '"disabled"',
            "project_doc_max_bytes": "0",  # no AGENTS.md of a folder above
            "project_root_markers": "[]",  # nor skills or settings of a repository that TMPDIR may lie in
            "shell_environment_policy.inherit": '"core"',  # commands do not see the key
            "shell_environment_policy.ignore_default_excludes": "false",
            **({"model_reasoning_effort": f'"{level}"'} if level else {}),
        }
        return Invocation(
            arguments=(
                "exec",
                *(f"--image={path}" for path in images),  # first: it would take what follows it
                *("--json", "--ephemeral", "--skip-git-repo-check"),
                *("--color", "never"),
                *("--sandbox", sandbox),
                *("--cd", str(place.work)),
                *(part for name, value in values.items() for part in ("-c", f"{name}={value}")),
                *(("--profile", settings.profile) if settings.profile else ()),
                *(("--model", self._role.model) if self._role.model else ()),
                "-",
            ),
            stdin=prompt,
        )

    def read(self, out: bytes) -> Outcome:
        """Return what a run came to."""
        return codex.read(out)


def acting(role: RoleModel, request: Request) -> dict[str, SettingValue]:
    """Return the settings that act: who may write gets another sandbox, and the network if it is allowed."""
    lifted = role.role == "target" and role.settings.get("sandbox") == "danger-full-access"
    writes = role.role == "target" and not lifted and workspace.wants_files(request)
    idle = {*(() if lifted else ("sandbox",)), *(() if writes else ("network_access",))}
    return {name: value for name, value in role.settings.items() if name not in idle}


PROGRAM = Program(
    binary=codex_cli.BINARY,
    settings=CodexSettings,
    advice=codex_cli.codex_advice,
    login=lambda role, settings, env: codex_cli.login(role, env, settings.profile),
    kind=lambda role, settings, env: Codex(role, settings),
)

BACKEND = BackendSpec(
    name="codex_exec",
    description="Codex: as optimizer used like a chat model, as target an agent in a folder (key or login).",
    open=PROGRAM.open,
    check=PROGRAM.check,
    sent=effort_sent(codex_cli.EFFORTS, own="reasoning_effort"),
    acting=acting,
    aliases=("codex",),
    default_model="gpt-5.5",
    settings=(
        *common_settings(codex_cli.BINARY, codex_cli.PROGRAM),
        Setting(
            name="sandbox",
            type="str",
            default="",
            description="Sandbox of the target's commands. Blank and workspace-write: read-only, and "
            "workspace-write for tasks that want files. danger-full-access lifts it, for containers in "
            "which it cannot work. The optimizer is always read-only.",
            decides=True,
            choices=("", "read-only", "workspace-write", "danger-full-access"),
        ),
        Setting(
            name="profile",
            type="str",
            default="",
            description="Profile of the owner's Codex configuration to use; blank: none of it is read.",
            decides=True,
        ),
        Setting(
            name="reasoning_effort",
            type="str",
            default="",
            description="Reasoning effort; blank: as `model.reasoning_effort`.",
            decides=True,
            in_request=True,
            choices=("", "none", *codex_cli.EFFORTS),
        ),
        Setting(
            name="network_access",
            type="bool",
            default=False,
            description="Whether commands may use the network (with workspace-write only).",
            decides=True,
        ),
        Setting(
            name="web_search",
            type="bool",
            default=False,
            description="Whether the model may search the web.",
            decides=True,
        ),
        Setting(
            name="approval_policy",
            type="str",
            default="never",
            description="When Codex asks for approval, which nobody can give: what it asks for is refused.",
            decides=True,
            choices=("never", "on-request", "untrusted"),
        ),
    ),
    secrets=codex_cli.KEYS,
    capabilities=frozenset({"workspace", "images", "usage"}),
)
