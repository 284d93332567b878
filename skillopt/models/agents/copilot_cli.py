"""How the GitHub Copilot CLI is called and logged in.

The flags are those of https://docs.github.com/en/copilot/reference/copilot-cli-reference. The
prompt goes to standard input (without `-p`, which would make it one long argument).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from skillopt.errors import ConfigError
from skillopt.models.agents.backend import Login
from skillopt.models.agents.failures import Advice
from skillopt.models.agents.settings import ProgramSettings, advice, handed_over
from skillopt.models.base import RoleModel, Setting
from skillopt.models.keys import find_key, for_each_role, key_variables

BINARY = "copilot"
PROGRAM = "The Copilot CLI"
TOKENS = ("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN")
KEYS = for_each_role(*TOKENS)
EFFORTS = ("low", "medium", "high", "xhigh", "max")
ENVIRONMENT = {"COPILOT_AUTO_UPDATE": "false"}

_LOGIN = (
    "Set COPILOT_GITHUB_TOKEN (or GH_TOKEN, GITHUB_TOKEN) to a fine-grained token with the permission "
    '"Copilot Requests", or log in with `copilot login` and name its folder in the setting `home`.'
)


class CopilotSettings(ProgramSettings, frozen=True, kw_only=True):
    """The settings of the Copilot CLI."""

    home: str = ""


HOME_SETTING = Setting(
    name="home",
    type="str",
    default="",
    description="Folder of a Copilot configuration that is logged in (COPILOT_HOME), to do without a token. "
    "What else it holds is read too. Blank: an empty one per call.",
    decides=False,
)


def copilot_advice(role: RoleModel) -> Advice:
    """Return what users of the Copilot CLI are told."""
    return advice(role, program=PROGRAM, install="npm install -g @github/copilot", login=_LOGIN)


def login(role: RoleModel, settings: CopilotSettings, env: Mapping[str, str]) -> Login:
    """Return the token, or the folder of a login; raises ConfigError when there is neither."""
    home = {"COPILOT_HOME": str(Path(settings.home).expanduser().absolute())} if settings.home else {}
    for folder in home.values():
        if not Path(folder).is_dir():
            raise ConfigError(f"{role.key_of('home')}: expected a folder, found {folder!r}")
    key, to_do = find_key(key_variables(role.role, KEYS), env), copilot_advice(role).login
    if key and key.value.startswith("ghp_"):
        raise ConfigError(f"{PROGRAM} takes no classic tokens, as the one in {key.variable}. {to_do}")
    if not key and not home:
        raise ConfigError(f"{PROGRAM} is not logged in: no token in the environment. {to_do}")
    return Login(env=handed_over(role, key) if key else {}, furnish=lambda place: home)


def arguments(role: RoleModel, *, tools: Sequence[str], effort: str) -> tuple[str, ...]:
    """Return the arguments that all calls share: JSON out, only these tools, nothing of the owner's.

    `--allow-all-tools` is required without a person who is asked; which tools there are is the
    business of `--available-tools`. Paths outside the working folder stay closed.
    """
    return (
        *("--output-format", "json"),
        *("--stream", "off"),
        "--no-color",
        *("--log-level", "none"),
        "--disable-builtin-mcps",
        "--no-custom-instructions",
        "--no-ask-user",
        "--disallow-temp-dir",
        f"--available-tools={','.join(tools)}",
        *(("--allow-all-tools",) if tools else ()),
        *(("--model", role.model) if role.model else ()),
        *((f"--effort={effort}",) if effort else ()),
    )
