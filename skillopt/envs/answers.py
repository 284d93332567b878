"""Finding the answer in a reply: one rule for every benchmark that asks for answer tags."""

import re
from typing import Literal

import msgspec

Where = Literal["tag", "unclosed", "line", "nowhere"]

_PAIR = re.compile(r"<answer\s*>((?:(?!</?answer\s*>).)*)</answer\s*>", re.IGNORECASE | re.DOTALL)
_OPENING = re.compile(r"<answer\s*>", re.IGNORECASE)


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """The answer, trimmed, and where it was: a benchmark decides which places it accepts."""

    text: str
    where: Where


def find_answer(reply: str) -> Found:
    """Return the last complete `<answer>` pair, else what follows the last opening tag, else the last line.

    Tags may be in any case. A complete pair may be empty; a blank reply has its answer nowhere.
    """
    pairs = _PAIR.findall(reply)
    if pairs:
        return Found(text=pairs[-1].strip(), where="tag")
    openings = list(_OPENING.finditer(reply))
    if openings:
        return Found(text=reply[openings[-1].end() :].strip(), where="unclosed")
    lines = reply.strip().splitlines()
    if lines:
        return Found(text=lines[-1].strip(), where="line")
    return Found(text="", where="nowhere")
