import asyncio

import pytest
from clients import ask
from endpoint import Endpoint
from wire import CASES, Checked, answer

from skillopt.models.backends.minimax_chat import BACKEND, MiniMaxSettings
from skillopt.models.base import RoleModel

CASE = next(case for case in CASES if case.name == "minimax")


def sent(model="", role="target", **settings):
    rule = Checked(CASE, lambda call: answer(CASE))

    async def main():
        async with Endpoint(rule) as endpoint:
            backend = CASE.open(endpoint.url, role=role, model=model, **settings)
            await backend.complete(ask("q"))
            await backend.close()
        assert rule.problems == []
        return endpoint.calls[0].body

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("model", "enabled", "kind"),
    [
        ("MiniMax-M3", False, "disabled"),
        ("MiniMax-M3", True, "adaptive"),
        ("MiniMax-M2", False, "adaptive"),
        ("MiniMax-M2.1-highspeed", False, "adaptive"),
        ("MiniMax-M2", True, "adaptive"),
        ("MiniMax-Next", False, "disabled"),
    ],
)
def test_thinking_is_always_said_and_some_models_cannot_stop(model, enabled, kind):
    assert sent(model, enable_thinking=enabled) == {
        "model": model,
        "messages": [{"role": "user", "content": "q"}],
        "max_tokens": 64,
        "temperature": 0.7,
        "thinking": {"type": kind},
    }


def test_each_role_calls_its_own_model():
    assert sent("MiniMax-M3", role="optimizer")["model"] == "MiniMax-M3"
    assert sent("MiniMax-M2", role="target")["model"] == "MiniMax-M2"


@pytest.mark.parametrize(
    ("settings", "address"),
    [
        ({}, "https://api.minimax.io/v1"),
        ({"region": "cn_zh"}, "https://api.minimaxi.com/v1"),
        ({"region": "cn_zh", "base_url": "https://gateway.example/v1"}, "https://gateway.example/v1"),
    ],
)
def test_the_region_chooses_the_address_unless_one_is_named(settings, address):
    role = RoleModel(role="target", backend="minimax_chat", model="m", settings=settings)
    [problem] = BACKEND.check(role, {})
    assert problem.startswith(f"no key for the target model at {address}: ")
    assert problem.endswith("TARGET_MINIMAX_API_KEY or MINIMAX_API_KEY")


def test_the_declared_settings_are_those_that_are_read():
    assert {setting.name for setting in BACKEND.settings} == set(MiniMaxSettings.__struct_fields__)
