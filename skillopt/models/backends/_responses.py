"""The wire format of OpenAI's Responses API."""

import json
from typing import Any

import msgspec

from skillopt.models.backends import _chat
from skillopt.models.base import CallError, FinishReason, Message, Reply, Request, Tool, ToolCall
from skillopt.records import Usage

_TRANSIENT_CODES = frozenset({"server_error", "rate_limit_exceeded"})


class _Part(msgspec.Struct):
    type: str = ""
    text: str | None = None
    refusal: str | None = None


class _Item(msgspec.Struct):
    type: str = ""
    id: str | None = None
    content: list[_Part] | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None


class _Details(msgspec.Struct):
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


class _Usage(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: _Details | None = None
    output_tokens_details: _Details | None = None


class _Incomplete(msgspec.Struct):
    reason: str | None = None


class _Error(msgspec.Struct):
    code: str | None = None
    message: str | None = None


class _Response(msgspec.Struct):
    status: str | None = None
    output: list[_Item] | None = None
    usage: _Usage | None = None
    model: str | None = None
    error: _Error | None = None
    incomplete_details: _Incomplete | None = None


def payload(model: str, request: Request, limit: int, effort: str) -> dict[str, Any]:
    """Return the JSON body of a call: what all calls share first, messages in their order.

    System messages at the start are the instructions. Nothing is kept at the provider.
    """
    first = _first_turn(request.messages)
    body: dict[str, Any] = {"model": model}
    if first:
        body["instructions"] = "\n\n".join(message.content for message in request.messages[:first])
    body["input"] = [item for message in request.messages[first:] for item in _items(message)]
    body["max_output_tokens"] = limit
    body["store"] = False
    if effort:
        body["reasoning"] = {"effort": effort}
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
        if request.tool_choice:
            body["tool_choice"] = _tool_choice(request.tool_choice)
    return body


def read_reply(content: bytes, say: _chat.Say) -> Reply:
    """Return the reply in the body of a successful response; raises CallError when it holds none."""
    response = _decode(content, say)
    if response.error or response.status in ("failed", "cancelled"):
        raise _failed(response, say)
    items = response.output or []
    text = _chat.clean("".join(_text(item) for item in items if item.type == "message"))
    calls = tuple(_call(item) for item in items if item.type == "function_call")
    finish = _finish(response, calls)
    if not text.strip() and not calls and finish not in ("length", "content_filter"):
        raise CallError("the endpoint's reply is empty", transient=True, code="empty_reply")
    return Reply(
        text=text,
        finish_reason=finish,
        tool_calls=calls,
        usage=_usage(response.usage),
        model=_chat.clean(response.model or ""),
    )


def _first_turn(messages: tuple[Message, ...]) -> int:
    places = (place for place, message in enumerate(messages) if message.role != "system")
    return next(places, len(messages))


def _items(message: Message) -> list[dict[str, Any]]:
    """Return the items that one message becomes: its text, then the tool calls it asks for."""
    if message.role == "tool":
        return [{"type": "function_call_output", "call_id": message.tool_call_id, "output": message.content}]
    items: list[dict[str, Any]] = []
    if message.content or message.images or not message.tool_calls:
        items.append({"role": message.role, "content": _content(message)})
    items += [
        {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}
        for call in message.tool_calls
    ]
    return items


def _content(message: Message) -> str | list[dict[str, Any]]:
    if not message.images:
        return message.content
    parts: list[dict[str, Any]] = []
    if message.content:
        parts.append({"type": "input_text", "text": message.content})
    for image in message.images:
        url = f"data:{image.media_type};base64,{image.data}"
        parts.append({"type": "input_image", "image_url": url, "detail": image.detail})
    return parts


def _tool(tool: Tool) -> dict[str, Any]:
    """Return one tool; as in Chat Completions its schema is a guide, not a grammar."""
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": False,
    }


def _tool_choice(choice: str) -> str | dict[str, Any]:
    if choice in ("auto", "none", "required"):
        return choice
    return {"type": "function", "name": choice}


def _decode(content: bytes, say: _chat.Say) -> _Response:
    try:
        response = msgspec.convert(json.loads(content), _Response)
    except (ValueError, RecursionError) as error:
        shown = say(content[:2000].decode("utf-8", "replace"))
        raise CallError(
            f"the endpoint's reply is no JSON of the Responses API ({type(error).__name__}): {shown}",
            transient=True,
            code="bad_body",
        ) from error
    if response.output is None and response.error is None:
        raise CallError("the endpoint's reply holds no output", transient=True, code="no_choices")
    return response


def _failed(response: _Response, say: _chat.Say) -> CallError:
    error = response.error or _Error()
    code = error.code or ""
    message = say(error.message or response.status or "") or "no message"
    transient = not code or code in _TRANSIENT_CODES
    return CallError(f"the endpoint gave up: {message}", transient=transient, code=code or "broken_off")


def _text(item: _Item) -> str:
    return "".join(part.text or part.refusal or "" for part in item.content or ())


def _call(item: _Item) -> ToolCall:
    return ToolCall(
        id=_chat.clean(item.call_id or item.id or ""),
        name=_chat.clean(item.name or ""),
        arguments=_chat.clean(item.arguments or "{}"),
    )


def _finish(response: _Response, calls: tuple[ToolCall, ...]) -> FinishReason:
    if response.status == "incomplete":
        reason = (response.incomplete_details or _Incomplete()).reason or ""
        known: dict[str, FinishReason] = {"max_output_tokens": "length", "content_filter": "content_filter"}
        return known.get(reason, "other")
    if calls:
        return "tool_calls"
    return "stop" if response.status == "completed" else "other"


def _usage(usage: _Usage | None) -> Usage:
    if usage is None:
        return Usage(calls=1)
    return Usage(
        calls=1,
        prompt=usage.input_tokens,
        cached=(usage.input_tokens_details or _Details()).cached_tokens,
        completion=usage.output_tokens,
        reasoning=(usage.output_tokens_details or _Details()).reasoning_tokens,
    )
