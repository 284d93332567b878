"""What each program is told, in particular: arguments, settings, logins."""

import asyncio
import json
import logging
from pathlib import Path

import pytest
from fakeagents import line
from programs import CANARY, Bench, case, claude_object

from skillopt.errors import ConfigError
from skillopt.models.base import Image, Message, RoleModel, Tool, ToolCall, Workspace

COLLECT = Workspace(skill="s", collect=("solution.py",))
PIXEL = Image(data="iVBORw0KGgo=")
ADD = Tool(name="add", description="adds two numbers", parameters={"type": "object"})


def bench(tmp_path, name, **changes):
    made = Bench(case(name), tmp_path, **changes)
    made.answers()
    return made


def without(argv, *flags_with_value):
    """The arguments without some flags and their values, which are paths."""
    left, skip = [], False
    for argument in argv:
        if not skip and argument not in flags_with_value:
            left.append(argument)
        skip = argument in flags_with_value
    return left


def settings_of(call):
    return json.loads(call.private["settings.json"])


# claude_chat


def test_claude_chat_is_called_without_tools_and_settings_of_the_owner(tmp_path):
    claude = bench(tmp_path, "claude_chat", reasoning_effort="high")
    claude.reply(claude.case.request(reasoning_effort="high"))
    call = claude.program.call
    assert without(call.argv, "--settings", "--system-prompt-file") == [
        *("-p", "--output-format", "json", "--setting-sources", "", "--strict-mcp-config"),
        *("--disable-slash-commands", "--no-session-persistence", "--permission-mode", "dontAsk"),
        *("--tools", "", "--model", "m-1", "--effort", "high"),
    ]
    assert call.stdin == "What is it?"
    assert call.private["system.md"] == b"Be brief."
    assert call.files == {}
    assert call.env["CLAUDE_CODE_MAX_OUTPUT_TOKENS"] == "512"
    assert settings_of(call)["permissions"]["allow"] == []


def test_claude_chat_reads_images_from_its_folder_only(tmp_path):
    claude = bench(tmp_path, "claude_chat")
    message = Message(role="user", content="See.", images=(PIXEL,))
    claude.reply(claude.case.request(messages=(message,)))
    call = claude.program.call
    assert call.after("--tools") == "Read"
    assert "--system-prompt-file" not in call.argv
    assert call.stdin == "See.\n\n(image: 01_image.png)"
    permissions = settings_of(call)["permissions"]
    assert permissions["allow"] == ["Read(./**)"]
    assert permissions["deny"] == ["Read(//proc/**)", f"Read(/{tmp_path}/owner/.claude/**)"]


def test_claude_chat_asks_for_tool_calls_and_brings_them_back(tmp_path):
    claude = bench(tmp_path, "claude_chat")
    output = {"content": "", "tool_calls": [{"name": "add", "arguments": '{"a":1}'}]}
    claude.program.does(
        [line({"type": "result", "subtype": "success", "result": "", "structured_output": output})]
    )
    reply = claude.reply(claude.case.request(tools=(ADD,), tool_choice="required"))
    assert reply.tool_calls == (ToolCall(id="claude_tool_1", name="add", arguments='{"a":1}'),)
    assert reply.finish_reason == "tool_calls"
    call = claude.program.call
    schema = json.loads(call.after("--json-schema"))
    assert set(schema["required"]) == {"content", "tool_calls"}
    told = call.private["system.md"].decode()
    assert told.startswith("Be brief.")
    assert '"adds two numbers"' in told
    assert "at least one call" in told


def test_claude_chat_cut_off_at_the_limit_is_truncated_and_no_error(tmp_path):
    claude = bench(tmp_path, "claude_chat")
    message = "API Error: Claude's response exceeded the 512 output token maximum."
    claude.program.does([line({"type": "result", "is_error": True, "result": message}), {"exit": 1}])
    reply = claude.reply()
    assert (reply.finish_reason, reply.text) == ("length", "")


def test_claude_that_declines_gives_no_empty_reply_to_be_tried_again(tmp_path):
    claude = bench(tmp_path, "claude_code_exec")
    claude.program.does(
        [line({"type": "result", "subtype": "success", "result": "", "stop_reason": "refusal"})]
    )
    reply = claude.reply()
    assert (reply.finish_reason, reply.text) == ("content_filter", "")


@pytest.mark.parametrize("name", ["CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_AUTH_TOKEN"])
def test_claude_takes_other_keys_too(tmp_path, name):
    claude = bench(tmp_path, "claude_chat")
    env = {**claude.env, name: "tok-1234567"}
    del env["ANTHROPIC_API_KEY"]
    asyncio.run(claude.spec.open(claude.role, env).complete(claude.case.request()))
    assert claude.program.call.env[name] == "tok-1234567"
    assert "ANTHROPIC_API_KEY" not in claude.program.call.env


def test_claude_takes_any_key_of_the_role_before_one_for_both(tmp_path):
    claude = bench(tmp_path, "claude_chat")
    env = {**claude.env, "OPTIMIZER_CLAUDE_CODE_OAUTH_TOKEN": "tok-1234567"}
    asyncio.run(claude.spec.open(claude.role, env).complete(claude.case.request()))
    assert claude.program.call.env["CLAUDE_CODE_OAUTH_TOKEN"] == "tok-1234567"
    assert "ANTHROPIC_API_KEY" not in claude.program.call.env


def test_claude_with_a_login_gets_its_folder_and_nothing_else_of_the_home(tmp_path):
    claude = bench(tmp_path, "claude_code_exec")
    env = {name: value for name, value in claude.env.items() if name != "ANTHROPIC_API_KEY"}
    folder = tmp_path / "owner" / ".claude"
    folder.mkdir()
    with pytest.raises(ConfigError, match="not logged in"):
        claude.spec.open(claude.role, env)
    (folder / ".credentials.json").write_text("{}")
    assert claude.spec.check(claude.role, env) == []
    asyncio.run(claude.spec.open(claude.role, env).complete(claude.case.request()))
    call = claude.program.call
    assert call.env["CLAUDE_CONFIG_DIR"] == str(folder)
    assert call.env["HOME"] != env["HOME"]
    assert f"Read(/{folder}/**)" in settings_of(call)["permissions"]["deny"]


# claude_code_exec


def test_claude_code_reads_only_unless_files_are_wanted(tmp_path):
    claude = bench(tmp_path, "claude_code_exec")
    claude.reply()
    claude.reply(claude.case.request(workspace=COLLECT))
    reading, writing = claude.program.calls
    assert without(reading.argv, "--settings") == [
        *("-p", "--output-format", "stream-json", "--verbose", "--setting-sources", ""),
        *("--strict-mcp-config", "--disable-slash-commands", "--no-session-persistence"),
        *("--permission-mode", "dontAsk", "--tools", "Read,Glob,Grep", "--model", "m-1"),
    ]
    assert "sandbox" not in settings_of(reading)
    assert "CLAUDE_CODE_SUBPROCESS_ENV_SCRUB" not in reading.env
    assert writing.after("--permission-mode") == "acceptEdits"
    assert writing.after("--tools") == "Read,Glob,Grep,Edit,Write,Bash"
    assert settings_of(writing)["sandbox"] == {
        "enabled": True,
        "failIfUnavailable": True,
        "autoAllowBashIfSandboxed": True,
        "allowUnsandboxedCommands": False,
    }
    assert writing.env["CLAUDE_CODE_SUBPROCESS_ENV_SCRUB"] == "1"


def test_claude_code_settings(tmp_path):
    settings = {"profile": "careful", "effort": "low", "max_thinking_tokens": 0}
    claude = bench(tmp_path, "claude_code_exec", settings=settings, model="")
    claude.reply(claude.case.request(reasoning_effort="high"))
    call = claude.program.call
    assert call.private["profile.md"] == b"Profile: careful\n"
    assert call.after("--append-system-prompt-file").endswith("/private/profile.md")
    assert call.after("--effort") == "low"
    assert "--model" not in call.argv
    assert "MAX_THINKING_TOKENS" not in call.env


def test_claude_code_limits_its_thoughts(tmp_path):
    claude = bench(tmp_path, "claude_code_exec")
    claude.reply()
    assert claude.program.call.env["MAX_THINKING_TOKENS"] == "16384"


def test_claude_code_gets_no_memories_and_no_connectors_of_the_owners_account(tmp_path):
    claude = bench(tmp_path, "claude_code_exec")
    claude.reply()
    env = claude.program.call.env
    assert env["ENABLE_CLAUDEAI_MCP_SERVERS"] == "false"
    assert env["CLAUDE_CODE_DISABLE_CLAUDE_MDS"] == env["CLAUDE_CODE_DISABLE_AUTO_MEMORY"] == "1"


# codex_exec


def test_codex_as_optimizer_is_read_only_in_an_empty_folder(tmp_path):
    codex = bench(tmp_path, "codex_optimizer", settings={"sandbox": "danger-full-access"})
    codex.reply(codex.case.request(reasoning_effort="max"))
    call = codex.program.call
    assert call.argv == [
        *("exec", "--json", "--ephemeral", "--skip-git-repo-check", "--color", "never"),
        *("--sandbox", "read-only", "--cd", call.cwd),
        *("-c", 'approval_policy="never"', "-c", "sandbox_workspace_write.network_access=false"),
        *("-c", "sandbox_workspace_write.exclude_slash_tmp=true"),
        *("-c", 'web_search="disabled"', "-c", "project_doc_max_bytes=0", "-c", "project_root_markers=[]"),
        *("-c", 'shell_environment_policy.inherit="core"'),
        *("-c", "shell_environment_policy.ignore_default_excludes=false"),
        *("-c", 'model_reasoning_effort="xhigh"', "--model", "m-1", "-"),
    ]
    assert call.stdin == "Be brief.\n\n---\n\nWhat is it?"
    assert call.files == {}


@pytest.mark.parametrize(
    ("chosen", "reading", "writing"),
    [
        ("", "read-only", "workspace-write"),
        ("workspace-write", "read-only", "workspace-write"),
        ("danger-full-access", "danger-full-access", "danger-full-access"),
    ],
)
def test_codex_as_target_writes_only_when_files_are_wanted(tmp_path, chosen, reading, writing):
    codex = bench(tmp_path, "codex_target", settings={"sandbox": chosen})
    codex.reply()
    codex.reply(codex.case.request(workspace=COLLECT))
    assert [call.after("--sandbox") for call in codex.program.calls] == [reading, writing]


def test_codex_read_only_cannot_do_tasks_that_want_files(tmp_path):
    codex = bench(tmp_path, "codex_target", settings={"sandbox": "read-only"})
    error = codex.error(codex.case.request(workspace=COLLECT))
    assert (error.code, error.transient) == ("read_only", False)
    assert "codex_exec_sandbox" in str(error)


def test_codex_settings_and_images(tmp_path):
    settings = {"network_access": True, "web_search": True, "reasoning_effort": "low"}
    codex = bench(tmp_path, "codex_target", settings=settings)
    message = Message(role="user", content="See.", images=(PIXEL,))
    codex.reply(codex.case.request(messages=(message,), workspace=COLLECT))
    call = codex.program.call
    assert "sandbox_workspace_write.network_access=true" in call.argv
    assert 'web_search="live"' in call.argv
    assert 'model_reasoning_effort="low"' in call.argv
    assert call.argv[1] == f"--image={call.cwd}/attachments/01_image.png"
    assert call.argv[-1] == "-"


def test_codex_has_a_network_only_where_it_may_write(tmp_path):
    codex = bench(tmp_path, "codex_target", settings={"network_access": True})
    codex.reply(codex.case.request())
    assert "sandbox_workspace_write.network_access=false" in codex.program.call.argv


def codex_env(codex, **changes):
    env = {name: value for name, value in codex.env.items() if name not in codex.spec.secrets}
    return {**env, **changes}


def codex_home(tmp_path, **files):
    folder = tmp_path / "owner" / ".codex"
    folder.mkdir()
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_text(content)
    return folder


def test_codex_key_of_openai_is_handed_over_as_codex_key(tmp_path):
    codex = bench(tmp_path, "codex_target")
    env = codex_env(codex, OPENAI_API_KEY=CANARY)
    asyncio.run(codex.spec.open(codex.role, env).complete(codex.case.request()))
    call = codex.program.call
    assert call.env["CODEX_API_KEY"] == CANARY
    assert "OPENAI_API_KEY" not in call.env
    assert call.home == {}


def test_codex_login_is_used_before_the_key_of_openai_and_nothing_else_is_seen(tmp_path):
    codex = bench(tmp_path, "codex_target")
    codex_home(tmp_path, auth__json="LOGIN", config__toml="OWNER", AGENTS__md="OWNER")
    env = codex_env(codex, OPENAI_API_KEY="sk-not-this-one-000")
    asyncio.run(codex.spec.open(codex.role, env).complete(codex.case.request()))
    call = codex.program.call
    assert call.home == {".codex/auth.json": b"LOGIN"}
    assert call.env["CODEX_HOME"] == f"{call.env['HOME']}/.codex"
    assert "CODEX_API_KEY" not in call.env


@pytest.mark.parametrize("name", ["TARGET_CODEX_API_KEY", "TARGET_OPENAI_API_KEY"])
def test_codex_key_of_the_role_is_used_before_a_login_and_before_shared_keys(tmp_path, name):
    codex = bench(tmp_path, "codex_target")
    codex_home(tmp_path, auth__json="LOGIN")
    shared = {"CODEX_API_KEY": "sk-not-this-one-000", "OPENAI_API_KEY": "sk-nor-this-one-000"}
    env = codex_env(codex, **shared, **{name: CANARY, "OPTIMIZER_CODEX_API_KEY": "sk-nor-that-one-000"})
    asyncio.run(codex.spec.open(codex.role, env).complete(codex.case.request()))
    call = codex.program.call
    assert {value for held, value in call.env.items() if held.endswith("_KEY")} == {CANARY}
    assert (call.env["CODEX_API_KEY"], call.home) == (CANARY, {})


def test_codex_login_that_is_renewed_stays_the_owners(tmp_path):
    codex = bench(tmp_path, "codex_target")
    folder = codex_home(tmp_path, auth__json="OLD")
    codex.program.does(
        [{"write": "../home/.codex/auth.json", "text": "NEW"}, *codex.case.prints("4")],
    )
    asyncio.run(codex.spec.open(codex.role, codex_env(codex)).complete(codex.case.request()))
    assert (folder / "auth.json").read_text() == "NEW"


def test_codex_profile_brings_the_configuration_that_defines_it(tmp_path):
    codex = bench(tmp_path, "codex_target")
    role = codex.case.role_model(settings={"profile": "fast"})
    with pytest.raises(ConfigError, match="profile"):
        codex.spec.open(role, codex.env)
    codex_home(tmp_path, config__toml="CONFIG", auth__json="LOGIN")
    asyncio.run(codex.spec.open(role, codex.env).complete(codex.case.request()))
    call = codex.program.call
    assert call.after("--profile") == "fast"
    assert call.home == {".codex/config.toml": b"CONFIG"}


# cursor_exec


def test_cursor_asks_only_unless_files_are_wanted(tmp_path):
    cursor = bench(tmp_path, "cursor_exec")
    cursor.reply()
    cursor.reply(cursor.case.request(workspace=COLLECT))
    reading, writing = cursor.program.calls
    assert reading.argv == [
        *("-p", "--output-format", "stream-json", "--trust", "--workspace", reading.cwd),
        *("--sandbox", "enabled", "--mode", "ask", "--model", "m-1"),
    ]
    assert "--force" in writing.argv
    assert "--mode" not in writing.argv
    read, write = (json.loads(c.home[".cursor/cli-config.json"])["permissions"] for c in (reading, writing))
    assert read == {"allow": ["Read(**)"], "deny": ["Read(/proc/**)", "Write(**)", "Shell(*)"]}
    assert write == {"allow": ["Read(**)", "Write(**)"], "deny": ["Read(/proc/**)", "Shell(*)"]}


def test_cursor_commands_are_allowed_by_the_owner_only(tmp_path):
    cursor = bench(tmp_path, "cursor_exec", settings={"shell": True})
    cursor.reply()
    cursor.reply(cursor.case.request(workspace=COLLECT))
    reading, writing = (
        json.loads(c.home[".cursor/cli-config.json"])["permissions"] for c in cursor.program.calls
    )
    assert "Shell(*)" in reading["deny"]
    assert "Shell(*)" in writing["allow"]


def test_cursor_makes_no_files_without_a_sandbox(tmp_path):
    cursor = bench(tmp_path, "cursor_exec", settings={"sandbox": "disabled"})
    assert cursor.reply().text
    error = cursor.error(cursor.case.request(workspace=COLLECT))
    assert (error.code, error.transient) == ("no_sandbox", False)
    assert cursor.program.call.after("--sandbox") == "disabled"


def test_cursor_says_that_effort_has_no_effect(tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        bench(tmp_path, "cursor_exec", reasoning_effort="high")
    assert "model.reasoning_effort = high has no effect" in caplog.text


# copilot_chat, copilot_exec


def test_copilot_chat_has_no_tools_and_no_permissions(tmp_path):
    copilot = bench(tmp_path, "copilot_chat", model="")
    copilot.reply()
    call = copilot.program.call
    assert call.argv == [
        *("--output-format", "json", "--stream", "off", "--no-color", "--log-level", "none"),
        *("--disable-builtin-mcps", "--no-custom-instructions", "--no-ask-user", "--disallow-temp-dir"),
        "--available-tools=",
    ]
    assert call.stdin == "Be brief.\n\n---\n\nWhat is it?"
    assert call.files == {}
    assert "COPILOT_HOME" not in call.env


def test_copilot_as_target_writes_only_when_files_are_wanted(tmp_path):
    copilot = bench(tmp_path, "copilot_exec")
    copilot.reply(copilot.case.request(reasoning_effort="low"))
    copilot.reply(copilot.case.request(workspace=COLLECT))
    reading, writing = copilot.program.calls
    assert "--available-tools=view,glob,grep" in reading.argv
    assert "--allow-all-tools" in reading.argv
    assert reading.argv[-3:] == ["--model", "m-1", "--effort=low"]
    (tools,) = [argument for argument in writing.argv if argument.startswith("--available-tools=")]
    assert {"bash", "create", "edit"} <= set(tools.partition("=")[2].split(","))
    assert "--secret-env-vars=COPILOT_GITHUB_TOKEN,GH_TOKEN,GITHUB_TOKEN" in writing.argv


def test_copilot_images_are_attached(tmp_path):
    copilot = bench(tmp_path, "copilot_exec")
    message = Message(role="user", content="See.", images=(PIXEL,))
    copilot.reply(copilot.case.request(messages=(message,)))
    assert copilot.program.call.after("--attachment") == "attachments/01_image.png"


def test_copilot_takes_the_folder_of_a_login(tmp_path):
    copilot = bench(tmp_path, "copilot_chat")
    env = {name: value for name, value in copilot.env.items() if name not in copilot.spec.secrets}
    role = copilot.case.role_model(settings={"home": str(tmp_path / "copilot")})
    with pytest.raises(ConfigError, match="copilot_chat_home"):
        copilot.spec.open(role, env)
    (tmp_path / "copilot").mkdir()
    assert copilot.spec.check(role, env) == []
    asyncio.run(copilot.spec.open(role, env).complete(copilot.case.request()))
    assert copilot.program.call.env["COPILOT_HOME"] == str(tmp_path / "copilot")


def test_copilot_refuses_classic_tokens(tmp_path):
    copilot = bench(tmp_path, "copilot_exec")
    with pytest.raises(ConfigError, match="classic tokens, as the one in GH_TOKEN"):
        copilot.spec.open(
            copilot.role, {"PATH": copilot.env["PATH"], "HOME": "/x", "GH_TOKEN": "ghp_" + "a" * 36}
        )


def test_copilot_names_the_variable_of_the_role_that_holds_a_classic_token(tmp_path):
    copilot = bench(tmp_path, "copilot_exec")
    env = {**copilot.env, "TARGET_GH_TOKEN": "ghp_" + "a" * 36}
    with pytest.raises(ConfigError, match="classic tokens, as the one in TARGET_GH_TOKEN"):
        copilot.spec.open(copilot.role, env)


@pytest.mark.parametrize("name", ["GH_TOKEN", "GITHUB_TOKEN"])
def test_copilot_takes_the_tokens_of_github_too(tmp_path, name):
    copilot = bench(tmp_path, "copilot_exec")
    env = {"PATH": copilot.env["PATH"], "HOME": copilot.env["HOME"], name: "gho_" + "a" * 36}
    asyncio.run(copilot.spec.open(copilot.role, env).complete(copilot.case.request()))
    assert copilot.program.call.env[name] == env[name]


def test_a_program_for_both_roles_with_different_settings(tmp_path):
    claude = bench(tmp_path, "claude_chat")
    other = RoleModel(role="target", backend="claude_chat", model="m-target", settings={"timeout": 9.0})
    claude.program.does(claude_object("hi"))
    asyncio.run(claude.spec.open(other, claude.env).complete(claude.case.request()))
    claude.reply()
    assert [call.after("--model") for call in claude.program.calls] == ["m-target", "m-1"]
    assert not any(Path(call.root).exists() for call in claude.program.calls)
