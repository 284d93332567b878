"""Short reminders in the appendix region (arXiv 2605.23904, skill-aware reflection)."""

import re
from collections.abc import Iterable, Sequence

from skillopt.skill.document import SkillDocument, with_region
from skillopt.skill.markers import lines_of, without_markers
from skillopt.texts import single_line

_BULLET = re.compile(r"^(?:[-*+](?:\s+|$))+")


def with_appendix(text: str, notes: Sequence[str]) -> str:
    """Write the appendix region as one list entry per note; no notes make no region.

    Notes become one line each; markers and leading list marks in them are removed, empty ones dropped.
    """
    lines = [f"- {note}" for note in map(_clean, notes) if note]
    if not lines and SkillDocument.parse(text).appendix is None:
        return text
    return with_region(text, "appendix", lines)


def appendix_notes(text: str) -> tuple[str, ...]:
    """Read the notes of the appendix region, in order; an indented line continues a note."""
    notes: list[str] = []
    for line in lines_of(SkillDocument.parse(text).appendix or ""):
        if notes and line[0] in " \t" and not _BULLET.match(line.strip()):
            notes[-1] += f" {line}"
        else:
            notes.append(line)
    return tuple(note for note in map(_clean, notes) if note)


def merge_notes(old: Iterable[str], new: Iterable[str]) -> tuple[str, ...]:
    """Add new notes after the old ones, order kept, near-duplicates of an earlier note dropped.

    Notes are near-duplicates when they differ only in case, white space and closing punctuation.
    The old notes all stay, so that the result is never shorter than `old`.
    """
    merged = list(old)
    seen = {_key(note) for note in merged}
    for note in map(_clean, new):
        key = _key(note)
        if key and key not in seen:
            seen.add(key)
            merged.append(note)
    return tuple(merged)


def _key(note: str) -> str:
    return single_line(note.casefold()).rstrip(" .,;:!?…")


def _clean(note: str) -> str:
    """Make a note one line without markers and leading list marks."""
    before = None
    while note != before:
        before = note
        note = _BULLET.sub("", without_markers(single_line(note)))
    return note
