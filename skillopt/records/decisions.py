"""What was decided: `update.json`, `scores.json`, `gate.json`, the files of an epoch's end."""

from typing import Literal

import msgspec

from skillopt.records.proposals import Edit, Patch, Pattern, UpdateMode
from skillopt.records.rollouts import Usage

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

    `notes` is the whole appendix after the step, which is kept whatever the gate decides;
    `notes_left_out` are those for which `env.max_skill_chars` left no room.
    """

    step: int
    action: UpdateAction
    mode: UpdateMode
    edits: tuple[EditReport, ...] = ()
    change_summary: str = ""
    notes: tuple[str, ...] = ()
    notes_added: int = 0
    notes_consolidated: bool = False
    notes_left_out: tuple[str, ...] = ()
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
    """What a step leaves for later steps of its epoch (loop.md section 11).

    With `given_up` the score after is the most that the candidate could have reached.
    """

    step: int
    action: str
    failed: int
    total: int
    patterns: tuple[Pattern, ...] = ()
    failed_ids: tuple[str, ...] = ()
    tried: Patch = Patch()
    score_before: float | None = None
    score_after: float | None = None
    given_up: bool = False


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
    "skip_no_content",
    "skip_no_pairs",
]
TAKEN: frozenset[str] = frozenset({"accept", "accept_new_best", "force_accept"})
"""Actions after which the candidate is the current skill, with its own score."""


class State(msgspec.Struct, frozen=True, kw_only=True):
    """The whole state of training after a step.

    `scored` maps the SHA-256 of every text that a target was shown on the whole selection split to
    the file of its rows.
    """

    current: Scored
    best: Scored
    scored: dict[str, str]
    memory: tuple[Digest, ...] = ()


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """`gate.json`: the decision and the state after it.

    `candidate`, `compared` are the scores that were compared, on the ids that both have;
    `improved` and `regressed` are the ids whose value by `metric` rose or fell; `left_out` counts the
    selection items that a candidate given up early had not done (`evaluation.early_reject`): `candidate` is
    then its score on those that it had, and `at_most`, by which it was judged, the value that full marks on
    all the others would have given it; `reused_from` is where
    the rows of an equal text were taken from; `density` is recorded only with
    `evaluation.use_semantic_density`.
    """

    step: int
    epoch: int
    phase: Literal["initial", "step", "slow_update"]
    action: GateAction
    metric: str
    candidate: Score | None = None
    compared: Score | None = None
    paired: int = 0
    left_out: int = 0
    at_most: float | None = None
    candidate_sha256: str = ""
    improved: tuple[str, ...] = ()
    regressed: tuple[str, ...] = ()
    reused_from: str = ""
    density: dict[str, float] | None = None
    digest: Digest | None = None
    state: State

    @property
    def reached(self) -> float | None:
        """The value that the candidate was judged by: its score, or the bound of one given up early."""
        return self.at_most if self.left_out else self.candidate.value if self.candidate else None


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
    """`slow_update.json`. `chars_after` is the size of what was proposed, also when it was too long."""

    epoch: int
    action: SlowUpdateAction
    reasoning: str = ""
    slow_update_content: str = ""
    chars_before: int
    chars_after: int
    candidate_sha256: str
    detail: str = ""
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
