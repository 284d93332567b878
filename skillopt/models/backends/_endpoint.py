"""Endpoints over HTTP: their address, their key, their connections, and one that speaks Chat Completions."""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec

from skillopt import __version__, addresses
from skillopt.errors import ConfigError
from skillopt.models.backends import _chat
from skillopt.models.backends._http import open_poster
from skillopt.models.base import CallError, Reply, Request, RoleModel, Setting, SettingValue
from skillopt.models.incoming import masked
from skillopt.models.keys import find_key, key_variables
from skillopt.redact import one_line

log = logging.getLogger(__name__)

T = TypeVar("T")

_LOCAL_SUFFIXES = (".local", ".localhost", ".internal", ".lan")

USER_AGENT = f"skillopt/{__version__}"


class ChatSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What the settings of every Chat Completions endpoint hold for one role."""

    base_url: str
    api_key_env: str
    timeout_seconds: float | None
    max_tokens: int
    temperature: float | None


def chat_settings(base_url: Setting, keys: str, temperature: Setting) -> tuple[Setting, ...]:
    """Return the declarations of ChatSettings; `keys` says which variables hold a key by default."""
    return (
        base_url,
        api_key_env_setting(keys),
        Setting(
            name="timeout_seconds",
            type="float",
            default=None,
            description="Longest time of one attempt, in seconds. Without one only the limit of all calls "
            "of the role counts.",
            decides=False,
            least=0.1,
        ),
        max_tokens_setting(),
        temperature,
    )


def api_key_env_setting(keys: str) -> Setting:
    """Return the declaration of `api_key_env`."""
    return Setting(
        name="api_key_env",
        type="str",
        default="",
        description=f"Name of the environment variable that holds the key. Blank: {keys}.",
        decides=False,
        form="variable",
    )


def max_tokens_setting() -> Setting:
    """Return the declaration of `max_tokens`."""
    return Setting(
        name="max_tokens",
        type="int",
        default=0,
        description="Output limit of the model, in tokens: a call that may be longer asks for this many. "
        "0: each call asks for its own limit, which is never lowered unseen.",
        decides=True,
        in_request=True,
        least=0,
    )


def temperature_setting(default: float) -> Setting:
    """Return the declaration of a `temperature` that is sent unless it is switched off."""
    return Setting(
        name="temperature",
        type="float",
        default=default,
        description="Sampling temperature. Below 0: none is sent, the endpoint's default applies.",
        decides=True,
    )


def read_settings(role: RoleModel, declared: tuple[Setting, ...], kind: type[T]) -> T:
    """Return the settings of a role as a value of `kind`; what is not set has its declared default."""
    return msgspec.convert({one.name: role.settings.get(one.name, one.default) for one in declared}, kind)


def address_problem(setting: str, url: str) -> str:
    """Say what is wrong with an address, "" for nothing."""
    problem = addresses.address_problem(url)
    return f"{setting}: {problem}" if problem else ""


def is_local(base_url: str) -> bool:
    """Tell whether an endpoint is on this machine or in a private network, and may need no key."""
    import ipaddress

    host = (urlsplit(base_url).hostname or "").lower()
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return "." not in host or host.endswith(_LOCAL_SUFFIXES)
    return address.is_private or address.is_loopback


def key_names(role: RoleModel, names: tuple[str, ...], api_key_env: str) -> list[str]:
    """Return the environment variables that may hold the key of a role, in the order they are tried."""
    return [api_key_env] if api_key_env else key_variables(role.role, names)


def key_of(names: list[str], env: Mapping[str, str]) -> str:
    """Return the first key that is set, "" for none."""
    key = find_key(names, env)
    return key.value if key else ""


def key_problem(role: RoleModel, names: list[str], where: str, env: Mapping[str, str]) -> str:
    """Say that there is no key, or one that cannot be sent; "" when it is fine. The key is never shown."""
    key = find_key(names, env)
    if not key:
        return (
            f"no key for the {role.role} model at {where}: set the environment variable {' or '.join(names)}"
        )
    return key.problem


def endpoint_problems(
    role: RoleModel, settings: ChatSettings, secrets: tuple[str, ...], env: Mapping[str, str]
) -> list[str]:
    """Say what is missing to call an endpoint: an address, a key."""
    problem = address_problem(role.key_of("base_url"), settings.base_url)
    if problem:
        return [problem]
    names = key_names(role, secrets, settings.api_key_env)
    if is_local(settings.base_url) and not settings.api_key_env and not find_key(names, env):
        return []
    problem = key_problem(role, names, settings.base_url, env)
    return [problem] if problem else []


def refuse(problems: list[str]) -> None:
    """Raise ConfigError when there are problems."""
    if problems:
        raise ConfigError("; ".join(problems))


def within_limit(role: RoleModel, request: Request) -> Request:
    """Return the request with as many tokens as are asked for."""
    limit = role.settings.get("max_tokens") or 0
    wanted = request.max_completion_tokens
    return msgspec.structs.replace(
        request, max_completion_tokens=min(wanted, int(limit)) if limit else wanted
    )


def without_effort(role: RoleModel, request: Request) -> Request:
    """Return the request as endpoints get it that take no reasoning effort."""
    return msgspec.structs.replace(within_limit(role, request), reasoning_effort="")


def acting(role: RoleModel, *idle: str, no_temperature: SettingValue = -1.0) -> dict[str, SettingValue]:
    """Return the settings of a role without those that are `idle`.

    All temperatures below 0 mean the same: `no_temperature`.
    """
    acts = {name: value for name, value in role.settings.items() if name not in idle}
    temperature = acts.get("temperature")
    if isinstance(temperature, int | float) and temperature < 0:
        acts["temperature"] = no_temperature
    return acts


class OutputLimit:
    """How many tokens a call asks for: as many as it may get, up to a limit, which is said once."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._said = False

    def __call__(self, request: Request) -> int:
        """Return the limit for one call."""
        wanted = request.max_completion_tokens
        if not self._limit or wanted <= self._limit:
            return wanted
        if not self._said:
            log.warning(
                "calls may ask for up to %d tokens, max_tokens allows %d: longer replies are cut off",
                wanted,
                self._limit,
            )
            self._said = True
        return self._limit


class ChatEndpoint:
    """A pool of connections to one Chat Completions endpoint.

    `extra` are fields of every request beside the common ones.
    """

    def __init__(
        self,
        model: str,
        settings: ChatSettings,
        key: str,
        env: Mapping[str, str],
        *,
        limit_field: str = "max_tokens",
        sends_effort: bool = False,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        self._model = model
        self._limit_field = limit_field
        self._limit = OutputLimit(settings.max_tokens)
        self._timeout = settings.timeout_seconds
        self._sends_effort = sends_effort
        self._extra = dict(extra or {})
        if settings.temperature is not None and settings.temperature >= 0:
            self._extra["temperature"] = settings.temperature
        self._secrets = (key,) if key else ()
        headers = {"Content-Type": "application/json", "User-Agent": USER_AGENT}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        base = settings.base_url.rstrip("/")
        url = base if base.endswith("/chat/completions") else f"{base}/chat/completions"
        self._poster = open_poster(url, headers, env, local=is_local(url))

    async def complete(self, request: Request) -> Reply:
        """Make one call, without retries; raises CallError."""
        body = msgspec.json.encode(self.payload(request))
        try:
            async with asyncio.timeout(self._timeout) as limit:
                response = await self._poster.post(body)
        except TimeoutError as error:
            if not limit.expired():
                raise
            message = f"no reply from the endpoint within {self._timeout:g} s (timeout_seconds)"
            raise CallError(message, kind="timeout", transient=True, code="timeout") from error
        if response.status not in _chat.SUCCESS:
            raise _chat.status_error(response.status, response.headers, response.content, self._say)
        return masked(_chat.read_reply(response.content, self._say), self._secrets)

    def payload(self, request: Request) -> dict[str, Any]:
        """Return the JSON body of a call."""
        body = _chat.payload(self._model, request, {self._limit_field: self._limit(request)}) | self._extra
        if self._sends_effort and request.reasoning_effort:
            body["reasoning_effort"] = request.reasoning_effort
        return body

    async def close(self) -> None:
        """Close the connections."""
        await self._poster.close()

    def _say(self, text: str) -> str:
        return one_line(text, _chat.SHOWN, self._secrets)
