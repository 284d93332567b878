"""Every backend that runs a program, with what its program prints: the cases of the contract tests.

A new one is one more entry in CASES.
"""

import asyncio
import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fakeagents import FakeProgram, Step, line

from skillopt.models.base import CallError, Message, Reply, Request, RoleModel, Workspace
from skillopt.models.registry import backend_spec

CANARY = "sk-canary-0123456789abcdef"
OTHERS = {
    "ANTHROPIC_API_KEY": "sk-other-a-0000000000",
    "CODEX_API_KEY": "sk-other-b-0000000000",
    "OPENAI_API_KEY": "sk-other-c-0000000000",
    "CURSOR_API_KEY": "key_other_d_0000000000",
    "GH_TOKEN": "gho_other_e_0000000000000",
    "OPTIMIZER_OPENAI_COMPATIBLE_API_KEY": "sk-other-f-0000000000",
    "AWS_SECRET_ACCESS_KEY": "other-g-0000000000",
}
"""Keys of the machine's owner; each backend's own is taken out of them by its case."""

OWNER = {
    "XDG_CONFIG_HOME": "/owner/xdg-config",
    "XDG_DATA_HOME": "/owner/xdg-data",
    "CODEX_HOME": "/owner/codex",
    "CLAUDE_CONFIG_DIR": "/owner/claude",
    "COPILOT_HOME": "/owner/copilot",
    "CURSOR_CONFIG_DIR": "/owner/cursor",
    "NODE_OPTIONS": "--require /owner/hook.js",
    "GIT_CONFIG_GLOBAL": "/owner/gitconfig",
    "SSH_AUTH_SOCK": "/owner/agent.sock",
    "COPILOT_ALLOW_ALL": "owner-allows-all",
    "ANTHROPIC_BASE_URL": "https://owner.example",
}
"""Where the owner's settings lie, and other variables that change what a program does."""


def claude_stream(text: str) -> list[Step]:
    usage = {
        "input_tokens": 5,
        "cache_creation_input_tokens": 20,
        "cache_read_input_tokens": 100,
        "output_tokens": 7,
    }
    read = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "{cwd}/task.md"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "the task"}
    return [
        line({"type": "system", "subtype": "init", "model": "m-used", "tools": []}),
        line({"type": "assistant", "message": {"content": [{"type": "text", "text": "Let me see."}, read]}}),
        line({"type": "user", "message": {"content": [result]}}),
        line({"type": "assistant", "message": {"content": [{"type": "text", "text": text}]}}),
        line({"type": "result", "subtype": "success", "is_error": False, "result": text, "usage": usage}),
    ]


def claude_object(text: str) -> list[Step]:
    usage = {"input_tokens": 5, "cache_read_input_tokens": 120, "output_tokens": 7}
    return [
        line(
            {
                "type": "result",
                "subtype": "success",
                "is_error": False,
                "result": text,
                "usage": usage,
                "modelUsage": {"m-used": {"inputTokens": 5}},
            }
        )
    ]


def claude_failure(text: str) -> list[Step]:
    return [line({"type": "result", "subtype": "success", "is_error": True, "result": text}), {"exit": 1}]


def codex_stream(text: str) -> list[Step]:
    usage = {
        "input_tokens": 125,
        "cached_input_tokens": 100,
        "output_tokens": 7,
        "reasoning_output_tokens": 3,
    }
    ran = {"type": "command_execution", "command": "cat {cwd}/task.md", "aggregated_output": "the task"}
    return [
        line({"type": "thread.started", "thread_id": "t"}),
        line({"type": "turn.started"}),
        line({"type": "item.completed", "item": {"id": "0", "type": "agent_message", "text": "Let me see."}}),
        line({"type": "item.completed", "item": {"id": "1", **ran, "exit_code": 0, "status": "completed"}}),
        line({"type": "item.completed", "item": {"id": "2", "type": "agent_message", "text": text}}),
        line({"type": "turn.completed", "usage": usage}),
    ]


def codex_failure(text: str) -> list[Step]:
    return [
        line({"type": "error", "message": text}),
        line({"type": "turn.failed", "error": {"message": text}}),
        {"exit": 1},
    ]


def cursor_stream(text: str) -> list[Step]:
    call = {"readToolCall": {"args": {"path": "{cwd}/task.md"}}}
    done = {"readToolCall": {"args": {}, "result": {"success": {"content": "the task"}}}}

    def message(said: str) -> Step:
        content = [{"type": "text", "text": said}]
        return line({"type": "assistant", "message": {"role": "assistant", "content": content}})

    return [
        line({"type": "system", "subtype": "init", "model": "m-used", "apiKeySource": "env"}),
        line({"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": "go"}]}}),
        message("Let me see."),
        line({"type": "tool_call", "subtype": "started", "call_id": "1", "tool_call": call}),
        line({"type": "tool_call", "subtype": "completed", "call_id": "1", "tool_call": done}),
        message(text),
        line({"type": "result", "subtype": "success", "is_error": False, "result": f"Let me see.{text}"}),
    ]


def stderr_failure(text: str) -> list[Step]:
    return [{"err": f"Error: {text}\n"}, {"exit": 1}]


def copilot_stream(text: str) -> list[Step]:
    request = {"toolCallId": "c1", "name": "view", "arguments": {"path": "{cwd}/task.md"}}
    said = {"content": "Let me see.", "toolRequests": [request], "outputTokens": 4, "model": "m-used"}
    return [
        line({"type": "user.message", "data": {"content": "go"}}),
        line({"type": "assistant.message", "data": said}),
        line(
            {"type": "tool.execution_start", "data": {"toolName": "view", "arguments": request["arguments"]}}
        ),
        line(
            {"type": "tool.execution_complete", "data": {"success": True, "result": {"content": "the task"}}}
        ),
        line({"type": "assistant.message", "data": {"content": text, "toolRequests": [], "outputTokens": 3}}),
        line({"type": "result", "exitCode": 0, "usage": {"premiumRequests": 1}}),
    ]


@dataclass(frozen=True)
class Case:
    """One backend in one role; `prints` is a whole good run, `fails` one that ends with a message."""

    name: str
    backend: str
    role: Any
    binary: str
    key: str
    prints: Callable[[str], list[Step]]
    fails: Callable[[str], list[Step]]
    usage: tuple[int | None, ...]
    works_in_folder: bool = True
    settings: dict[str, Any] = field(default_factory=dict)

    def env(self, folder: Path, **more: str) -> dict[str, str]:
        """The owner's environment: every key there is, the case's own being the canary."""
        home = folder / "owner"
        home.mkdir(exist_ok=True)
        own = {self.key: CANARY}
        taken = {name for name in OTHERS if name in backend_spec(self.backend).secrets}
        others = {name: value for name, value in OTHERS.items() if name not in taken}
        return {"PATH": f"{folder / 'bin'}:/usr/bin:/bin", "HOME": str(home), **others, **own, **more}

    def role_model(self, **changes: Any) -> RoleModel:
        settings = {**self.settings, **changes.pop("settings", {})}
        return RoleModel(
            **{"role": self.role, "backend": self.backend, "model": "m-1", "settings": settings, **changes}
        )

    def request(self, text: str = "What is it?", **changes: Any) -> Request:
        messages = (Message(role="system", content="Be brief."), Message(role="user", content=text))
        workspace = Workspace(skill="Look twice.") if self.works_in_folder else None
        defaults = {"messages": messages, "max_completion_tokens": 512, "workspace": workspace}
        return Request(**(defaults | changes))


CASES = [
    Case(
        name="claude_chat",
        backend="claude_chat",
        role="optimizer",
        binary="claude",
        key="ANTHROPIC_API_KEY",
        prints=claude_object,
        fails=claude_failure,
        usage=(125, 120, 7, None),
        works_in_folder=False,
    ),
    Case(
        name="copilot_chat",
        backend="copilot_chat",
        role="target",
        binary="copilot",
        key="COPILOT_GITHUB_TOKEN",
        prints=copilot_stream,
        fails=stderr_failure,
        usage=(None, None, 7, None),
        works_in_folder=False,
    ),
    Case(
        name="codex_optimizer",
        backend="codex_exec",
        role="optimizer",
        binary="codex",
        key="CODEX_API_KEY",
        prints=codex_stream,
        fails=codex_failure,
        usage=(125, 100, 7, 3),
        works_in_folder=False,
    ),
    Case(
        name="codex_target",
        backend="codex_exec",
        role="target",
        binary="codex",
        key="CODEX_API_KEY",
        prints=codex_stream,
        fails=codex_failure,
        usage=(125, 100, 7, 3),
    ),
    Case(
        name="claude_code_exec",
        backend="claude_code_exec",
        role="target",
        binary="claude",
        key="ANTHROPIC_API_KEY",
        prints=claude_stream,
        fails=claude_failure,
        usage=(125, 100, 7, None),
    ),
    Case(
        name="cursor_exec",
        backend="cursor_exec",
        role="target",
        binary="cursor-agent",
        key="CURSOR_API_KEY",
        prints=cursor_stream,
        fails=stderr_failure,
        usage=(None, None, None, None),
    ),
    Case(
        name="copilot_exec",
        backend="copilot_exec",
        role="target",
        binary="copilot",
        key="COPILOT_GITHUB_TOKEN",
        prints=copilot_stream,
        fails=stderr_failure,
        usage=(None, None, 7, None),
    ),
]
AGENTS = [case for case in CASES if case.works_in_folder]


class Bench:
    """A case with its program installed and its backend open."""

    def __init__(self, case: Case, folder: Path, **changes: Any) -> None:
        self.case = case
        self.folder = folder
        self.program = FakeProgram(folder / "bin", case.binary)
        self.env = case.env(folder, **changes.pop("env", {}))
        self.role = case.role_model(**changes)
        self.spec = backend_spec(case.backend)
        self.backend = self.spec.open(self.role, self.env)

    def answers(self, text: str = "It is <answer>4</answer>.", **options: Any) -> None:
        self.program.does(self.case.prints(text), **options)

    async def ask(self, request: Request | None = None) -> Reply:
        return await self.backend.complete(request or self.case.request())

    def reply(self, request: Request | None = None) -> Reply:
        return asyncio.run(self.ask(request))

    def error(self, request: Request | None = None) -> CallError:
        try:
            reply = self.reply(request)
        except CallError as error:
            return error
        raise AssertionError(f"expected a CallError, got {reply}")


def case(name: str, **changes: Any) -> Case:
    """One case by its name."""
    (found,) = [entry for entry in CASES if entry.name == name]
    return dataclasses.replace(found, **changes)
