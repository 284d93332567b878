"""Any Chat Completions endpoint: hosted providers, gateways, and local servers."""

import logging
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from skillopt.errors import ConfigError
from skillopt.models.backends import _chat
from skillopt.models.base import Backend, BackendSpec, CallError, Reply, Request, RoleModel, Setting

log = logging.getLogger(__name__)

_LOCAL_SUFFIXES = (".local", ".localhost", ".internal", ".lan")


class ChatSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of one role's endpoint."""

    base_url: str = "https://api.openai.com/v1"
    api_key_env: str = ""
    timeout_seconds: float = 300.0
    max_tokens: int = 0
    max_tokens_field: str = "max_tokens"
    temperature: float | None = None


class OpenAICompatible:
    """A pool of connections to one endpoint."""

    def __init__(self, model: str, settings: ChatSettings, key: str) -> None:
        import httpx2

        self._httpx = httpx2
        self._model = model
        self._settings = settings
        self._said_limit = False
        self._secrets = (key,) if key else ()
        local = is_local(settings.base_url)
        self._http = httpx2.AsyncClient(
            headers={"Content-Type": "application/json"}
            | ({"Authorization": f"Bearer {key}"} if key else {}),
            timeout=httpx2.Timeout(
                settings.timeout_seconds, connect=min(30.0, settings.timeout_seconds), pool=None
            ),
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=60.0),
            trust_env=not local,
            verify=settings.base_url.startswith("https:"),
        )
        self._url = f"{settings.base_url.rstrip('/')}/chat/completions"

    async def complete(self, request: Request) -> Reply:
        """Make one call, without retries; raises CallError."""
        body = msgspec.json.encode(self.payload(request))
        httpx = self._httpx
        try:
            response = await self._http.post(self._url, content=body)
        except httpx.TimeoutException as error:
            raise CallError(
                self._say(f"no reply from the endpoint in time ({type(error).__name__})"),
                kind="timeout",
                transient=True,
                code="timeout",
            ) from error
        except (httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
            raise CallError(self._say(f"base_url cannot be called: {error}"), code="bad_url") from error
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise CallError(
                self._say(f"no connection, or it broke: {type(error).__name__}: {error}"),
                transient=True,
                code="connection",
            ) from error
        if response.status_code != 200:
            raise _chat.status_error(response.status_code, response.headers, response.content, self._say)
        return _chat.read_reply(response.content, self._say)

    def payload(self, request: Request) -> dict[str, Any]:
        """Return the JSON body of a call."""
        settings = self._settings
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [_chat.message(message) for message in request.messages],
            settings.max_tokens_field: self._limit(request),
        }
        if settings.temperature is not None:
            body["temperature"] = settings.temperature
        if request.reasoning_effort:
            body["reasoning_effort"] = request.reasoning_effort
        if request.tools:
            body["tools"] = [_chat.tool(tool) for tool in request.tools]
            if request.tool_choice:
                body["tool_choice"] = _chat.tool_choice(request.tool_choice)
        return body

    def _limit(self, request: Request) -> int:
        wanted, limit = request.max_completion_tokens, self._settings.max_tokens
        if not limit or wanted <= limit:
            return wanted
        if not self._said_limit:
            log.warning(
                "calls may ask for up to %d tokens, max_tokens allows %d: longer replies are cut off",
                wanted,
                limit,
            )
            self._said_limit = True
        return limit

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    def _say(self, text: str) -> str:
        return _chat.redact(text, self._secrets)


def is_local(base_url: str) -> bool:
    """Tell whether an endpoint is on this machine or in a private network, and may need no key."""
    import ipaddress

    host = (urlsplit(base_url).hostname or "").lower()
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return "." not in host or host.endswith(_LOCAL_SUFFIXES)
    return address.is_private or address.is_loopback


def open_backend(role: RoleModel, env: Mapping[str, str]) -> Backend:
    """Check the address, read the key, and connect lazily."""
    settings = msgspec.convert(role.settings, ChatSettings)
    where = f"model.{role.role}_openai_compatible"
    url = urlsplit(settings.base_url)
    if url.scheme not in ("http", "https") or not url.hostname:
        raise ConfigError(f"{where}_base_url: expected http(s)://host/..., found {settings.base_url!r}")
    if url.username or url.password:
        raise ConfigError(f"{where}_base_url: holds a user or password; put the key into the environment")
    return OpenAICompatible(role.model, settings, _read_key(role, settings, env))


def _read_key(role: RoleModel, settings: ChatSettings, env: Mapping[str, str]) -> str:
    names = [name.format(ROLE=role.role.upper()) for name in BACKEND.secrets]
    if settings.api_key_env:
        names = [settings.api_key_env]
    for name in names:
        if key := env.get(name, "").strip():
            return key
    if settings.api_key_env or not is_local(settings.base_url):
        raise ConfigError(
            f"no key for the {role.role} model at {settings.base_url}: set the environment variable "
            f"{' or '.join(names)}"
        )
    return ""


BACKEND = BackendSpec(
    name="openai_compatible",
    description="Any Chat Completions endpoint: hosted providers, vLLM, SGLang, Ollama, LiteLLM, gateways.",
    open=open_backend,
    aliases=("openai-compatible", "compatible"),
    default_model="gpt-4o-mini",
    settings=(
        Setting(
            name="base_url",
            type="str",
            default=ChatSettings().base_url,
            description="Address up to, and without, `/chat/completions`.",
            decides=True,
        ),
        Setting(
            name="api_key_env",
            type="str",
            default="",
            description="Name of the environment variable that holds the key. Empty: "
            "OPTIMIZER_/TARGET_OPENAI_COMPATIBLE_API_KEY, then OPENAI_COMPATIBLE_API_KEY; local endpoints "
            "need none.",
            decides=False,
        ),
        Setting(
            name="timeout_seconds",
            type="float",
            default=300.0,
            description="Longest silence of the endpoint during a call, in seconds.",
            decides=False,
        ),
        Setting(
            name="max_tokens",
            type="int",
            default=0,
            description="Output limit of the model, in tokens: a call that may be longer asks for this many. "
            "0: each call asks for its own limit, which is never lowered unseen.",
            decides=True,
        ),
        Setting(
            name="max_tokens_field",
            type="str",
            default="max_tokens",
            description="Name under which the endpoint takes the output limit; newer OpenAI models take "
            "only max_completion_tokens.",
            decides=True,
            choices=("max_tokens", "max_completion_tokens"),
        ),
        Setting(
            name="temperature",
            type="float",
            default=None,
            description="Sampling temperature; without one the endpoint's default applies.",
            decides=True,
        ),
    ),
    secrets=("{ROLE}_OPENAI_COMPATIBLE_API_KEY", "OPENAI_COMPATIBLE_API_KEY"),
    capabilities=frozenset({"tools", "images", "usage"}),
)
