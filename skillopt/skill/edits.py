"""Bounded edits of a skill's body. Lines that no edit touches stay as they are, byte for byte.

An edit never raises: what cannot be done is reported. Decisions beyond the obvious:

* A target of nothing but white space counts as empty. Line ends in a target match both forms.
* `append` goes after the last line of the body that is not blank.
* Blank lines at both ends of a content are dropped; its line ends become those of the document.
* `replace` with an empty content, and a `replace` that would change nothing, are `skipped_empty`.
* `delete` takes a line out whole when nothing else is left on it, and never joins two lines that
  the target only touches with its outer line ends.
* An edit that would put a region marker together out of pieces is `skipped_protected`.
"""

import re
from collections.abc import Sequence

from skillopt.records import Edit, EditReport, EditStatus
from skillopt.skill.document import SkillDocument
from skillopt.skill.markers import clean_lines, has_marker, line_end

Outcome = tuple[str, EditStatus]
Span = tuple[int, int]

_LONE_RETURN = re.compile(r"\r(?=\r?\n|\Z)(?!\n)")


def apply_edits(text: str, edits: Sequence[Edit]) -> tuple[str, tuple[EditReport, ...]]:
    """Apply edits in order, each to the document as the earlier ones left it.

    Raises ConfigError only when `text` itself is no valid document.
    """
    body = SkillDocument.parse(text).body
    regions = text[len(body) :]
    reports = []
    for edit in edits:
        body, status = _apply(body, regions, edit)
        reports.append(EditReport(edit=edit, status=status))
    return body + regions, tuple(reports)


def _apply(body: str, regions: str, edit: Edit) -> Outcome:
    lines = clean_lines(edit.content)
    if edit.op != "delete" and not lines:
        return body, "skipped_empty"
    if edit.op == "append":
        return _append(body, lines, regions), "applied"
    if not edit.target.strip():
        return _without_target(body, regions, edit, lines, "skipped_no_target")
    span = _find(body + regions, edit.target)
    if span is None:
        return _without_target(body, regions, edit, lines, "skipped_target_missing")
    if span[1] > len(body):
        return body, "skipped_protected"
    return _at(body, span, edit, lines)


def _without_target(body: str, regions: str, edit: Edit, lines: list[str], status: EditStatus) -> Outcome:
    if edit.op == "insert_after":
        return _append(body, lines, regions), "applied_at_end"
    return body, status


def _at(body: str, span: Span, edit: Edit, lines: list[str]) -> Outcome:
    core = _core(body, span)
    if edit.op == "insert_after":
        return _insert(body, _line_stop(body, core[1]), lines, line_end(body)), "applied"
    if edit.op == "replace":
        changed = body[: core[0]] + line_end(body).join(lines) + body[core[1] :]
        if changed == body:
            return body, "skipped_empty"
    else:
        changed = _delete(body, span, core)
    return (body, "skipped_protected") if has_marker(changed) else (changed, "applied")


def _append(body: str, lines: list[str], regions: str) -> str:
    used = len(body.rstrip())
    end = line_end(body + regions)
    if not used:
        return "".join(line + end for line in lines) + body
    return _insert(body, _line_stop(body, used), lines, end)


def _insert(body: str, at: int, lines: list[str], end: str) -> str:
    """Insert whole lines at `at`, the start of a line or the end of the body."""
    if at and body[at - 1] != "\n":  # the last line has no line end, and the new last one gets none
        return body[:at] + end + end.join(lines) + body[at:]
    return body[:at] + "".join(line + end for line in lines) + body[at:]


def _delete(body: str, span: Span, core: Span) -> str:
    start = body.rfind("\n", 0, core[0]) + 1
    stop = _line_stop(body, core[1])
    if body[start : core[0]].strip() or body[core[1] : stop].strip():
        return body[: core[0]] + body[core[1] :]
    return body[:start] + body[max(stop, span[1]) :]


def _find(text: str, target: str) -> Span | None:
    """Return where a target stands first; each of its line ends matches both forms."""
    if _LONE_RETURN.search(target):  # its carriage return may belong to a line end of the text
        pattern = r"\r?\n".join(re.escape(part) for part in re.split(r"\r?\n", target))
        found = re.search(pattern, text)
        return found.span() if found else None
    pieces = text.split("\r\n")
    wanted = target.replace("\r\n", "\n")
    start = "\n".join(pieces).find(wanted)
    return None if start < 0 else (_place(pieces, start), _place(pieces, start + len(wanted)))


def _place(pieces: list[str], at: int) -> int:
    """Return the place in the text that `at` is in its pieces when one character stands between them."""
    end, place = -1, at
    for piece in pieces[:-1]:
        end += len(piece) + 1
        if end >= at:
            break
        place += 1
    return place


def _core(body: str, span: Span) -> Span:
    """Leave out the line ends at both ends of a found target."""
    found = body[span[0] : span[1]]
    start = span[0] + len(found) - len(found.lstrip("\r\n"))
    return start, span[0] + len(found.rstrip("\r\n"))


def _line_stop(body: str, at: int) -> int:
    """Return where the line that holds position `at` stops, its line end included."""
    stop = body.find("\n", at)
    return len(body) if stop < 0 else stop + 1
