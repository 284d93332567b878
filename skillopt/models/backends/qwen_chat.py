"""Qwen models behind a Chat Completions endpoint: vLLM, SGLang, or a gateway."""

import logging
from collections.abc import Mapping
from typing import Any

from skillopt.models.backends import _endpoint
from skillopt.models.base import Backend, BackendSpec, RoleModel, Setting
from skillopt.models.keys import for_each_role

log = logging.getLogger(__name__)

_THINKING: dict[str, dict[str, Any]] = {
    "server_default": {},
    "enabled": {"chat_template_kwargs": {"enable_thinking": True}},
    "disabled": {"chat_template_kwargs": {"enable_thinking": False}},
}
"""Fields of a request by thinking mode. Endpoints that do not know the field refuse it: by default
it is left out."""


class QwenSettings(_endpoint.ChatSettings, frozen=True, kw_only=True):
    """The settings of one role's endpoint."""

    thinking_mode: str
    use_max_completion_tokens: bool


def open_backend(role: RoleModel, env: Mapping[str, str]) -> Backend:
    """Check the address, read the key, and connect lazily."""
    settings = _settings(role)
    _endpoint.refuse(check(role, env))
    if settings.thinking_mode == "server_default":
        log.warning(
            "%s is server_default: whether %s thinks is up to its server, and scores depend on it. "
            "Set enabled or disabled (vLLM, SGLang).",
            role.key_of("thinking_mode"),
            role.model,
        )
    return _endpoint.ChatEndpoint(
        role.model,
        settings,
        _endpoint.key_of(_endpoint.key_names(role, BACKEND.secrets, settings.api_key_env), env),
        env,
        limit_field="max_completion_tokens" if settings.use_max_completion_tokens else "max_tokens",
        extra=_THINKING[settings.thinking_mode],
    )


def check(role: RoleModel, env: Mapping[str, str]) -> list[str]:
    """Say what is missing: an address, a key."""
    return _endpoint.endpoint_problems(role, _settings(role), BACKEND.secrets, env)


def _settings(role: RoleModel) -> QwenSettings:
    return _endpoint.read_settings(role, BACKEND.settings, QwenSettings)


BACKEND = BackendSpec(
    name="qwen_chat",
    description="Qwen on vLLM, SGLang or a gateway, with its thinking switched on, off, or left alone.",
    open=open_backend,
    check=check,
    sent=_endpoint.without_effort,
    acting=lambda role, request: _endpoint.acting(role),
    aliases=("qwen",),
    default_model="Qwen/Qwen3.5-4B",
    settings=(
        *_endpoint.chat_settings(
            Setting(
                name="base_url",
                type="str",
                default="http://localhost:8000/v1",
                description="Address up to, and without, `/chat/completions`.",
                decides=True,
                form="address",
            ),
            "OPTIMIZER_/TARGET_QWEN_CHAT_API_KEY, then QWEN_CHAT_API_KEY; local endpoints need none",
            _endpoint.temperature_setting(0.7),
        ),
        Setting(
            name="thinking_mode",
            type="str",
            default="server_default",
            description="Whether the model thinks before it answers: sent as `chat_template_kwargs` to vLLM "
            "and SGLang. server_default sends nothing, as endpoints without templates need it.",
            decides=True,
            choices=tuple(_THINKING),
        ),
        Setting(
            name="use_max_completion_tokens",
            type="bool",
            default=False,
            description="Send the output limit as max_completion_tokens, not as max_tokens.",
            decides=True,
        ),
    ),
    secrets=for_each_role("QWEN_CHAT_API_KEY"),
    capabilities=frozenset({"tools", "images", "usage"}),
)
