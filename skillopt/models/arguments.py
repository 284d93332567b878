"""Arguments of tool calls: a model may write anything, an endpoint takes back JSON objects only."""

import msgspec

from skillopt.models.base import Message, ToolCall


def arguments_problem(arguments: str) -> str:
    """Say why the arguments of a tool call are no JSON object, "" when they are one; blank ones are `{}`."""
    try:
        found = msgspec.json.decode(arguments or "{}")
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        return f"they are no JSON ({error})"
    return "" if isinstance(found, dict) else "they are JSON, but no object"


def sendable(message: Message) -> Message:
    """Return a message with `{}` for arguments that are no JSON object.

    Some endpoints refuse such a dialogue (HTTP 400): the target's fault would count as one of the outside.
    """
    if not message.tool_calls:
        return message
    return msgspec.structs.replace(message, tool_calls=tuple(map(_sendable, message.tool_calls)))


def _sendable(call: ToolCall) -> ToolCall:
    usable = call.arguments and not arguments_problem(call.arguments)
    return call if usable else msgspec.structs.replace(call, arguments="{}")
