"""The Chat Completions wire format, for every backend that speaks it."""

import json
import re
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from skillopt.models.base import CallError, FinishReason, Message, Reply, Request, Tool, ToolCall
from skillopt.models.incoming import believable, clean, count_of, member, objects_of, text_of, whole_of
from skillopt.records import Usage

Say = Callable[[str], str]
"""Makes a text fit for messages: short, without secrets."""

SHOWN = 300
"""Characters of a provider's message that are shown."""

SUCCESS = frozenset({200, 201, 203})
"""Statuses of a whole reply: gateways use other ones than 200. A part of one (206) is none."""

_TRANSIENT = frozenset({408, 409, 425, 429})
_EMPTY_ACCOUNT = "insufficient_quota"
_THOUGHTS = frozenset({"thinking", "reasoning"})
"""Kinds of parts of a reply that are no part of its text."""

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

    Raises a transient CallError for a body that holds none: not JSON, no choices, or no text. What else
    is in it costs no reply, whatever it is.
    """
    body = _decode(content, say)
    if body.get("error"):
        raise _body_error(body["error"], say)
    choice = next(iter(body.get("choices") or ()), None)
    message = member(choice, "message")
    if not isinstance(message, dict):
        raise CallError("the endpoint's reply holds no choices", transient=True, code="no_choices")
    text, calls = _text(message), _tool_calls(message)
    said = text_of(choice, "finish_reason")
    finish = _FINISH.get(said, "other")
    if said == "error":
        raise CallError("the endpoint broke off the reply", transient=True, code="broken_off")
    if not text.strip() and not calls and finish not in ("length", "content_filter"):
        raise CallError("the endpoint's reply is empty", transient=True, code="empty_reply")
    return Reply(
        text=text,
        finish_reason=finish,
        tool_calls=calls,
        usage=_usage(body.get("usage")),
        model=clean(text_of(body, "model")),
    )


def status_error(status: int, headers: Mapping[str, str], content: bytes, say: Say) -> CallError:
    """Return the error of a response that is no success; it may hold a time to wait."""
    detail, code = _error_detail(content)
    transient = (status in _TRANSIENT or status >= 500) and code != _EMPTY_ACCOUNT
    shown = say(detail) or "no message"
    return CallError(
        f"HTTP {status}: {shown}",
        transient=transient,
        retry_after=retry_after(headers, time.time()) if transient else None,
        code=code if code == _EMPTY_ACCOUNT else f"http_{status}",
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


def decode_object(content: bytes, say: Say, kind: str) -> dict[str, Any]:
    """Return the JSON object of a body; raises a transient CallError that names the expected `kind`."""
    problem = "no object"
    try:
        text = content.decode(json.detect_encoding(content), "replace")  # single bad bytes cost no reply
        found = json.loads(text, parse_int=_whole)
        if isinstance(found, dict):
            return found
    except (ValueError, RecursionError) as error:
        problem = type(error).__name__
    raise bad_body(content, say, f"{kind} ({problem})")


def bad_body(content: bytes, say: Say, expected: str) -> CallError:
    """Return the error of a body that is not what was expected."""
    shown = say(content.decode("utf-8", "replace"))
    message = f"the endpoint's reply is no {expected}: {shown}"
    return CallError(message, transient=True, code="bad_body")


def _whole(digits: str) -> int | float:
    """Return a whole number; one of so many digits that Python refuses it becomes inexact."""
    return int(digits) if len(digits) < 1000 else float(digits)


def _decode(content: bytes, say: Say) -> dict[str, Any]:
    body = decode_object(content, say, "Chat Completions JSON")
    if not isinstance(body.get("choices"), list | None):
        raise bad_body(content, say, "Chat Completions JSON (choices are no list)")
    return body


def _body_error(error: Any, say: Say) -> CallError:
    """Return the error that some gateways send with the status of a success."""
    status = error.get("code") if isinstance(error, dict) else None
    content = json.dumps({"error": error}).encode()
    if isinstance(status, int) and 400 <= status < 600:
        return status_error(status, {}, content, say)
    return CallError(f"the endpoint: {say(_error_detail(content)[0])}", transient=True, code="error_in_body")


def _error_detail(content: bytes) -> tuple[str, str]:
    """Return the message and code of an error body; the body itself when it is no known form."""
    text = content.decode("utf-8", "replace")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text, ""
    error = found.get("error", found) if isinstance(found, dict) else found
    if not isinstance(error, dict):
        return str(error), ""
    detail = error.get("message") or error.get("detail") or text
    codes = [str(error.get(name)) for name in ("code", "type") if error.get(name)]
    return str(detail), _EMPTY_ACCOUNT if _EMPTY_ACCOUNT in codes else next(iter(codes), "")


def _text(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(map(_part, content))
    return clean((content if isinstance(content, str) else "") or text_of(message, "refusal"))


def _part(part: Any) -> str:
    """Return what a part of the content adds to the text."""
    if isinstance(part, str):
        return part
    if text_of(part, "type") in _THOUGHTS:
        return ""
    return text_of(part, "text") or text_of(part, "refusal")


def _tool_calls(message: dict[str, Any]) -> tuple[ToolCall, ...]:
    return told_apart(
        ToolCall(
            id=call_id(call.get("id"), number),
            name=clean(text_of(call, "function", "name")),
            arguments=arguments_of(member(call, "function", "arguments")),
        )
        for number, call in enumerate(objects_of(message, "tool_calls"))
    )


def told_apart(calls: Iterable[ToolCall]) -> tuple[ToolCall, ...]:
    """Return the calls with ids of their own: endpoints refuse a dialogue in which two have the same."""
    taken: dict[str, ToolCall] = {}
    for call in calls:
        own, number = call.id, 1
        while own in taken:
            number += 1
            own = f"{call.id}_{number}"
        taken[own] = msgspec.structs.replace(call, id=own)
    return tuple(taken.values())


def call_id(value: Any, number: int) -> str:
    """Return the id of a tool call: text, or a number; one of our own when it is neither."""
    told = value if isinstance(value, str) else "" if whole_of(value) is None else str(value)
    return clean(told or f"call_{number}")


def arguments_of(value: Any) -> str:
    """Return the arguments of a tool call as JSON text, which some endpoints send as JSON itself."""
    if not isinstance(value, str):
        value = "" if value is None else json.dumps(value)
    return clean(value or "{}")


def _usage(usage: Any) -> Usage:
    return believable(
        Usage(
            calls=1,
            prompt=count_of(usage, "prompt_tokens"),
            cached=count_of(usage, "prompt_tokens_details", "cached_tokens"),
            completion=count_of(usage, "completion_tokens"),
            reasoning=count_of(usage, "completion_tokens_details", "reasoning_tokens"),
        )
    )
