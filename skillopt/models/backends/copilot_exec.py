"""GitHub Copilot's command line as a target that works in a folder."""

from skillopt.models.agents import copilot, copilot_cli, workspace
from skillopt.models.agents.backend import Invocation
from skillopt.models.agents.instruction import instruction
from skillopt.models.agents.outcome import Outcome
from skillopt.models.agents.place import Place
from skillopt.models.agents.program import Program
from skillopt.models.agents.requests import refuse
from skillopt.models.agents.settings import common_settings, effort, effort_sent
from skillopt.models.base import BackendSpec, Request, RoleModel

_READ = ("view", "glob", "grep")
_WRITE = (*_READ, "create", "edit", "apply_patch", "bash", "read_bash", "write_bash", "stop_bash")


class Copilot:
    """A short instruction on standard input, a stream of events back."""

    def __init__(self, role: RoleModel) -> None:
        self._role = role

    def prepare(self, request: Request, place: Place, *, again: bool) -> Invocation:
        """Fill the workspace; tools that write or run commands are there only when files are wanted."""
        refuse(request, copilot_cli.PROGRAM, tools=True)
        images = workspace.fill(place.work, request)
        may_write = workspace.wants_files(request)
        level = effort("", request, copilot_cli.EFFORTS)
        arguments = copilot_cli.arguments(self._role, tools=_WRITE if may_write else _READ, effort=level)
        if may_write:  # commands must not see the token
            arguments += (f"--secret-env-vars={','.join(copilot_cli.TOKENS)}",)
        for image in images:
            arguments += ("--attachment", image)
        return Invocation(
            arguments=arguments,
            stdin=instruction(
                may_write=may_write, attachments=workspace.has_attachments(request), again=again
            ),
            env=copilot_cli.ENVIRONMENT,
        )

    def read(self, out: bytes) -> Outcome:
        """Return what a run came to."""
        return copilot.read(out)


PROGRAM = Program(
    binary=copilot_cli.BINARY,
    settings=copilot_cli.CopilotSettings,
    advice=copilot_cli.copilot_advice,
    login=copilot_cli.login,
    kind=lambda role, settings, env: Copilot(role),
)

BACKEND = BackendSpec(
    name="copilot_exec",
    description="GitHub Copilot's command line as a target that works in a folder (token or login).",
    open=PROGRAM.open,
    check=PROGRAM.check,
    sent=effort_sent(copilot_cli.EFFORTS),
    roles=("target",),
    default_model="",
    settings=(*common_settings(copilot_cli.BINARY, copilot_cli.PROGRAM), copilot_cli.HOME_SETTING),
    secrets=copilot_cli.KEYS,
    capabilities=frozenset({"workspace", "images"}),
)
