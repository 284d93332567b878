"""How Codex is called and logged in; flags and settings are those of https://developers.openai.com/codex."""

from collections.abc import Mapping
from pathlib import Path

from skillopt.errors import ConfigError
from skillopt.models.agents.backend import Login
from skillopt.models.agents.failures import Advice
from skillopt.models.agents.place import Place
from skillopt.models.agents.settings import advice, handed_over, home_of
from skillopt.models.base import RoleModel
from skillopt.models.keys import find_key, for_each_role, key_variables

BINARY = "codex"
PROGRAM = "Codex"
_OWN, _OF_OTHERS = "CODEX_API_KEY", "OPENAI_API_KEY"
KEYS = for_each_role(_OWN, _OF_OTHERS)
EFFORTS = ("minimal", "low", "medium", "high", "xhigh")

_LOGIN = "Set CODEX_API_KEY (or OPENAI_API_KEY), or log in with `codex login`."


def codex_advice(role: RoleModel) -> Advice:
    """Return what users of Codex are told."""
    return advice(
        role,
        program=PROGRAM,
        install="npm install -g @openai/codex, see https://developers.openai.com/codex/cli",
        login=_LOGIN,
    )


def login(role: RoleModel, env: Mapping[str, str], profile: str) -> Login:
    """Return the key, or the login's file; raises ConfigError when there is neither.

    Keys of the role come first, then CODEX_API_KEY, then a login, then OPENAI_API_KEY: who logged in does
    not pay twice because of a key that is there for another backend. Codex gets a home of its own, which
    holds nothing but links to the login and, when a profile is asked for, to the configuration
    that defines it.
    """
    folder = Path(env.get("CODEX_HOME") or home_of(env) / ".codex")
    key = find_key(key_variables(role.role, KEYS), env)
    logged_in = (key is None or key.variable == _OF_OTHERS) and (folder / "auth.json").is_file()
    if key is None and not logged_in:
        raise ConfigError(
            f"{PROGRAM} is not logged in: no key in the environment, no login in {folder}. "
            f"{codex_advice(role).login}"
        )
    names = ["auth.json"] if logged_in else []
    if profile:
        names += [name for name in ("config.toml", f"{profile}.config.toml") if (folder / name).is_file()]
        if len(names) == logged_in:
            raise ConfigError(
                f"{PROGRAM}: no configuration in {folder} that could define the profile {profile!r}"
            )
    own = handed_over(role, key, _OWN) if key and not logged_in else {}
    return Login(env=own, furnish=lambda place: _furnish(place, folder, names))


def _furnish(place: Place, folder: Path, names: list[str]) -> dict[str, str]:
    home = place.home / ".codex"
    home.mkdir()
    for name in names:
        (home / name).symlink_to((folder / name).resolve())
    return {"CODEX_HOME": str(home)}
