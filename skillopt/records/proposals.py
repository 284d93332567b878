"""What the optimizer proposes: `reflections.json`, `merged.json`, `patch.json`."""

from typing import Literal

import msgspec

from skillopt.records.rollouts import Usage

Side = Literal["failure", "success"]
UpdateMode = Literal["patch", "rewrite_from_suggestions", "full_rewrite_minibatch"]


class Edit(msgspec.Struct, frozen=True, kw_only=True):
    """One bounded change of a skill document (loop.md sections 4 and 7)."""

    op: Literal["append", "insert_after", "replace", "delete"]
    target: str = ""
    content: str = ""
    support_count: int = 0
    source_type: Side = "failure"
    merge_level: int = 0


class Suggestion(msgspec.Struct, frozen=True, kw_only=True):
    """One suggestion for a rewrite of the document (mode `rewrite_from_suggestions`)."""

    type: str
    title: str
    instruction: str
    priority_hint: str = ""
    support_count: int = 0
    source_type: Side = "failure"
    merge_level: int = 0


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A whole skill proposed by one group (mode `full_rewrite_minibatch`)."""

    title: str
    new_skill: str
    change_summary: str = ""
    support_count: int = 0
    source_type: Side = "failure"
    merge_level: int = 0


class Patch(msgspec.Struct, frozen=True, kw_only=True):
    """What an analyst or a merge proposes; which list is filled depends on the update mode."""

    reasoning: str = ""
    edits: tuple[Edit, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()
    candidates: tuple[Candidate, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether it proposes nothing."""
        return not self.size

    @property
    def size(self) -> int:
        """How many changes it proposes."""
        return len(self.edits) + len(self.suggestions) + len(self.candidates)


class Pattern(msgspec.Struct, frozen=True, kw_only=True):
    """A failure (or success) pattern that an analyst saw.

    `ids` are, in a digest, the failed train items among which it was seen.
    """

    failure_type: str
    count: int
    description: str
    ids: tuple[str, ...] = ()


class Reflection(msgspec.Struct, frozen=True, kw_only=True):
    """One minibatch: who was in it and what the analyst answered.

    `patch` is None when no usable answer came; `problems` names each unusable answer.
    """

    kind: Side
    micro_batch: int
    ids: tuple[str, ...]
    patch: Patch | None
    patterns: tuple[Pattern, ...] = ()
    notes: tuple[str, ...] = ()
    clipped: int = 0
    provider_failed: bool = False
    problems: tuple[str, ...] = ()
    usage: Usage = Usage()


class Reflections(msgspec.Struct, frozen=True, kw_only=True):
    """`reflections.json`. `reasons` groups why rows failed, for when no analyst saw a pattern."""

    step: int
    groups: tuple[Reflection, ...]
    rows: int
    failed: int
    succeeded: int
    unscored: int
    reasons: tuple[Pattern, ...] = ()


class MergeNote(msgspec.Struct, frozen=True, kw_only=True):
    """One merge call: its side, level, how many patches went in, and how it went."""

    side: Literal["failure", "success", "both"]
    level: int
    patches: int
    outcome: Literal["merged", "concatenated"]
    problems: tuple[str, ...] = ()
    usage: Usage = Usage()


class Merged(msgspec.Struct, frozen=True, kw_only=True):
    """`merged.json`."""

    step: int
    patch: Patch
    merges: tuple[MergeNote, ...] = ()


Choice = Literal["within_budget", "ranked", "fallback_cut", "zero_budget", "not_limited", "nothing"]


class Selected(msgspec.Struct, frozen=True, kw_only=True):
    """`patch.json`: what goes into the update, what was left out, and why.

    `confidence` and `risk_notes` are the optimizer's, when it set the budget itself.
    """

    step: int
    budget: int | None
    budget_reason: str
    confidence: str = ""
    risk_notes: tuple[str, ...] = ()
    how: Choice
    patch: Patch
    clipped: Patch = Patch()
    reasoning: str = ""
    problems: tuple[str, ...] = ()
    usage: Usage = Usage()
