"""Endpoints over HTTP: their address, their key, their connections, and one that speaks Chat Completions."""

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import msgspec

from skillopt.errors import ConfigError
from skillopt.models.backends import _chat
from skillopt.models.base import CallError, Reply, Request, RoleModel, Setting

if TYPE_CHECKING:
    import httpx2

log = logging.getLogger(__name__)

T = TypeVar("T")

_LOCAL_SUFFIXES = (".local", ".localhost", ".internal", ".lan")
_CONNECT_SECONDS = 30.0


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
            description="Longest silence of the endpoint during a call, in seconds. Without one only the "
            "time limit of the call counts.",
            decides=False,
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


def setting_name(role: RoleModel, setting: str) -> str:
    """Return the key of a setting as the user writes it."""
    return f"model.{role.role}_{role.backend}_{setting}"


def address_problem(setting: str, url: str) -> str:
    """Say what is wrong with an address, "" for nothing."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 0) >= 0
    except ValueError:
        usable = False
    if not usable:
        return f"{setting}: expected http(s)://host/..., found {url!r}"
    if parts.username or parts.password:
        return f"{setting}: holds a user or password; put the key into the environment"
    return ""


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
    return [api_key_env] if api_key_env else [name.format(ROLE=role.role.upper()) for name in names]


def find_key(names: list[str], env: Mapping[str, str]) -> str:
    """Return the first key that is set, "" for none."""
    return next((key for name in names if (key := env.get(name, "").strip())), "")


def key_problem(role: RoleModel, names: list[str], where: str, env: Mapping[str, str]) -> str:
    """Say that there is no key, or one that cannot be sent; "" when it is fine. The key is never shown."""
    key = find_key(names, env)
    if not key:
        return (
            f"no key for the {role.role} model at {where}: set the environment variable {' or '.join(names)}"
        )
    if not (key.isascii() and key.isprintable()) or " " in key:
        return f"the key in {' or '.join(names)} holds blanks or characters that no key has: set it again"
    return ""


def endpoint_problems(
    role: RoleModel, settings: ChatSettings, secrets: tuple[str, ...], env: Mapping[str, str]
) -> list[str]:
    """Say what is missing to call an endpoint: an address, a key."""
    problem = address_problem(setting_name(role, "base_url"), settings.base_url)
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


def http_client(base_url: str, *, timeout: float | None, headers: Mapping[str, str]) -> "httpx2.AsyncClient":
    """Return a pool of connections. Nothing is followed, kept or limited: the client above counts calls."""
    import httpx2

    connect = _CONNECT_SECONDS if timeout is None else min(_CONNECT_SECONDS, timeout)
    return httpx2.AsyncClient(
        headers=headers,
        timeout=httpx2.Timeout(timeout, connect=connect, pool=None),
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=60.0),
        trust_env=not is_local(base_url),
        verify=base_url.startswith("https:"),
    )


def transport_error(error: BaseException, say: _chat.Say) -> CallError:
    """Return the error of a call that got no response, or half of one."""
    import httpx2

    name = type(error).__name__
    if isinstance(error, httpx2.TimeoutException):
        message = say(f"no reply from the endpoint in time ({name})")
        return CallError(message, kind="timeout", transient=True, code="timeout")
    if isinstance(error, httpx2.UnsupportedProtocol | httpx2.InvalidURL):
        return CallError(say(f"the address cannot be called: {error}"), code="bad_url")
    return CallError(say(f"no connection, or it broke: {name}: {error}"), transient=True, code="connection")


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
        *,
        limit_field: str = "max_tokens",
        sends_effort: bool = False,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        self._model = model
        self._limit_field = limit_field
        self._limit = OutputLimit(settings.max_tokens)
        self._sends_effort = sends_effort
        self._extra = dict(extra or {})
        if settings.temperature is not None and settings.temperature >= 0:
            self._extra["temperature"] = settings.temperature
        self._secrets = (key,) if key else ()
        self._http = http_client(
            settings.base_url,
            timeout=settings.timeout_seconds,
            headers={"Content-Type": "application/json", "User-Agent": "skillopt"}
            | ({"Authorization": f"Bearer {key}"} if key else {}),
        )
        base = settings.base_url.rstrip("/")
        self._url = base if base.endswith("/chat/completions") else f"{base}/chat/completions"

    async def complete(self, request: Request) -> Reply:
        """Make one call, without retries; raises CallError."""
        import httpx2

        body = msgspec.json.encode(self.payload(request))
        try:
            response = await self._http.post(self._url, content=body)
        except (httpx2.RequestError, httpx2.InvalidURL) as error:
            raise transport_error(error, self._say) from error
        if response.status_code != 200:
            raise _chat.status_error(response.status_code, response.headers, response.content, self._say)
        return _chat.read_reply(response.content, self._say)

    def payload(self, request: Request) -> dict[str, Any]:
        """Return the JSON body of a call."""
        body = _chat.payload(self._model, request, {self._limit_field: self._limit(request)}) | self._extra
        if self._sends_effort and request.reasoning_effort:
            body["reasoning_effort"] = request.reasoning_effort
        return body

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    def _say(self, text: str) -> str:
        return _chat.redact(text, self._secrets)
