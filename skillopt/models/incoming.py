"""What providers and agents say, read field by field: nothing of it has the shape it should have.

Only text and tool calls decide whether a reply is usable. A field beside them that is not what it should
be counts as not told, and never costs a reply that is paid for.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from skillopt.models.base import File, Reply
from skillopt.records import Usage
from skillopt.redact import mask_secrets

MOST_TOKENS = 10**9
"""Tokens of one call; more than that is no count."""


def member(value: Any, *path: str) -> Any:
    """Return what lies below `value` under the keys of `path`; None when it is not there."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def text_of(value: Any, *path: str) -> str:
    """Return the text below `value`; "" when there is none."""
    found = member(value, *path)
    return found if isinstance(found, str) else ""


def whole_of(value: Any, *path: str) -> int | None:
    """Return the whole number below `value`; None when there is none."""
    found = member(value, *path)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def count_of(value: Any, *path: str) -> int | None:
    """Return the count of tokens below `value`; None when it is not told, or is none that can be."""
    return _count(whole_of(value, *path))


def objects_of(value: Any, *path: str) -> list[dict[str, Any]]:
    """Return the objects of the list below `value`."""
    found = member(value, *path)
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []


def clean(text: str) -> str:
    """Return text that can be written as UTF-8: half surrogate pairs become question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


def masked(reply: Reply, secrets: Sequence[str]) -> Reply:
    """Return the reply without the key, which some gateways repeat even in an answer, wherever it stands.

    All text of it can be written as UTF-8 afterwards.
    """
    found = msgspec.structs.asdict(reply)
    told = {name: value for name, value in found.items() if name not in ("finish_reason", "usage")}
    plain = {name: _masked(value, secrets) for name, value in told.items()}
    return msgspec.structs.replace(reply, **plain)


def _masked(value: Any, secrets: Sequence[str]) -> Any:
    if isinstance(value, str):
        return clean(mask_secrets(value, secrets))
    if isinstance(value, tuple):
        return tuple(_masked(entry, secrets) for entry in value)
    if isinstance(value, File):  # its bytes were masked before they became base64
        return msgspec.structs.replace(value, path=clean(mask_secrets(value.path, secrets)))
    if isinstance(value, msgspec.Struct):
        fields = msgspec.structs.asdict(value)
        return type(value)(**{name: _masked(entry, secrets) for name, entry in fields.items()})
    return value


def believable(usage: Usage) -> Usage:
    """Return the usage of one call without what cannot be: then the caps estimate instead.

    A count is from 0 to MOST_TOKENS. With more cached tokens than there are in the prompt both are
    unknown, as nobody can tell which one is wrong.
    """
    prompt, cached = _count(usage.prompt), _count(usage.cached)
    if prompt is not None and cached is not None and cached > prompt:
        prompt = cached = None
    return msgspec.structs.replace(
        usage,
        prompt=prompt,
        cached=cached,
        completion=_count(usage.completion),
        reasoning=_count(usage.reasoning),
    )


def _count(value: int | None) -> int | None:
    return value if value is not None and 0 <= value <= MOST_TOKENS else None
