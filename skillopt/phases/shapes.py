"""The JSON that optimizer models are asked for. Models add keys and leave some out: both are fine.

Only what is asked for decides whether an answer is usable. What is said beside it (`Any`: reasons, titles,
counts, lists of other modes) is taken as far as it can be, and never costs an answer that is paid for.
"""

import json
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from skillopt.models.incoming import MOST_TOKENS, member
from skillopt.records import Candidate, Edit, Patch, Pattern, Side, Suggestion, UpdateMode

MAX_ANSWER_TOKENS = 16384
"""Output limit of every optimizer call but a rewrite (arXiv 2605.23904, protocol)."""


def told(value: Any) -> str:
    """Return what is said beside an answer as text; "" for nothing."""
    if not value or isinstance(value, str):
        return value or ""
    if isinstance(value, list):
        return "; ".join(filter(None, map(told, value)))
    return json.dumps(value, ensure_ascii=False)


def _count(value: Any, default: int) -> int:
    """Return a number that is said beside an answer, perhaps as text; `default` when it is none above 0."""
    try:
        found = msgspec.convert(value, int, strict=False)
    except msgspec.ValidationError:
        return default
    return found if 0 < found <= MOST_TOKENS else default


def _side(value: Any, default: Side) -> Side:
    return value if value in ("failure", "success") else default


_Op = Literal["append", "insert_after", "replace", "delete"]
_NEEDED: Mapping[_Op, tuple[str, ...]] = {
    "append": ("content",),
    "insert_after": ("target", "content"),
    "replace": ("target", "content"),
    "delete": ("target",),
}


class EditAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One proposed edit. Target and content are texts where the operation needs them."""

    op: _Op
    target: Any = None
    content: Any = None
    support_count: Any = None
    source_type: Any = None

    def __post_init__(self) -> None:
        for name in _NEEDED[self.op]:
            found = getattr(self, name)
            if not isinstance(found, str | None):
                raise ValueError(f"{name}: expected text, found {type(found).__name__}")

    def edit(self, side: Side, support: int, level: int) -> Edit:
        """Return it as a record."""
        return Edit(
            op=self.op,
            target=self.target if isinstance(self.target, str) else "",
            content=self.content if isinstance(self.content, str) else "",
            support_count=_count(self.support_count, support),
            source_type=_side(self.source_type, side),
            merge_level=level,
        )


class SuggestionAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One proposed suggestion."""

    instruction: str
    type: Any = None
    title: Any = None
    priority_hint: Any = None
    support_count: Any = None
    source_type: Any = None

    def suggestion(self, side: Side, support: int, level: int) -> Suggestion:
        """Return it as a record."""
        return Suggestion(
            type=told(self.type),
            title=told(self.title),
            instruction=self.instruction,
            priority_hint=told(self.priority_hint),
            support_count=_count(self.support_count, support),
            source_type=_side(self.source_type, side),
            merge_level=level,
        )


class CandidateAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One proposed whole skill."""

    new_skill: str
    title: Any = None
    change_summary: Any = None
    support_count: Any = None
    source_type: Any = None

    def candidate(self, side: Side, support: int, level: int) -> Candidate:
        """Return it as a record."""
        return Candidate(
            title=told(self.title),
            new_skill=self.new_skill,
            change_summary=told(self.change_summary),
            support_count=_count(self.support_count, support),
            source_type=_side(self.source_type, side),
            merge_level=level,
        )


class _Changes(msgspec.Struct, frozen=True, kw_only=True):
    """The list of an update mode."""

    edits: tuple[EditAnswer, ...] = ()
    revise_suggestions: tuple[SuggestionAnswer, ...] = ()
    skill_candidates: tuple[CandidateAnswer, ...] = ()


LISTS: Mapping[UpdateMode, str] = {
    "patch": "edits",
    "rewrite_from_suggestions": "revise_suggestions",
    "full_rewrite_minibatch": "skill_candidates",
}
"""Update mode -> the list that an answer must have. Lists of the other modes are not heeded."""


class ChangesAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Proposed changes; also what a merge answers. An empty list proposes nothing, None is no list."""

    reasoning: Any = None
    edits: Any = None
    revise_suggestions: Any = None
    skill_candidates: Any = None

    def lacks(self, mode: UpdateMode) -> str:
        """Say to the model that is asked again what is wrong with the list of the mode; "" for nothing."""
        name = LISTS[mode]
        if getattr(self, name) is None:
            return f'the JSON object has no list "{name}"'
        try:
            self._listed(mode)
        except msgspec.ValidationError as error:
            return f"the JSON object has the wrong shape: {error}"
        return ""

    def as_patch(self, mode: UpdateMode, side: Side, support: int, level: int) -> Patch:
        """Return the list of the update mode as a patch, and nothing of the other lists.

        `side` and `support` are given to what names none of its own.
        """
        found = self._listed(mode)
        return Patch(
            reasoning=told(self.reasoning),
            edits=tuple(each.edit(side, support, level) for each in found.edits),
            suggestions=tuple(each.suggestion(side, support, level) for each in found.revise_suggestions),
            candidates=tuple(each.candidate(side, support, level) for each in found.skill_candidates),
        )

    def _listed(self, mode: UpdateMode) -> _Changes:
        name = LISTS[mode]
        return msgspec.convert({name: getattr(self, name)}, _Changes, strict=False)


class PatternAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One pattern; models name its kind and number in several ways or not at all."""

    failure_type: Any = None
    pattern_type: Any = None
    type: Any = None
    count: Any = None
    description: Any = None

    def pattern(self) -> Pattern:
        """Return it as a record."""
        name = self.failure_type or self.pattern_type or self.type
        return Pattern(
            failure_type=told(name), count=_count(self.count, 0), description=told(self.description)
        )


class AnalystAnswer(ChangesAnswer, frozen=True, kw_only=True):
    """What an analyst answers: `patch` holds the changes in mode patch; the rewrite modes have no `patch`."""

    patch: Any = None
    failure_summary: Any = None
    success_patterns: Any = None
    appendix_notes: Any = None

    def changes(self, mode: UpdateMode) -> ChangesAnswer:
        """Return the changes proposed in the update mode, inside `patch` or beside it."""
        inside = member(self.patch, LISTS[mode]) is not None
        return msgspec.convert(self.patch, ChangesAnswer) if inside else self

    def lacks(self, mode: UpdateMode) -> str:
        """Say what is wrong with the list of the update mode, which is inside `patch` or beside it."""
        changes = self.changes(mode)
        where = ' inside "patch"' if mode == "patch" or changes is not self else ""
        problem = super().lacks(mode) if changes is self else changes.lacks(mode)
        return problem and problem + where

    def patterns(self) -> tuple[Pattern, ...]:
        """Return failure or success patterns as records."""
        found = (*_entries(self.failure_summary), *_entries(self.success_patterns))
        return tuple(
            msgspec.convert(entry, PatternAnswer).pattern()
            if isinstance(entry, dict)
            else Pattern(failure_type="", count=0, description=told(entry))
            for entry in found
        )

    def notes(self) -> tuple[str, ...]:
        """Return the notes for the appendix: those that are texts."""
        return tuple(note for note in _entries(self.appendix_notes) if isinstance(note, str))

    def strays(self) -> str:
        """Say that there were notes that are no texts, "" for none."""
        others = len(_entries(self.appendix_notes)) - len(self.notes())
        return f"appendix_notes: expected texts, found {others} that are none: left out" if others else ""


def _entries(value: Any) -> list[Any]:
    """Return the entries of a list, or what stands in place of one."""
    listed = value if isinstance(value, list) else [value]
    return [entry for entry in listed if entry]


class RankAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The order in which changes matter."""

    selected_indices: tuple[int, ...]
    reasoning: Any = None


class LearningRateAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """How many edits the optimizer wants this step to apply."""

    learning_rate: int
    reasoning: Any = None
    confidence: Any = None
    risk_notes: Any = None

    def risks(self) -> tuple[str, ...]:
        """Return the risk notes as texts; models give a list, one text, or nothing."""
        found = self.risk_notes if isinstance(self.risk_notes, list) else [self.risk_notes or ""]
        return tuple(str(note) for note in found if note)


class RewriteAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A rewritten document."""

    new_skill: str
    change_summary: Any = None


class SlowUpdateAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """New guidance for the target."""

    slow_update_content: str
    reasoning: Any = None


class MetaSkillAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """New memory for the optimizer."""

    meta_skill_content: str
    reasoning: Any = None


class NotesAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A shorter list of appendix notes."""

    notes: tuple[str, ...]
