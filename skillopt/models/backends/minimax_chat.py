"""MiniMax models over their own endpoints, in either region."""

from collections.abc import Mapping

import msgspec

from skillopt.models.backends import _endpoint
from skillopt.models.base import Backend, BackendSpec, Request, RoleModel, Setting, SettingValue
from skillopt.models.keys import for_each_role

_REGIONS = {"global_en": "https://api.minimax.io/v1", "cn_zh": "https://api.minimaxi.com/v1"}
_ALWAYS_THINKING = "minimax-m2"
"""Start of the names of models that cannot stop thinking."""


class MiniMaxSettings(_endpoint.ChatSettings, frozen=True, kw_only=True):
    """The settings of one role's endpoint."""

    region: str
    enable_thinking: bool


def open_backend(role: RoleModel, env: Mapping[str, str]) -> Backend:
    """Check the address, read the key, and connect lazily."""
    settings = _settings(role)
    _endpoint.refuse(check(role, env))
    key = _endpoint.key_of(_endpoint.key_names(role, BACKEND.secrets, settings.api_key_env), env)
    thinks = settings.enable_thinking or _always_thinks(role)
    extra = {"thinking": {"type": "adaptive" if thinks else "disabled"}}
    return _endpoint.ChatEndpoint(role.model, settings, key, env, extra=extra)


def check(role: RoleModel, env: Mapping[str, str]) -> list[str]:
    """Say what is missing: an address, a key."""
    return _endpoint.endpoint_problems(role, _settings(role), BACKEND.secrets, env)


def acting(role: RoleModel, request: Request) -> dict[str, SettingValue]:
    """Return the settings that act: an address stands for the region, and some models always think."""
    idle = ["region"] if role.settings.get("base_url") else []
    return _endpoint.acting(role, *idle, *(["enable_thinking"] if _always_thinks(role) else []))


def _always_thinks(role: RoleModel) -> bool:
    return role.model.lower().startswith(_ALWAYS_THINKING)


def _settings(role: RoleModel) -> MiniMaxSettings:
    settings = _endpoint.read_settings(role, BACKEND.settings, MiniMaxSettings)
    if settings.base_url:
        return settings
    return msgspec.structs.replace(settings, base_url=_REGIONS[settings.region])


BACKEND = BackendSpec(
    name="minimax_chat",
    description="MiniMax, in either region.",
    open=open_backend,
    check=check,
    sent=_endpoint.without_effort,
    acting=acting,
    aliases=("minimax",),
    default_model="MiniMax-M3",
    settings=(
        *_endpoint.chat_settings(
            Setting(
                name="base_url",
                type="str",
                default="",
                description="Address up to, and without, `/chat/completions`. Blank: that of the region.",
                decides=True,
                form="address",
            ),
            "OPTIMIZER_/TARGET_MINIMAX_API_KEY, then MINIMAX_API_KEY",
            _endpoint.temperature_setting(0.7),
        ),
        Setting(
            name="region",
            type="str",
            default="global_en",
            description="Which of MiniMax's endpoints is called, unless base_url names one.",
            decides=True,
            choices=tuple(_REGIONS),
        ),
        Setting(
            name="enable_thinking",
            type="bool",
            default=False,
            description="Let the model think before it answers. MiniMax-M2 models always do.",
            decides=True,
        ),
    ),
    secrets=for_each_role("MINIMAX_API_KEY"),
    capabilities=frozenset({"tools", "images", "usage"}),
)
