import asyncio
import http.server
import json
import os
import threading
import time
from contextlib import contextmanager

import pytest
from clients import ask
from endpoint import Answer, Endpoint
from wire import CANARY, CASES, Checked, answer

from skillopt.errors import ConfigError
from skillopt.models.backends import _responses
from skillopt.models.backends._azure import may_get_tokens
from skillopt.models.backends.openai_chat import BACKEND, OpenAISettings
from skillopt.models.base import CallError, Message, Request, RoleModel, Tool, ToolCall
from skillopt.records import Usage

BY_NAME = {case.name: case for case in CASES}
FIND = Tool(name="find", description="d", parameters={"type": "object"})


def role(model="gpt-5.5", **settings):
    return RoleModel(role="target", backend="openai_chat", model=model, settings=settings)


def payload(model, env, *, effort="", tools=(), **settings):
    """Return what would be sent; the client is opened, and nothing is called."""
    backend = BACKEND.open(role(model, **settings), env)
    body = backend.payload(ask("q", reasoning_effort=effort, tools=tools))
    asyncio.run(backend.close())
    return body


OPENAI = {"OPENAI_API_KEY": "k"}
AZURE = {"AZURE_OPENAI_API_KEY": "k"}
RESOURCE = "https://r.openai.azure.com"


def test_openai_itself_is_called_when_no_endpoint_is_set():
    backend = BACKEND.open(role(), OPENAI)
    assert str(backend._sdk.base_url) == "https://api.openai.com/v1/"
    assert backend._sdk.max_retries == 0
    assert payload("gpt-5.5", OPENAI, effort="high") == {
        "model": "gpt-5.5",
        "messages": [{"role": "user", "content": "q"}],
        "max_completion_tokens": 64,
        "reasoning_effort": "high",
    }


def test_a_local_server_without_a_key_is_called_without_a_login(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY"):
        monkeypatch.delenv(name, raising=False)

    async def main():
        async with Endpoint() as endpoint:
            backend = BACKEND.open(role(endpoint=endpoint.url, auth_mode="openai"), {})
            reply = await backend.complete(ask("q"))
            await backend.close()
        return reply.text, endpoint.calls[0].headers

    text, headers = asyncio.run(main())
    assert text == "ok"
    assert not {"authorization", "api-key"} & headers.keys()


def test_an_address_may_hold_the_whole_path():
    for path in ("/v1", "/v1/chat/completions", "/v1/chat/completions/"):
        settings = {"endpoint": f"http://localhost:1{path}", "auth_mode": "openai"}
        assert str(BACKEND.open(role(**settings), {})._sdk.base_url) == "http://localhost:1/v1/"


@pytest.mark.parametrize(
    ("where", "sent"),
    [
        ("http://api.openai.com/v1", {"openai-organization": "org-1", "openai-project": "proj-1"}),
        ("http://models.example/v1", {}),
    ],
)
def test_organization_and_project_are_sent_to_openai_itself_only(where, sent, monkeypatch):
    async def main():
        async with Endpoint() as proxy:
            monkeypatch.setenv("HTTP_PROXY", proxy.url.removesuffix("/v1"))
            env = {**OPENAI, "HTTP_PROXY": os.environ["HTTP_PROXY"]}
            billed = role(endpoint=where, auth_mode="openai", org_id="org-1", project_id="proj-1")
            backend = BACKEND.open(billed, env)
            reply = await backend.complete(ask("q"))
            await backend.close()
        return reply, proxy.calls

    monkeypatch.delenv("NO_PROXY", raising=False)
    reply, [call] = asyncio.run(main())
    assert (reply.text, call.path) == ("ok", f"{where}/chat/completions")
    assert {
        name: value for name, value in call.headers.items() if "stainless" in name or "openai-" in name
    } == sent
    assert call.headers["authorization"] == "Bearer k"


@pytest.mark.parametrize(
    ("model", "responses"),
    [
        ("gpt-5.5", False),
        ("gpt-5", False),
        ("gpt-5-codex", True),
        ("GPT-5.1-Codex-mini", True),
        ("gpt-5-codexx", False),
        ("codex-mini-latest", True),
        ("gpt-5.4-pro", True),
        ("gpt-5.4", False),
    ],
)
def test_models_that_need_the_responses_api_get_it(model, responses):
    assert ("input" in payload(model, OPENAI)) == responses


@pytest.mark.parametrize(
    ("effort", "tools", "settings", "responses"),
    [
        ("medium", (FIND,), {}, True),
        ("none", (FIND,), {}, False),
        ("", (FIND,), {}, False),
        ("medium", (), {}, False),
        ("medium", (FIND,), {"wire_api": "chat"}, False),
        ("medium", (FIND,), {"endpoint": "http://localhost:1/v1", "auth_mode": "openai"}, False),
        ("medium", (FIND,), {"endpoint": f"{RESOURCE}/openai/v1", "auth_mode": "openai"}, True),
    ],
)
def test_tools_and_an_effort_go_together_in_the_responses_api_only(effort, tools, settings, responses):
    body = payload("gpt-5.5", OPENAI, effort=effort, tools=tools, **settings)
    assert ("input" in body) == responses
    sent = body.get("reasoning", {}).get("effort") or body.get("reasoning_effort", "")
    assert sent == effort


@pytest.mark.parametrize(
    ("version", "responses"), [("2024-12-01-preview", False), ("2025-04-01-preview", True)]
)
def test_azure_has_the_responses_api_since_a_version(version, responses):
    settings = {"endpoint": RESOURCE, "api_version": version}
    assert ("input" in payload("d", AZURE, effort="low", tools=(FIND,), **settings)) == responses
    problems = BACKEND.check(role("gpt-5-codex", **settings), AZURE)
    assert problems == [] if responses else "model.openai_chat_api_version" in problems[0]


def test_models_that_do_not_reason_are_asked_for_no_effort():
    assert "reasoning_effort" not in payload("gpt-4o-mini", OPENAI, effort="medium")


def test_a_compatible_endpoint_gets_the_fields_that_all_of_them_know():
    settings = {"endpoint": "https://h.example/v1/", "auth_mode": "compat"}
    body = payload("m", OPENAI, **settings)
    assert body == {"model": "m", "messages": [{"role": "user", "content": "q"}], "max_tokens": 64}


def test_the_responses_body_holds_all_of_a_dialogue_in_order():
    request = Request(
        messages=(
            Message(role="system", content="one"),
            Message(role="system", content="two"),
            Message(role="user", content="q"),
            Message(role="system", content="late"),
            Message(role="assistant", content="a"),
        ),
        max_completion_tokens=100,
        tools=(FIND,),
    )
    body = _responses.payload("m", request, 100, "xhigh")
    assert body == {
        "model": "m",
        "instructions": "one\n\ntwo",
        "input": [
            {"role": "user", "content": "q"},
            {"role": "system", "content": "late"},
            {"role": "assistant", "content": "a"},
        ],
        "max_output_tokens": 100,
        "store": False,
        "reasoning": {"effort": "xhigh"},
        "tools": [
            {
                "type": "function",
                "name": "find",
                "description": "d",
                "parameters": {"type": "object"},
                "strict": False,
            }
        ],
    }


def read(**fields):
    body = {"status": "completed", "output": [], "model": "m", **fields}
    return _responses.read_reply(json.dumps(body).encode(), str)


@pytest.mark.parametrize("odd", ["x", 1.5, -1, True, [], [1], {}, {"a": []}, None, 10**30], ids=str)
def test_what_stands_beside_the_text_of_a_responses_reply_costs_none(odd):
    usage = {"input_tokens": odd, "output_tokens": 5, "input_tokens_details": odd}
    parts = [odd, {"type": "output_text", "text": "four", "refusal": odd}]
    call = {"type": "function_call", "id": odd, "call_id": 7, "name": "find", "arguments": {"x": 1}}
    output = [odd, {"type": "message", "id": odd, "content": parts}, call]
    reply = read(output=output, usage=usage, model=odd, incomplete_details=odd, id=odd, status=odd)
    assert (reply.text, reply.finish_reason) == ("four", "tool_calls")
    assert reply.tool_calls == (ToolCall(id="7", name="find", arguments='{"x": 1}'),)
    assert reply.model == (odd if isinstance(odd, str) else "")
    assert reply.usage == Usage(calls=1, completion=5)
    assert read(output=output, usage=odd).usage == Usage(calls=1)


def test_a_code_that_is_none_is_kept_out_of_the_accounts():
    with pytest.raises(CallError) as caught:
        read(status="failed", error={"code": "\x1b]0;x\x07", "message": "m"})
    assert caught.value.code == "broken_off"


def test_all_text_of_a_responses_reply_is_read():
    parts = [{"type": "output_text", "text": "a"}, {"type": "output_text", "text": "b"}]
    refusal = [{"type": "refusal", "refusal": "no."}]
    reply = read(output=[{"type": "message", "content": parts}, {"type": "message", "content": refusal}])
    assert reply.text == "abno."


@pytest.mark.parametrize(
    ("fields", "code", "transient"),
    [
        ({"status": "failed", "error": {"code": "server_error", "message": "x"}}, "server_error", True),
        ({"status": "failed", "error": {"code": "rate_limit_exceeded"}}, "rate_limit_exceeded", True),
        ({"status": "failed", "error": {"code": "invalid_prompt", "message": "x"}}, "invalid_prompt", False),
        ({"status": "cancelled"}, "broken_off", True),
        ({}, "empty_reply", True),
        ({"output": "x"}, "bad_body", True),
        ({"output": None}, "no_choices", True),
    ],
)
def test_a_responses_reply_that_failed_is_an_error(fields, code, transient):
    with pytest.raises(CallError) as caught:
        read(**fields)
    assert (caught.value.code, caught.value.transient) == (code, transient)


# where it is called, and with what


@pytest.mark.parametrize(
    ("settings", "env", "problem"),
    [
        ({}, {}, "TARGET_OPENAI_API_KEY or OPENAI_API_KEY"),
        ({}, AZURE, "TARGET_OPENAI_API_KEY or OPENAI_API_KEY"),
        ({}, OPENAI, ""),
        ({"auth_mode": "api_key"}, AZURE, "TARGET_AZURE_OPENAI_ENDPOINT or AZURE_OPENAI_ENDPOINT"),
        ({"auth_mode": "azure_cli"}, {}, "AZURE_OPENAI_ENDPOINT"),
        (
            {"auth_mode": "key", "endpoint": RESOURCE},
            OPENAI,
            "TARGET_AZURE_OPENAI_API_KEY or AZURE_OPENAI_TARGET_API_KEY or AZURE_OPENAI_API_KEY",
        ),
        ({"endpoint": RESOURCE}, AZURE, ""),
        ({"endpoint": RESOURCE}, {"PATH": "/nowhere"}, "the Azure CLI (az) is not on the PATH"),
        ({"auth_mode": "aad", "endpoint": RESOURCE}, {}, ""),
        ({"endpoint": f"{RESOURCE}/openai/v1"}, AZURE, "auth_mode=openai"),
        (
            {"endpoint": f"{RESOURCE}/openai/deployments/d/chat/completions?api-version=1"},
            AZURE,
            "alone (https://<name>",
        ),
        ({"endpoint": RESOURCE, "api_version": "2025 03&a=b"}, AZURE, "such as 2025-03-01-preview"),
        ({"endpoint": RESOURCE, "api_version": "preview"}, AZURE, ""),
        ({"endpoint": "http://localhost:1/v1", "auth_mode": "openai"}, {}, ""),
        ({"endpoint": "https://h.example/v1", "auth_mode": "openai"}, {}, "no key"),
        ({"endpoint": "https://h.example/v1", "auth_mode": "azure_cli"}, {}, "https addresses of Azure only"),
        ({"endpoint": "http://r.openai.azure.com", "auth_mode": "aad"}, {}, "https addresses of Azure only"),
    ],
)
def test_what_is_missing_is_said_before_anything_is_called(settings, env, problem):
    problems = BACKEND.check(role(**settings), env)
    assert len(problems) == (1 if problem else 0)
    if problem:
        assert problem in problems[0]
        with pytest.raises(ConfigError):
            BACKEND.open(role(**settings), env)


@pytest.mark.parametrize(
    ("endpoint", "allowed"),
    [
        (RESOURCE, True),
        ("https://r.cognitiveservices.azure.com/", True),
        ("https://r.openai.azure.us", True),
        ("https://gateway.azure-api.net/openai", True),
        ("http://127.0.0.1:8000", True),
        ("http://r.openai.azure.com", False),
        ("https://openai.azure.com.evil.example", False),
        ("https://evilazure.com", False),
        ("https://azure.com@evil.example", False),
    ],
)
def test_logins_go_to_azure_only(endpoint, allowed):
    assert may_get_tokens(endpoint) == allowed


@pytest.mark.parametrize(
    ("env", "key"),
    [
        ({"OPENAI_API_KEY": "o", "AZURE_OPENAI_API_KEY": "a"}, "a"),
        ({"OPENAI_API_KEY": "o", "TARGET_OPENAI_API_KEY": "t", "AZURE_OPENAI_API_KEY": "a"}, "t"),
        ({"OPENAI_API_KEY": "o"}, "o"),
        ({"AZURE_OPENAI_TARGET_API_KEY": "t", "AZURE_OPENAI_API_KEY": "a"}, "t"),
        ({"AZURE_OPENAI_OPTIMIZER_API_KEY": "p", "AZURE_OPENAI_API_KEY": "a"}, "a"),
        ({"OPTIMIZER_OPENAI_API_KEY": "p", "OPENAI_API_KEY": "o"}, "o"),
        ({}, None),
    ],
)
def test_the_key_of_the_role_comes_first(env, key, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "of-the-process")
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "of-an-admin")
    case = BY_NAME["openai"]
    rule = Checked(case, lambda call: answer(case))

    async def main():
        async with Endpoint(rule) as endpoint:
            backend = BACKEND.open(case.role(endpoint.url), env)
            await backend.complete(ask("q"))
            await backend.close()
            return endpoint.calls[0].headers.get("authorization")

    assert asyncio.run(main()) == (f"Bearer {key}" if key else None)
    assert rule.problems == []


# logins of Azure


@contextmanager
def fake_az(tmp_path, monkeypatch, script):
    """Put an `az` on the PATH that notes its arguments, one line per call."""
    folder = tmp_path / "bin"
    folder.mkdir()
    az = folder / "az"
    az.write_text(f'#!/bin/sh\necho "$@" >> "{tmp_path}/arguments"\n{script}\n')
    az.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    yield tmp_path / "arguments"


def token_json(token, seconds):
    return json.dumps({"accessToken": token, "expires_on": int(time.time() + seconds), "tokenType": "Bearer"})


def call_azure(reply, calls=3, **settings):
    """Call an Azure endpoint on loopback at the same time; return the credentials it got."""

    async def main():
        async with Endpoint(reply) as endpoint:
            where = endpoint.url.removesuffix("/v1")
            backend = BACKEND.open(role("m-1", endpoint=where, **settings), dict(os.environ))
            try:
                await asyncio.gather(*(backend.complete(ask(str(n))) for n in range(calls)))
                await backend.complete(ask("later"))
            finally:
                await backend.close()
            assert all("api-key" not in call.headers for call in endpoint.calls)
            return {call.headers["authorization"] for call in endpoint.calls}

    return asyncio.run(main())


AZURE_CASE = BY_NAME["azure"]


def ok(call):
    return answer(AZURE_CASE)


def test_the_login_of_the_azure_cli_is_asked_for_once(tmp_path, monkeypatch):
    script = f"echo '{token_json('token-1', 3600)}'"
    with fake_az(tmp_path, monkeypatch, script) as arguments:
        assert call_azure(ok, auth_mode="azure_cli") == {"Bearer token-1"}
    resource = "--resource https://cognitiveservices.azure.com"
    assert arguments.read_text().splitlines() == [f"account get-access-token --output json {resource}"]


def test_a_login_that_ends_soon_is_renewed_and_another_cloud_has_its_scope(tmp_path, monkeypatch):
    script = f"echo '{token_json('token-1', 60)}'"
    with fake_az(tmp_path, monkeypatch, script) as arguments:
        scope = "https://cognitiveservices.azure.us/.default"
        assert call_azure(ok, calls=1, auth_mode="azure_cli", ad_scope=scope) == {"Bearer token-1"}
    asked = arguments.read_text().splitlines()
    assert len(asked) == 2
    assert all(line.endswith("--resource https://cognitiveservices.azure.us") for line in asked)


def test_who_is_not_logged_in_is_told_what_to_do(tmp_path, monkeypatch):
    script = f"echo \"ERROR: Please run 'az login' to setup account. {CANARY}\" >&2; exit 1"
    with fake_az(tmp_path, monkeypatch, script), pytest.raises(CallError) as caught:
        call_azure(ok, auth_mode="azure_cli")
    assert "run `az login`" in str(caught.value)
    assert (caught.value.transient, caught.value.code) == (False, "http_401")


def test_a_token_is_in_no_message(tmp_path, monkeypatch):
    token = "opaque-token-of-az"
    script = f"echo '{token_json(token, 3600)}'"

    def tells(call):
        return Answer(status=400, error=f"bad {token} and {call.headers['authorization']}")

    with fake_az(tmp_path, monkeypatch, script), pytest.raises(CallError) as caught:
        call_azure(tells)
    assert str(caught.value).startswith("HTTP 400: bad [redacted]")
    assert token not in str(caught.value)


class Identity(http.server.BaseHTTPRequestHandler):
    """The identity endpoint of App Service, as documented: a GET with a secret header."""

    def do_GET(self):
        self.server.requests.append((self.path, self.headers.get("X-IDENTITY-HEADER")))
        content = json.dumps(
            {
                "access_token": "token-of-identity",
                "expires_on": str(int(time.time() + 7200)),
                "resource": "r",
                "token_type": "Bearer",
            }
        ).encode()
        if self.server.status != 200:
            content = b'{"error": "invalid_request", "error_description": "no such identity"}'
        self.send_response(self.server.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args):
        pass


@contextmanager
def identity_endpoint(monkeypatch, status=200):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Identity)
    server.requests, server.status = [], status
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setenv("IDENTITY_ENDPOINT", f"http://127.0.0.1:{server.server_port}/msi/token")
    monkeypatch.setenv("IDENTITY_HEADER", "secret-of-the-host")
    try:
        yield server.requests
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_managed_identity_gets_in(monkeypatch):
    with identity_endpoint(monkeypatch) as requests:
        got = call_azure(ok, auth_mode="managed_identity", managed_identity_client_id="id-1")
    assert got == {"Bearer token-of-identity"}
    [(path, header)] = requests
    assert header == "secret-of-the-host"
    assert "resource=https" in path
    assert "client_id=id-1" in path


def test_an_identity_that_is_not_there_is_said(monkeypatch):
    with identity_endpoint(monkeypatch, status=400), pytest.raises(CallError) as caught:
        call_azure(ok, auth_mode="managed_identity")
    assert not caught.value.transient
    assert "model.openai_chat_managed_identity_client_id" in str(caught.value)


def test_the_declared_settings_are_those_that_are_read():
    assert {setting.name for setting in BACKEND.settings} == set(OpenAISettings.__struct_fields__)
