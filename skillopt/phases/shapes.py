"""The JSON that optimizer models are asked for. Models add keys and leave some out: both are fine."""

from typing import Literal

import msgspec

from skillopt.records import Candidate, Edit, Patch, Pattern, Side, Suggestion

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


class ChangesAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Changes in whichever update mode; also what a merge answers."""

    reasoning: str | None = None
    edits: tuple[EditAnswer, ...] = ()
    revise_suggestions: tuple[SuggestionAnswer, ...] = ()
    skill_candidates: tuple[CandidateAnswer, ...] = ()

    def patch(self, side: Side, support: int, level: int) -> Patch:
        """Return it as a patch; `side` and `support` are given to what names none of its own."""
        return Patch(
            reasoning=self.reasoning or "",
            edits=tuple(
                Edit(
                    op=edit.op,
                    target=edit.target or "",
                    content=edit.content or "",
                    support_count=edit.support_count or support,
                    source_type=edit.source_type or side,
                    merge_level=level,
                )
                for edit in self.edits
            ),
            suggestions=tuple(
                Suggestion(
                    type=item.type,
                    title=item.title,
                    instruction=item.instruction,
                    priority_hint=str(item.priority_hint or ""),
                    support_count=item.support_count or support,
                    source_type=item.source_type or side,
                    merge_level=level,
                )
                for item in self.revise_suggestions
            ),
            candidates=tuple(
                Candidate(
                    title=item.title,
                    new_skill=item.new_skill,
                    change_summary=item.change_summary or "",
                    support_count=item.support_count or support,
                    source_type=item.source_type or side,
                    merge_level=level,
                )
                for item in self.skill_candidates
            ),
        )


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


class AnalystAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What an analyst answers: `patch` in mode patch, the lists beside it in the rewrite modes."""

    patch: ChangesAnswer | None = None
    revise_suggestions: tuple[SuggestionAnswer, ...] = ()
    skill_candidates: tuple[CandidateAnswer, ...] = ()
    failure_summary: tuple[PatternAnswer, ...] = ()
    success_patterns: tuple[PatternAnswer | str, ...] = ()
    appendix_notes: tuple[str, ...] = ()

    def changes(self) -> ChangesAnswer:
        """Return the proposed changes, wherever the model put them."""
        inner = self.patch or ChangesAnswer()
        return msgspec.structs.replace(
            inner,
            revise_suggestions=inner.revise_suggestions or self.revise_suggestions,
            skill_candidates=inner.skill_candidates or self.skill_candidates,
        )

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
