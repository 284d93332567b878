"""The program in a reply."""

import re
from typing import Literal

import msgspec

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[ \t]*([\w+-]*)[^\n]*$", re.MULTILINE)
_PYTHON = frozenset({"python", "py", "python3"})

Where = Literal["fence", "unclosed", "plain", "nowhere"]


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """A program and where it was: in a closed block of code, in one that ends nowhere, or bare."""

    code: str
    where: Where


def find_program(reply: str) -> Program:
    """Return the first block marked as Python, else the first block; else the reply, if it is a program."""
    blocks = _blocks(reply)
    if blocks:
        return next((block for language, block in blocks if language in _PYTHON), blocks[0][1])
    if _is_program(reply):
        return Program(code=reply.strip() + "\n", where="plain")
    return Program(code="", where="nowhere")


def _blocks(reply: str) -> list[tuple[str, Program]]:
    found: list[tuple[str, Program]] = []
    place = 0
    while start := _FENCE.search(reply, place):
        end = re.compile(rf"^ {{0,3}}{re.escape(start.group(1))}+[ \t]*$", re.MULTILINE).search(
            reply, start.end()
        )
        code = reply[start.end() : end.start() if end else None].strip("\n")
        where: Where = "fence" if end else "unclosed"
        found.append((start.group(2).lower(), Program(code=f"{code}\n" if code.strip() else "", where=where)))
        if not end:
            break
        place = end.end()
    return found


def _is_program(text: str) -> bool:
    """Whether bare text is Python of more than a word: prose is not."""
    if not re.search(r"[=(\n]", text.strip()):
        return False
    try:
        compile(text, "reply", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
