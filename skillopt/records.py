"""The records that flow between phases: one type per kind of file."""

from typing import Any, Literal

import msgspec

Status = Literal["scored", "truncated", "unparsed", "no_answer", "provider_error", "timeout", "harness_error"]
UNSCORED: frozenset[str] = frozenset({"provider_error", "timeout", "harness_error"})
"""Statuses that are the outside's failure: no score, not in means, not in reflection."""

Side = Literal["failure", "success"]
UpdateMode = Literal["patch", "rewrite_from_suggestions", "full_rewrite_minibatch"]


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Calls and tokens; None where the provider does not tell."""

    calls: int = 0
    prompt: int | None = None
    cached: int | None = None
    completion: int | None = None
    reasoning: int | None = None

    def __add__(self, other: "Usage") -> "Usage":
        """Add up; an unknown count of a call makes the sum unknown."""
        if not self.calls:
            return other
        if not other.calls:
            return self
        return Usage(
            calls=self.calls + other.calls,
            prompt=_plus(self.prompt, other.prompt),
            cached=_plus(self.cached, other.cached),
            completion=_plus(self.completion, other.completion),
            reasoning=_plus(self.reasoning, other.reasoning),
        )


def _plus(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else left + right


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """One task. `data` holds the fields of the data file, `id` included, untrusted."""

    id: str
    data: dict[str, Any]
    task_type: str = ""


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of a trajectory: who spoke (system, user, assistant, tool, note) and what."""

    role: str
    content: str


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """Why a row has no answer, or no score: a short kind and a redacted message."""

    kind: str
    message: str


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One item done once (DESIGN section 3). `hard` and `soft` lie in [0, 1], None without a score.

    `trajectory` starts with what the target was told, the skill left out (it is in the run
    already). `reason` says why the item is not fully right, for reflection.
    """

    id: str
    status: Status
    hard: float | None
    soft: float | None
    answer: str
    task_type: str
    turns: int
    usage: Usage
    seconds: float
    trajectory: tuple[Turn, ...]
    reason: str = ""
    error: Failure | None = None
    extra: dict[str, Any] = {}


class Edit(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One bounded change of a skill document (loop.md sections 4 and 7)."""

    op: Literal["append", "insert_after", "replace", "delete"]
    target: str = ""
    content: str = ""
    support_count: int = 0
    source_type: Side = "failure"
    merge_level: int = 0


class Suggestion(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One suggestion for a rewrite of the document (mode `rewrite_from_suggestions`)."""

    type: str
    title: str
    instruction: str
    priority_hint: str = ""
    support_count: int = 0
    source_type: Side = "failure"
    merge_level: int = 0


class Candidate(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
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
    """A failure (or success) pattern that an analyst saw."""

    failure_type: str
    count: int
    description: str


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


Choice = Literal["within_budget", "ranked", "fallback_cut", "not_limited", "nothing"]


class Selected(msgspec.Struct, frozen=True, kw_only=True):
    """`patch.json`: what goes into the update, what was left out, and why."""

    step: int
    budget: int | None
    budget_reason: str
    how: Choice
    patch: Patch
    clipped: Patch = Patch()
    reasoning: str = ""
    problems: tuple[str, ...] = ()
    usage: Usage = Usage()


EditStatus = Literal[
    "applied",
    "applied_at_end",
    "skipped_target_missing",
    "skipped_no_target",
    "skipped_empty",
    "skipped_protected",
]


class EditReport(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one edit."""

    edit: Edit
    status: EditStatus


UpdateAction = Literal["candidate", "skip_no_patches", "skip_no_change", "skip_no_rewrite", "skip_too_long"]


class Update(msgspec.Struct, frozen=True, kw_only=True):
    """`update.json`: how the candidate came to be. Only action `candidate` goes to the gate.

    `notes` is the whole appendix after the step, which is kept whatever the gate decides.
    """

    step: int
    action: UpdateAction
    mode: UpdateMode
    edits: tuple[EditReport, ...] = ()
    change_summary: str = ""
    notes: tuple[str, ...] = ()
    notes_added: int = 0
    notes_consolidated: bool = False
    chars_before: int
    chars_after: int
    candidate_sha256: str
    detail: str = ""
    problems: tuple[str, ...] = ()
    usage: Usage = Usage()


class Score(msgspec.Struct, frozen=True, kw_only=True):
    """Means over the rows that have a score. `n` of `total` rows have one; None when n is 0."""

    hard: float | None
    soft: float | None
    value: float | None
    n: int
    total: int

    @property
    def coverage(self) -> float:
        """Share of rows with a score (1.0 for no rows)."""
        return self.n / self.total if self.total else 1.0


Results = dict[str, tuple[float, float] | None]
"""Per item id: (hard, soft), or None without a score."""


class Scored(msgspec.Struct, frozen=True, kw_only=True):
    """A skill with its selection results. `origin` is the file, below the run's folder, of its rows.

    `inherited` tells that the text has changed since (guidance or notes put in without a score).
    `density` is the share of strong words in the body, 0 unless it counts.
    """

    origin: str
    skill: str
    sha256: str
    visible_sha256: str
    score: Score
    results: Results
    inherited: bool = False
    density: float = 0.0


class Digest(msgspec.Struct, frozen=True, kw_only=True):
    """What a step leaves for later steps of its epoch (loop.md section 11)."""

    step: int
    action: str
    failed: int
    total: int
    patterns: tuple[Pattern, ...] = ()
    failed_ids: tuple[str, ...] = ()
    tried: Patch = Patch()
    score_before: float | None = None
    score_after: float | None = None


GateAction = Literal[
    "initial",
    "accept",
    "accept_new_best",
    "reject",
    "force_accept",
    "inject",
    "skip_no_patches",
    "skip_no_change",
    "skip_no_rewrite",
    "skip_too_long",
]


class State(msgspec.Struct, frozen=True, kw_only=True):
    """The whole state of training after a step.

    `scored` maps the SHA-256 of every text that a target was shown on the selection split to
    the file of its rows.
    """

    current: Scored
    best: Scored
    scored: dict[str, str]
    memory: tuple[Digest, ...] = ()


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """`gate.json`: the decision and the state after it.

    `candidate`, `compared` are the scores that were compared, on the ids that both have;
    `density` is recorded only with `evaluation.use_semantic_density`.
    """

    step: int
    epoch: int
    phase: Literal["initial", "step", "slow_update"]
    action: GateAction
    metric: str
    candidate: Score | None = None
    compared: Score | None = None
    paired: int = 0
    candidate_sha256: str = ""
    improved: tuple[str, ...] = ()
    regressed: tuple[str, ...] = ()
    reused_from: str = ""
    density: dict[str, float] | None = None
    digest: Digest | None = None
    state: State


PairKind = Literal["improved", "regressed", "persistent_fail", "stable_success"]


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """One item done with the skill of the previous epoch and with the current one."""

    id: str
    kind: PairKind
    previous: tuple[float, float]
    current: tuple[float, float]


class Pairs(msgspec.Struct, frozen=True, kw_only=True):
    """`pairs.json`: the pairs that the policy keeps; `dropped` ids had no score on one side."""

    epoch: int
    policy: Literal["mixed", "changed", "unchanged"]
    sampled: int
    topped_up: int
    pairs: tuple[Pair, ...]
    dropped: tuple[str, ...] = ()


SlowUpdateAction = Literal[
    "prepare_region", "candidate", "inject", "skip_no_content", "skip_no_pairs", "skip_too_long"
]


class SlowUpdate(msgspec.Struct, frozen=True, kw_only=True):
    """`slow_update.json`."""

    epoch: int
    action: SlowUpdateAction
    reasoning: str = ""
    slow_update_content: str = ""
    candidate_sha256: str
    problems: tuple[str, ...] = ()
    usage: Usage = Usage()


class MetaSkill(msgspec.Struct, frozen=True, kw_only=True):
    """`meta_skill.json`: the optimizer's memory after an epoch."""

    epoch: int
    action: Literal["written", "kept"]
    reasoning: str = ""
    meta_skill_content: str = ""
    problems: tuple[str, ...] = ()
    usage: Usage = Usage()


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """One micro-batch: the ids in order, and the seed of its reflection."""

    ids: tuple[str, ...]
    seed: int


class StepPlan(msgspec.Struct, frozen=True, kw_only=True):
    """One step, counted from 1 over the whole run. `edit_budget` None means no limit."""

    step: int
    epoch: int
    batches: tuple[Batch, ...]
    edit_budget: int | None


class EpochPlan(msgspec.Struct, frozen=True, kw_only=True):
    """One epoch: its steps, and the train ids of the longitudinal comparison in drawing order.

    The first `sample` of `comparison` are compared; the rest is for topping up.
    """

    epoch: int
    first_step: int
    last_step: int
    sample: int
    comparison: tuple[str, ...]


class SplitInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One split: where it comes from, how many items, which of them are used, and their hash."""

    source: str
    size: int
    used: int
    sha256: str


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """`plan.json`: the whole run, known before anything is paid for."""

    run: str
    num_epochs: int
    steps_per_epoch: int
    splits: dict[str, SplitInfo]
    epochs: tuple[EpochPlan, ...]
    steps: tuple[StepPlan, ...]
