"""A short account of what an agent did, for people and for reflection."""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from skillopt.redact import redact

_ENTRY = 600
"""Characters of one entry; of a longer one the start and the end are kept."""

_LOOKED_AT = 8 * _ENTRY
"""Characters of its start and of its end that are looked at: a key on the edge is not in what is kept."""

_KNOWN = "got: (what it says)"
_KNOWN_FILES = re.compile(r"\b(?:SKILL|ATTACHMENTS|task)\.md\b")

_WHOLE = 12_000
"""Characters of the whole account; of a longer one the middle entries are left out."""


def said(text: str) -> str:
    """Return the entry for a message on the way (not the final one)."""
    return f"said: {text.strip()}"


def used(tool: str, arguments: Any) -> str:
    """Return the entry for the call of a tool."""
    if isinstance(arguments, dict):
        arguments = ", ".join(f"{name}={_plain(value)}" for name, value in arguments.items())
    return f"used {tool}: {_plain(arguments)}" if arguments else f"used {tool}"


def got(result: Any, *, failed: bool = False) -> str:
    """Return the entry for what came back."""
    return f"{'failed' if failed else 'got'}: {_plain(result).strip()}"


def without_known(entries: Sequence[str]) -> list[str]:
    """Return the entries without the contents of skill and task, which the reader has already.

    Results are taken to come in the order of the calls.
    """
    left: list[str] = []
    waiting: list[str] = []
    for entry in entries:
        if entry.startswith("used "):
            waiting.append(_KNOWN if _reads_known_only(entry) else "")
        elif entry.startswith(("got:", "failed:")) and waiting:
            known = waiting.pop(0)
            entry = known if known and entry.startswith("got:") else entry
        left.append(entry)
    return left


def _reads_known_only(entry: str) -> bool:
    parts = entry.split("&&")
    return not re.search("[;|\n]", entry) and all(_KNOWN_FILES.search(part) for part in parts)


def render(entries: Sequence[str], *, folders: Sequence[str], secrets: Sequence[str]) -> str:
    """Return the account as numbered lines, redacted, with the paths of `folders` taken out.

    The first of `folders` is the workspace, which becomes `.`; the others become `...`.
    """

    def line(number: int) -> str:
        entry = entries[number]
        if len(entry) > 2 * _LOOKED_AT:
            entry = f"{entry[:_LOOKED_AT]} [...] {entry[-_LOOKED_AT:]}"
        for folder in folders:
            entry = entry.replace(folder, "." if folder == folders[0] else "...")
        return f"[{number + 1}] {_short(redact(entry, secrets))}"

    return _middle_left_out(len(entries), line)


def _short(entry: str) -> str:
    entry = re.sub(r"\n\s*\n+", "\n", entry)
    if len(entry) <= _ENTRY:
        return entry
    return f"{entry[: _ENTRY * 2 // 3]} [...] {entry[-_ENTRY // 3 :]}"


def _middle_left_out(count: int, line_of: Callable[[int], str]) -> str:
    """Return the lines from both ends inwards, as far as there is room; only those are made."""
    first: list[str] = []
    last: list[str] = []
    left = _WHOLE
    for position in range(count):
        from_start = position % 2 == 0
        line = line_of(len(first) if from_start else count - 1 - len(last))
        left -= len(line) + 1
        if left < 0:
            skipped = count - len(first) - len(last)
            return "\n".join([*first, f"[... {skipped} entries left out ...]", *reversed(last)])
        (first if from_start else last).append(line)
    return "\n".join([*first, *reversed(last)])


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        return str(value)
