"""What backends that run a program keep to beyond `test_contract.py`: folders, environment, processes."""

import asyncio
import json
import sys
from pathlib import Path

import pytest
from fakeagents import Watch, raw
from programs import AGENTS, CANARY, CASES, OTHERS, OWNER, Bench

from skillopt.errors import ConfigError, ProviderDead
from skillopt.models.base import CallError, File, Image, Message, Workspace
from skillopt.models.client import CallPolicy, Client
from skillopt.models.ledger import Ledger
from skillopt.models.store import Store

SECONDS = 30.0
"""Longest wait of a test for something that must happen: only a failing test takes that long."""

PIXEL = Image(data="iVBORw0KGgo=", media_type="image/jpeg")


@pytest.fixture(params=CASES, ids=[case.name for case in CASES])
def bench(request, tmp_path):
    return Bench(request.param, tmp_path)


@pytest.fixture(params=AGENTS, ids=[case.name for case in AGENTS])
def agent(request, tmp_path):
    return Bench(request.param, tmp_path)


def test_the_reply_is_the_final_message_alone(bench):
    text = "Läuft: <answer>4 ≠ 5</answer>\nsecond line"
    bench.answers(text)
    reply = bench.reply()
    assert reply.text == text
    assert reply.finish_reason == "stop"
    assert reply.model == ("m-used" if bench.case.binary != "codex" else "")


def test_a_long_prompt_is_never_an_argument(bench):
    text = "word " * 60_000
    bench.answers()
    bench.reply(bench.case.request(text))
    call = bench.program.call
    assert max(len(argument) for argument in call.argv) < 1000
    where = call.files["task.md"].decode() if bench.case.works_in_folder else call.stdin
    assert text in where
    assert len(call.stdin) > 200_000 or len(call.stdin) < 2_000


def test_the_environment_is_an_allow_list(bench):
    bench.answers()
    backend = bench.spec.open(bench.role, {**bench.env, **OWNER})
    asyncio.run(backend.complete(bench.case.request()))
    env = bench.program.call.env
    ours = {"PATH", "HOME", "LANG", "TMPDIR", bench.case.key}
    settings_of_the_program = {
        name
        for name in env
        if name.startswith(("CLAUDE_CODE_", "DISABLE_AUTO", "ENABLE_CLAUDEAI", "MAX_THINK", "COPILOT_AUTO"))
    }
    assert set(env) - settings_of_the_program - {"CODEX_HOME"} == ours
    assert env[bench.case.key] == CANARY
    assert not {*OTHERS.values(), *OWNER.values()} & set(env.values())
    assert env["HOME"].startswith(bench.program.call.root)
    assert env["TMPDIR"].startswith(bench.program.call.root)


def test_nothing_of_the_owner_is_in_the_folders_of_a_call(bench):
    owner = Path(bench.env["HOME"])
    for name in (".claude/CLAUDE.md", ".codex/AGENTS.md", ".codex/config.toml", ".copilot/mcp-config.json"):
        (owner / name).parent.mkdir(exist_ok=True)
        (owner / name).write_text("OWNER")
    bench.answers()
    bench.reply()
    call = bench.program.call
    for content in (*call.files.values(), *call.home.values(), *call.private.values()):
        assert b"OWNER" not in content
        assert CANARY.encode() not in content


def test_the_folders_of_a_call_are_fresh_and_gone_afterwards(bench):
    bench.answers()
    bench.reply()
    bench.reply()
    first, second = bench.program.calls
    assert first.root != second.root
    assert not Path(first.root).exists()
    assert not Path(second.root).exists()


def test_folders_that_a_program_made_read_only_are_removed_too(bench):
    bench.program.does([{"write": "a/b/c.txt", "text": "x"}, *bench.case.prints("ok")])
    bench.reply()
    assert not Path(bench.program.call.root).exists()


def test_the_key_is_masked_wherever_the_program_prints_it(bench):
    key = f"{{env:{bench.case.key}}}"
    bench.answers(f"the key is {key}, the rest stays")
    reply = bench.reply()
    assert CANARY not in json.dumps([reply.text, reply.trace])
    assert reply.text == "the key is [redacted], the rest stays"
    bench.program.does(bench.case.fails(f"cannot use {key} or ghp_abcdefghijklmnop1234"))
    error = bench.error()
    assert CANARY not in str(error)
    assert "ghp_" not in str(error)
    assert "[redacted]" in str(error)


@pytest.mark.parametrize(
    ("says", "code", "transient"),
    [
        ("429 Too Many Requests", "overloaded", True),
        ("Rate limit reached for requests", "overloaded", True),
        ('API Error: 529 {"type":"error","error":{"type":"overloaded_error"}}', "overloaded", True),
        ("unexpected status 503 Service Unavailable", "overloaded", True),
        ("stream disconnected before completion", "overloaded", True),
        ("connect ECONNRESET 1.2.3.4:443", "overloaded", True),
        ("You've hit your usage limit. Try again later.", "insufficient_quota", False),
        ("Credit balance is too low", "insufficient_quota", False),
        ("Not logged in · Please run /login", "not_logged_in", False),
        ("Invalid API key", "not_logged_in", False),
        ("unexpected status 401 Unauthorized", "not_logged_in", False),
        ("There's an issue with the selected model (x)", "unknown_model", False),
        ("The model `x` does not exist or you do not have access to it.", "unknown_model", False),
        ("Unknown model: x", "unknown_model", False),
        ("Prompt is too long", "exit_1", False),
        ("the login page of task 7 was not reached", "exit_1", False),
    ],
)
def test_failures_say_what_to_do_and_whether_waiting_helps(bench, says, code, transient):
    bench.program.does(bench.case.fails(says))
    error = bench.error()
    assert (error.code, error.transient, error.kind) == (code, transient, "provider_error")
    assert " ".join(says.split()) in str(error)
    if code == "not_logged_in":
        assert bench.case.key in str(error)
    if code == "unknown_model":
        assert f"model.{bench.case.role}" in str(error)


def test_a_failure_without_words_is_fatal(bench):
    bench.program.does([{"exit": 3}])
    error = bench.error()
    assert (error.code, error.transient) == ("exit_3", False)


def test_what_the_agent_said_does_not_tell_why_its_program_failed(bench):
    said = bench.case.prints("The server says: HTTP 429, too many requests. Unauthorized!")[:-1]
    bench.program.does([*said, {"exit": 4}])
    error = bench.error()
    assert (error.code, error.transient) == ("exit_4", False)
    assert "server" not in str(error)
    bench.program.does([*said, {"out": "Rate limit reached\n"}, {"exit": 4}])
    assert bench.error().code == "overloaded"


def test_what_was_answered_before_a_failure_is_no_answer(bench):
    bench.program.does([*bench.case.prints("<answer>4</answer>"), {"err": "panicked\n"}, {"exit": 101}])
    error = bench.error()
    assert error.code == "exit_101"
    assert "panicked" in str(error)


def test_a_run_without_a_final_message_is_tried_once_more(bench):
    bench.program.does(bench.case.prints("  \n"))
    first, second = bench.error(), bench.error()
    assert [(e.code, e.transient) for e in (first, second)] == [("empty_reply", True), ("empty_reply", False)]
    told_first, told_second = (call.stdin for call in bench.program.calls)
    assert (told_first != told_second) == bench.case.works_in_folder
    assert bench.error(bench.case.request("Another question?")).transient


def test_a_stream_that_breaks_off_is_no_answer(bench):
    bench.program.does(bench.case.prints("the answer")[:-2])
    assert bench.error().code == "empty_reply"


def test_output_in_pieces_with_noise_and_bytes_that_are_no_text(bench):
    good = [{**step, "pieces": True} for step in bench.case.prints("4 ≠ 5")]
    noise = [raw(b"\xff\xfe starting\n"), {"out": "{not json}\n[1, 2]\n\nnull\n"}]
    bench.program.does([*noise, *good[:-1], raw(b'{"type": "\xc3("}\n'), good[-1], raw(b"\xff")])
    assert bench.reply().text == "4 ≠ 5"


def test_bytes_that_are_no_text_are_replaced(bench):
    steps = bench.case.prints("a MARK b")
    bench.program.does([raw(step["out"].encode().replace(b"MARK", b"\xff")) for step in steps])
    assert bench.reply().text == "a \ufffd b"


def test_half_a_surrogate_pair_does_not_stop_the_writing_of_a_row(bench):
    bench.answers("a \ud800 b")
    assert bench.reply().text == "a ? b"


def test_a_program_that_does_not_read_its_input_is_no_problem(bench):
    bench.answers(read=False)
    text = "word " * 100_000
    assert bench.reply(bench.case.request(text)).text


def test_a_missing_program_is_said_with_what_to_do(bench):
    bench.program.path.unlink()
    error = bench.error()
    assert (error.code, error.transient) == ("binary_missing", False)
    assert f"model.{bench.case.backend}_path" in str(error)


def test_a_program_that_cannot_be_run_is_fatal(bench):
    bench.program.path.write_text("#!/no/such/interpreter\n")
    error = bench.error()
    assert (error.code, error.transient) == ("binary_unusable", False)


def test_the_path_setting_names_the_program(tmp_path, bench):
    moved = tmp_path / "elsewhere" / "my-agent"
    moved.parent.mkdir()
    bench.answers()
    bench.program.path.rename(moved)
    (bench.folder / "bin" / f"{bench.case.binary}.fake").rename(moved.with_name("my-agent.fake"))
    backend = bench.spec.open(bench.case.role_model(settings={"path": str(moved)}), bench.env)
    assert asyncio.run(backend.complete(bench.case.request())).text


@pytest.mark.parametrize("child", ["group", "session"])
def test_time_out_ends_the_program_and_all_its_children(bench, child):
    async def main():
        async with Watch() as watch:
            started = bench.case.prints("x")[:-2]
            bench.program.does([{"child": child}, *started, {"hang": True}], watch=watch.port)
            backend = bench.spec.open(bench.case.role_model(settings={"timeout": 1.5}), bench.env)
            with pytest.raises(CallError) as caught:
                await backend.complete(bench.case.request())
            await asyncio.wait_for(watch.gone.wait(), SECONDS)
            return caught.value

    error = asyncio.run(main())
    assert (error.kind, error.code, error.transient) == ("timeout", "timeout", True)
    assert not Path(bench.program.call.root).exists()


@pytest.mark.parametrize("child", ["group", "session"])
def test_cancelling_ends_the_program_and_all_its_children(bench, child):
    async def main():
        async with Watch() as watch:
            bench.program.does([{"child": child}, {"hang": True}], watch=watch.port)
            task = asyncio.create_task(bench.ask())
            await asyncio.wait_for(watch.hangs.wait(), SECONDS)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.wait_for(watch.gone.wait(), SECONDS)

    asyncio.run(main())
    assert not Path(bench.program.call.root).exists()


@pytest.mark.parametrize("child", ["group", "session"])
def test_children_that_outlive_the_program_are_ended(bench, child):
    async def main():
        async with Watch() as watch:
            bench.program.does([{"child": child}, *bench.case.prints("done")], watch=watch.port)
            reply = await bench.ask()
            await asyncio.wait_for(watch.gone.wait(), SECONDS)
            return reply

    assert asyncio.run(main()).text == "done"


def test_calls_at_the_same_time_do_not_meet(bench):
    bench.program.does(bench.case.prints("from {cwd}"))

    async def main():
        return await asyncio.gather(*(bench.ask(bench.case.request(f"q{n}?")) for n in range(6)))

    replies = asyncio.run(main())
    assert {reply.text for reply in replies} == {f"from {call.cwd}" for call in bench.program.calls}
    assert len(bench.program.calls) == 6


def test_no_key_is_an_error_at_once_that_names_the_variable(bench):
    env = {name: value for name, value in bench.env.items() if name not in bench.spec.secrets}
    with pytest.raises(ConfigError, match=bench.case.key):
        bench.spec.open(bench.role, env)
    (problem,) = bench.spec.check(bench.role, env)
    assert bench.case.key in problem


def test_a_missing_key_is_said_with_the_variable_of_one_role(bench):
    role, other = ("OPTIMIZER", "TARGET") if bench.role.role == "optimizer" else ("TARGET", "OPTIMIZER")
    env = {name: value for name, value in bench.env.items() if name not in bench.spec.secrets}
    (problem,) = bench.spec.check(bench.role, {**env, f"{other}_{bench.case.key}": CANARY})
    assert f"A key for the {role.lower()} alone: the same variable with {role}_ before its name" in problem
    assert bench.spec.check(bench.role, {**env, f"{role}_{bench.case.key}": CANARY}) == []


@pytest.mark.parametrize("prefix", ["", "ROLE_"])
@pytest.mark.parametrize("rest", ["\nEVIL=1", " x", "ü", "\udcff", "\0x"], ids=ascii)
def test_a_key_that_cannot_be_one_is_refused_without_showing_it(bench, prefix, rest):
    variable = f"{prefix.replace('ROLE', bench.role.role.upper())}{bench.case.key}"
    env = {**bench.env, variable: f"{CANARY}{rest}"}
    said = f"{variable}: a key holds printable ASCII without blanks; this one does not"
    assert bench.spec.check(bench.role, env) == [said]
    with pytest.raises(ConfigError) as caught:
        bench.spec.open(bench.role, env)
    assert str(caught.value) == said


def test_blanks_around_a_key_are_no_part_of_it(bench):
    bench.answers()
    env = {**bench.env, bench.case.key: f" {CANARY}\r\n"}
    asyncio.run(bench.spec.open(bench.role, env).complete(bench.case.request()))
    assert bench.program.call.env[bench.case.key] == CANARY


def test_check_is_silent_when_all_is_there_and_makes_no_call(bench):
    assert bench.spec.check(bench.role, bench.env) == []
    assert bench.program.calls == []


def test_check_says_that_the_program_is_missing_or_broken(bench):
    bench.program.path.write_text("#!/bin/sh\necho broken >&2\nexit 3\n")
    (problem,) = bench.spec.check(bench.role, bench.env)
    assert "broken" in problem
    bench.program.path.unlink()
    (problem,) = bench.spec.check(bench.role, bench.env)
    assert f"model.{bench.case.backend}_path" in problem


LEAVES_A_CHILD = """\
#!{python} -IS
import signal, socket, subprocess, sys
held = socket.create_connection(("127.0.0.1", {port}))
child = "import signal; signal.pause()"
subprocess.Popen([sys.executable, "-IS", "-c", child], pass_fds=[held.fileno()])
{then}
"""


@pytest.mark.parametrize(
    ("then", "problem"), [('print("1.2.3")', ""), ('while True: print("1.2.3")', "printed more than")]
)
def test_asking_for_the_version_leaves_nothing_running(bench, then, problem):
    async def main():
        async with Watch() as watch:
            script = LEAVES_A_CHILD.format(python=sys.executable, port=watch.port, then=then)
            bench.program.path.write_text(script)
            problems = await asyncio.to_thread(bench.spec.check, bench.role, bench.env)
            await asyncio.wait_for(watch.gone.wait(), SECONDS)
            return problems

    problems = asyncio.run(main())
    assert [problem in found for found in problems] == ([True] if problem else [])


def test_further_variables_are_handed_over_by_name(tmp_path, bench):
    env = {**bench.env, "HTTPS_PROXY": "http://me:pw@proxy:1", "OTHER": "x"}
    role = bench.case.role_model(settings={"pass_env": "HTTPS_PROXY, NO_PROXY"})
    bench.program.does(bench.case.fails("no way through {env:HTTPS_PROXY}"))
    with pytest.raises(CallError) as caught:
        asyncio.run(bench.spec.open(role, env).complete(bench.case.request()))
    assert bench.program.call.env["HTTPS_PROXY"] == "http://me:pw@proxy:1"
    assert not {"NO_PROXY", "OTHER"} & set(bench.program.call.env)
    assert "me:pw" not in str(caught.value)


@pytest.mark.parametrize(
    "names", ["OPENAI_API_KEY", "HTTPS_PROXY,GH_TOKEN", "A B", "1A", "TMPDIR", "HTTPS_PROXY,HOME", "PATH"]
)
def test_names_of_keys_and_of_the_calls_own_folders_are_not_handed_over(bench, names):
    role = bench.case.role_model(settings={"pass_env": names})
    with pytest.raises(ConfigError, match="pass_env"):
        bench.spec.open(role, bench.env)


def client(bench, folder, **options):
    return Client(
        bench.role,
        policy=CallPolicy(max_attempts=3, timeout=SECONDS, systemic_failures=3),
        width=2,
        store=Store(folder),
        ledger=Ledger(folder, run="demo", phase="rollout", label="x"),
        env=bench.env,
        draw=lambda: 0.0,
        **options,
    )


def test_the_call_layer_keeps_the_reply_and_no_key(tmp_path, bench):
    bench.program.does(bench.case.prints(f"4 {{env:{bench.case.key}}}"))
    store = tmp_path / "calls"

    async def main():
        async with client(bench, store) as first:
            reply = await first.call(bench.case.request())
        async with client(bench, store) as later:
            assert await later.call(bench.case.request()) == reply

    asyncio.run(main())
    assert len(bench.program.calls) == 1
    for path in store.rglob("*"):
        if path.is_file():
            assert CANARY.encode() not in path.read_bytes()


def test_a_program_that_is_missing_ends_the_phase_after_a_few_calls(tmp_path, bench):
    bench.program.path.unlink()

    async def main():
        async with client(bench, tmp_path / "calls") as calls:
            for number in range(2):
                with pytest.raises(CallError):
                    await calls.call(bench.case.request(f"q{number}?"))
            with pytest.raises(ProviderDead, match=f"model.{bench.case.backend}_path"):
                await calls.call(bench.case.request("q3?"))

    asyncio.run(main())


def test_the_call_layers_time_limit_ends_the_program_too(tmp_path, bench):
    async def main():
        async with Watch() as watch:
            bench.program.does([{"child": "session"}, {"hang": True}], watch=watch.port)
            calls = client(bench, tmp_path / "calls")
            calls._policy = CallPolicy(max_attempts=1, timeout=1.5)
            async with calls:
                with pytest.raises(CallError, match="no reply within"):
                    await calls.call(bench.case.request())
            await asyncio.wait_for(watch.gone.wait(), SECONDS)

    asyncio.run(main())


# Agents: what they find in their folder, and what comes back.


def test_a_folder_that_cannot_be_filled_is_said_and_ends_the_phase(agent):
    error = agent.error(agent.case.request(workspace=Workspace(files=(File(path="x" * 300, data=""),))))
    assert (error.code, error.transient) == ("no_folder", False)
    assert "File name too long" in str(error)
    assert "TMPDIR" in str(error)
    assert not agent.program.calls


def test_the_skill_is_a_file_and_nowhere_else(agent):
    agent.answers()
    agent.reply()
    call = agent.program.call
    skill = call.files[".agents/skills/skillopt-target/SKILL.md"].decode()
    assert skill.startswith('---\nname: "skillopt-target"\ndescription: "')
    assert "Look twice." in skill
    assert b"Look twice." not in call.files["task.md"]
    assert "Look twice." not in call.stdin + " ".join(call.argv)
    assert ".agents/skills/skillopt-target/SKILL.md" in call.stdin
    assert "ATTACHMENTS.md" not in call.stdin
    assert set(call.files) == {".agents/skills/skillopt-target/SKILL.md", "task.md"}


def test_no_skill_is_said_in_one_line(agent):
    agent.answers()
    agent.reply(agent.case.request(workspace=Workspace()))
    skill = agent.program.call.files[".agents/skills/skillopt-target/SKILL.md"].decode()
    assert skill.rstrip().endswith("There is no extra guidance for this task.")


def test_the_task_holds_instructions_and_dialogue(agent):
    agent.answers()
    earlier = Message(role="assistant", content="Perhaps 3.")
    later = Message(role="user", content="Check again.")
    opening = agent.case.request().messages
    agent.reply(agent.case.request(messages=(*opening, earlier, later)))
    task = agent.program.call.files["task.md"].decode()
    order = [task.index(part) for part in ("Be brief.", "What is it?", "Perhaps 3.", "Check again.")]
    assert order == sorted(order)


def test_no_file_tells_where_on_the_machine_it_lies(agent):
    agent.answers()
    workspace = Workspace(skill="s", files=(File(path="in/data.csv", data="YSxi"),))
    message = Message(role="user", content="See.", images=(PIXEL, PIXEL))
    agent.reply(agent.case.request(messages=(message,), workspace=workspace))
    call = agent.program.call
    for content in call.files.values():
        assert call.root.encode() not in content
    assert call.files["in/data.csv"] == b"a,b"
    listed = call.files["ATTACHMENTS.md"].decode()
    for path in ("in/data.csv", "attachments/01_image.jpg", "attachments/02_image.jpg"):
        assert f"`{path}`" in listed
        assert path in call.files
    assert "ATTACHMENTS.md" in call.stdin


def test_files_come_back_when_they_are_asked_for(agent):
    wanted = Workspace(files=(File(path="in.txt", data="aW4="),), collect=("*.py", "out/**/*.csv", "in.txt"))
    agent.program.does(
        [
            {"write": "solution.py", "text": f"print(1)  # {{env:{agent.case.key}}}"},
            {"write": "out/a/b.csv", "text": "1,2"},
            {"write": "other.txt", "text": "no"},
            {"link": "secret.py", "to": "/etc/passwd"},
            {"link": "out/away", "to": "/etc"},
            {"link": "here.py", "to": "solution.py"},
            *agent.case.prints("done"),
        ]
    )
    reply = agent.reply(agent.case.request(workspace=wanted))
    assert [(file.path, file.data) for file in reply.files] == [
        ("in.txt", "aW4="),
        ("out/a/b.csv", "MSwy"),
        ("solution.py", "cHJpbnQoMSkgICMgW3JlZGFjdGVkXQ=="),
    ]
    assert "left behind: secret.py" in reply.trace


def test_nothing_comes_back_unasked(agent):
    agent.program.does([{"write": "solution.py", "text": "x"}, *agent.case.prints("done")])
    assert agent.reply().files == ()


@pytest.mark.parametrize("path", ["../x", "/etc/x", "a/../../x", "", "task.md", ".agents/skills/x", "a\\b"])
def test_files_stay_inside_the_workspace(agent, path):
    workspace = Workspace(files=(File(path=path, data=""),))
    with pytest.raises(ValueError, match="workspace file"):
        agent.reply(agent.case.request(workspace=workspace))
    assert not agent.program.calls


def test_the_trace_tells_what_was_done_without_machine_paths(agent):
    agent.answers("the end")
    reply = agent.reply()
    assert reply.trace.startswith("[1] said: Let me see.\n[2] used ")
    assert "./task.md" in reply.trace
    assert reply.trace.endswith("\n[3] got: (what it says)")
    assert agent.program.call.root not in reply.trace
    assert "the end" not in reply.trace


def test_narration_before_the_final_message_is_no_answer(agent):
    agent.program.does(agent.case.prints(""))
    assert agent.error().code == "empty_reply"


def test_the_program_is_told_to_write_only_when_files_are_wanted(agent):
    agent.answers()
    agent.reply()
    agent.reply(agent.case.request(workspace=Workspace(collect=("*.py",))))
    reading, writing = agent.program.calls
    assert "Do not create, change or delete any file." in reading.stdin
    assert "Do not create" not in writing.stdin
    assert reading.argv != writing.argv
