"""The lines in which two texts differ."""

from difflib import SequenceMatcher
from typing import Literal

import msgspec

CONTEXT = 2
"""Unchanged lines shown around a change."""
Sign = Literal["same", "added", "removed", "skipped"]


class DiffLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a diff; of a `skipped` one the text says how many lines are left out."""

    sign: Sign
    text: str


def diff(old: str, new: str, context: int = CONTEXT) -> tuple[DiffLine, ...]:
    """Return the lines that differ with some around them, nothing for equal texts."""
    left, right = old.splitlines(), new.splitlines()
    found: list[DiffLine] = []
    end = 0
    for group in SequenceMatcher(None, left, right, autojunk=False).get_grouped_opcodes(context):
        found += _left_out(group[0][1] - end)
        end = group[-1][2]
        for op, i1, i2, j1, j2 in group:
            if op == "equal":
                found += [DiffLine(sign="same", text=line) for line in left[i1:i2]]
                continue
            found += [DiffLine(sign="removed", text=line) for line in left[i1:i2]]
            found += [DiffLine(sign="added", text=line) for line in right[j1:j2]]
    return tuple([*found, *_left_out(len(left) - end)] if found else [])


def _left_out(lines: int) -> list[DiffLine]:
    return (
        [DiffLine(sign="skipped", text=f"{lines} unchanged line{'s' if lines > 1 else ''}")] if lines else []
    )
