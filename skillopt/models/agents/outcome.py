"""What an agent's stream of events comes to, the same for every agent."""

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from skillopt.models.base import FinishReason, ToolCall
from skillopt.records import Usage


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a run came to. `text` is the agent's final message alone; `error` what it says went wrong.

    `complete` tells whether the stream reached its end. `trace` has one entry per thing done.
    """

    text: str = ""
    error: str = ""
    complete: bool = False
    finish_reason: FinishReason = "stop"
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = Usage(calls=1)
    model: str = ""
    trace: tuple[str, ...] = ()


def events(out: bytes) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a stream, one per line; what is none is passed over.

    A line that is a list of objects stands for its elements. Bytes that are not UTF-8 are replaced.
    Only a line feed ends a line: the other characters that Python takes for one may stand in JSON text.
    """
    for line in out.split(b"\n"):
        try:
            found = json.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            continue
        for event in found if isinstance(found, list) else (found,):
            if isinstance(event, dict):
                yield event
