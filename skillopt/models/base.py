"""What a backend is, and what goes into it and comes out of it."""

from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol

import msgspec

from skillopt.records import Usage

Role = Literal["optimizer", "target"]
FinishReason = Literal["stop", "length", "tool_calls", "content_filter", "other"]
SettingValue = str | int | float | bool | None


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call that the model asks for; `arguments` is JSON text, untrusted."""

    id: str
    name: str
    arguments: str


class Image(msgspec.Struct, frozen=True, kw_only=True):
    """An image of a user message: its bytes in base64, its media type."""

    data: str
    media_type: str = "image/png"
    detail: str = "auto"


class Message(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One message of a dialogue. `tool_call_id` names the call a `tool` message answers."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str = ""
    images: tuple[Image, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """A function that the model may call; `parameters` is a JSON schema."""

    name: str
    description: str
    parameters: dict[str, Any]


class File(msgspec.Struct, frozen=True, kw_only=True):
    """A file of an agent's workspace: its path below it, its bytes in base64."""

    path: str
    data: str


class Workspace(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an agent finds beside its task: the skill (as it may see it) and files.

    `collect` names files, as patterns below the workspace, that the reply brings back; without
    it the agent may read only.
    """

    skill: str = ""
    files: tuple[File, ...] = ()
    collect: tuple[str, ...] = ()


class Request(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All that a caller decides about one model call.

    `sample` numbers fresh draws of the same request (0 is the first). `workspace` is for backends
    with the capability of that name, which get the skill there and not in the messages.
    """

    messages: tuple[Message, ...]
    max_completion_tokens: int
    reasoning_effort: str = ""
    tools: tuple[Tool, ...] = ()
    tool_choice: str = ""
    sample: int = 0
    workspace: Workspace | None = None


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """What came back. `model` is the name the provider says it used; `seconds` the wall time.

    Of an agent: `trace` is what it did, redacted, for people and reflection; `files` are those
    that the request asked to collect.
    """

    text: str
    finish_reason: FinishReason = "stop"
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = Usage()
    seconds: float = 0.0
    model: str = ""
    trace: str = ""
    files: tuple[File, ...] = ()


class CallError(Exception):
    """A call that gave no reply.

    `kind` is the row status it leads to; `transient` errors may be retried, after
    `retry_after` seconds when the provider said so; the others are fatal. The message is
    shown and stored: a backend builds it without headers, keys or request bodies.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: Literal["provider_error", "timeout"] = "provider_error",
        transient: bool = False,
        retry_after: float | None = None,
        code: str = "",
    ) -> None:
        super().__init__(message)
        self.kind: Literal["provider_error", "timeout"] = kind
        self.transient = transient
        self.retry_after = retry_after
        self.code = code


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """A setting of a backend: `model.<backend>_<name>`, or `model.<role>_<backend>_<name>` for one role.

    `decides` tells whether it can change a reply. It is part of the call's key then, unless
    `in_request` tells that it only changes what becomes of the request: `BackendSpec.sent` shows it.
    `least` is the smallest number that is taken.
    `form` tells what a text has to be: the address of an endpoint, or the name of a variable.
    """

    name: str
    type: Literal["str", "int", "float", "bool"]
    default: SettingValue
    description: str
    decides: bool
    in_request: bool = False
    least: float | None = None
    choices: tuple[str, ...] = ()
    form: Literal["text", "address", "variable"] = "text"


class RoleModel(msgspec.Struct, frozen=True, kw_only=True):
    """The model that plays one role: resolved, with no secret in it.

    `named` tells for settings that were not set by the key of both roles what they were set by.
    """

    role: Role
    backend: str
    model: str
    reasoning_effort: str = ""
    settings: dict[str, SettingValue] = {}
    named: dict[str, str] = {}

    def key_of(self, setting: str) -> str:
        """Return what to change when a setting is wrong: the key or the variable that holds it."""
        return self.named.get(setting, f"model.{self.backend}_{setting}")


class Backend(Protocol):
    """A connection to a model. Calls may run at the same time."""

    async def complete(self, request: Request) -> Reply:
        """Make one call, without retries; raises CallError."""
        ...

    async def close(self) -> None:
        """Free connections and processes."""
        ...


Capability = Literal["tools", "images", "json_schema", "usage", "workspace", "simulated"]


def _all_is_sent(role: RoleModel, request: Request) -> Request:
    return request


def _all_act(role: RoleModel, request: Request) -> Mapping[str, SettingValue]:
    return role.settings


def _nothing_missing(role: RoleModel, env: Mapping[str, str]) -> list[str]:
    return []


class BackendSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What a module in `skillopt/models/backends/` declares as `BACKEND`.

    `open` gets the role's model and the environment (for secrets, read there and nowhere else).
    `check` says what is missing before anything is paid for (a key, a login, a binary), one
    sentence each that tells what to do; it makes no model call.
    `sent` returns a request with what the backend makes of it: what it does not send is taken out, what
    it replaces is replaced. Two requests that are sent alike are one call, and paid for once.
    `acting` returns the role's settings as they act on a request: one that changes nothing for it, or not
    in that value, is left out or replaced, so that it is no part of the call's key.
    `secrets` are the environment variables that may hold a key, in the order they are tried;
    `{ROLE}` in a name stands for OPTIMIZER or TARGET. `keys` tells which of them count for a role where
    that depends on its settings.
    """

    name: str
    description: str
    open: Callable[[RoleModel, Mapping[str, str]], Backend]
    roles: tuple[Role, ...] = ("optimizer", "target")
    aliases: tuple[str, ...] = ()
    default_model: str
    settings: tuple[Setting, ...] = ()
    secrets: tuple[str, ...] = ()
    capabilities: frozenset[Capability] = frozenset()
    check: Callable[[RoleModel, Mapping[str, str]], list[str]] = _nothing_missing
    sent: Callable[[RoleModel, Request], Request] = _all_is_sent
    acting: Callable[[RoleModel, Request], Mapping[str, SettingValue]] = _all_act
    keys: Callable[[RoleModel, Mapping[str, str]], list[str]] | None = None
