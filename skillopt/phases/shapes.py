"""The JSON that optimizer models are asked for. Models add keys and leave some out: both are fine."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from skillopt.records import Candidate, Edit, Patch, Pattern, Side, Suggestion, UpdateMode

MAX_ANSWER_TOKENS = 16384
"""Output limit of every optimizer call but a rewrite (arXiv 2605.23904, protocol)."""


class EditAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One proposed edit."""

    op: Literal["append", "insert_after", "replace", "delete"]
    target: str | None = None
    content: str | None = None
    support_count: int | None = None
    source_type: Side | None = None


class SuggestionAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One proposed suggestion."""

    instruction: str
    type: str = ""
    title: str = ""
    priority_hint: str | int | float | None = None
    support_count: int | None = None
    source_type: Side | None = None


class CandidateAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One proposed whole skill."""

    new_skill: str
    title: str = ""
    change_summary: str | None = None
    support_count: int | None = None
    source_type: Side | None = None


LISTS: Mapping[UpdateMode, str] = {
    "patch": "edits",
    "rewrite_from_suggestions": "revise_suggestions",
    "full_rewrite_minibatch": "skill_candidates",
}
"""Update mode -> the list that an answer must have. Lists of the other modes are not heeded."""


class ChangesAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Proposed changes; also what a merge answers. An empty list proposes nothing, None is no list."""

    reasoning: str | None = None
    edits: tuple[EditAnswer, ...] | None = None
    revise_suggestions: tuple[SuggestionAnswer, ...] | None = None
    skill_candidates: tuple[CandidateAnswer, ...] | None = None

    def lacks(self, mode: UpdateMode) -> str:
        """Say that the list of the update mode is missing, to the model that is asked again; "" if not."""
        name = LISTS[mode]
        return "" if getattr(self, name) is not None else f'the JSON object has no list "{name}"'

    def as_patch(self, mode: UpdateMode, side: Side, support: int, level: int) -> Patch:
        """Return the list of the update mode as a patch, and nothing of the other lists.

        `side` and `support` are given to what names none of its own.
        """
        edits = self.edits if mode == "patch" else None
        suggestions = self.revise_suggestions if mode == "rewrite_from_suggestions" else None
        candidates = self.skill_candidates if mode == "full_rewrite_minibatch" else None
        return Patch(
            reasoning=self.reasoning or "",
            edits=tuple(
                Edit(
                    op=edit.op,
                    target=edit.target or "",
                    content=edit.content or "",
                    support_count=_positive(edit.support_count, support),
                    source_type=edit.source_type or side,
                    merge_level=level,
                )
                for edit in edits or ()
            ),
            suggestions=tuple(
                Suggestion(
                    type=item.type,
                    title=item.title,
                    instruction=item.instruction,
                    priority_hint=str(item.priority_hint or ""),
                    support_count=_positive(item.support_count, support),
                    source_type=item.source_type or side,
                    merge_level=level,
                )
                for item in suggestions or ()
            ),
            candidates=tuple(
                Candidate(
                    title=item.title,
                    new_skill=item.new_skill,
                    change_summary=item.change_summary or "",
                    support_count=_positive(item.support_count, support),
                    source_type=item.source_type or side,
                    merge_level=level,
                )
                for item in candidates or ()
            ),
        )


def _positive(count: int | None, default: int) -> int:
    return count if count and count > 0 else default


class PatternAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One pattern; models name its kind and number in several ways or not at all."""

    failure_type: str = ""
    pattern_type: str = ""
    type: str = ""
    count: int = 0
    description: str = ""

    def pattern(self) -> Pattern:
        """Return it as a record."""
        name = self.failure_type or self.pattern_type or self.type
        return Pattern(failure_type=name, count=self.count, description=self.description)


class AnalystAnswer(ChangesAnswer, frozen=True, kw_only=True):
    """What an analyst answers: `patch` holds the changes in mode patch; the rewrite modes have no `patch`."""

    patch: ChangesAnswer | None = None
    failure_summary: tuple[PatternAnswer, ...] = ()
    success_patterns: tuple[PatternAnswer | str, ...] = ()
    appendix_notes: tuple[str, ...] = ()

    def changes(self, mode: UpdateMode) -> ChangesAnswer:
        """Return the changes proposed in the update mode, inside `patch` or beside it."""
        return self if self.patch is None or self.patch.lacks(mode) else self.patch

    def lacks(self, mode: UpdateMode) -> str:
        """Say that the list of the update mode is missing, both inside `patch` and beside it."""
        where = ' inside "patch"' if mode == "patch" else ""
        problem = super().lacks(mode)
        return problem + where if problem and self.changes(mode) is self else ""

    def patterns(self) -> tuple[Pattern, ...]:
        """Return failure or success patterns as records."""
        listed = (
            PatternAnswer(description=entry) if isinstance(entry, str) else entry
            for entry in (*self.failure_summary, *self.success_patterns)
        )
        return tuple(entry.pattern() for entry in listed)


class RankAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The order in which changes matter."""

    selected_indices: tuple[int, ...]
    reasoning: str | None = None


class LearningRateAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """How many edits the optimizer wants this step to apply."""

    learning_rate: int
    reasoning: str | None = None
    confidence: Any = None
    risk_notes: Any = None

    def risks(self) -> tuple[str, ...]:
        """Return the risk notes as texts; models give a list, one text, or nothing."""
        found = self.risk_notes if isinstance(self.risk_notes, list) else [self.risk_notes or ""]
        return tuple(str(note) for note in found if note)


class RewriteAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A rewritten document."""

    new_skill: str
    change_summary: str | None = None


class SlowUpdateAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """New guidance for the target."""

    slow_update_content: str
    reasoning: str | None = None


class MetaSkillAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """New memory for the optimizer."""

    meta_skill_content: str
    reasoning: str | None = None


class NotesAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A shorter list of appendix notes."""

    notes: tuple[str, ...]
