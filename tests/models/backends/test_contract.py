"""What every backend keeps to, whatever it calls: one suite for all that the registry has, in each role."""

import asyncio
import base64
import json
import logging
import subprocess
import sys
from pathlib import Path

import pytest
from clients import POLICY, Waits, client_at
from rigs import CANARY, SILENT_ABOUT_CUTS, Play, open_rig, opened, question, real_backends, rigs

from skillopt.errors import ConfigError
from skillopt.models.base import CallError, Image, Message, Tool
from skillopt.models.registry import backend_names, backend_spec
from skillopt.models.store import call_key, with_effort

PIXEL = Image(data=base64.b64encode(b"\x89PNG a picture").decode())
FIND = Tool(name="find", description="finds", parameters={"type": "object", "properties": {}})
FATAL = ("400", "401", "403", "404")
PASSING = ("408", "409", "429", "500", "503", "529", "dropped")
RIGS = rigs()


@pytest.fixture(params=RIGS, ids=[" ".join(entry) for entry in RIGS])
def rig(request, tmp_path):
    made = open_rig(*request.param, tmp_path)
    yield made
    made.close()
    assert made.problems == []


def reply_of(rig, request=None, **options):
    async def main():
        backend = opened(rig, **options)
        try:
            return await backend.complete(request or question(rig))
        finally:
            await backend.close()

    return asyncio.run(main())


def call_through(rig, folder, *requests, role=None, policy=POLICY, waits=None):
    """Call as phases do, through store, retries and accounts; return replies and errors."""

    async def main():
        options = {"role": role or rig.model(), "env": rig.env(), "policy": policy, "sleep": waits or Waits()}
        async with client_at(folder, "", **options) as client:
            found = []
            for request in requests or (question(rig),):
                try:
                    found.append(await client.call(request))
                except CallError as error:
                    found.append(error)
            return found

    return asyncio.run(main())


def test_a_backend_without_a_rig_fails(tmp_path):
    assert {backend for backend, _, _ in RIGS} == set(backend_names()) - {"simulator"}
    with pytest.raises(LookupError, match="brand_new_chat has no rig"):
        open_rig("brand_new_chat", "target", "has no rig", tmp_path)


def test_a_call_brings_its_text_and_comes_with_its_own_key(rig):
    rig.play(Play(text="Läuft: <answer>4 ≠ 5</answer>"))
    reply = reply_of(rig)
    assert (reply.text, reply.finish_reason) == ("Läuft: <answer>4 ≠ 5</answer>", "stop")
    [sent] = rig.sent
    assert sent.key == CANARY
    assert CANARY not in sent.text + sent.wire
    for part in ("Be brief.", "Look twice.", "What is it?"):
        assert part in sent.text


def test_what_is_missing_is_said_with_the_variable_to_set_and_nobody_is_called(rig):
    spec, role, env = backend_spec(rig.name), rig.distant(), rig.env()
    assert spec.check(role, env) == []
    [variable] = [name for name, value in env.items() if value == CANARY]
    own = {name for secret in spec.secrets for name in (secret.format(ROLE=rig.role.upper()),)}
    left = {name: value for name, value in env.items() if name not in own}
    left |= {"OPTIMIZER_X_API_KEY": CANARY}
    if rig.name == "openai_chat" and role.settings.get("auth_mode") is None:
        role = rig.distant()
        role.settings["auth_mode"] = "api_key"  # without a key it would look for a login
    [problem] = spec.check(role, left)
    assert variable in problem
    assert CANARY not in problem
    with pytest.raises(ConfigError, match=variable):
        spec.open(role, left)
    assert rig.sent == []


def test_a_role_has_a_key_of_its_own_which_wins_and_no_other_leaves(rig):
    """The provider, or the program, gets it under its own name, whichever role it plays."""
    [variable] = [name for name, value in rig.env().items() if value == CANARY]
    role, other = ("OPTIMIZER", "TARGET") if rig.role == "optimizer" else ("TARGET", "OPTIMIZER")
    name = variable.removeprefix(f"{role}_")
    env = {held: value for held, value in rig.env().items() if value != CANARY}
    elsewhere = {name: "sk-of-both-0123456789", f"{other}_{name}": "sk-of-other-0123456789"}
    backend = backend_spec(rig.name).open(rig.model(), {**env, **elsewhere, f"{role}_{name}": CANARY})

    async def main():
        await backend.complete(question(rig))
        await backend.close()

    asyncio.run(main())
    [sent] = rig.sent
    assert sent.key == CANARY
    assert not [text for text in (*elsewhere.values(), f"{role}_{name}") if text in sent.wire]
    if rig.distant() != rig.model():  # where one has to have a key, that of the other role is none
        with pytest.raises(ConfigError, match=f"{role}_{name}"):
            backend_spec(rig.name).open(rig.distant(), {**env, f"{other}_{name}": CANARY})


@pytest.mark.parametrize("name", backend_names())
def test_every_variable_of_a_key_is_there_for_one_role_too(name):
    secrets = backend_spec(name).secrets
    for shared in (secret for secret in secrets if "{" not in secret):
        assert secrets.index(f"{{ROLE}}_{shared}") < secrets.index(shared)


def test_usage_is_what_is_told_and_else_unknown(rig):
    def counts(reply):
        return (reply.usage.prompt, reply.usage.cached, reply.usage.completion, reply.usage.reasoning)

    told = reply_of(rig)
    assert told.usage.calls == 1
    assert counts(told) == rig.usage
    declared = "usage" in backend_spec(rig.name).capabilities
    assert declared == (told.usage.prompt is not None and told.usage.completion is not None)
    rig.play(Play(usage=False))
    assert counts(reply_of(rig)) == (None, None, None, None)


def test_equal_requests_are_sent_in_equal_bytes(rig):
    request = question(rig, reasoning_effort="high")
    reply_of(rig, request)
    reply_of(rig, request)
    first, second = rig.sent
    assert first.wire == second.wire


def test_what_calls_have_in_common_comes_first_so_that_prompt_caches_hit(rig):
    for item in ("item 1?", "item 2?"):
        reply_of(rig, question(rig, item))
    first, second = (sent.text for sent in rig.sent)
    start = first.index("item 1?")
    assert first[:start] == second[:start]
    assert start > max(first.index("Be brief."), first.index("Look twice."))


@pytest.mark.parametrize("fault", FATAL)
def test_what_waiting_does_not_heal_is_asked_once(rig, fault, tmp_path):
    rig.play(Play(fault=fault))
    waits = Waits()
    [error] = call_through(rig, tmp_path / "calls", waits=waits)
    assert isinstance(error, CallError)
    assert (error.transient, error.kind) == (False, "provider_error")
    assert (len(rig.sent), waits.seconds) == (1, [])
    assert "so it is" in str(error)


@pytest.mark.parametrize("fault", PASSING)
def test_what_passes_is_asked_again_after_a_while(rig, fault, tmp_path):
    rig.play(Play(fault=fault), Play(text="at last"))
    waits = Waits()
    [reply] = call_through(rig, tmp_path / "calls", waits=waits)
    assert reply.text == "at last"
    assert len(rig.sent) == 2
    [wait] = waits.seconds
    assert 0 < wait <= POLICY.max_wait  # half of the longest, by the draw of the test's client


def test_what_does_not_pass_is_given_up_within_bounds(rig, tmp_path):
    rig.play(Play(fault="503"))
    waits = Waits()
    [error] = call_through(rig, tmp_path / "calls", waits=waits)
    assert error.transient
    assert "after 3 attempts" in str(error)
    assert (len(rig.sent), len(waits.seconds)) == (POLICY.max_attempts, POLICY.max_attempts - 1)
    assert all(0 < wait <= POLICY.max_wait for wait in waits.seconds)


def test_the_time_to_wait_is_heeded_where_it_is_told(rig, tmp_path):
    rig.play(Play(fault="429", retry_after="7"), Play())
    waits = Waits()
    call_through(rig, tmp_path / "calls", waits=waits)
    [wait] = waits.seconds
    assert (wait > 7) == rig.tells_retry_after
    rig.play(Play(fault="503", retry_after="900"))
    [error] = call_through(rig, tmp_path / "others", waits=waits)
    assert ("asks to wait 900 s" in str(error)) == rig.tells_retry_after


def test_a_reply_that_was_cut_off_is_one_and_not_asked_for_again(rig, tmp_path):
    if not rig.cuts:
        assert rig.name in SILENT_ABOUT_CUTS
        return
    rig.play(Play(text="half a re", cut=True))
    [reply] = call_through(rig, tmp_path / "calls")
    assert reply.finish_reason == "length"
    assert len(rig.sent) == 1


def test_tools_make_the_round_trip_or_are_refused_before_the_call(rig):
    asking = question(rig, tools=(FIND,), tool_choice="required")
    rig.play(Play(calls=(("find", '{"x": 1}'), ("find", '{"x": 2}'))), Play(text="found"))
    if "tools" not in backend_spec(rig.name).capabilities:
        with pytest.raises(CallError) as caught:
            reply_of(rig, asking)
        assert (caught.value.code, caught.value.transient, rig.sent) == ("not_supported", False, [])
        return
    asked = reply_of(rig, asking)
    assert asked.finish_reason == "tool_calls"
    assert [(call.name, json.loads(call.arguments)) for call in asked.tool_calls] == [
        ("find", {"x": 1}),
        ("find", {"x": 2}),
    ]
    assert len({call.id for call in asked.tool_calls}) == 2
    said = Message(role="assistant", content=asked.text, tool_calls=asked.tool_calls)
    results = [
        Message(role="tool", content=f"result {number}", tool_call_id=call.id)
        for number, call in enumerate(asked.tool_calls)
    ]
    told = question(rig, messages=(*asking.messages, said, *results), tools=(FIND,))
    assert reply_of(rig, told).text == "found"
    text = rig.sent[1].text
    places = [text.index(part) for part in ("What is it?", "result 0", "result 1")]
    assert places == sorted(places)
    assert all(text.count(call.id) == 2 for call in asked.tool_calls)  # asked for, and answered


def test_images_reach_the_model_or_are_refused_before_the_call(rig):
    see = (Message(role="user", content="See.", images=(PIXEL, PIXEL)),)
    request = question(rig, messages=see)
    if "images" not in backend_spec(rig.name).capabilities:
        with pytest.raises(CallError) as caught:
            reply_of(rig, request)
        assert (caught.value.code, rig.sent) == ("not_supported", [])
        return
    assert reply_of(rig, request).text
    [sent] = rig.sent
    whole = sent.text.count(f"data:image/png;base64,{PIXEL.data}")
    assert whole + sent.files.count(base64.b64decode(PIXEL.data)) == 2


@pytest.mark.parametrize("fault", ["401", "500"])
def test_a_key_that_the_provider_repeats_is_nowhere(rig, fault, tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    rig.play(Play(fault=fault, says="Authorization: Bearer {key}; you sent '{key}' " * 9))
    [error] = call_through(rig, tmp_path / "calls")
    assert "[redacted]" in str(error)
    assert CANARY not in str(error) + repr(error.args) + caplog.text
    rig.play(Play(text="you sent {key}, the rest stays"))
    [reply] = call_through(rig, tmp_path / "calls")
    assert reply.text == "you sent [redacted], the rest stays"
    kept = [path for path in (tmp_path / "calls").rglob("*") if path.is_file()]
    assert kept
    assert not any(CANARY.encode() in path.read_bytes() for path in kept)


def test_two_of_different_settings_live_in_one_process(rig):
    async def main():
        backends = [opened(rig, f"m-{number}", f"sk-key-{number}-000000") for number in range(2)]
        for turn in range(2):
            calls = [backend.complete(question(rig, f"turn {turn}?")) for backend in backends]
            await asyncio.gather(*calls)
        for backend in backends:
            await backend.close()

    asyncio.run(main())
    assert len(rig.sent) == 4
    for number in range(2):
        own = [sent for sent in rig.sent if sent.key == f"sk-key-{number}-000000"]
        assert len(own) == 2
        assert all(f"m-{number}" in sent.wire and f"m-{1 - number}" not in sent.wire for sent in own)


VARIED = [
    {},
    {"reasoning_effort": "none"},
    {"reasoning_effort": "low"},
    {"reasoning_effort": "high"},
    {"reasoning_effort": "max"},
    {"max_completion_tokens": 300},
    {"max_completion_tokens": 100},
]


@pytest.mark.parametrize("own", ["", "limit", "effort"])
def test_calls_are_kept_apart_exactly_when_they_are_sent_differently(rig, own):
    """Neither is a reply taken for that of another request, nor is one bought twice."""
    names = {setting.name for setting in backend_spec(rig.name).settings}
    settings = {
        "": {},
        "limit": {"max_tokens": 300} if "max_tokens" in names else {},
        "effort": dict.fromkeys(names & {"effort", "reasoning_effort"}, "low"),
    }[own]
    if own and not settings:
        assert rig.model().settings.keys() & {"max_tokens", "effort", "reasoning_effort"} == set()
        return
    role = rig.model(**settings)
    requests = [with_effort(role, question(rig, **changes)) for changes in VARIED]

    async def main():
        backend = backend_spec(rig.name).open(role, rig.env())
        for request in requests:
            await backend.complete(request)
        await backend.close()

    asyncio.run(main())
    keys = [call_key(role, request) for request in requests]
    wires = [sent.wire for sent in rig.sent]
    alike = [[one == other for other in keys] for one in keys]
    assert alike == [[one == other for other in wires] for one in wires]


ELSEWHERE = {"auth_mode", "wire_api", "sandbox", "max_tokens_field", "use_max_completion_tokens"}
"""Settings that call for another address, login or field: the tests of their backends have them."""


def other_values(setting):
    """Yield values of a setting other than its default; paths, names and addresses are left out."""
    if setting.name in ELSEWHERE:
        return
    if setting.choices:
        yield from (choice for choice in setting.choices if choice != setting.default)
    elif setting.type == "bool":
        yield not setting.default
    elif setting.type in ("int", "float"):
        yield (setting.default or 0) + (100 if setting.type == "int" else 60.25)  # also of a time limit
    elif setting.name == "profile" and setting.default == "":
        yield "careful"


def test_a_setting_that_changes_what_is_sent_changes_the_key_and_no_other_does(rig):
    """Of the settings one by one, with a request that they may act on."""
    request = question(rig, reasoning_effort="high", max_completion_tokens=300)
    spec = backend_spec(rig.name)
    if rig.name == "codex_exec":  # it wants a file that may define the profile
        folder = Path(rig.env()["HOME"]) / ".codex"
        folder.mkdir()
        (folder / "config.toml").write_text("")
    names = [(setting.name, value) for setting in spec.settings for value in other_values(setting)]
    roles = [rig.model(), *(rig.model(**{name: value}) for name, value in names)]

    async def main():
        for role in roles:
            backend = spec.open(role, rig.env())
            await backend.complete(request)
            await backend.close()

    asyncio.run(main())
    first, *wires = [sent.wire for sent in rig.sent]
    key, *keys = [call_key(role, request) for role in roles]
    changed = {name: wire != first for name, wire in zip(names, wires, strict=True)}
    bought = {name: other != key for name, other in zip(names, keys, strict=True)}
    assert {name for name in names if changed[name]} <= {name for name in names if bought[name]}
    assert {name for (name, _), made in bought.items() if made} <= {
        name for (name, _), made in changed.items() if made
    }


OPEN = """
import json, sys
from skillopt.models.base import RoleModel
from skillopt.models.registry import backend_spec
name, role, model, settings, env = sys.argv[1:]
spec = backend_spec(name)
declared = sorted(sys.modules)
spec.open(RoleModel(role=role, backend=name, model=model, settings=json.loads(settings)), json.loads(env))
print(json.dumps([declared, sorted(sys.modules)]))
"""
PACKAGES = {"openai", "azure", "msal", "httpx2", "h11", "pydantic", "requests", "yaml", "jinja2", "psutil"}
OWN = {"openai_chat": {"openai", "httpx2", "pydantic", "h11"}}


@pytest.mark.parametrize("backend", real_backends())
def test_choosing_one_imports_no_package_of_another(backend, tmp_path):
    [entry, *_] = [entry for entry in RIGS if entry[0] == backend]
    rig = open_rig(*entry, tmp_path)
    role = rig.model()
    arguments = (backend, role.role, role.model, json.dumps(role.settings), json.dumps(rig.env()))
    done = subprocess.run(
        [sys.executable, "-c", OPEN, *arguments], capture_output=True, text=True, check=True
    )
    rig.close()
    declared, open_ = (set(names) for names in json.loads(done.stdout))
    others = {f"skillopt.models.backends.{name}" for name in backend_names() if name != backend}
    assert not others & open_
    assert not PACKAGES & declared
    assert PACKAGES & open_ <= OWN.get(backend, set())
