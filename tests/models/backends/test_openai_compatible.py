import asyncio
import json

import pytest
from clients import KEY, ask
from endpoint import Answer, Endpoint

from skillopt.errors import ConfigError
from skillopt.models.backends import _chat, _responses
from skillopt.models.backends._endpoint import is_local
from skillopt.models.backends.openai_compatible import BACKEND, CompatibleSettings
from skillopt.models.base import CallError, Image, Message, Request, RoleModel, Tool, ToolCall
from skillopt.models.registry import backend_names, backend_spec
from skillopt.records import Usage


def complete(answer, request=None, env=None, role="target", **settings):
    async def main():
        async with Endpoint(lambda call: answer) as endpoint:
            model = RoleModel(
                role=role, backend=BACKEND.name, model="m-1", settings={"base_url": endpoint.url, **settings}
            )
            backend = BACKEND.open(model, env or {})
            try:
                reply = await backend.complete(request or ask("q"))
            finally:
                await backend.close()
        return reply, endpoint.calls[0]

    return asyncio.run(main())


def test_it_is_found_by_name():
    assert "openai_compatible" in backend_names()
    assert not any(name.startswith("_") for name in backend_names())
    assert backend_spec("openai_compatible") is BACKEND


def test_the_smallest_request_holds_nothing_that_was_not_asked_for():
    _, call = complete(Answer())
    assert call.path == "/v1/chat/completions"
    assert call.body == {
        "model": "m-1",
        "messages": [{"role": "user", "content": "q"}],
        "max_tokens": 64,
    }
    assert "authorization" not in call.headers


def test_every_setting_arrives():
    request = Request(
        messages=(
            Message(role="system", content="s"),
            Message(role="user", content="look", images=(Image(data="QUJD", detail="low"),)),
            Message(role="assistant", tool_calls=(ToolCall(id="c1", name="find", arguments='{"x":1}'),)),
            Message(role="tool", content="found", tool_call_id="c1"),
        ),
        max_completion_tokens=100,
        reasoning_effort="low",
        tools=(Tool(name="find", description="d", parameters={"type": "object"}),),
        tool_choice="find",
    )
    _, call = complete(Answer(), request, temperature=0.0, max_tokens_field="max_completion_tokens")
    assert call.body == {
        "model": "m-1",
        "messages": [
            {"role": "system", "content": "s"},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "look"},
                    {
                        "type": "image_url",
                        "image_url": {"url": "data:image/png;base64,QUJD", "detail": "low"},
                    },
                ],
            },
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"x":1}'}}
                ],
            },
            {"role": "tool", "content": "found", "tool_call_id": "c1"},
        ],
        "max_completion_tokens": 100,
        "temperature": 0.0,
        "reasoning_effort": "low",
        "tools": [
            {
                "type": "function",
                "function": {"name": "find", "description": "d", "parameters": {"type": "object"}},
            }
        ],
        "tool_choice": {"type": "function", "function": {"name": "find"}},
    }


@pytest.mark.parametrize(("limit", "sent"), [(0, 64), (63, 63), (64, 64), (8000, 64)])
def test_a_limit_of_output_is_never_lowered_unseen(limit, sent, caplog):
    _, call = complete(Answer(), max_tokens=limit)
    assert call.body["max_tokens"] == sent
    assert ("max_tokens allows 63" in caplog.text) == (sent < 64)


def test_usage_is_read_and_what_is_missing_is_unknown():
    full = {
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 8},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }
    assert complete(Answer(usage=full))[0].usage == Usage(
        calls=1, prompt=10, cached=8, completion=5, reasoning=0
    )
    bare = {"prompt_tokens": 10, "prompt_tokens_details": None, "completion_tokens_details": {}}
    assert complete(Answer(usage=bare))[0].usage == Usage(calls=1, prompt=10)
    assert complete(Answer(usage=None))[0].usage == Usage(calls=1)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("stop", "stop"),
        ("end_turn", "stop"),
        ("length", "length"),
        ("max_tokens", "length"),
        ("content_filter", "content_filter"),
        ("tool_calls", "tool_calls"),
        ("something new", "other"),
        (None, "other"),
    ],
)
def test_finish_reasons_are_mapped(given, reason):
    assert complete(Answer(finish_reason=given))[0].finish_reason == reason


def test_tool_calls_are_read():
    calls = [
        {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"x": 1}'}},
        {"function": {"name": "stop", "arguments": {"y": 2}}},
    ]
    reply, _ = complete(Answer(text=None, message={"tool_calls": calls}, finish_reason="tool_calls"))
    assert reply.text == ""
    assert reply.tool_calls == (
        ToolCall(id="c1", name="find", arguments='{"x": 1}'),
        ToolCall(id="call_1", name="stop", arguments='{"y": 2}'),
    )


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (
            {"content": [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]},
            "ab",
        ),
        ({"content": None, "refusal": "I cannot."}, "I cannot."),
        ({"content": [{"type": "refusal", "refusal": "I cannot."}]}, "I cannot."),
        ({"content": [{"type": "reasoning", "text": "Hm."}, {"type": "text", "text": "Yes."}]}, "Yes."),
        ({"content": "half \ud800 pair"}, "half ? pair"),
    ],
)
def test_texts_of_all_forms_are_read(message, text):
    assert complete(Answer(message=message))[0].text == text


ODD = ("x", 1.5, -1, True, [], [1], {}, {"a": []}, None, 10**30)


@pytest.mark.parametrize("odd", ODD, ids=str)
def test_what_stands_beside_the_text_costs_no_reply(odd):
    body = {
        "model": odd,
        "id": odd,
        "usage": {
            "prompt_tokens": odd,
            "completion_tokens": 5,
            "prompt_tokens_details": odd,
            "completion_tokens_details": {"reasoning_tokens": odd},
        },
        "choices": [
            {"message": {"content": "four", "refusal": odd, "tool_calls": odd}, "finish_reason": odd}
        ],
    }
    reply = _chat.read_reply(json.dumps(body).encode(), str)
    assert (reply.text, reply.finish_reason) == ("four", "other")
    assert reply.model == (odd if isinstance(odd, str) else "")
    assert reply.usage == Usage(calls=1, completion=5)
    body["usage"] = odd
    assert _chat.read_reply(json.dumps(body).encode(), str).usage == Usage(calls=1)


def test_parts_of_a_text_and_tool_calls_are_read_one_by_one():
    calls = [
        None,
        {"id": 7, "function": {"name": "find", "arguments": [1]}},
        {"id": True, "function": {"name": 5, "arguments": None}},
    ]
    message = {"content": ["a", None, 3, {"text": "b"}, {"text": 4}], "tool_calls": calls}
    reply, _ = complete(Answer(message=message))
    assert reply.text == "ab"
    assert reply.tool_calls == (
        ToolCall(id="7", name="find", arguments="[1]"),
        ToolCall(id="call_1", name="", arguments="{}"),
    )


def test_a_number_without_end_beside_the_text_costs_no_reply():
    body = '{"usage": {"prompt_tokens": %s}, "choices": [{"message": {"content": "four"}}]}' % ("9" * 5000)
    reply = _chat.read_reply(body.encode(), str)
    assert (reply.text, reply.usage) == ("four", Usage(calls=1))


def test_bytes_that_are_no_utf_8_cost_no_reply():
    body = b'{"model": "m\xff", "choices": [{"message": {"content": "four \xe2\x82, done"}}]}'
    reply = _chat.read_reply(body, str)
    assert (reply.text, reply.model) == ("four \ufffd, done", "m\ufffd")


def test_tool_calls_have_ids_of_their_own():
    """Some endpoints refuse a dialogue in which two have the same."""
    ids = ["a", "a", "a_2", "a", None, "call_4"]
    calls = [{"id": name, "function": {"name": "f", "arguments": "{}"}} for name in ids]
    asked = [{"type": "function_call", "call_id": name, "name": "f", "arguments": "{}"} for name in ids]
    chat = {"choices": [{"message": {"tool_calls": calls}}]}
    responses = {"output": asked, "status": "completed"}
    for reply in (
        _chat.read_reply(json.dumps(chat).encode(), str),
        _responses.read_reply(json.dumps(responses).encode(), str),
    ):
        assert [call.id for call in reply.tool_calls] == ["a", "a_2", "a_2_2", "a_3", "call_4", "call_4_2"]


def test_a_truncated_reply_is_a_reply_even_when_it_is_empty():
    reply, _ = complete(Answer(text="", finish_reason="length"))
    assert (reply.text, reply.finish_reason) == ("", "length")


def failure(answer, **options):
    with pytest.raises(CallError) as caught:
        complete(answer, **options)
    return caught.value


@pytest.mark.parametrize(
    ("answer", "code", "transient"),
    [
        (Answer(status=401, error="no"), "http_401", False),
        (
            Answer(status=429, error={"message": "pay", "code": "insufficient_quota"}),
            "insufficient_quota",
            False,
        ),
        (
            Answer(status=429, error={"message": "pay", "code": "429", "type": "insufficient_quota"}),
            "insufficient_quota",
            False,
        ),
        (Answer(status=429, error="slow"), "http_429", True),
        (Answer(status=503, raw="<html>"), "http_503", True),
        (Answer(status=301, headers={"Location": "http://elsewhere/"}, raw=""), "http_301", False),
        (Answer(raw="not JSON"), "bad_body", True),
        (Answer(raw='{"choices": "x"}'), "bad_body", True),
        (Answer(raw="[]"), "bad_body", True),
        (Answer(raw="{}"), "no_choices", True),
        (Answer(raw='{"choices": [{}]}'), "no_choices", True),
        (Answer(raw='{"error": {"code": 401, "message": "no"}}'), "http_401", False),
        (Answer(raw='{"error": "upstream"}'), "error_in_body", True),
        (Answer(text=" \n"), "empty_reply", True),
        (Answer(drop=True), "connection", True),
    ],
)
def test_errors_have_a_code_and_say_whether_to_try_again(answer, code, transient):
    error = failure(answer)
    assert (error.code, error.transient, error.kind) == (code, transient, "provider_error")


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("20", 20.0),
        ("1.5", 1.5),
        ("Thu, 01 Jan 1970 00:16:50 GMT", 10.0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
        ("soon", None),
        ("-3", None),
        ("", None),
    ],
)
def test_retry_after_is_a_number_or_a_date(value, seconds):
    assert _chat.retry_after({"retry-after": value}, now=1000.0) == seconds


def test_milliseconds_come_first_and_nonsense_is_passed_over():
    assert _chat.retry_after({"retry-after-ms": "1500", "retry-after": "2"}, 0.0) == 1.5
    assert _chat.retry_after({"retry-after-ms": "soon", "retry-after": "2"}, 0.0) == 2.0


def test_retry_after_is_read_from_the_response():
    assert failure(Answer(status=429, error="x", headers={"Retry-After": "86400"})).retry_after == 86400.0


def test_messages_are_short_and_hold_no_key():
    said = f"Authorization: Bearer {KEY}; x-api-key: sk-0123456789abcdef; key {KEY} " + "blah " * 500
    error = failure(Answer(status=400, error=said), env={"OPENAI_COMPATIBLE_API_KEY": KEY})
    assert KEY not in str(error)
    assert "0123456789abcdef" not in str(error)
    assert len(str(error)) < 330


@pytest.mark.parametrize(
    ("env", "settings", "key"),
    [
        ({"OPENAI_COMPATIBLE_API_KEY": "a"}, {}, "a"),
        ({"OPENAI_COMPATIBLE_API_KEY": "a", "TARGET_OPENAI_COMPATIBLE_API_KEY": "b"}, {}, "b"),
        ({"OPENAI_COMPATIBLE_API_KEY": "a", "OPTIMIZER_OPENAI_COMPATIBLE_API_KEY": "b"}, {}, "a"),
        ({"OPENAI_COMPATIBLE_API_KEY": "a", "MINE": "c"}, {"api_key_env": "MINE"}, "c"),
    ],
)
def test_the_key_comes_from_the_environment_of_its_role(env, settings, key):
    _, call = complete(Answer(), env=env, **settings)
    assert call.headers["authorization"] == f"Bearer {key}"


def open_with(env=None, **settings):
    return BACKEND.open(
        RoleModel(role="target", backend=BACKEND.name, model="m", settings=settings), env or {}
    )


def test_a_missing_key_is_said_with_the_names_to_set():
    with pytest.raises(ConfigError, match="TARGET_OPENAI_COMPATIBLE_API_KEY or OPENAI_COMPATIBLE_API_KEY"):
        open_with()
    with pytest.raises(ConfigError, match="MINE"):
        open_with({"OPENAI_COMPATIBLE_API_KEY": "a"}, base_url="http://localhost/v1", api_key_env="MINE")


@pytest.mark.parametrize("url", ["localhost:8000", "", "ftp://h/v1", "http:///v1", "https://user:pw@host/v1"])
def test_addresses_that_cannot_be_right_are_refused(url):
    with pytest.raises(ConfigError, match="base_url"):
        open_with({"OPENAI_COMPATIBLE_API_KEY": "a"}, base_url=url)


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://localhost:11434/v1", True),
        ("http://127.0.0.1:8000/v1", True),
        ("http://[::1]:8000/v1", True),
        ("http://192.168.1.7/v1", True),
        ("http://vllm:8000/v1", True),
        ("http://gpu.lab.internal/v1", True),
        ("https://api.openai.com/v1", False),
        ("http://8.8.8.8/v1", False),
    ],
)
def test_local_endpoints_are_known(url, local):
    assert is_local(url) == local


def test_the_declared_settings_are_those_that_are_read():
    assert {setting.name for setting in BACKEND.settings} == set(CompatibleSettings.__struct_fields__)
