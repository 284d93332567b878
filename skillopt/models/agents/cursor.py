"""The event stream of Cursor's agent (`cursor-agent -p --output-format stream-json`).

Documented at https://cursor.com/docs/cli/reference/output-format. Token counts are not
documented there and stay unknown.
"""

from typing import Any

from skillopt.models.agents import trace
from skillopt.models.agents.outcome import Outcome, events
from skillopt.models.incoming import member, objects_of, text_of


def read(out: bytes) -> Outcome:
    """Return what a run came to.

    The `result` event repeats all messages of the run, run together; the final message is what
    was said after the last tool call. Without any message the result itself is taken.
    """
    last: list[str] = []
    spoke = False
    entries: list[str] = []
    model = ""
    result: dict[str, Any] | None = None
    for event in events(out):
        kind = event.get("type")
        if kind == "system" and event.get("subtype") == "init":
            model = text_of(event, "model")
        elif kind == "assistant":
            spoke = True
            last.append("".join(text_of(part, "text") for part in objects_of(event, "message", "content")))
        elif kind == "tool_call":
            entries += [trace.said(text) for text in last if text.strip()] + _tool(event)
            last = []
        elif kind == "result":  # the last event
            result = event
            break
    if result is None:
        return Outcome(model=model, trace=(*entries, *(trace.said(text) for text in last)))
    text, error = "".join(last) if spoke else text_of(result, "result"), ""
    if result.get("is_error") is True or text_of(result, "subtype").startswith("error"):
        text, error = "", text_of(result, "result") or text_of(result, "error") or "an error it does not name"
    return Outcome(text=text, error=error, complete=True, model=model, trace=tuple(entries))


def _tool(event: dict[str, Any]) -> list[str]:
    """Tool calls come as one object under the tool's name, or as a function with name and arguments."""
    calls = member(event, "tool_call")
    for name, call in calls.items() if isinstance(calls, dict) else ():
        if not isinstance(call, dict):
            continue
        if name == "function":
            name, arguments = text_of(call, "name"), member(call, "arguments")
        else:
            arguments = member(call, "args")
        if event.get("subtype") == "started":
            return [trace.used(name.removesuffix("ToolCall"), arguments)]
        if isinstance(result := member(call, "result"), dict):
            success = result.get("success")
            found = text_of(success, "content") or text_of(success, "stdout") or success or result
            return [trace.got(found, failed="success" not in result)]
    return []
