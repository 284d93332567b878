"""The event stream of Codex (`codex exec --json`).

Documented at https://developers.openai.com/codex/noninteractive.
"""

import re
from typing import Any

from skillopt.models.agents import trace
from skillopt.models.agents.outcome import Outcome, events
from skillopt.models.incoming import believable, count_of, member, objects_of, text_of, whole_of
from skillopt.records import Usage

_LIMIT_REACHED = re.compile(r"incomplete response returned, reason: max_output_tokens", re.IGNORECASE)
"""What Codex says when the model's reply was cut off at its limit; it has no reply then."""


def read(out: bytes) -> Outcome:
    """Return what a run came to; the final message is the last one after which nothing was done."""
    text, error, complete = "", "", False
    usage = Usage(calls=1)
    entries: list[str] = []
    for event in events(out):
        kind = event.get("type")
        if kind == "item.completed":
            text, entry = _item(member(event, "item"), text)
            entries += entry
        elif kind == "turn.started":
            complete = False
        elif kind == "turn.completed":
            complete, usage = True, _usage(event.get("usage"))
        elif kind == "turn.failed":
            complete, error = False, text_of(event, "error", "message") or error or "the turn failed"
        elif kind == "error":  # also of connections that are tried again: counts only without an end
            error = text_of(event, "message") or error
    if complete:
        return Outcome(text=text, complete=True, usage=usage, trace=tuple(entries))
    if _LIMIT_REACHED.search(error):
        return Outcome(complete=True, finish_reason="length", trace=tuple(_with(entries, text)))
    return Outcome(error=error, trace=tuple(_with(entries, text)))


def _item(item: Any, text: str) -> tuple[str, list[str]]:
    """Return the text that may be the final message after this item, and what goes into the account."""
    kind = text_of(item, "type")
    if kind in ("reasoning", "todo_list", "error"):  # says something, does nothing
        message = text_of(item, "text") or text_of(item, "message")
        return text, [f"{kind}: {message}"] if message else []
    earlier = _with([], text)
    if kind == "agent_message":
        return text_of(item, "text"), earlier
    return "", earlier + _done(kind, item)


def _done(kind: str, item: Any) -> list[str]:
    status = text_of(item, "status")
    failed = status in ("failed", "declined")
    if kind == "command_execution":
        code = whole_of(item, "exit_code")
        result = f"exit {code}: " if code is not None else ""
        result += text_of(item, "aggregated_output") or status
        return [trace.used("shell", text_of(item, "command")), trace.got(result, failed=failed)]
    if kind == "file_change":
        changes = [f"{text_of(c, 'kind')} {text_of(c, 'path')}" for c in objects_of(item, "changes")]
        return [trace.used("file change", ", ".join(changes)), trace.got(status, failed=failed)]
    if kind == "web_search":
        return [trace.used("web search", text_of(item, "query"))]
    name = " ".join(filter(None, (kind, text_of(item, "server"), text_of(item, "tool"))))
    return [trace.used(name, member(item, "arguments")), trace.got(status, failed=failed)]


def _with(entries: list[str], text: str) -> list[str]:
    return [*entries, trace.said(text)] if text else entries


def _usage(usage: Any) -> Usage:
    return believable(
        Usage(
            calls=1,
            prompt=count_of(usage, "input_tokens"),
            cached=count_of(usage, "cached_input_tokens"),
            completion=count_of(usage, "output_tokens"),
            reasoning=count_of(usage, "reasoning_output_tokens"),
        )
    )
