"""Tool calls for a program that takes no tools of the caller: asked for in a reply of a fixed shape."""

import json
from typing import Any

from skillopt.models.base import Request

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "content": {"type": "string"},
        "tool_calls": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "arguments": {"type": "string"}},
                "required": ["name", "arguments"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["content", "tool_calls"],
    "additionalProperties": False,
}
"""A reply: its text, and the calls that the model asks for (`arguments` is JSON text)."""

_HOW = """\
Tools that the caller can run for you. You cannot run them yourself: ask for a call in `tool_calls`, with the
arguments as JSON text, and the next message brings its result. Leave `tool_calls` empty when you need none;
`content` is the text of your reply."""


def offer(request: Request) -> str:
    """Return the text that offers the request's tools, and says whether one must be called."""
    listed = [
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        for tool in request.tools
    ]
    return "\n\n".join(
        filter(None, (_HOW, json.dumps(listed, ensure_ascii=False), _must(request.tool_choice)))
    )


def _must(choice: str) -> str:
    if choice in ("", "auto"):
        return ""
    if choice == "none":
        return "Ask for no call in this reply."
    if choice == "required":
        return "Ask for at least one call in this reply."
    return f"Ask for a call of {choice} in this reply."
