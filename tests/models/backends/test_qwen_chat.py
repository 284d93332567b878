import asyncio

import pytest
from clients import ask
from endpoint import Endpoint
from wire import CASES, Checked, answer

from skillopt.models.backends.qwen_chat import BACKEND, QwenSettings
from skillopt.models.base import CallError, RoleModel

CASE = next(case for case in CASES if case.name == "qwen")


def sent(calls=1, effort="", case=CASE, **settings):
    rule = Checked(case, lambda call: answer(case))

    async def main():
        async with Endpoint(rule) as endpoint:
            backend = case.open(endpoint.url, **settings)
            for _ in range(calls):
                await backend.complete(ask("q", reasoning_effort=effort))
            await backend.close()
        assert rule.problems == []
        return endpoint.calls[-1]

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("mode", "fields"),
    [
        ("server_default", {}),
        ("enabled", {"chat_template_kwargs": {"enable_thinking": True}}),
        ("disabled", {"chat_template_kwargs": {"enable_thinking": False}}),
    ],
)
def test_thinking_has_three_values_on_the_wire(mode, fields):
    assert sent(thinking_mode=mode).body == {
        "model": "m-1",
        "messages": [{"role": "user", "content": "q"}],
        "max_tokens": 64,
        "temperature": 0.7,
        **fields,
    }


def test_that_the_server_decides_about_thinking_is_said_once(caplog):
    sent(calls=3)
    assert caplog.text.count("model.qwen_chat_thinking_mode is server_default") == 1
    caplog.clear()
    sent(thinking_mode="disabled")
    assert caplog.text == ""


@pytest.mark.parametrize(
    ("value", "fields"), [(0.0, {"temperature": 0.0}), (1, {"temperature": 1.0}), (-1, {})]
)
def test_a_temperature_is_sent_unless_it_is_switched_off(value, fields):
    body = sent(temperature=value).body
    assert {name: body[name] for name in body if name == "temperature"} == fields


def test_the_output_limit_has_two_names():
    case = CASE.with_limit("max_completion_tokens")
    assert sent(case=case, use_max_completion_tokens=True).body["max_completion_tokens"] == 64


def test_an_effort_is_not_sent():
    assert "reasoning_effort" not in sent(effort="high").body


def test_an_address_may_hold_the_whole_path():
    case = CASE.at("/v1/chat/completions")
    assert sent(case=case).path == "/v1/chat/completions"


def test_a_local_server_needs_no_key_and_a_remote_one_does():
    assert BACKEND.check(RoleModel(role="target", backend="qwen_chat", model="m"), {}) == []
    remote = RoleModel(
        role="optimizer", backend="qwen_chat", model="m", settings={"base_url": "https://h.example/v1"}
    )
    [problem] = BACKEND.check(remote, {})
    assert problem == (
        "no key for the optimizer model at https://h.example/v1: set the environment variable "
        "OPTIMIZER_QWEN_CHAT_API_KEY or QWEN_CHAT_API_KEY"
    )


def test_the_declared_settings_are_those_that_are_read():
    assert {setting.name for setting in BACKEND.settings} == set(QwenSettings.__struct_fields__)


def test_an_attempt_may_have_a_limit_of_its_own():
    async def main():
        never = asyncio.Event()

        async def rule(call):
            await never.wait()

        async with Endpoint(rule) as endpoint:
            backend = CASE.open(endpoint.url, timeout_seconds=0.2)
            try:
                await backend.complete(ask("q"))
            finally:
                await backend.close()

    with pytest.raises(CallError, match=r"within 0\.2 s \(timeout_seconds\)") as caught:
        asyncio.run(main())
    assert (caught.value.kind, caught.value.transient) == ("timeout", True)
