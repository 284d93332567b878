"""OpenAI's models: from OpenAI, from Azure (key, Azure CLI login, managed identity), or compatible."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from skillopt.models.backends import _azure, _chat, _endpoint, _responses
from skillopt.models.backends._http import open_poster
from skillopt.models.backends._openai_access import (
    AZURE_KEYS,
    MODES,
    OPENAI_KEYS,
    RESPONSES_SINCE,
    Access,
    OpenAISettings,
    access_of,
    azure_called,
    problems_of,
    responses_only,
)
from skillopt.models.base import (
    Backend,
    BackendSpec,
    CallError,
    Reply,
    Request,
    RoleModel,
    Setting,
    SettingValue,
)
from skillopt.models.incoming import masked
from skillopt.redact import one_line

if TYPE_CHECKING:
    import openai

_WITHOUT_EFFORT = ("gpt-3.5", "gpt-4", "chatgpt-")
"""Starts of the names of models that do not reason, and refuse an effort."""


class OpenAIChat:
    """A pool of connections to one endpoint, called through the official package."""

    def __init__(
        self, model: str, settings: OpenAISettings, access: Access, key: str, env: Mapping[str, str]
    ) -> None:
        self._model = model
        self._access = access
        self._wire_api = settings.wire_api
        self._api_version = settings.api_version
        self._limit = _endpoint.OutputLimit(settings.max_tokens)
        self._key = key
        self._tokens: _azure.Tokens | None = None
        if access.mode in ("azure_cli", "managed_identity"):
            client_id = settings.managed_identity_client_id
            self._tokens = _azure.Tokens(access.mode, settings.ad_scope, client_id)
        self._account = {"OpenAI-Organization": settings.org_id, "OpenAI-Project": settings.project_id}
        self._sdk = _sdk(access, settings.api_version, key, self._tokens, env)

    async def complete(self, request: Request) -> Reply:
        """Make one call, without retries; raises CallError."""
        import httpx2
        import openai

        responses = self._takes_responses(request)
        body = self.payload(request)
        try:
            response = await self._sdk.post(
                "/responses" if responses else "/chat/completions",
                body=body,
                cast_to=httpx2.Response,
                options={"headers": self._headers(), "security": {"bearer_auth": True}},
            )
        except openai.APIStatusError as error:
            found = error.response
            raise _chat.status_error(found.status_code, found.headers, found.content, self._say) from error
        except openai.APIConnectionError as error:
            raise _transport_error(error.__cause__ or error, self._access.url, self._say) from error
        if response.status_code not in _chat.SUCCESS:
            raise _chat.status_error(response.status_code, response.headers, response.content, self._say)
        read = _responses.read_reply if responses else _chat.read_reply
        return masked(read(response.content, self._say), self._secrets)

    def payload(self, request: Request) -> dict[str, Any]:
        """Return the JSON body of a call."""
        limit = self._limit(request)
        effort = _effort(self._model, request)
        if self._takes_responses(request):
            return _responses.payload(self._model, request, limit, effort)
        field = "max_completion_tokens" if self._access.native else "max_tokens"
        body = _chat.payload(self._model, request, {field: limit})
        return body | ({"reasoning_effort": effort} if effort else {})

    def _headers(self) -> dict[str, Any]:
        """Return the headers that the package might take from the environment: each is set, or left out.

        A local server without a key gets no login at all; organization and project are OpenAI's alone.
        """
        import openai

        omitted = openai.Omit()
        own = self._account if self._access.openai else dict.fromkeys(self._account, "")
        headers: dict[str, Any] = {name: value or omitted for name, value in own.items()}
        if not self._access.azure:
            headers["Authorization"] = f"Bearer {self._key}" if self._key else omitted
        if not self._access.azure or self._tokens:
            headers["api-key"] = omitted
        else:
            headers["Authorization"] = omitted
        return headers

    def _takes_responses(self, request: Request) -> bool:
        """Tell which API a call needs: newer models think and use tools in the Responses API only."""
        if self._wire_api != "auto":
            return self._wire_api == "responses"
        if responses_only(self._model):
            return True
        there = self._access.native and not (self._access.azure and self._api_version < RESPONSES_SINCE)
        return there and bool(request.tools) and request.reasoning_effort not in ("", "none")

    async def close(self) -> None:
        """Close the connections."""
        await self._sdk.close()

    @property
    def _secrets(self) -> tuple[str, ...]:
        """Return what must not be shown: the key, or the token that stands for it."""
        keys = (self._key,) if self._key else ()
        return (*keys, *(self._tokens.secrets if self._tokens else ()))

    def _say(self, text: str) -> str:
        return one_line(text, _chat.SHOWN, self._secrets)


def _effort(model: str, request: Request) -> str:
    """Return the effort that a model is asked for."""
    return "" if model.lower().startswith(_WITHOUT_EFFORT) else request.reasoning_effort


def sent(role: RoleModel, request: Request) -> Request:
    """Return the request as far as it is sent."""
    asked = _endpoint.within_limit(role, request)
    return msgspec.structs.replace(asked, reasoning_effort=_effort(role.model, request))


def acting(role: RoleModel, request: Request) -> dict[str, SettingValue]:
    """Return the settings that act: only Azure has versions."""
    return _endpoint.acting(role, *(() if azure_called(role) else ("api_version",)))


def _transport_error(error: BaseException, url: str, say: _chat.Say) -> CallError:
    """Return the error of a call that got no response: what the connection says, mostly."""
    if isinstance(error, CallError):
        return error
    message = say(f"no connection to {url}, or it broke: {type(error).__name__}: {error}")
    return CallError(message, transient=True, code="connection")


def _sdk(
    access: Access, api_version: str, key: str, tokens: _azure.Tokens | None, env: Mapping[str, str]
) -> "openai.AsyncOpenAI":
    """Return the package's client: no retries and no time limits, which belong to the client above."""
    import httpx2
    import openai

    from skillopt.models.backends._transport import Transport

    poster = open_poster(access.url, {}, env, local=_endpoint.is_local(access.url))
    common: dict[str, Any] = {
        "http_client": httpx2.AsyncClient(transport=Transport(poster), timeout=None, trust_env=False),
        "max_retries": 0,
        "timeout": None,
        "default_headers": {"User-Agent": _endpoint.USER_AGENT},
    }
    if not access.azure:
        # Without a key the package wants a text all the same; it is never sent.
        return openai.AsyncOpenAI(base_url=access.url, api_key=key or "none", **common)
    return openai.AsyncAzureOpenAI(
        azure_endpoint=access.url,
        api_version=api_version,
        api_key=key or None,
        azure_ad_token_provider=tokens,
        **common,
    )


def open_backend(role: RoleModel, env: Mapping[str, str]) -> Backend:
    """Check the address and the login, read the key, and connect lazily."""
    _endpoint.refuse(check(role, env))
    settings = _settings(role)
    access = access_of(role, settings, env)
    key = _endpoint.key_of(access.names, env) if access.by_key else ""
    return OpenAIChat(role.model, settings, access, key, env)


def check(role: RoleModel, env: Mapping[str, str]) -> list[str]:
    """Say what is missing: an address, a key or a login."""
    return problems_of(role, _settings(role), env)


def key_names(role: RoleModel, env: Mapping[str, str]) -> list[str]:
    """Return the variables that may hold the key of where the model is called; none for a login."""
    access = access_of(role, _settings(role), env)
    return access.names if access.by_key else []


def _settings(role: RoleModel) -> OpenAISettings:
    return _endpoint.read_settings(role, BACKEND.settings, OpenAISettings)


BACKEND = BackendSpec(
    name="openai_chat",
    description="OpenAI; Azure OpenAI by key, Azure CLI login or managed identity; Azure's v1 endpoints.",
    open=open_backend,
    check=check,
    sent=sent,
    acting=acting,
    keys=key_names,
    aliases=("openai", "azure_openai", "azure-openai", "azure"),
    default_model="gpt-5.5",
    settings=(
        Setting(
            name="endpoint",
            type="str",
            default="",
            description="Address of the Azure resource (https://<name>.openai.azure.com), or the base "
            "address of another endpoint (auth_mode openai). Blank: OpenAI itself.",
            decides=True,
            form="address",
        ),
        Setting(
            name="auth_mode",
            type="str",
            default="auto",
            description="How to get in: openai (a key; also openai_compatible, compat), or for Azure "
            "api_key (also key), azure_cli (`az login`), managed_identity (also aad, azure_ad). auto: "
            "openai without an endpoint; with one, Azure by key when there is one, else azure_cli.",
            decides=False,
            choices=("auto", *MODES),
        ),
        Setting(
            name="api_version",
            type="str",
            default="2024-12-01-preview",
            description="Version of Azure's API. The Responses API needs 2025-03-01-preview or later.",
            decides=True,
        ),
        _endpoint.api_key_env_setting(
            "OPTIMIZER_/TARGET_AZURE_OPENAI_API_KEY (or AZURE_OPENAI_OPTIMIZER_/_TARGET_API_KEY), then "
            "AZURE_OPENAI_API_KEY; for OpenAI itself "
            "OPTIMIZER_/TARGET_OPENAI_API_KEY, then OPENAI_API_KEY"
        ),
        Setting(
            name="ad_scope",
            type="str",
            default="https://cognitiveservices.azure.com/.default",
            description="What an Azure login is asked for; other clouds have other scopes.",
            decides=False,
        ),
        Setting(
            name="managed_identity_client_id",
            type="str",
            default="",
            description="Client id of a user-assigned managed identity. Blank: the machine's own.",
            decides=False,
        ),
        Setting(
            name="org_id",
            type="str",
            default="",
            description="Organization that OpenAI bills; sent to OpenAI itself only.",
            decides=False,
        ),
        Setting(
            name="project_id",
            type="str",
            default="",
            description="Project that OpenAI bills; sent to OpenAI itself only.",
            decides=False,
        ),
        Setting(
            name="wire_api",
            type="str",
            default="auto",
            description="Chat Completions (chat) or the Responses API (responses). auto: responses for "
            "models that have no other, and for calls with tools and a reasoning effort.",
            decides=True,
            choices=("auto", "chat", "responses"),
        ),
        _endpoint.max_tokens_setting(),
    ),
    secrets=(*AZURE_KEYS, *OPENAI_KEYS),
    capabilities=frozenset({"tools", "images", "usage"}),
)
