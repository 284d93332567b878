"""The event stream of the GitHub Copilot CLI (`copilot --output-format json`): one object per line.

The prompt tokens are not told there (github/copilot-cli issue 4107), those of the replies are.
"""

from typing import Any

from skillopt.models.agents import trace
from skillopt.models.agents.outcome import Outcome, events
from skillopt.models.incoming import count_of, member, objects_of, text_of, whole_of
from skillopt.records import Usage


def read(out: bytes) -> Outcome:
    """Return what a run came to; the final message is the last one, when nothing is done after it."""
    text, error, model = "", "", ""
    complete, code, broken = False, 0, False
    tokens: list[int | None] = []
    entries: list[str] = []
    for event in events(out):
        kind, data = event.get("type"), member(event, "data")
        if kind == "assistant.message":
            tokens.append(count_of(data, "outputTokens"))
            if _of_a_sub_agent(event):
                entries += _said(data, "sub-agent ")
                continue
            model = text_of(data, "model") or model
            entries += [trace.said(text)] if text else []
            asks = bool(objects_of(data, "toolRequests"))
            entries += _said(data) if asks else []
            text, broken = "" if asks else text_of(data, "content"), False
        elif kind == "tool.execution_start":
            if not _of_a_sub_agent(event):
                entries += [trace.said(text)] if text else []
                text = ""
            entries.append(trace.used(text_of(data, "toolName"), member(data, "arguments")))
        elif kind == "tool.execution_complete":
            result = text_of(data, "result", "content") or text_of(data, "error", "message")
            entries.append(trace.got(result, failed=member(data, "success") is False))
        elif kind == "session.error":  # it may have gone on afterwards, or have done with the answer
            error, broken = text_of(data, "message") or error or "an error it does not name", True
        elif kind == "result":
            complete, code = True, whole_of(event, "exitCode") or 0
    if code or (broken and not complete):
        text, error = "", error or f"it reports exit code {code}"
    return Outcome(
        text=text,
        error="" if text else error,
        complete=complete or bool(text),
        usage=Usage(calls=1, completion=_total(tokens)),
        model=model,
        trace=tuple(entries),
    )


def _of_a_sub_agent(event: dict[str, Any]) -> bool:
    """Tell who an event is of: `agentId` says it in newer versions, `parentToolCallId` in older ones."""
    return bool(text_of(event, "agentId") or text_of(event, "data", "parentToolCallId"))


def _said(data: Any, prefix: str = "") -> list[str]:
    content = text_of(data, "content").strip()
    return [prefix + trace.said(content)] if content else []


def _total(tokens: list[int | None]) -> int | None:
    known = [count for count in tokens if count is not None]
    return sum(known) if known and len(known) == len(tokens) else None
