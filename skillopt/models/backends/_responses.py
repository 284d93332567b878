"""The wire format of OpenAI's Responses API."""

import re
from typing import Any

from skillopt.models.backends import _chat
from skillopt.models.base import CallError, FinishReason, Message, Reply, Request, Tool, ToolCall
from skillopt.models.incoming import believable, clean, count_of, objects_of, text_of
from skillopt.records import Usage

_TRANSIENT_CODES = frozenset({"server_error", "rate_limit_exceeded"})
_CODE = re.compile(r"[\w.-]{1,60}", re.ASCII)
"""A code that goes into the accounts; anything else is no code."""


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
    if response.get("error") or response.get("status") in ("failed", "cancelled"):
        raise _failed(response, say)
    items = objects_of(response, "output")
    text = clean("".join(_text(item) for item in items if item.get("type") == "message"))
    asked = [item for item in items if item.get("type") == "function_call"]
    calls = _chat.told_apart(_call(item, number) for number, item in enumerate(asked))
    finish = _finish(response, calls)
    if not text.strip() and not calls and finish not in ("length", "content_filter"):
        raise CallError("the endpoint's reply is empty", transient=True, code="empty_reply")
    return Reply(
        text=text,
        finish_reason=finish,
        tool_calls=calls,
        usage=_usage(response.get("usage")),
        model=clean(text_of(response, "model")),
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


def _decode(content: bytes, say: _chat.Say) -> dict[str, Any]:
    response = _chat.decode_object(content, say, "JSON of the Responses API")
    if not isinstance(response.get("output"), list | None):
        raise _chat.bad_body(content, say, "JSON of the Responses API (output is no list)")
    if response.get("output") is None and response.get("error") is None:
        raise CallError("the endpoint's reply holds no output", transient=True, code="no_choices")
    return response


def _failed(response: dict[str, Any], say: _chat.Say) -> CallError:
    error = response.get("error")
    code = text_of(error, "code")
    said = text_of(error, "message") or (str(error) if error else text_of(response, "status"))
    message = say(said) or "no message"
    transient = not code or code in _TRANSIENT_CODES
    shown = code if _CODE.fullmatch(code) else "broken_off"
    return CallError(f"the endpoint gave up: {message}", transient=transient, code=shown)


def _text(item: dict[str, Any]) -> str:
    parts = objects_of(item, "content")
    return "".join(text_of(part, "text") or text_of(part, "refusal") for part in parts)


def _call(item: dict[str, Any], number: int) -> ToolCall:
    return ToolCall(
        id=_chat.call_id(item.get("call_id") or item.get("id"), number),
        name=clean(text_of(item, "name")),
        arguments=_chat.arguments_of(item.get("arguments")),
    )


def _finish(response: dict[str, Any], calls: tuple[ToolCall, ...]) -> FinishReason:
    status = response.get("status")
    if status == "incomplete":
        known: dict[str, FinishReason] = {"max_output_tokens": "length", "content_filter": "content_filter"}
        return known.get(text_of(response, "incomplete_details", "reason"), "other")
    if calls:
        return "tool_calls"
    return "stop" if status == "completed" else "other"


def _usage(usage: Any) -> Usage:
    return believable(
        Usage(
            calls=1,
            prompt=count_of(usage, "input_tokens"),
            cached=count_of(usage, "input_tokens_details", "cached_tokens"),
            completion=count_of(usage, "output_tokens"),
            reasoning=count_of(usage, "output_tokens_details", "reasoning_tokens"),
        )
    )
