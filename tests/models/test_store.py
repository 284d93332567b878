import hashlib
import json
import os
import subprocess
import sys

import pytest
from clients import ask, role_at

from skillopt.models.base import Message, Reply, RoleModel, Tool, ToolCall, Workspace
from skillopt.models.store import About, Store, StoreError, call_key
from skillopt.records import Usage

ABOUT = About(backend="b", model="m", run="demo", role="target", phase="rollout", label="step_0001")
KEY = "ab" * 32


def key(url="http://h/v1", model="m-1", effort="", role="target", request=None, **settings):
    model = RoleModel(
        role=role,
        backend="openai_compatible",
        model=model,
        reasoning_effort=effort,
        settings={"base_url": url, **settings},
    )
    return call_key(model, request or ask("q"))


@pytest.mark.parametrize(
    "other",
    [
        {"url": "http://other/v1"},
        {"model": "m-2"},
        {"effort": "high"},
        {"temperature": 0.5},
        {"max_tokens": 10},
        {"request": ask("q2")},
        {"request": ask("q", sample=1)},
        {"request": ask("q", max_completion_tokens=65)},
        {"request": ask("q", tools=(Tool(name="t", description="", parameters={}),))},
        {"request": ask("q", tool_choice="required")},
        {"request": ask("q", reasoning_effort="low")},
        {"request": ask("q", messages=(Message(role="system", content="q"),))},
    ],
)
def test_what_decides_a_reply_is_in_its_key(other):
    assert key(**other) != key()


READS = ask("q", workspace=Workspace(skill="s"))
WRITES = ask("q", workspace=Workspace(skill="s", collect=("*.md",)))
AZURE = {"endpoint": "https://r.openai.azure.com"}
OLDER = {"api_version": "2024-10-21"}


@pytest.mark.parametrize(
    ("backend", "role", "request_", "settings", "change", "acts"),
    [
        ("openai_chat", "target", READS, AZURE, OLDER, True),
        ("openai_chat", "target", READS, {**AZURE, "auth_mode": "key"}, OLDER, True),
        ("openai_chat", "target", READS, {}, OLDER, False),
        ("openai_chat", "target", READS, {"endpoint": "http://h/v1", "auth_mode": "compat"}, OLDER, False),
        ("minimax_chat", "target", READS, {}, {"region": "cn_zh"}, True),
        ("minimax_chat", "target", READS, {"base_url": "http://h/v1"}, {"region": "cn_zh"}, False),
        ("minimax_chat", "target", READS, {}, {"enable_thinking": True}, True),
        ("minimax_chat", "target", READS, {"temperature": -1.0}, {"temperature": -2.0}, False),
        ("minimax_chat", "target", READS, {}, {"temperature": -2.0}, True),
        ("openai_compatible", "target", READS, {}, {"temperature": -1.0}, False),
        ("openai_compatible", "target", READS, {}, {"temperature": 0.0}, True),
        ("codex_exec", "optimizer", READS, {}, {"sandbox": "danger-full-access"}, False),
        ("codex_exec", "optimizer", READS, {}, {"network_access": True}, False),
        ("codex_exec", "target", READS, {}, {"sandbox": "danger-full-access"}, True),
        ("codex_exec", "target", WRITES, {}, {"sandbox": "workspace-write"}, False),
        ("codex_exec", "target", READS, {}, {"sandbox": "read-only"}, False),
        ("codex_exec", "target", READS, {}, {"network_access": True}, False),
        ("codex_exec", "target", WRITES, {}, {"network_access": True}, True),
        ("codex_exec", "target", WRITES, {"sandbox": "danger-full-access"}, {"network_access": True}, False),
        ("cursor_exec", "target", READS, {}, {"shell": True}, False),
        ("cursor_exec", "target", WRITES, {}, {"shell": True}, True),
        ("cursor_exec", "target", READS, {}, {"sandbox": "disabled"}, True),
    ],
)
def test_a_setting_is_in_the_key_of_the_requests_that_it_acts_on(
    backend, role, request_, settings, change, acts
):
    keys = [
        call_key(RoleModel(role=role, backend=backend, model="m-1", settings=chosen), request_)
        for chosen in (settings, {**settings, **change})
    ]
    assert (keys[0] != keys[1]) == acts


def test_some_models_think_whatever_is_set():
    models = [
        RoleModel(role="target", backend="minimax_chat", model="MiniMax-M2.1", settings=settings)
        for settings in ({}, {"enable_thinking": True})
    ]
    assert call_key(models[0], READS) == call_key(models[1], READS)


@pytest.mark.parametrize(
    "other",
    [
        {"role": "optimizer"},
        {"timeout_seconds": 3.0},
        {"api_key_env": "SOME_NAME"},
        {"max_tokens": 0},  # the default, said
        {"max_tokens": 100},  # more than the request asks for
        {"temperature": None},
    ],
)
def test_what_does_not_decide_a_reply_is_not(other):
    assert key(**other) == key()


def test_equal_settings_give_equal_keys():
    assert key(temperature=0) == key(temperature=0.0)
    assert key(effort="high") == key(request=ask("q", reasoning_effort="high"))
    tools = [{"type": "object", "properties": {}}, {"properties": {}, "type": "object"}]
    made = {key(request=ask("q", tools=(Tool(name="t", description="", parameters=tool),))) for tool in tools}
    assert len(made) == 1


def test_a_key_is_the_same_in_every_version():
    """Changing this text makes everybody pay for every reply again."""
    role = role_at("http://localhost:8000/v1", temperature=0.5)
    hashed = (
        '{"backend":"openai_compatible","model":"m-1",'
        '"settings":{"base_url":"http://localhost:8000/v1","temperature":0.5}}\n'
        '{"max_completion_tokens":64,"messages":[{"content":"q","role":"user"}]}'
    )
    assert call_key(role, ask("q")) == hashlib.sha256(hashed.encode()).hexdigest()


def test_a_reply_comes_back_as_it_was_kept(tmp_path):
    reply = Reply(
        text="héllo \u2028 \x00",
        finish_reason="length",
        tool_calls=(ToolCall(id="1", name="n", arguments="{"),),
        usage=Usage(calls=1, prompt=3),
        seconds=1.5,
        model="m-1-0613",
    )
    store = Store(tmp_path)
    assert store.get(KEY) is None
    assert store.put(KEY, reply, ABOUT) == reply
    assert Store(tmp_path).get(KEY) == reply


def test_an_entry_can_be_read_with_ordinary_tools(tmp_path):
    Store(tmp_path).put(KEY, Reply(text="hi", usage=Usage(calls=1, completion=2)), ABOUT)
    (path,) = (path for path in tmp_path.rglob("*") if path.is_file())
    assert path == tmp_path / "replies" / "ab" / f"{KEY}.json"
    entry = json.loads(path.read_text())
    assert entry["about"]["phase"] == "rollout"
    assert entry["reply"]["usage"] == {
        "calls": 1,
        "prompt": None,
        "cached": None,
        "completion": 2,
        "reasoning": None,
    }
    assert path.read_text().count("\n") > 10


def test_a_reply_is_on_the_disk_before_it_gets_its_name(tmp_path, monkeypatch):
    synced, sync, link = [], os.fsync, os.link

    def noting_sync(file):
        sync(file)
        synced.append((os.fstat(file).st_ino, os.fstat(file).st_size))

    def checked_link(source, target):
        assert (source.stat().st_ino, source.stat().st_size) in synced
        link(source, target)

    monkeypatch.setattr(os, "fsync", noting_sync)
    monkeypatch.setattr(os, "link", checked_link)
    Store(tmp_path).put(KEY, Reply(text="a"), ABOUT)
    assert Store(tmp_path).get(KEY).text == "a"
    assert len(synced) == 1


def test_of_two_replies_to_one_request_the_first_is_kept(tmp_path):
    first, second = Reply(text="first"), Reply(text="second")
    assert Store(tmp_path).put(KEY, first, ABOUT) == first
    assert Store(tmp_path).put(KEY, second, ABOUT) == first
    assert Store(tmp_path).get(KEY) == first
    assert len(list(tmp_path.rglob("*.*"))) == 1


def test_a_kept_reply_replaces_a_corrupt_one(tmp_path):
    Store(tmp_path).put(KEY, Reply(text="first"), ABOUT)
    (path,) = tmp_path.rglob("*.json")
    path.write_bytes(b"")
    assert Store(tmp_path).put(KEY, Reply(text="second"), ABOUT).text == "second"
    assert Store(tmp_path).get(KEY).text == "second"


@pytest.mark.parametrize("content", [b"", b"{", b"\x00" * 500, b"[]", b'{"key": 1}', b"[" * 100_000])
def test_an_entry_that_holds_no_reply_is_put_aside(tmp_path, content, caplog):
    store = Store(tmp_path)
    path = tmp_path / "replies" / "ab" / f"{KEY}.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    assert store.get(KEY) is None
    assert not path.exists()
    assert path.with_name(f"{path.name}.corrupt").read_bytes() == content
    assert str(path) in caplog.text


def test_an_entry_under_a_wrong_name_is_put_aside(tmp_path):
    store = Store(tmp_path)
    store.put(KEY, Reply(text="hi"), ABOUT)
    (path,) = tmp_path.rglob("*.json")
    path.rename(path.with_name(f"{'ab' * 31}ac.json"))
    assert store.get("ab" * 31 + "ac") is None
    assert [found.name for found in tmp_path.rglob("*.json*")] == [f"{'ab' * 31}ac.json.corrupt"]


def test_an_entry_that_cannot_be_opened_is_not_bought_again(tmp_path):
    (tmp_path / "replies" / "ab" / f"{KEY}.json").mkdir(parents=True)
    with pytest.raises(StoreError, match="cannot read"):
        Store(tmp_path).get(KEY)


def test_a_reply_that_cannot_be_kept_leaves_nothing_behind(tmp_path):
    script = f"""
import resource, sys
from pathlib import Path
from skillopt.models.base import Reply
from skillopt.models.store import About, Store, StoreError
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    Store(Path(sys.argv[1])).put({KEY!r}, Reply(text="x" * 9000), About(
        backend="b", model="m", run="r", role="target", phase="p", label="l"))
except StoreError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "No further call is made. Make room there" in done.stdout
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_pipe_in_the_place_of_a_reply_is_not_waited_for(tmp_path):
    path = tmp_path / "replies" / KEY[:2] / f"{KEY}.json"
    path.parent.mkdir(parents=True)
    os.mkfifo(path)
    with pytest.raises(StoreError, match="a pipe or device"):
        Store(tmp_path).get(KEY)
