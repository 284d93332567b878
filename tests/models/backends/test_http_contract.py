"""What HTTP backends keep to beyond `test_contract.py`: formats, statuses and addresses, over real HTTP."""

import asyncio
import json
import logging
import re
from dataclasses import replace
from pathlib import Path

import pytest
from clients import POLICY, ask, client_at
from endpoint import Answer, Endpoint
from wire import CANARY, CASES, Checked, answer

from skillopt.config.resolve import load_run
from skillopt.errors import ConfigError, ProviderDead
from skillopt.models.backends import _connection
from skillopt.models.base import CallError, Image, Message, Request, Tool, ToolCall
from skillopt.models.registry import backend_spec
from skillopt.records import Usage

every_case = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
ROOT = Path(__file__).parents[3]
FIND = Tool(
    name="find",
    description="d",
    parameters={"type": "object", "properties": {"x": {"type": "integer"}}},
)


def complete(case, reply, *requests, **options):
    """Send requests one after the other; return the replies and the calls as they arrived."""
    reply = reply or (lambda call: answer(case))
    rule = Checked(case, reply if callable(reply) else lambda call: reply)

    async def main():
        async with Endpoint(rule) as endpoint:
            backend = case.open(endpoint.url, **options)
            try:
                replies = [await backend.complete(request) for request in requests or [ask("q")]]
            finally:
                await backend.close()
                assert rule.problems == []
        return replies, endpoint.calls

    return asyncio.run(main())


def failure(case, reply, **options):
    with pytest.raises(CallError) as caught:
        complete(case, reply, **options)
    return caught.value


@every_case
def test_a_call_sends_no_field_beside_the_known_ones_and_the_key_in_its_header(case):
    [reply], [call] = complete(case, None)
    assert reply.text == "ok"
    assert reply.finish_reason == "stop"
    assert reply.model == "m-1-2026"
    assert call.body["model"] == case.model
    assert case.sent_key(call) == CANARY
    assert CANARY not in call.raw.decode() + call.path
    assert [name for name, value in call.headers.items() if CANARY in value] == [case.key_header]


OF_THE_PACKAGE = {
    "OPENAI_ORG_ID": "org-stray",
    "OPENAI_PROJECT_ID": "project-stray",
    "OPENAI_CUSTOM_HEADERS": "X-Stray: stray-1\nAuthorization: Bearer stray-2\napi-key: stray-3",
    "OPENAI_ADMIN_KEY": "stray-4",
    "AZURE_OPENAI_AD_TOKEN": "stray-5",
    "OPENAI_API_VERSION": "stray-6",
    "OPENAI_BASE_URL": "http://127.0.0.1:9/stray-7",
}
"""What the package `openai` reads from the environment of the process by itself."""


@every_case
def test_only_what_was_configured_is_sent_whatever_the_process_has_in_its_environment(case, monkeypatch):
    for name, value in OF_THE_PACKAGE.items():
        monkeypatch.setenv(name, value)
    _, [call] = complete(case, None)
    assert "stray" not in json.dumps(call.headers) + call.path
    assert case.sent_key(call) == CANARY
    assert call.headers.keys() <= {
        *("", "host", "accept", "accept-encoding", "content-type", "content-length", "user-agent"),
        case.key_header,
    }


@every_case
def test_a_reply_is_never_that_of_another_request(case):
    """A server may send two responses to one request: the second is nobody's."""
    bodies = [answer(case, text=f"reply {number}").content("m") for number in range(4)]

    def twice(call):
        wires = [
            f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n{body.decode()}"
            for body in (bodies[call.number], bodies[0])
        ]
        return Answer(wire="".join(wires))

    replies, _ = complete(case, twice, *(ask(str(number)) for number in (1, 2, 3)))
    assert [reply.text for reply in replies] == ["reply 1", "reply 2", "reply 3"]


@every_case
def test_a_reply_that_is_too_large_is_refused_for_good(case, monkeypatch):
    monkeypatch.setattr(_connection, "MOST_BODY", 100_000)
    error = failure(case, answer(case, text="x" * 200_000))
    assert (error.code, error.transient) == ("too_large", False)


@every_case
def test_both_roles_have_their_own_endpoint_key_and_model_at_the_same_time(case):
    async def one(role, key, path_model):
        deployed = replace(case, path=case.path.replace("/m-1/", f"/{path_model}/"))
        rule = Checked(deployed, lambda call: answer(case, text=role))
        async with Endpoint(rule) as endpoint:
            backend = case.open(endpoint.url, key=key, role=role, model=path_model)
            replies = await asyncio.gather(*(backend.complete(ask(f"{role} {n}")) for n in range(5)))
            await backend.close()
        assert rule.problems == []
        return {reply.text for reply in replies}, endpoint.calls

    async def main():
        return await asyncio.gather(
            one("optimizer", "key-of-optimizer", "big"), one("target", "key-of-target", "small")
        )

    for (texts, calls), role, model in zip(
        asyncio.run(main()), ("optimizer", "target"), ("big", "small"), strict=True
    ):
        assert texts == {role}
        assert {call.body["model"] for call in calls} == {model}
        assert {case.sent_key(call) for call in calls} == {f"key-of-{role}"}
        assert all(role in call.raw.decode() for call in calls)


def test_all_backends_work_side_by_side_in_one_process():
    async def one(case):
        rule = Checked(case, lambda call: answer(case, text=case.name))
        async with Endpoint(rule) as endpoint:
            backend = case.open(endpoint.url, key=f"key-of-{CASES.index(case)}")
            replies = await asyncio.gather(*(backend.complete(ask(str(number))) for number in range(4)))
            await backend.close()
        assert rule.problems == []
        assert {case.sent_key(call) for call in endpoint.calls} == {f"key-of-{CASES.index(case)}"}
        return {reply.text for reply in replies}

    async def main():
        return await asyncio.gather(*(one(case) for case in CASES))

    assert asyncio.run(main()) == [{case.name} for case in CASES]


@every_case
def test_every_setting_can_differ_between_the_roles(case):
    overrides = [f"model.backend={case.backend}", f"model.{case.backend}_{case.address}=http://shared/v1"]
    own = {"optimizer": ("big", 1000), "target": ("small", 2000)}
    for role, (model, limit) in own.items():
        prefix = f"model.{role}_{case.backend}"
        overrides += [f"model.{role}={model}", f"{prefix}_max_tokens={limit}"]
    overrides.append(f"model.target_{case.backend}_{case.address}=http://own/v1")
    roles = load_run(ROOT / "config" / "searchqa.yaml", overrides, {}).roles
    assert {name: (role.model, role.settings["max_tokens"]) for name, role in roles.items()} == own
    assert roles["optimizer"].settings[case.address] == "http://shared/v1"
    assert roles["target"].settings[case.address] == "http://own/v1"


@every_case
def test_tools_make_the_round_trip(case):
    calls = (("c1", "find", '{"x": 1}'), ("c2", "find", '{"x": 2}'))
    question = Request(
        messages=(Message(role="user", content="q"),),
        max_completion_tokens=64,
        tools=(FIND,),
        tool_choice="find",
    )
    [asked], [sent] = complete(case, answer(case, text="", calls=calls), question)
    assert asked.finish_reason == "tool_calls"
    assert asked.tool_calls == tuple(ToolCall(id=i, name=n, arguments=a) for i, n, a in calls)
    assert sent.body["tool_choice"]["type"] == "function"
    results = [Message(role="tool", content=f"result {id_}", tool_call_id=id_) for id_, _, _ in calls]
    told = Request(
        messages=(
            Message(role="user", content="q"),
            Message(role="assistant", content=asked.text, tool_calls=asked.tool_calls),
            *results,
        ),
        max_completion_tokens=64,
        tools=(FIND,),
    )
    [reply], [sent] = complete(case, None, told)
    assert reply.text == "ok"
    if case.responses:
        assert sent.body["input"] == [
            {"role": "user", "content": "q"},
            {"type": "function_call", "call_id": "c1", "name": "find", "arguments": '{"x": 1}'},
            {"type": "function_call", "call_id": "c2", "name": "find", "arguments": '{"x": 2}'},
            {"type": "function_call_output", "call_id": "c1", "output": "result c1"},
            {"type": "function_call_output", "call_id": "c2", "output": "result c2"},
        ]
    else:
        assert [message["role"] for message in sent.body["messages"]] == ["user", "assistant", "tool", "tool"]
        assert [m["tool_call_id"] for m in sent.body["messages"][2:]] == ["c1", "c2"]
        assert [c["id"] for c in sent.body["messages"][1]["tool_calls"]] == ["c1", "c2"]


@every_case
def test_images_arrive_as_images(case):
    pictures = (Image(data="QUJD", detail="low"), Image(data="REVG", media_type="image/jpeg"))
    message = Message(role="user", content="look", images=pictures)
    _, [call] = complete(case, None, Request(messages=(message,), max_completion_tokens=64))
    if case.responses:
        assert call.body["input"][0]["content"] == [
            {"type": "input_text", "text": "look"},
            {"type": "input_image", "image_url": "data:image/png;base64,QUJD", "detail": "low"},
            {"type": "input_image", "image_url": "data:image/jpeg;base64,REVG", "detail": "auto"},
        ]
    else:
        assert call.body["messages"][0]["content"] == [
            {"type": "text", "text": "look"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD", "detail": "low"}},
            {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,REVG", "detail": "auto"}},
        ]


@every_case
def test_usage_is_told_or_unknown_and_never_zero_instead(case):
    assert complete(case, answer(case, usage=(20, 16, 9, 4)))[0][0].usage == Usage(
        calls=1, prompt=20, cached=16, completion=9, reasoning=4
    )
    assert complete(case, answer(case, usage=(20, 0, 9, 0)))[0][0].usage == Usage(
        calls=1, prompt=20, cached=0, completion=9, reasoning=0
    )
    assert complete(case, answer(case, usage=None))[0][0].usage == Usage(calls=1)


@every_case
@pytest.mark.parametrize("cut", ["length", "content_filter"])
@pytest.mark.parametrize("text", ["half a re", ""])
def test_a_reply_that_was_cut_is_a_reply(case, cut, text):
    [reply], _ = complete(case, answer(case, text=text, cut=cut))
    assert (reply.text, reply.finish_reason) == (text, cut)


@every_case
def test_an_output_limit_is_lowered_only_by_a_setting_and_with_a_word(case, caplog):
    def limits(call):
        names = ("max_tokens", "max_completion_tokens", "max_output_tokens")
        return [call.body[name] for name in names if name in call.body]

    _, [call] = complete(case, None, ask("q", max_completion_tokens=64000))
    assert limits(call) == [64000]
    assert caplog.text == "" or case.name == "qwen"
    _, calls = complete(case, None, *[ask("q", max_completion_tokens=64000)] * 2, max_tokens=8000)
    assert [limits(call) for call in calls] == [[8000], [8000]]
    assert caplog.text.count("calls may ask for up to 64000 tokens, max_tokens allows 8000") == 1


STATUSES = [
    (400, False),
    (401, False),
    (402, False),
    (403, False),
    (404, False),
    (408, True),
    (409, True),
    (413, False),
    (422, False),
    (425, True),
    (429, True),
    (500, True),
    (502, True),
    (503, True),
    (529, True),
    (301, False),
    (206, False),
]


@every_case
@pytest.mark.parametrize(("status", "transient"), STATUSES)
def test_each_status_is_fatal_or_worth_another_try(case, status, transient):
    error = failure(case, Answer(status=status, error="said by the provider"))
    assert (error.code, error.transient, error.kind) == (f"http_{status}", transient, "provider_error")
    assert str(error) == f"HTTP {status}: said by the provider"


@every_case
@pytest.mark.parametrize("status", [201, 203])
def test_a_whole_reply_counts_with_another_status_of_success(case, status):
    [reply], _ = complete(case, replace(answer(case, text="4"), status=status))
    assert reply.text == "4"
    assert failure(case, Answer(status=status, raw='{"choices": ')).code == "bad_body"


@every_case
def test_a_call_is_made_once_whatever_happens(case):
    seen = []

    def rule(call):
        seen.append(call.number)
        return Answer(status=503, error="x", headers={"Retry-After": "0"})

    failure(case, rule)
    assert seen == [1]


@every_case
def test_the_time_to_wait_is_passed_on(case):
    error = failure(case, Answer(status=429, error="slow", headers={"Retry-After": "17"}))
    assert error.retry_after == 17.0


@every_case
def test_an_empty_account_is_not_waited_for(case):
    error = failure(case, Answer(status=429, error={"message": "pay", "code": "insufficient_quota"}))
    assert (error.code, error.transient) == ("insufficient_quota", False)


@every_case
@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (Answer(drop=True), "connection"),
        (Answer(wire="HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{", close=True), "connection"),
        (Answer(raw="<html>proxy</html>"), "bad_body"),
        (Answer(raw="[]"), "bad_body"),
        (Answer(raw="{}"), "no_choices"),
    ],
)
def test_a_reply_that_is_none_is_tried_again(case, reply, code):
    error = failure(case, reply)
    assert (error.code, error.transient, error.kind) == (code, True, "provider_error")


@every_case
def test_an_empty_answer_is_tried_again(case):
    error = failure(case, answer(case, text=" \n"))
    assert (error.code, error.transient) == ("empty_reply", True)


@every_case
def test_nobody_listens(case):
    async def main():
        async with Endpoint() as endpoint:
            url = endpoint.url
        backend = case.open(url)
        try:
            await backend.complete(ask("q"))
        finally:
            await backend.close()

    with pytest.raises(CallError) as caught:
        asyncio.run(main())
    assert (caught.value.code, caught.value.transient) == ("connection", True)


@every_case
def test_a_key_is_in_no_message_and_no_log(case, caplog):
    caplog.set_level(logging.DEBUG)
    said = f"Incorrect API key provided: {CANARY}. Authorization: Bearer {CANARY}; api-key: {CANARY} "
    for reply in (
        Answer(status=401, error=said),
        Answer(status=500, raw=said),
        Answer(raw=said),
        Answer(status=400, error={"message": said * 50}),
        Answer(raw=" " * 1990 + said),
        Answer(status=400, raw=" " * 19_990 + CANARY),
        Answer(status=400, raw=json.dumps({"message": " " * 19_970 + CANARY})),
    ):
        error = failure(case, reply)
        assert CANARY[:6] not in str(error) + repr(error.args)
        assert len(str(error)) < 420
    assert CANARY not in caplog.text


@every_case
def test_a_key_that_cannot_be_sent_is_refused_without_showing_it(case):
    role = case.role("http://127.0.0.1:9/v1")
    for key in (f"{CANARY}\nX-Evil: 1", f"{CANARY} x", f"{CANARY}ü"):
        env = case.env(key)
        problems = backend_spec(case.backend).check(role, env)
        assert len(problems) == 1
        assert CANARY not in problems[0]
        with pytest.raises(ConfigError) as caught:
            backend_spec(case.backend).open(role, env)
        assert CANARY not in str(caught.value)


@every_case
def test_a_key_can_be_named_and_a_missing_one_is_said(case):
    spec = backend_spec(case.backend)
    named = case.role("http://127.0.0.1:9/v1", api_key_env="MY_KEY")
    assert spec.check(named, {"MY_KEY": "k"}) == []
    [problem] = spec.check(named, {"OTHER": "k"})
    assert "set the environment variable MY_KEY" in problem
    _, [call] = complete(case, None)
    assert case.sent_key(call) == CANARY


@every_case
@pytest.mark.parametrize(
    "url", ["localhost:8000", "ftp://h/v1", "http:///v1", "https://u:p@h", "http://h:x/"]
)
def test_an_address_that_cannot_be_right_is_refused(case, url):
    role = case.role("http://127.0.0.1:9/v1", **{case.address: url})
    [problem] = backend_spec(case.backend).check(role, case.env())
    assert f"model.{case.backend}_{case.address}" in problem


@every_case
def test_a_refused_key_ends_the_phase(case, tmp_path):
    async def main():
        async with Endpoint(lambda call: Answer(status=401, error="no")) as endpoint:
            role = case.role(endpoint.url)
            async with client_at(tmp_path, "", role=role, env=case.env(), width=1) as client:
                calls = [client.call(ask(str(n))) for n in range(POLICY.systemic_failures)]
                return await asyncio.gather(*calls, return_exceptions=True)

    errors = asyncio.run(main())
    assert isinstance(errors[-1], ProviderDead)


@every_case
def test_a_phase_that_runs_out_of_time_for_a_call_says_timeout(case, tmp_path):
    async def main():
        never = asyncio.Event()

        async def rule(call):
            await never.wait()
            return answer(case)

        async with Endpoint(rule) as endpoint:
            role = case.role(endpoint.url)
            policy = type(POLICY)(max_attempts=1, timeout=0.2)
            async with client_at(tmp_path, "", role=role, env=case.env(), policy=policy) as client:
                await client.call(ask("q"))

    with pytest.raises(CallError) as caught:
        asyncio.run(main())
    assert (caught.value.kind, caught.value.code) == ("timeout", "timeout")


@pytest.mark.parametrize("backend", sorted({case.backend for case in CASES}))
def test_a_backend_declares_what_it_reads(backend):
    spec = backend_spec(backend)
    names = [setting.name for setting in spec.settings]
    assert len(names) == len(set(names))
    assert {"api_key_env", "max_tokens"} <= set(names)
    assert {"tools", "images", "usage"} <= spec.capabilities
    assert spec.roles == ("optimizer", "target")
    assert all(setting.default in setting.choices for setting in spec.settings if setting.choices)
    undecided = {setting.name for setting in spec.settings if not setting.decides}
    assert undecided <= {
        "api_key_env",
        "timeout_seconds",
        "auth_mode",
        "ad_scope",
        "managed_identity_client_id",
        "org_id",
        "project_id",
    }
    assert json.loads(json.dumps([setting.default for setting in spec.settings])) is not None


@pytest.mark.parametrize(
    ("backend", "setting", "value", "expected"),
    [
        ("openai_compatible", "timeout_seconds", "0", "a number (0.1 or more) or nothing"),
        ("qwen_chat", "timeout_seconds", "-3", "a number (0.1 or more) or nothing"),
        ("openai_chat", "max_tokens", "-1", "a whole number (0 or more)"),
        ("minimax_chat", "max_tokens", "-1", "a whole number (0 or more)"),
        ("copilot_chat", "timeout", "-1", "a number (0 or more)"),
    ],
)
def test_limits_under_which_no_call_can_work_are_refused(backend, setting, value, expected):
    overrides = [f"model.backend={backend}", f"model.{backend}_{setting}={value}"]
    with pytest.raises(ConfigError, match=re.escape(f"_{setting}: expected {expected}, found")):
        load_run(ROOT / "config" / "searchqa.yaml", overrides, {})
