"""Structured answers: a reply's JSON object, or an error that says what is wrong. Never a repair."""

import json
import re
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec

from skillopt.models.base import Message, Reply, Request
from skillopt.models.client import Client
from skillopt.models.incoming import clean
from skillopt.records import Usage

T = TypeVar("T")

MOST_TEXT = 1_000_000
"""Characters of a usable answer: what is longer costs time wherever it is read, and is no edit of a skill."""
_START = 1000
"""Characters of a longer one that the model is shown when it is asked again."""

_OPEN, _CLOSE, _FENCE = "<think>", "</think>", "```"
_BRACE = re.compile(r'\{(?=\s*["}])|(?P<prose>\{)|\}')


class UnusableReply(Exception):
    """A reply that cannot be used; the message says why, to the model that is asked again."""


class Answer(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """What asking gave. `value` is None when no reply was usable.

    `problems` names what was wrong with each unusable reply; `usage` sums all calls; `texts` are
    all replies, in order.
    """

    value: T | None
    problems: tuple[str, ...] = ()
    usage: Usage = Usage()
    texts: tuple[str, ...] = ()


async def ask_json(
    client: Client,
    request: Request,
    shape: type[T],
    *,
    attempts: int,
    check: Callable[[T], str] | None = None,
) -> Answer[T]:
    """Ask for a JSON object of the given shape, at most `attempts` times in all.

    Keys that the shape does not name are ignored, and numbers may be written as text. `check`
    returns what is wrong with a value, "" for nothing. After an unusable reply the model is asked
    again: it sees that reply and what is wrong with it. CallError and ProviderDead pass through.
    """
    problems: list[str] = []
    texts: list[str] = []
    usage = Usage()
    question = request
    for attempt in range(attempts):
        reply = await client.call(question)
        usage += reply.usage
        texts.append(reply.text)
        try:
            value = _read(reply, shape, check)
        except UnusableReply as error:
            problems.append(str(error))
            question = _again(request, reply, str(error), request.sample + attempt + 1)
        else:
            return Answer(value=value, problems=tuple(problems), usage=usage, texts=tuple(texts))
    return Answer(value=None, problems=tuple(problems), usage=usage, texts=tuple(texts))


def _read(reply: Reply, shape: type[T], check: Callable[[T], str] | None) -> T:
    if reply.finish_reason == "length":
        raise UnusableReply("the answer was cut off at the limit of its length: answer more briefly")
    if len(reply.text) > MOST_TEXT:
        raise UnusableReply(
            f"the answer is far too long: expected at most {MOST_TEXT} characters, found {len(reply.text)}"
        )
    if reply.finish_reason == "content_filter":
        raise UnusableReply("the answer was stopped by the provider's content filter")
    found = parse_json_object(reply.text)
    try:
        value = msgspec.convert(found, shape, strict=False)
    except msgspec.ValidationError as error:
        raise UnusableReply(f"the JSON object has the wrong shape: {error}") from error
    wrong = check(value) if check else ""
    if wrong:
        raise UnusableReply(wrong)
    return value


def _again(request: Request, reply: Reply, problem: str, sample: int) -> Request:
    """Return the request with the latest reply and what is wrong with it; earlier ones are left out.

    The sample number makes this another call even if the model answers the same again.
    """
    text = reply.text if len(reply.text) <= MOST_TEXT else f"{reply.text[:_START]} ..."
    said = Message(role="assistant", content=text or "(no text)")
    asked = Message(
        role="user",
        content=f"This answer cannot be used: {problem}. Answer again, with the complete JSON object only.",
    )
    return msgspec.structs.replace(request, messages=(*request.messages, said, asked), sample=sample)


def parse_json_object(text: str) -> dict[str, Any]:
    """Return the one JSON object of a reply: plain, in a fenced block, or with prose around it.

    Thinking in a closed `<think>` block before it is dropped. Nothing is repaired: an unclosed
    thinking block or fence, no object, a broken one, one inside something else, or several
    raise UnusableReply. What a value may be is another matter: half a character is a question mark.
    """
    text = _without_thinking(text).strip()
    if not text:
        raise UnusableReply("the answer is empty")
    start = _object_start(text, 0)
    if start is None:
        raise UnusableReply("the answer holds no JSON object")
    found, end = _decode(text, start)
    before, after = text[:start].rstrip(), text[end:].lstrip()
    if before.endswith("[") or after.startswith(("]", ",")):
        raise UnusableReply("the answer is a JSON list: expected a single object")
    if before.count(_FENCE) % 2 and _FENCE not in after:
        raise UnusableReply("the code fence around the JSON object is not closed")
    if _object_start(text, end) is not None:
        raise UnusableReply("the answer holds more than one JSON object")
    return found


def _without_thinking(text: str) -> str:
    """Drop thinking before the first brace that may start the object; some models open it unseen."""
    text = text.lstrip()
    if not text.startswith((_OPEN, "{", _FENCE)) and _OPEN not in text and _CLOSE in text:
        return text.partition(_CLOSE)[2]
    while True:
        start = text.find(_OPEN)
        brace = text.find("{")
        if start < 0 or 0 <= brace < start:
            return text
        end = text.find(_CLOSE, start)
        if end < 0:
            raise UnusableReply("the <think> block is not closed: the answer ended while thinking")
        text = text[:start] + text[end + len(_CLOSE) :]


def _object_start(text: str, position: int) -> int | None:
    """Return where a JSON object starts: a brace followed by a quote or a closing brace.

    Other braces are prose, but an object inside them is a part of something broken.
    """
    depth = 0
    for brace in _BRACE.finditer(text, position):
        if brace[0] == "}":
            depth = max(depth - 1, 0)
        elif brace["prose"]:
            depth += 1
        elif depth:
            raise UnusableReply("the JSON object lies inside braces that are not JSON")
        else:
            return brace.start()
    return None


def _decode(text: str, start: int) -> tuple[dict[str, Any], int]:
    try:
        found, end = _DECODER.raw_decode(text, start)
        return _writable(found), end
    except json.JSONDecodeError as error:
        raise UnusableReply(f"the JSON object is broken or cut off: {error}") from error
    except (ValueError, RecursionError) as error:
        raise UnusableReply(f"the JSON object cannot be read: {type(error).__name__}: {error}") from error


def _no_value(name: str) -> None:
    """Take NaN and the like, which are no JSON, for a value that is not told."""


_DECODER = json.JSONDecoder(parse_constant=_no_value)


def _writable(value: Any) -> Any:
    """Return a value whose texts can be written as UTF-8, as those of the reply itself (`incoming.clean`)."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_writable(entry) for entry in value]
    if isinstance(value, dict):
        return {clean(name): _writable(entry) for name, entry in value.items()}
    return value
