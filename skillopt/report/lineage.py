"""Which step and edit brought each line of a skill, from which failures, and what it did to the score.

The texts after every decision are compared one after the other. A line that stays, or only moves,
keeps its origin; one that takes the place of a similar line remembers it.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal

import msgspec

from skillopt.errors import ConfigError
from skillopt.records import Edit, Reflection, Reflections, SlowUpdate, Update
from skillopt.report.record import Decision, RunRecord
from skillopt.skill import SkillDocument, sha256
from skillopt.skill.markers import MARKERS, lines_of
from skillopt.texts import single_line

Kind = Literal["initial", "edit", "rewrite", "guidance", "note", "region", "unknown"]
SIMILAR = 0.6
"""From this likeness on, a new line counts as the changed form of a line that it replaced."""


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """The analysts' groups behind a change: the train items in them and the patterns they saw.

    `exact` tells that these groups proposed this very text; otherwise merging has reworded it, and
    all groups of that side count.
    """

    exact: bool
    ids: tuple[str, ...]
    patterns: tuple[str, ...]


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """Where a line comes from. `edit` counts from 1 in update.json, 0 where no edit is known.

    `before` and `after` are the selection scores that its decision compared; None without any.
    """

    decision: str
    name: str
    kind: Kind
    edit: int = 0
    op: str = ""
    support: int = 0
    side: str = ""
    action: str = ""
    before: float | None = None
    after: float | None = None
    cause: Cause | None = None

    @property
    def what(self) -> str:
        """Say it in a few words."""
        if self.kind == "initial":
            return "initial skill"
        if self.kind == "unknown":
            return "origin unknown"
        return f"{self.name}, {f'edit {self.edit}' if self.edit else self.kind}"


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One line without its line end; `earlier` is the line that it changed."""

    text: str
    origin: Origin
    earlier: "Line | None" = None


class Lineage(msgspec.Struct, frozen=True, kw_only=True):
    """The lines of a skill; `skill` is its path below the run's folder."""

    run: str
    skill: str
    metric: str
    score: float | None
    n: int
    lines: tuple[Line, ...]


def lineage_of(record: RunRecord) -> Lineage:
    """Follow the lines of the best skill so far; raises ConfigError when there is no skill yet."""
    path = record.best_skill()
    text = record.files.text(path) if path else None
    if text is None:
        raise ConfigError(f"{record.folder}: expected a skill, found none yet; the first comes with step 0")
    score = record.best.score if record.best else None
    return Lineage(
        run=record.name,
        skill=path,
        metric=record.metric,
        score=score.value if score else None,
        n=score.n if score else 0,
        lines=_lines(record, text),
    )


def _lines(record: RunRecord, text: str) -> tuple[Line, ...]:
    """Go through the versions until one is `text`; what no version explains gets no decision."""
    start = record.files.text("skills/skill_v0000.md") or ""
    lines = tuple(Line(text=line, origin=_INITIAL) for line in _cut(start))
    wanted = sha256(text)
    if sha256(start) == wanted:
        return lines
    for decision in record.done[1:]:
        candidate = record.files.text(f"{decision.folder}/candidate.md")
        if candidate is not None and sha256(candidate) == wanted:
            return follow(lines, candidate, _Origins(record, decision, candidate))
        after = record.files.text(decision.after)
        if after is not None:
            lines = follow(lines, after, _Origins(record, decision, after))
    if _cut(text) == [line.text for line in lines]:
        return lines
    return tuple(Line(text=line, origin=_UNKNOWN) for line in _cut(text))


_INITIAL = Origin(decision="start", name="start", kind="initial")
_UNKNOWN = Origin(decision="", name="", kind="unknown")


def _cut(text: str) -> list[str]:
    return [line.rstrip("\r\n") for line in lines_of(text)]


def follow(lines: Sequence[Line], text: str, origins: "_Origins") -> tuple[Line, ...]:
    """Return the lines of `text`, each with the origin it had in `lines` or a new one."""
    new = _cut(text)
    old = [line.text for line in lines]
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    gone: dict[str, list[Line]] = {}
    for op, i1, i2, _, _ in blocks:
        if op in ("replace", "delete"):
            for line in lines[i1:i2]:
                gone.setdefault(line.text, []).append(line)
    found: list[Line] = []
    for op, i1, i2, j1, j2 in blocks:
        if op == "equal":
            found += lines[i1:i2]
            continue
        replaced = [_Replaced(line) for line in lines[i1:i2] if line.text.strip()]
        for number in range(j1, j2):
            moved = gone.get(new[number]) if new[number].strip() else None
            if moved:
                found.append(moved.pop(0))
                continue
            earlier = _changed(new[number], replaced) if new[number].strip() else None
            found.append(Line(text=new[number], origin=origins.of(number, new[number]), earlier=earlier))
    return tuple(found)


def _changed(text: str, replaced: list["_Replaced"]) -> Line | None:
    """Take the replaced line that is most like `text` out of the list, if one is like it at all."""
    words = words_of(text)
    found = max(replaced, key=lambda old: likeness(old.words, words), default=None)
    if found is None or likeness(found.words, words) < SIMILAR:
        return None
    replaced.remove(found)
    return found.line


class _Replaced:
    """A line that a decision replaced, with its words counted once."""

    def __init__(self, line: Line) -> None:
        self.line = line
        self.words = words_of(line.text)


def words_of(text: str) -> Counter[str]:
    """Count the words of a line; in scripts without spaces each character is one."""
    return Counter(re.findall(r"[^\W\u3040-\u9fff]+|[\u3040-\u9fff]", text.lower()))


def likeness(old: Counter[str], new: Counter[str]) -> float:
    """Return how much of a line remains in another, from 0 to 1.

    The shorter line counts, so that one that was only extended is like what it was; a single
    common word is no likeness, unless it is all there is on both sides.
    """
    kept = (old & new).total()
    if kept < 2 and old != new:
        return 0.0
    return kept / max(min(old.total(), new.total()), 1)


class _Origins:
    """Tells the origin of a line that one decision brought."""

    def __init__(self, record: RunRecord, decision: Decision, text: str) -> None:
        self._decision = decision
        self._update = record.files.json(f"{decision.folder}/update.json", Update)
        self._slow = record.files.json(f"{decision.folder}/slow_update.json", SlowUpdate)
        reflections = record.files.json(f"{decision.folder}/reflections.json", Reflections)
        self._groups = reflections.groups if reflections else ()
        self._proposed = _proposals(self._groups)
        self._applied = tuple(_applied(self._update))
        self._places = tuple(_places(text))

    def of(self, number: int, text: str) -> Origin:
        place = self._places[number]
        if place == "region":
            return self._origin("region")
        if place == "appendix":
            return self._origin("note", cause=self._noted(text))
        if place == "slow_update":
            return self._origin("guidance")
        if self._update and self._update.mode != "patch":
            return self._origin("rewrite", cause=_cause(self._groups, exact=False))
        return self._edited(text)

    def _edited(self, text: str) -> Origin:
        """Find the applied edit whose content the line shows, whole or in part; the last one wins."""
        if not text.strip():
            return self._origin("edit")
        wanted = single_line(text)
        for words, number, edit in self._applied:  # a flat list: there may be thousands of each
            if words in wanted:
                return self._origin("edit", number, edit, self._proposers(edit))
        return self._origin("edit", cause=_cause(self._groups, exact=False))

    def _proposers(self, edit: Edit) -> Cause | None:
        """Return the groups that proposed this content; else all of its side, for merging reworded it."""
        exact = self._proposed.get(single_line(edit.content))
        if exact:
            return _cause(exact, exact=True)
        return _cause([group for group in self._groups if group.kind == edit.source_type], exact=False)

    def _noted(self, text: str) -> Cause | None:
        note = text.strip().removeprefix("- ")
        return _cause([group for group in self._groups if note in map(single_line, group.notes)], exact=True)

    def _origin(
        self, kind: Kind, number: int = 0, edit: Edit | None = None, cause: Cause | None = None
    ) -> Origin:
        gate = self._decision.gate
        judged = gate if gate and self._decision.taken else None
        return Origin(
            decision=self._decision.key,
            name=self._decision.name,
            kind=kind,
            edit=number,
            op=edit.op if edit else "",
            support=edit.support_count if edit else 0,
            side=edit.source_type if edit else "",
            action=gate.action if gate else "",
            before=judged.compared.value if judged and judged.compared else None,
            after=judged.candidate.value if judged and judged.candidate else None,
            cause=cause,
        )


def _places(text: str) -> Iterator[str]:
    """Tell for each line where it stands: body, region (markers and what parts them off), or inside one."""
    document = SkillDocument.parse(text)
    body = len(document.body.rstrip()) if document.regions else len(text)
    position = 0
    for line in lines_of(text):
        inside = [region.kind for region in document.regions if region.start <= position < region.end]
        around = line.strip() in MARKERS or (position > body and not inside)
        yield "region" if around else inside[0] if inside else "body"
        position += len(line)


def _applied(update: Update | None) -> Iterator[tuple[str, int, Edit]]:
    """Yield the words of each line that an applied edit has, with its number, the last edit first."""
    for number, report in reversed(list(enumerate(update.edits if update else (), 1))):
        if report.status.startswith("applied"):
            yield from (
                (single_line(line), number, report.edit)
                for line in report.edit.content.splitlines()
                if line.strip()
            )


def _proposals(groups: Sequence[Reflection]) -> dict[str, list[Reflection]]:
    """Return the groups that proposed a content, by its words."""
    found: dict[str, list[Reflection]] = {}
    for group in groups:
        for content in {single_line(edit.content) for edit in group.patch.edits} if group.patch else ():
            found.setdefault(content, []).append(group)
    return found


def _cause(groups: Sequence[Reflection], *, exact: bool) -> Cause | None:
    if not groups:
        return None
    patterns: Counter[str] = Counter()
    for group in groups:
        for pattern in group.patterns:
            patterns[pattern.description] += pattern.count
    return Cause(
        exact=exact,
        ids=tuple(dict.fromkeys(id_ for group in groups for id_ in group.ids)),
        patterns=tuple(f"{text} ({count})" for text, count in patterns.most_common()),
    )
