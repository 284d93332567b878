"""Any Chat Completions endpoint: hosted providers, gateways, and local servers."""

import asyncio
import logging
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from skillopt import __version__
from skillopt.errors import ConfigError
from skillopt.models.backends import _chat
from skillopt.models.backends._http import open_poster
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

    def __init__(self, model: str, settings: ChatSettings, key: str, env: Mapping[str, str]) -> None:
        self._model = model
        self._settings = settings
        self._said_limit = False
        self._secrets = (key,) if key else ()
        headers = {"Content-Type": "application/json", "User-Agent": f"skillopt/{__version__}"}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        url = f"{settings.base_url.rstrip('/')}/chat/completions"
        self._poster = open_poster(url, headers, env, local=is_local(url))

    async def complete(self, request: Request) -> Reply:
        """Make one call, without retries; raises CallError."""
        body = msgspec.json.encode(self.payload(request))
        limit = self._settings.timeout_seconds
        try:
            async with asyncio.timeout(limit) as waiting:
                response = await self._poster.post(body)
        except TimeoutError as error:
            if not waiting.expired():
                raise
            message = f"no reply from the endpoint within {limit:g} s (timeout_seconds)"
            raise CallError(message, kind="timeout", transient=True, code="timeout") from error
        if response.status != 200:
            raise _chat.status_error(response.status, response.headers, response.content, self._say)
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
        await self._poster.close()

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
    _check_address(f"model.{role.role}_openai_compatible_base_url", settings.base_url)
    return OpenAICompatible(role.model, settings, _read_key(role, settings, env), env)


def _check_address(name: str, address: str) -> None:
    url = urlsplit(address)
    if url.username or url.password:
        raise ConfigError(f"{name}: holds a user or password; put the key into the environment")
    if url.scheme not in ("http", "https") or not url.hostname or url.query or url.fragment:
        raise ConfigError(f"{name}: expected http(s)://host/path, found {address!r}")
    if not re.fullmatch(r"[!-~]+", address):
        raise ConfigError(f"{name}: expected printable ASCII without blanks, found {address!r}")


def _read_key(role: RoleModel, settings: ChatSettings, env: Mapping[str, str]) -> str:
    names = [name.format(ROLE=role.role.upper()) for name in BACKEND.secrets]
    if settings.api_key_env:
        names = [settings.api_key_env]
    for name in names:
        if key := env.get(name, "").strip():
            if not re.fullmatch(r"[!-~]+", key):
                raise ConfigError(f"{name}: a key holds printable ASCII without blanks; this one does not")
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
            description="Longest time of one attempt, in seconds.",
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
