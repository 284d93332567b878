"""How Claude Code is called and logged in; the flags are those of https://code.claude.com/docs/en/cli-reference."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from skillopt.errors import ConfigError
from skillopt.models.agents.backend import Login
from skillopt.models.agents.failures import Advice
from skillopt.models.agents.place import Place
from skillopt.models.agents.settings import advice, handed_over, home_of
from skillopt.models.base import RoleModel
from skillopt.models.keys import find_key, for_each_role, key_variables

BINARY = "claude"
PROGRAM = "Claude Code"
KEYS = for_each_role("ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_AUTH_TOKEN")
EFFORTS = ("low", "medium", "high", "xhigh", "max")
DEFAULT_MODEL = "claude-sonnet-4-6"

_LOGIN = (
    "Set ANTHROPIC_API_KEY, or CLAUDE_CODE_OAUTH_TOKEN to what `claude setup-token` prints, or log in with "
    "`claude auth login`."
)

ENVIRONMENT = {
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    "CLAUDE_CODE_DISABLE_CLAUDE_MDS": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "ENABLE_CLAUDEAI_MCP_SERVERS": "false",
}
"""Keeps memories, instructions and connectors of the machine's owner out, and the program as it is."""


def claude_advice(role: RoleModel) -> Advice:
    """Return what users of Claude Code are told."""
    return advice(role, program=PROGRAM, install="https://code.claude.com/docs/en/setup", login=_LOGIN)


def config_folder(env: Mapping[str, str]) -> Path:
    """Return the folder where the owner's login lies."""
    return Path(env.get("CLAUDE_CONFIG_DIR") or home_of(env) / ".claude")


def login(role: RoleModel, env: Mapping[str, str]) -> Login:
    """Return the key, or the folder of a login; raises ConfigError when there is neither.

    A login is used in its own folder (what it is renewed with changes), so that folder alone of
    the owner's home is named to the program. On macOS logins lie in the keychain, which is not
    looked at: a key or token is needed there.
    """
    if key := find_key(key_variables(role.role, KEYS), env):
        return Login(env=handed_over(role, key))
    folder = config_folder(env)
    if not (folder / ".credentials.json").is_file():
        raise ConfigError(
            f"{PROGRAM} is not logged in: no key in the environment, no login in {folder}. "
            f"{claude_advice(role).login}"
        )
    return Login(furnish=lambda place: {"CLAUDE_CONFIG_DIR": str(folder)})


def arguments(
    role: RoleModel,
    *,
    output: Sequence[str],
    tools: Sequence[str],
    mode: str,
    settings: Path,
    effort: str,
) -> tuple[str, ...]:
    """Return the arguments that all calls share.

    Settings files, MCP servers and skills of the owner are not read: no setting sources, no MCP
    configuration, no commands. Nothing of the session is kept.
    """
    return (
        "-p",
        *("--output-format", *output),
        *("--setting-sources", ""),
        "--strict-mcp-config",
        "--disable-slash-commands",
        "--no-session-persistence",
        *("--settings", str(settings)),
        *("--permission-mode", mode),
        *("--tools", ",".join(tools)),
        *(("--model", role.model) if role.model else ()),
        *(("--effort", effort) if effort else ()),
    )


def write_settings(place: Place, env: Mapping[str, str], *, read: bool, shell: bool) -> Path:
    """Write the settings of a call: what may be read, and how commands are confined.

    Commands run only in the program's own sandbox (bubblewrap on Linux, Seatbelt on macOS);
    where there is none, they are refused.
    """
    permissions = {
        "allow": ["Read(./**)"] if read else [],
        "deny": ["Read(//proc/**)", f"Read(/{config_folder(env)}/**)"],
    }
    sandbox = {
        "enabled": True,
        "failIfUnavailable": True,  # without it, the program only warns and goes on
        "autoAllowBashIfSandboxed": True,
        "allowUnsandboxedCommands": False,
    }
    path = place.private / "settings.json"
    path.write_text(json.dumps({"permissions": permissions, **({"sandbox": sandbox} if shell else {})}))
    return path
