"""GitHub Copilot as a chat model, through its command line, with no tools."""

from skillopt.models.agents import copilot, copilot_cli
from skillopt.models.agents.backend import Invocation
from skillopt.models.agents.dialogue import one_text
from skillopt.models.agents.outcome import Outcome
from skillopt.models.agents.place import Place
from skillopt.models.agents.program import Program
from skillopt.models.agents.requests import refuse
from skillopt.models.agents.settings import common_settings, effort, effort_sent
from skillopt.models.base import BackendSpec, Request, RoleModel


class CopilotChat:
    """A prompt on standard input, a stream of events back."""

    def __init__(self, role: RoleModel) -> None:
        self._role = role

    def prepare(self, request: Request, place: Place, *, again: bool) -> Invocation:
        """Call it with an empty list of tools, in an empty folder."""
        refuse(request, copilot_cli.PROGRAM, tools=True, images=True)
        level = effort("", request, copilot_cli.EFFORTS)
        return Invocation(
            arguments=copilot_cli.arguments(self._role, tools=(), effort=level),
            stdin=one_text(request.messages),
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
    kind=lambda role, settings, env: CopilotChat(role),
)

BACKEND = BackendSpec(
    name="copilot_chat",
    description="GitHub Copilot as a chat model, through its command line (token or login).",
    open=PROGRAM.open,
    check=PROGRAM.check,
    sent=effort_sent(copilot_cli.EFFORTS),
    aliases=("copilot", "copilot_cli", "github_copilot"),
    default_model="",
    settings=(*common_settings(copilot_cli.BINARY, copilot_cli.PROGRAM), copilot_cli.HOME_SETTING),
    secrets=copilot_cli.KEYS,
)
