"""The tools of the target: list documents, search in them, read them.

Whatever is wrong with a call becomes the text that answers it, so that the target can mend it.
"""

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

import msgspec

from skillopt.envs.officeqa.corpus import Corpus
from skillopt.models.arguments import arguments_problem
from skillopt.models.base import Tool, ToolCall

Problem = Literal["", "bad_arguments", "refused", "unknown_tool", "too_many_calls"]

MOST_NAMES = 50
MOST_HITS = 20
MOST_CHARS = 4000
MOST_LINE_CHARS = 400
MOST_CALLS = 8
"""Calls of one reply that are carried out."""
_SHOWN = 80

Positive = Annotated[int, msgspec.Meta(ge=1)]
Words = Annotated[str, msgspec.Meta(min_length=1)]


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a tool says to the target, and what kind of call it could not carry out ("" for none)."""

    text: str
    problem: Problem = ""


class Shelf(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a corpus that one item may use."""

    corpus: Corpus
    names: tuple[str, ...]

    def find(self, given: str) -> str:
        """Return the document that is meant by a name, "" for none or by several."""
        wanted = given.strip().removeprefix("./")
        if wanted in self.names:
            return wanted
        hits = [name for name in self.names if PurePosixPath(name).name == wanted]
        return hits[0] if len(hits) == 1 else ""


class GlobArguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `glob`."""

    pattern: Words = "*"


class ReadArguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `read`: lines are counted from 1."""

    path: str
    start: Positive = 1
    limit: Positive = 80


class GrepArguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `grep`: a blank path searches all documents."""

    pattern: Words
    path: str = ""


def use(shelf: Shelf, call: ToolCall) -> Answer:
    """Carry out one call of the target."""
    if call.name not in _USES:
        return _problem(
            "unknown_tool", f"there is no tool {call.name[:_SHOWN]!r}; there are {', '.join(_USES)}"
        )
    kind, work = _USES[call.name]
    if problem := arguments_problem(call.arguments):
        return _problem("bad_arguments", f"the arguments of {call.name} cannot be used: {problem}")
    try:
        arguments = msgspec.convert(msgspec.json.decode(call.arguments or "{}"), kind, strict=False)
    except msgspec.ValidationError as error:
        return _problem("bad_arguments", f"the arguments of {call.name} cannot be used: {error}")
    return work(shelf, arguments)


def _glob(shelf: Shelf, wanted: GlobArguments) -> Answer:
    hits = [name for name in shelf.names if _matches(name, wanted.pattern)]
    if not hits:
        return Answer(text=f"no document matches {wanted.pattern[:_SHOWN]!r}")
    more = [f"[{len(hits) - MOST_NAMES} more are left out]"] if len(hits) > MOST_NAMES else []
    return Answer(text="\n".join([*hits[:MOST_NAMES], *more]))


def _matches(name: str, pattern: str) -> bool:
    given = pattern.strip().removeprefix("./").lower()
    return any(fnmatchcase(part, given) for part in (name.lower(), PurePosixPath(name).name.lower()))


def _grep(shelf: Shelf, wanted: GrepArguments) -> Answer:
    names = shelf.names
    if wanted.path.strip() not in ("", ".", "*"):
        found = shelf.find(wanted.path)
        if not found:
            return _no_document(wanted.path)
        names = (found,)
    needle = wanted.pattern.lower()
    hits: list[str] = []
    for name in names:
        for number, line in enumerate(shelf.corpus.lines(name), 1):
            if needle in line.lower():
                if len(hits) == MOST_HITS:
                    return Answer(text="\n".join([*hits, f"[stopped after {MOST_HITS} lines]"]))
                hits.append(f"{name}:{number}: {_cut(line)}")
    if not hits:
        return Answer(
            text=f"no line holds {wanted.pattern[:_SHOWN]!r} (the search is literal, without regard to case)"
        )
    return Answer(text="\n".join(hits))


def _read(shelf: Shelf, wanted: ReadArguments) -> Answer:
    name = shelf.find(wanted.path)
    if not name:
        return _no_document(wanted.path)
    lines = shelf.corpus.lines(name)
    if wanted.start > len(lines):
        return Answer(text=f"{name} has {len(lines)} lines; there is none to read from line {wanted.start}")
    shown: list[str] = []
    size = 0
    for number, line in enumerate(lines[wanted.start - 1 : wanted.start - 1 + wanted.limit], wanted.start):
        entry = f"{number}: {line}"
        if size + len(entry) > MOST_CHARS:
            shown = shown or [entry[:MOST_CHARS] + " [the line goes on]"]
            break
        shown.append(entry)
        size += len(entry) + 1
    last = wanted.start + len(shown) - 1
    more = f"; read on with start {last + 1}" if last < len(lines) else ""
    return Answer(text="\n".join([*shown, f"[{name}: lines {wanted.start} to {last} of {len(lines)}{more}]"]))


def _no_document(given: str) -> Answer:
    return _problem(
        "refused", f"there is no document {given[:_SHOWN]!r} that you may open; glob lists those there are"
    )


def _problem(kind: Problem, text: str) -> Answer:
    return Answer(text=f"error: {text}", problem=kind)


def _cut(line: str) -> str:
    return line if len(line) <= MOST_LINE_CHARS else line[:MOST_LINE_CHARS] + " [the line goes on]"


_USES: Mapping[str, tuple[type[msgspec.Struct], Callable[[Shelf, Any], Answer]]] = {
    "glob": (GlobArguments, _glob),
    "grep": (GrepArguments, _grep),
    "read": (ReadArguments, _read),
}


def _tool(name: str, description: str, required: list[str], **properties: tuple[str, str]) -> Tool:
    return Tool(
        name=name,
        description=description,
        parameters={
            "type": "object",
            "properties": {
                key: {"type": kind, "description": said} for key, (kind, said) in properties.items()
            },
            "required": required,
        },
    )


TOOLS = (
    _tool(
        "glob",
        f"List the documents whose name matches a shell pattern, {MOST_NAMES} at most.",
        ["pattern"],
        pattern=("string", "Such as *1931* or harbour/*.txt; * for all."),
    ),
    _tool(
        "grep",
        f"Find lines that hold a text, case ignored, {MOST_HITS} at most. The text is literal, no pattern.",
        ["pattern"],
        pattern=("string", "The text to look for."),
        path=("string", "The document to search; leave it out to search all of them."),
    ),
    _tool(
        "read",
        f"Read lines of a document, {MOST_CHARS} characters at most.",
        ["path"],
        path=("string", "The name of the document."),
        start=("integer", "First line, counted from 1 (default 1)."),
        limit=("integer", "How many lines (default 80)."),
    ),
)
