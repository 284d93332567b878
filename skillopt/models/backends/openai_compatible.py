"""Any Chat Completions endpoint: hosted providers, gateways, and local servers."""

from collections.abc import Mapping

from skillopt.models.backends import _endpoint
from skillopt.models.base import Backend, BackendSpec, RoleModel, Setting
from skillopt.models.keys import for_each_role


class CompatibleSettings(_endpoint.ChatSettings, frozen=True, kw_only=True):
    """The settings of one role's endpoint."""

    max_tokens_field: str


def open_backend(role: RoleModel, env: Mapping[str, str]) -> Backend:
    """Check the address, read the key, and connect lazily."""
    settings = _settings(role)
    _endpoint.refuse(check(role, env))
    key = _endpoint.key_of(_endpoint.key_names(role, BACKEND.secrets, settings.api_key_env), env)
    return _endpoint.ChatEndpoint(
        role.model, settings, key, env, limit_field=settings.max_tokens_field, sends_effort=True
    )


def check(role: RoleModel, env: Mapping[str, str]) -> list[str]:
    """Say what is missing: an address, a key."""
    return _endpoint.endpoint_problems(role, _settings(role), BACKEND.secrets, env)


def _settings(role: RoleModel) -> CompatibleSettings:
    return _endpoint.read_settings(role, BACKEND.settings, CompatibleSettings)


BACKEND = BackendSpec(
    name="openai_compatible",
    description="Any Chat Completions endpoint: hosted providers, vLLM, SGLang, Ollama, LiteLLM, gateways.",
    open=open_backend,
    check=check,
    sent=_endpoint.within_limit,
    acting=lambda role, request: _endpoint.acting(role, no_temperature=None),
    aliases=("openai-compatible", "openai_compatible_chat", "compatible", "compat"),
    default_model="gpt-4o-mini",
    settings=(
        *_endpoint.chat_settings(
            Setting(
                name="base_url",
                type="str",
                default="https://api.openai.com/v1",
                description="Address up to, and without, `/chat/completions`.",
                decides=True,
                form="address",
            ),
            "OPTIMIZER_/TARGET_OPENAI_COMPATIBLE_API_KEY, then OPENAI_COMPATIBLE_API_KEY; local endpoints "
            "need none",
            Setting(
                name="temperature",
                type="float",
                default=None,
                description="Sampling temperature; without one the endpoint's default applies.",
                decides=True,
            ),
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
    ),
    secrets=for_each_role("OPENAI_COMPATIBLE_API_KEY"),
    capabilities=frozenset({"tools", "images", "usage"}),
)
