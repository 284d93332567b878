"""Where OpenAI's models are called, and how one gets in: OpenAI, Azure in three ways, or compatible."""

import re
import shutil
from collections.abc import Mapping
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from skillopt.models.backends import _azure, _endpoint
from skillopt.models.base import RoleModel
from skillopt.models.keys import for_each_role

Mode = Literal["openai", "api_key", "azure_cli", "managed_identity"]

MODES: dict[str, Mode] = {
    "openai": "openai",
    "openai_compatible": "openai",
    "compat": "openai",
    "api_key": "api_key",
    "key": "api_key",
    "azure_cli": "azure_cli",
    "managed_identity": "managed_identity",
    "aad": "managed_identity",
    "azure_ad": "managed_identity",
}
_OPENAI = "https://api.openai.com/v1"
_OPENAI_HOSTS = (".openai.com", *_azure.HOSTS)
AZURE_KEYS = ("{ROLE}_AZURE_OPENAI_API_KEY", "AZURE_OPENAI_{ROLE}_API_KEY", "AZURE_OPENAI_API_KEY")
OPENAI_KEYS = for_each_role("OPENAI_API_KEY")
_VERSION = re.compile(r"[A-Za-z0-9.-]+")
RESPONSES_SINCE = "2025-03-01"
"""Azure's first API version with the Responses API."""


class OpenAISettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of one role; `access_of` says what they amount to."""

    endpoint: str
    auth_mode: str
    api_version: str
    api_key_env: str
    ad_scope: str
    managed_identity_client_id: str
    org_id: str
    project_id: str
    wire_api: str
    max_tokens: int


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """Where the model is called, and how one gets in; `names` are the variables that may hold a key."""

    mode: Mode
    url: str
    names: list[str]

    @property
    def azure(self) -> bool:
        """Whether Azure's paths and headers are used."""
        return self.mode != "openai"

    @property
    def openai(self) -> bool:
        """Whether OpenAI itself is called."""
        return not self.azure and f".{urlsplit(self.url).hostname or ''}".endswith(".openai.com")

    @property
    def native(self) -> bool:
        """Whether OpenAI or Azure themselves are called."""
        host = f".{urlsplit(self.url).hostname or ''}"
        return self.azure or host.endswith(_OPENAI_HOSTS)

    @property
    def by_key(self) -> bool:
        """Whether a key is sent, not a login."""
        return self.mode in ("openai", "api_key")


_RESPONSES_ONLY = (
    "gpt-5-codex",
    "gpt-5.1-codex",
    "gpt-5.2-codex",
    "gpt-5.3-codex",
    "codex-mini",
    "gpt-5.4-pro",
)


def responses_only(model: str) -> bool:
    """Tell whether a model has no other API than Responses."""
    return any(f"{model.lower()}-".startswith(f"{name}-") for name in _RESPONSES_ONLY)


def problems_of(role: RoleModel, settings: OpenAISettings, env: Mapping[str, str]) -> list[str]:
    """Say what is missing: an address, a key or a login."""
    access = access_of(role, settings, env)
    problems = _address_problems(role, settings, access)
    if problems:
        return problems
    if access.by_key:
        keyless = _endpoint.is_local(access.url) and not settings.api_key_env and not access.azure
        if keyless and not _endpoint.key_of(access.names, env):
            return []
        problem = _endpoint.key_problem(role, access.names, access.url, env)
        return [problem] if problem else []
    if access.mode == "azure_cli" and shutil.which("az", path=env.get("PATH")) is None:
        return [
            "the Azure CLI (az) is not on the PATH: install it and run `az login`, or set "
            f"{role.key_of('auth_mode')}=api_key and {' or '.join(access.names)}"
        ]
    return []


def _address_problems(role: RoleModel, settings: OpenAISettings, access: Access) -> list[str]:
    name = role.key_of("endpoint")
    if not access.url:
        return [
            f"{name}: expected the address of the Azure resource (https://<name>.openai.azure.com), found "
            f"none: set it, or the environment variable {role.role.upper()}_AZURE_OPENAI_ENDPOINT or "
            "AZURE_OPENAI_ENDPOINT"
        ]
    if access.azure and "/openai/" in f"{access.url}/":
        return [
            f"{name}: expected the address of the Azure resource alone (https://<name>.openai.azure.com), "
            f"found {access.url!r}. For an address that ends in /openai/v1 set "
            f"{role.key_of('auth_mode')}=openai"
        ]
    problem = _endpoint.address_problem(name, access.url)
    if problem:
        return [problem]
    if not access.by_key and not _azure.may_get_tokens(access.url):
        return [
            f"{name}: Azure logins are sent to https addresses of Azure only, found {access.url!r}. For "
            f"another provider set {role.key_of('auth_mode')}=openai and a key"
        ]
    return _version_problems(role, settings, access)


def _version_problems(role: RoleModel, settings: OpenAISettings, access: Access) -> list[str]:
    name = role.key_of("api_version")
    if access.azure and not _VERSION.fullmatch(settings.api_version):
        return [f"{name}: expected a version such as 2025-03-01-preview, found {settings.api_version!r}"]
    needed = settings.wire_api == "responses" or (settings.wire_api == "auto" and responses_only(role.model))
    if not (access.azure and needed and settings.api_version < RESPONSES_SINCE):
        return []
    return [
        f"{name}: {role.model} is called through the Responses API, "
        f"which Azure has since {RESPONSES_SINCE}-preview; found {settings.api_version}"
    ]


def azure_called(role: RoleModel) -> bool:
    """Tell whether Azure's paths and headers are used, by the settings alone."""
    mode = str(role.settings.get("auth_mode") or "auto")
    return bool(role.settings.get("endpoint")) if mode == "auto" else MODES[mode] != "openai"


def access_of(role: RoleModel, settings: OpenAISettings, env: Mapping[str, str]) -> Access:
    """Say where the model is called and with what: settled by the settings, then by what is set."""
    azure_names = _endpoint.key_names(role, AZURE_KEYS, settings.api_key_env)
    if settings.auth_mode != "auto":
        mode = MODES[settings.auth_mode]
    elif not settings.endpoint:
        mode = "openai"
    else:
        by_key = settings.api_key_env or _endpoint.key_of(azure_names, env)
        mode = "api_key" if by_key else "azure_cli"
    if mode != "openai":
        return Access(mode=mode, url=settings.endpoint, names=azure_names)
    if not settings.endpoint:
        names = _endpoint.key_names(role, OPENAI_KEYS, settings.api_key_env)
        return Access(mode=mode, url=_OPENAI, names=names)
    secrets = (*AZURE_KEYS[:2], OPENAI_KEYS[0], AZURE_KEYS[2], OPENAI_KEYS[1])
    names = _endpoint.key_names(role, secrets, settings.api_key_env)
    url = settings.endpoint.rstrip("/").removesuffix("/chat/completions")
    return Access(mode=mode, url=url, names=names)
