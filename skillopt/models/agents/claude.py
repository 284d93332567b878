"""The event stream of Claude Code (`claude -p --output-format json` and `stream-json`).

Documented at https://code.claude.com/docs/en/headless and .../agent-sdk (message types).
"""

import json
import re
from typing import Any

from skillopt.models.agents import trace
from skillopt.models.agents.outcome import Outcome, events
from skillopt.models.base import FinishReason, ToolCall
from skillopt.models.incoming import believable, count_of, objects_of, text_of
from skillopt.records import Usage

_LIMIT_REACHED = re.compile(r"exceeded the \d+ output token maximum", re.IGNORECASE)


_STOPPED: dict[str, FinishReason] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}
"""Why the model stopped, where that is not the end of its message."""


def read(out: bytes) -> Outcome:
    """Return what a run came to; the last `result` event has the final message."""
    result: dict[str, Any] | None = None
    model = ""
    entries: list[str] = []
    for event in events(out):
        kind = event.get("type")
        if kind == "system" and event.get("subtype") == "init":
            model = text_of(event, "model")
        elif kind in ("assistant", "user"):
            entries += _entries(event)
        elif kind == "result":
            result = event
    if result is None:
        return Outcome(model=model, trace=tuple(entries))
    return _outcome(result, model, _without_last_message(entries, text_of(result, "result")))


def _outcome(result: dict[str, Any], model: str, entries: list[str]) -> Outcome:
    text, error = text_of(result, "result"), ""
    finish = _STOPPED.get(text_of(result, "stop_reason"), "stop")
    if result.get("is_error") is True or text_of(result, "subtype").startswith("error"):
        errors = result.get("errors")
        problems = [entry for entry in errors if isinstance(entry, str)] if isinstance(errors, list) else []
        error = text or "; ".join(problems) or text_of(result, "subtype") or "an error it does not name"
        text = ""
        if _LIMIT_REACHED.search(error):
            error, finish = "", "length"
    content, calls = _structured(result.get("structured_output"))
    return Outcome(
        text=text if content is None else content,
        error=error,
        complete=True,
        finish_reason="tool_calls" if calls else finish,
        tool_calls=calls,
        usage=_usage(result.get("usage")),
        model=model or _most_used(result.get("modelUsage")),
        trace=tuple(entries),
    )


def _most_used(models: Any) -> str:
    """Return the model that wrote most: small ones do chores beside it."""
    found = models if isinstance(models, dict) else {}
    return max(found, key=lambda name: count_of(found[name], "outputTokens") or 0, default="")


def _usage(usage: Any) -> Usage:
    """Claude counts the prompt in three parts: new, written to the cache, read from it."""
    cached = count_of(usage, "cache_read_input_tokens")
    new = count_of(usage, "input_tokens")
    written = count_of(usage, "cache_creation_input_tokens")
    prompt = None if new is None else new + (written or 0) + (cached or 0)
    completion = count_of(usage, "output_tokens")
    return believable(Usage(calls=1, prompt=prompt, cached=cached, completion=completion))


def _structured(value: Any) -> tuple[str | None, tuple[ToolCall, ...]]:
    """Return text and tool calls of a reply in the shape of `toolcalls.SCHEMA` (None: it has none)."""
    if not isinstance(value, dict):
        return None, ()
    calls = []
    for number, call in enumerate(objects_of(value, "tool_calls"), 1):
        arguments = call.get("arguments")
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments or {})
        calls.append(ToolCall(id=f"claude_tool_{number}", name=text_of(call, "name"), arguments=arguments))
    return text_of(value, "content"), tuple(calls)


def _entries(event: dict[str, Any]) -> list[str]:
    found = []
    for block in objects_of(event, "message", "content"):
        kind = block.get("type")
        if kind == "text" and event["type"] == "assistant":
            found.append(trace.said(text_of(block, "text")))
        elif kind == "tool_use":
            found.append(trace.used(text_of(block, "name"), block.get("input")))
        elif kind == "tool_result":
            found.append(trace.got(_result_text(block.get("content")), failed=block.get("is_error") is True))
    prefix = "sub-agent " if event.get("parent_tool_use_id") else ""
    return [prefix + entry for entry in found]


def _result_text(content: Any) -> Any:
    if isinstance(content, list):
        return "\n".join(text_of(part, "text") or f"({text_of(part, 'type')})" for part in content)
    return content


def _without_last_message(entries: list[str], text: str) -> list[str]:
    return entries[:-1] if entries and entries[-1] == trace.said(text) else entries
