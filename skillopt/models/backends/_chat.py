"""The Chat Completions wire format, for every backend that speaks it."""

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from skillopt.models.base import CallError, FinishReason, Message, Reply, Request, Tool, ToolCall
from skillopt.records import Usage
from skillopt.redact import mask_secrets

Say = Callable[[str], str]
"""Makes a text fit for messages: short, without secrets."""

SHOWN = 300
"""Characters of a provider's message that are shown."""

_TRANSIENT = frozenset({408, 409, 425, 429})

_FINISH: dict[str, FinishReason] = {
    "stop": "stop",
    "eos": "stop",
    "end_turn": "stop",
    "length": "length",
    "max_tokens": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
}


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: str | dict[str, Any] | None = None


class _ToolCall(msgspec.Struct):
    id: str | None = None
    function: _Function | None = None


class _Message(msgspec.Struct):
    content: str | list[dict[str, Any]] | None = None
    refusal: str | None = None
    tool_calls: list[_ToolCall] | None = None


class _Choice(msgspec.Struct):
    message: _Message | None = None
    finish_reason: str | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: dict[str, Any] | None = None
    completion_tokens_details: dict[str, Any] | None = None


class _Completion(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    model: str | None = None
    error: Any = None


def payload(model: str, request: Request, limit: dict[str, int]) -> dict[str, Any]:
    """Return the fields that every endpoint takes: messages in their order, so that its cache hits."""
    body: dict[str, Any] = {
        "model": model,
        "messages": [message(entry) for entry in request.messages],
        **limit,
    }
    if request.tools:
        body["tools"] = [tool(entry) for entry in request.tools]
        if request.tool_choice:
            body["tool_choice"] = tool_choice(request.tool_choice)
    return body


def message(message: Message) -> dict[str, Any]:
    """Return one message as the endpoint takes it."""
    entry: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.images:
        parts: list[dict[str, Any]] = [{"type": "text", "text": message.content}] if message.content else []
        for image in message.images:
            url = {"url": f"data:{image.media_type};base64,{image.data}", "detail": image.detail}
            parts.append({"type": "image_url", "image_url": url})
        entry["content"] = parts
    if message.tool_calls:
        entry["content"] = message.content or None
        entry["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    if message.tool_call_id:
        entry["tool_call_id"] = message.tool_call_id
    return entry


def tool(tool: Tool) -> dict[str, Any]:
    """Return one tool as the endpoint takes it."""
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def tool_choice(choice: str) -> str | dict[str, Any]:
    """Return `auto`, `none` and `required` as they are; another text is the name of a tool."""
    if choice in ("auto", "none", "required"):
        return choice
    return {"type": "function", "function": {"name": choice}}


def read_reply(content: bytes, say: Say) -> Reply:
    """Return the reply in the body of a successful response.

    Raises a transient CallError for a body that holds none: not JSON, no choices, or no text.
    """
    completion = _decode(content, say)
    if completion.error:
        raise _body_error(completion.error, say)
    if not completion.choices or completion.choices[0].message is None:
        raise CallError("the endpoint's reply holds no choices", transient=True, code="no_choices")
    choice = completion.choices[0]
    text = _text(completion.choices[0].message)
    calls = _tool_calls(completion.choices[0].message)
    finish = _FINISH.get(choice.finish_reason or "", "other")
    if choice.finish_reason == "error":
        raise CallError("the endpoint broke off the reply", transient=True, code="broken_off")
    if not text.strip() and not calls and finish not in ("length", "content_filter"):
        raise CallError("the endpoint's reply is empty", transient=True, code="empty_reply")
    return Reply(
        text=text,
        finish_reason=finish,
        tool_calls=calls,
        usage=_usage(completion.usage),
        model=clean(completion.model or ""),
    )


def masked(reply: Reply, secrets: Sequence[str]) -> Reply:
    """Return the reply without the key, which some gateways repeat even in an answer."""
    calls = tuple(
        msgspec.structs.replace(call, arguments=mask_secrets(call.arguments, secrets))
        for call in reply.tool_calls
    )
    return msgspec.structs.replace(reply, text=mask_secrets(reply.text, secrets), tool_calls=calls)


def status_error(status: int, headers: Mapping[str, str], content: bytes, say: Say) -> CallError:
    """Return the error of a response that is no success; it may hold a time to wait."""
    detail, code = _error_detail(content)
    transient = (status in _TRANSIENT or status >= 500) and code != "insufficient_quota"
    shown = say(detail) or "no message"
    return CallError(
        f"HTTP {status}: {shown}",
        transient=transient,
        retry_after=retry_after(headers, time.time()) if transient else None,
        code=code if code == "insufficient_quota" else f"http_{status}",
    )


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds that `Retry-After` asks to wait from `now`: a number, or an HTTP date.

    Azure and OpenAI say it more exactly, in milliseconds, in a header of their own.
    """
    from email.utils import parsedate_to_datetime

    milliseconds = headers.get("retry-after-ms", "").strip()
    if re.fullmatch(r"\d+(\.\d+)?", milliseconds):
        return float(milliseconds) / 1000
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d+(\.\d+)?", value):
        return float(value)
    try:
        return max(parsedate_to_datetime(value).timestamp() - now, 0.0)
    except (ValueError, OverflowError):
        return None


def _decode(content: bytes, say: Say) -> _Completion:
    try:
        return msgspec.convert(json.loads(content), _Completion)
    except (ValueError, RecursionError) as error:
        shown = say(content[:2000].decode("utf-8", "replace"))
        raise CallError(
            f"the endpoint's reply is no Chat Completions JSON ({type(error).__name__}): {shown}",
            transient=True,
            code="bad_body",
        ) from error


def _body_error(error: Any, say: Say) -> CallError:
    """Return the error that some gateways send with the status of a success."""
    status = error.get("code") if isinstance(error, dict) else None
    content = json.dumps({"error": error}).encode()
    if isinstance(status, int) and 400 <= status < 600:
        return status_error(status, {}, content, say)
    return CallError(f"the endpoint: {say(_error_detail(content)[0])}", transient=True, code="error_in_body")


def _error_detail(content: bytes) -> tuple[str, str]:
    """Return the message and code of an error body; the body itself when it is no known form."""
    text = content[:20000].decode("utf-8", "replace")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text, ""
    error = found.get("error", found) if isinstance(found, dict) else found
    if not isinstance(error, dict):
        return str(error), ""
    detail = error.get("message") or error.get("detail") or text
    return str(detail), str(error.get("code") or error.get("type") or "")


def _text(message: _Message | None) -> str:
    if message is None:
        return ""
    content = message.content
    if isinstance(content, list):
        content = "".join(part["text"] for part in content if isinstance(part.get("text"), str))
    return clean(content or message.refusal or "")


def _tool_calls(message: _Message | None) -> tuple[ToolCall, ...]:
    calls = []
    for number, call in enumerate((message.tool_calls if message else None) or ()):
        function = call.function or _Function()
        arguments = function.arguments
        if isinstance(arguments, dict):
            arguments = json.dumps(arguments)
        calls.append(
            ToolCall(
                id=clean(call.id or f"call_{number}"),
                name=clean(function.name or ""),
                arguments=clean(arguments or "{}"),
            )
        )
    return tuple(calls)


def _usage(usage: _Usage | None) -> Usage:
    if usage is None:
        return Usage(calls=1)
    return Usage(
        calls=1,
        prompt=usage.prompt_tokens,
        cached=_count(usage.prompt_tokens_details, "cached_tokens"),
        completion=usage.completion_tokens,
        reasoning=_count(usage.completion_tokens_details, "reasoning_tokens"),
    )


def _count(details: dict[str, Any] | None, name: str) -> int | None:
    value = (details or {}).get(name)
    return value if isinstance(value, int) else None


def clean(text: str) -> str:
    """Return text that can be written as UTF-8: half surrogate pairs become question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")
