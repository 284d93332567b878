"""Tokens of Microsoft Entra for Azure OpenAI: from the Azure CLI's login, or a managed identity."""

import asyncio
import time
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from skillopt.models.backends._chat import SHOWN
from skillopt.models.base import CallError
from skillopt.redact import one_line

if TYPE_CHECKING:
    from azure.core.credentials import AccessTokenInfo, SupportsTokenInfo

Login = Literal["azure_cli", "managed_identity"]

HOSTS = (".azure.com", ".azure.us", ".azure.cn", ".azure-api.net")
"""Ends of the names of Azure's hosts: of the public cloud, of the national ones, of its gateways."""

_REFRESH = 300.0
"""Seconds before a token's end from which on a new one is fetched."""

_ADVICE: dict[Login, str] = {
    "azure_cli": "run `az login`, or set model.openai_chat_auth_mode=api_key and AZURE_OPENAI_API_KEY",
    "managed_identity": "run on a machine of Azure that has this identity, and set "
    "model.openai_chat_managed_identity_client_id for one of its own",
}


def is_loopback(url: str) -> bool:
    """Tell whether an address is on this machine."""
    return urlsplit(url).hostname in ("localhost", "127.0.0.1", "::1")


def may_get_tokens(endpoint: str) -> bool:
    """Tell whether an endpoint may be sent tokens: one of Azure's over https, or on this machine."""
    parts = urlsplit(endpoint)
    return is_loopback(endpoint) or (parts.scheme == "https" and (parts.hostname or "").endswith(HOSTS))


class Tokens:
    """The token of one identity, fetched when it is first needed and before it ends."""

    def __init__(self, login: Login, scope: str, client_id: str) -> None:
        self._login = login
        self._scope = scope
        self._client_id = client_id
        self._lock = asyncio.Lock()
        self._credential: SupportsTokenInfo | None = None
        self._token = ""
        self._until = 0.0

    @property
    def secrets(self) -> tuple[str, ...]:
        """Return what must not be shown."""
        return (self._token,) if self._token else ()

    async def __call__(self) -> str:
        """Return a token that is good for a while; raises CallError."""
        async with self._lock:
            if time.time() > self._until - _REFRESH:
                token = await asyncio.to_thread(self._fetch)
                self._token, self._until = token.token, float(token.expires_on)
            return self._token

    def _fetch(self) -> "AccessTokenInfo":
        from azure.core.exceptions import AzureError, ClientAuthenticationError

        try:
            if self._credential is None:
                self._credential = _credential(self._login, self._client_id)
            return self._credential.get_token_info(self._scope)
        except ClientAuthenticationError as error:
            said = one_line(str(error.message), SHOWN, self.secrets)
            raise CallError(
                f"no Azure login for the model's endpoint: {said}. To do: {_ADVICE[self._login]}.",
                code="http_401",
            ) from error
        except AzureError as error:
            said = one_line(str(error), SHOWN, self.secrets)
            raise CallError(f"Azure gave no token: {said}", transient=True, code="connection") from error


def _credential(login: Login, client_id: str) -> "SupportsTokenInfo":
    if login == "azure_cli":
        from azure.identity import AzureCliCredential

        return AzureCliCredential(process_timeout=30)
    from azure.identity import ManagedIdentityCredential

    return ManagedIdentityCredential(client_id=client_id or None)
