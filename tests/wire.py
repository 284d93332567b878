"""What HTTP backends may send and how they are answered: a case per backend and way to call it.

`checked(case, rule)` makes a rule for an Endpoint that refuses every field, header or path that the
case does not allow: it notes what it refused in `Checked.problems` and answers 599.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import msgspec
from endpoint import Answer, Call, Rule

from skillopt.models.base import Backend, RoleModel
from skillopt.models.registry import backend_spec

CANARY = "canary-7e21c9-key"


class Strict(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """An object on the wire: no field beside the declared ones."""


class Url(Strict):
    url: str
    detail: str


class Part(Strict):
    type: Literal["text", "image_url"]
    text: str | msgspec.UnsetType = msgspec.UNSET
    image_url: Url | msgspec.UnsetType = msgspec.UNSET


class CalledFunction(Strict):
    name: str
    arguments: str


class CalledTool(Strict):
    id: str
    type: Literal["function"]
    function: CalledFunction


class ChatMessage(Strict):
    role: Literal["system", "user", "assistant", "tool"]
    content: str | list[Part] | None
    tool_calls: list[CalledTool] | msgspec.UnsetType = msgspec.UNSET
    tool_call_id: str | msgspec.UnsetType = msgspec.UNSET


class Function(Strict):
    name: str
    description: str
    parameters: dict[str, Any]


class ChatTool(Strict):
    type: Literal["function"]
    function: Function


class ChosenFunction(Strict):
    name: str


class ChosenTool(Strict):
    type: Literal["function"]
    function: ChosenFunction


class Chat(Strict):
    """Fields that every Chat Completions endpoint takes."""

    model: str
    messages: list[ChatMessage]
    tools: list[ChatTool] | msgspec.UnsetType = msgspec.UNSET
    tool_choice: str | ChosenTool | msgspec.UnsetType = msgspec.UNSET


class CompatibleChat(Chat, kw_only=True):
    max_tokens: int
    temperature: float | msgspec.UnsetType = msgspec.UNSET
    reasoning_effort: str | msgspec.UnsetType = msgspec.UNSET


class OpenAIChat(Chat, kw_only=True):
    max_completion_tokens: int
    reasoning_effort: str | msgspec.UnsetType = msgspec.UNSET


class Template(Strict):
    enable_thinking: bool


class QwenChat(Chat, kw_only=True):
    max_tokens: int
    temperature: float | msgspec.UnsetType = msgspec.UNSET
    chat_template_kwargs: Template | msgspec.UnsetType = msgspec.UNSET


class Thinking(Strict):
    type: Literal["adaptive", "disabled"]


class MiniMaxChat(Chat, kw_only=True):
    max_tokens: int
    thinking: Thinking
    temperature: float | msgspec.UnsetType = msgspec.UNSET


class InputPart(Strict):
    type: Literal["input_text", "input_image"]
    text: str | msgspec.UnsetType = msgspec.UNSET
    image_url: str | msgspec.UnsetType = msgspec.UNSET
    detail: str | msgspec.UnsetType = msgspec.UNSET


class InputItem(Strict):
    type: Literal["function_call", "function_call_output"] | msgspec.UnsetType = msgspec.UNSET
    role: Literal["system", "user", "assistant"] | msgspec.UnsetType = msgspec.UNSET
    content: str | list[InputPart] | msgspec.UnsetType = msgspec.UNSET
    call_id: str | msgspec.UnsetType = msgspec.UNSET
    name: str | msgspec.UnsetType = msgspec.UNSET
    arguments: str | msgspec.UnsetType = msgspec.UNSET
    output: str | msgspec.UnsetType = msgspec.UNSET


class ResponsesTool(Strict):
    type: Literal["function"]
    name: str
    description: str
    parameters: dict[str, Any]
    strict: Literal[False]


class ChosenResponsesTool(Strict):
    type: Literal["function"]
    name: str


class Reasoning(Strict):
    effort: str


class Responses(Strict):
    model: str
    input: list[InputItem]
    max_output_tokens: int
    store: Literal[False]
    instructions: str | msgspec.UnsetType = msgspec.UNSET
    reasoning: Reasoning | msgspec.UnsetType = msgspec.UNSET
    tools: list[ResponsesTool] | msgspec.UnsetType = msgspec.UNSET
    tool_choice: str | ChosenResponsesTool | msgspec.UnsetType = msgspec.UNSET


@dataclass(frozen=True)
class Case:
    """One way to call a backend. `address` names the setting that holds the endpoint's address."""

    name: str
    backend: str
    body: type[Strict]
    key_variable: str
    address: str = "base_url"
    root: str = "/v1"
    path: str = "/v1/chat/completions"
    settings: dict[str, Any] = field(default_factory=dict)
    key_header: str = "authorization"
    model: str = "m-1"

    @property
    def responses(self) -> bool:
        return self.body is Responses

    def role(self, url: str, role: Any = "target", model: str = "", **settings: Any) -> RoleModel:
        where = {self.address: url.removesuffix("/v1") + self.root}
        return RoleModel(
            role=role,
            backend=self.backend,
            model=model or self.model,
            settings={**where, **self.settings, **settings},
        )

    def env(self, key: str = CANARY, role: str = "TARGET") -> dict[str, str]:
        return {self.key_variable.format(ROLE=role): key}

    def open(self, url: str, *, key: str = CANARY, **options: Any) -> Backend:
        role = self.role(url, **options)
        return backend_spec(self.backend).open(role, self.env(key, role.role.upper()))

    def at(self, root: str) -> "Case":
        """Return the case with another path in the endpoint's address."""
        return replace(self, root=root)

    def with_limit(self, name: str) -> "Case":
        """Return the case with another name of the output limit."""
        kind = msgspec.defstruct(
            self.body.__name__,
            [(name, int), ("temperature", float)],
            bases=(Chat,),
            kw_only=True,
            forbid_unknown_fields=True,
        )
        return replace(self, body=kind)

    def sent_key(self, call: Call) -> str:
        return call.headers[self.key_header].removeprefix("Bearer ")


CASES = [
    Case("compatible", "openai_compatible", CompatibleChat, "{ROLE}_OPENAI_COMPATIBLE_API_KEY"),
    Case("qwen", "qwen_chat", QwenChat, "{ROLE}_QWEN_CHAT_API_KEY"),
    Case("minimax", "minimax_chat", MiniMaxChat, "{ROLE}_MINIMAX_API_KEY"),
    Case(
        "openai",
        "openai_chat",
        CompatibleChat,
        "{ROLE}_OPENAI_API_KEY",
        address="endpoint",
        settings={"auth_mode": "openai"},
    ),
    Case(
        "openai responses",
        "openai_chat",
        Responses,
        "{ROLE}_OPENAI_API_KEY",
        address="endpoint",
        path="/v1/responses",
        settings={"auth_mode": "openai", "wire_api": "responses"},
    ),
    Case(
        "azure",
        "openai_chat",
        OpenAIChat,
        "{ROLE}_AZURE_OPENAI_API_KEY",
        address="endpoint",
        root="",
        path="/openai/deployments/m-1/chat/completions?api-version=2024-12-01-preview",
        key_header="api-key",
    ),
    Case(
        "azure responses",
        "openai_chat",
        Responses,
        "{ROLE}_AZURE_OPENAI_API_KEY",
        address="endpoint",
        root="",
        path="/openai/responses?api-version=2025-04-01-preview",
        settings={"api_version": "2025-04-01-preview", "wire_api": "responses"},
        key_header="api-key",
    ),
]


class Checked:
    """A rule that lets only what the case allows through to another rule."""

    def __init__(self, case: Case, rule: Rule) -> None:
        self.problems: list[str] = []
        self._case = case
        self._rule = rule

    def __call__(self, call: Call) -> Any:
        problem = self._problem(call)
        if problem:
            self.problems.append(problem)
            return Answer(status=599, error=problem)
        return self._rule(call)

    def _problem(self, call: Call) -> str:
        case = self._case
        if call.path != case.path:
            return f"path {call.path}"
        try:
            msgspec.json.decode(call.raw, type=case.body)
        except msgspec.ValidationError as error:
            return f"{error} in {call.raw.decode()[:300]}"
        if call.headers.get("content-type") != "application/json":
            return f"content type {call.headers.get('content-type')}"
        others = {"authorization", "api-key"} - {case.key_header}
        if found := others & set(call.headers):
            return f"unexpected headers {found}"
        return ""


Usage = tuple[int, int, int, int]
"""Prompt, cached, completion and reasoning tokens."""


def answer(
    case: Case,
    text: str = "ok",
    *,
    cut: str = "",
    calls: tuple[tuple[str, str, str], ...] = (),
    usage: Usage | None = (20, 16, 9, 4),
) -> Answer:
    """Return an answer in the format of the case; `cut` is `length` or `content_filter`."""
    make: Callable[..., dict[str, Any]] = _responses_answer if case.responses else _chat_answer
    return Answer(raw=json.dumps(make(text, cut, calls, usage)))


def _chat_answer(text: str, cut: str, calls: Any, usage: Usage | None) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    if calls:
        message["tool_calls"] = [
            {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}
            for id_, name, arguments in calls
        ]
    finish = cut or ("tool_calls" if calls else "stop")
    body: dict[str, Any] = {
        "model": "m-1-2026",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    }
    if usage:
        body["usage"] = {
            "prompt_tokens": usage[0],
            "completion_tokens": usage[2],
            "total_tokens": usage[0] + usage[2],
            "prompt_tokens_details": {"cached_tokens": usage[1]},
            "completion_tokens_details": {"reasoning_tokens": usage[3]},
        }
    return body


def _responses_answer(text: str, cut: str, calls: Any, usage: Usage | None) -> dict[str, Any]:
    output: list[dict[str, Any]] = [{"type": "reasoning", "id": "rs_1", "summary": []}]
    if text:
        part = {"type": "output_text", "text": text, "annotations": []}
        output.append({"type": "message", "id": "msg_1", "role": "assistant", "content": [part]})
    output += [
        {"type": "function_call", "id": f"fc_{id_}", "call_id": id_, "name": name, "arguments": arguments}
        for id_, name, arguments in calls
    ]
    reason = {"length": "max_output_tokens"}.get(cut, cut)
    body: dict[str, Any] = {
        "id": "resp_1",
        "object": "response",
        "status": "incomplete" if cut else "completed",
        "incomplete_details": {"reason": reason} if cut else None,
        "error": None,
        "model": "m-1-2026",
        "output": output,
    }
    if usage:
        body["usage"] = {
            "input_tokens": usage[0],
            "input_tokens_details": {"cached_tokens": usage[1]},
            "output_tokens": usage[2],
            "output_tokens_details": {"reasoning_tokens": usage[3]},
            "total_tokens": usage[0] + usage[2],
        }
    return body
