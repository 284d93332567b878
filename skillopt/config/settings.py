"""Every setting that all runs have: its type, its bounds, its default, what it means.

Defaults are the published protocol (arXiv 2605.23904) and stand here only. Settings of one
benchmark or one backend are declared beside it.
"""

from typing import Annotated, Literal

import msgspec

from skillopt.decisions.pairs import Policy
from skillopt.decisions.schedule import Scheduler
from skillopt.decisions.scoring import Metric
from skillopt.records import UpdateMode

Count = Annotated[int, msgspec.Meta(ge=0)]
BudgetControl = Literal["fixed", "autonomous", "none"]
NoteSource = Literal["both", "failure_only"]
EarlyReject = Literal["none", "slow_update", "all"]
SplitMode = Literal["ratio", "split_dir"]
Effort = Literal["", "none", "minimal", "low", "medium", "high", "xhigh", "max"]


def _says(description: str) -> msgspec.Meta:
    return msgspec.Meta(description=description)


class Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A section of a run file."""


MOST_EPOCHS = 99
"""Epochs of a run: their folders have numbers of two digits."""
MOST_BATCHES = 1000
"""Batches of one step: what an epoch does not have is drawn again, so no size of a split bounds them."""


class Train(Section, frozen=True, kw_only=True):
    """How long training lasts, and on what batches."""

    num_epochs: Annotated[int, _says("Passes over the train split."), msgspec.Meta(ge=1, le=MOST_EPOCHS)] = 4
    train_size: Annotated[
        Count, _says("Expected size of the train split; 0: whatever it has. Another size is an error.")
    ] = 0
    batch_size: Annotated[int, _says("Train items of one rollout."), msgspec.Meta(ge=1)] = 40
    accumulation: Annotated[
        int, _says("Batches that make one step."), msgspec.Meta(ge=1, le=MOST_BATCHES)
    ] = 1
    seed: Annotated[Count, _says("Seed of all batches, samples and groups.")] = 42


class Gradient(Section, frozen=True, kw_only=True):
    """How trajectories become proposed changes."""

    minibatch_size: Annotated[int, _says("Trajectories that one analyst reads."), msgspec.Meta(ge=1)] = 8
    merge_batch_size: Annotated[
        int, _says("Proposals that are merged by one call; at least 2."), msgspec.Meta(ge=2)
    ] = 8
    analyst_workers: Annotated[
        int, _says("Most optimizer calls in flight. Decides no output."), msgspec.Meta(ge=1)
    ] = 16
    failure_only: Annotated[bool, _says("Reflect on failures only, leave successes out.")] = False


class Optimizer(Section, frozen=True, kw_only=True):
    """How the skill document is changed."""

    learning_rate: Annotated[
        int, _says("Edit budget: most changes of one step, and of one analyst."), msgspec.Meta(ge=1)
    ] = 4
    min_learning_rate: Annotated[
        int, _says("Edit budget at the end of training (lr_scheduler linear or cosine)."), msgspec.Meta(ge=1)
    ] = 2
    lr_scheduler: Annotated[
        Scheduler, _says("How the edit budget falls over the steps; autonomous: no limit.")
    ] = "cosine"
    lr_control_mode: Annotated[
        BudgetControl,
        _says("Who sets the edit budget: the schedule (fixed), the optimizer (autonomous), nobody (none)."),
    ] = "fixed"
    skill_update_mode: Annotated[
        UpdateMode, _says("Bounded edits (patch), or one of two ways to rewrite the whole document.")
    ] = "patch"
    use_slow_update: Annotated[bool, _says("Write guidance for the target at the end of each epoch.")] = True
    slow_update_samples: Annotated[
        int, _says("Train items of the comparison at the end of an epoch."), msgspec.Meta(ge=1)
    ] = 20
    slow_update_gate_with_selection: Annotated[
        bool, _says("Send the guidance through the gate (false: put it into the skill without a score).")
    ] = True
    longitudinal_pair_policy: Annotated[
        Policy, _says("Pairs of the comparison that are used: all, or those that (un)changed.")
    ] = "mixed"
    use_meta_skill: Annotated[bool, _says("Keep a memory of the optimizer across epochs.")] = True
    use_skill_aware_reflection: Annotated[
        bool, _says("Tell wrong rules from rules that were not followed; the latter become short reminders.")
    ] = False
    skill_aware_appendix_source: Annotated[
        NoteSource, _says("Analysts whose reminders are kept (with use_skill_aware_reflection).")
    ] = "both"
    skill_aware_consolidate_threshold: Annotated[
        Count, _says("Reminders above which one call compacts them; 0: never.")
    ] = 0


class Evaluation(Section, frozen=True, kw_only=True):
    """How skills are scored and compared."""

    use_gate: Annotated[bool, _says("Accept a candidate only if it scores higher (false: always).")] = True
    early_reject: Annotated[
        EarlyReject,
        _says(
            "Candidates whose evaluation ends as soon as they can no longer score higher than the current "
            "skill, which rejects them all the same: none, only guidance (slow_update), or all. No effect "
            "with use_semantic_density (docs/budget.md)."
        ),
    ] = "slow_update"
    gate_metric: Annotated[
        Metric, _says("Score that the gate compares: hard, soft, or a mixture of both.")
    ] = "hard"
    gate_mixed_weight: Annotated[
        float, _says("Share of the soft score (gate_metric mixed)."), msgspec.Meta(ge=0, le=1)
    ] = 0.5
    min_coverage: Annotated[
        float,
        _says("Share of items that must have a score, else the phase fails. Decides no output."),
        msgspec.Meta(gt=0, le=1),
    ] = 0.95
    sel_env_num: Annotated[Count, _says("Items of the selection split that are used, in order; 0: all.")] = 0
    test_env_num: Annotated[Count, _says("Items of the test split that are used, in order; 0: all.")] = 0
    eval_test: Annotated[bool, _says("Evaluate the initial, best and last skill on the test split.")] = True
    skills: Annotated[
        dict[str, str],
        _says(
            "Skills of the tables in eval/, `name: file`, the first being compared with the others; "
            "the run's own (none, initial, best, last) with a blank file."
        ),
    ] = {}
    repeats: Annotated[
        int,
        _says("How often an evaluation in eval/ does each item, each time with fresh samples."),
        msgspec.Meta(ge=1),
    ] = 1
    use_semantic_density: Annotated[
        bool, _says("Add a bonus for strong words in the skill to the gate's score.")
    ] = False
    semantic_density_weight: Annotated[
        float, _says("Weight of that bonus (with use_semantic_density)."), msgspec.Meta(gt=0)
    ] = 0.05
    leading_words: Annotated[
        tuple[str, ...], _says("The strong words (with use_semantic_density)."), msgspec.Meta(min_length=1)
    ] = ("always", "never", "must", "only", "exactly", "first", "before", "avoid", "ensure", "verify")


class Env(Section, frozen=True, kw_only=True):
    """The benchmark and its data. Each benchmark adds settings of its own."""

    name: Annotated[str, _says("The benchmark. Required.")] = ""
    skill_init: Annotated[str, _says("Skill file to start from; blank: the benchmark's own.")] = ""
    split_mode: Annotated[
        SplitMode, _says("Split one data file by split_ratio, or read a folder with train/, val/ and test/.")
    ] = "ratio"
    split_ratio: Annotated[str, _says("train:val:test as whole numbers (split_mode ratio).")] = "2:1:7"
    split_seed: Annotated[Count, _says("Seed of that split (split_mode ratio).")] = 42
    split_dir: Annotated[str, _says("Folder with train/, val/ and test/ (split_mode split_dir).")] = ""
    data_path: Annotated[str, _says("Data file (split_mode ratio).")] = ""
    limit: Annotated[Count, _says("Items of each split that are used, in order; 0: all.")] = 0
    workers: Annotated[int, _says("Most target calls in flight. Decides no output."), msgspec.Meta(ge=1)] = 24
    max_turns: Annotated[int, _says("Most turns of the target on one item."), msgspec.Meta(ge=1)] = 1
    max_completion_tokens: Annotated[
        int, _says("Most tokens of one reply of the target."), msgspec.Meta(ge=1)
    ] = 16384
    exec_timeout: Annotated[
        float, _says("Seconds until a call of the target is given up. Decides no output."), msgspec.Meta(gt=0)
    ] = 120.0
    item_timeout: Annotated[
        float,
        _says(
            "Seconds that one item may take in all: its turns, with every attempt and wait of their calls; "
            "then it has no score (status timeout). Decides no output."
        ),
        msgspec.Meta(gt=0),
    ] = 3600.0
    max_skill_chars: Annotated[
        Count, _says("A candidate with more characters is refused unevaluated; 0: no limit.")
    ] = 0


class Model(Section, frozen=True, kw_only=True):
    """The models that play the two roles. Each backend adds settings of its own."""

    backend: Annotated[str, _says("Backend of both roles.")] = "simulator"
    optimizer: Annotated[str, _says("Model of the optimizer; blank: the backend's default.")] = ""
    target: Annotated[str, _says("Model of the target; blank: the backend's default.")] = ""
    optimizer_backend: Annotated[str, _says("Backend of the optimizer; blank: as `backend`.")] = ""
    target_backend: Annotated[str, _says("Backend of the target; blank: as `backend`.")] = ""
    reasoning_effort: Annotated[
        Effort, _says("Reasoning effort asked of both models; blank: nothing is asked for.")
    ] = ""
    optimizer_reasoning_effort: Annotated[
        Effort, _says("Reasoning effort asked of the optimizer; blank: as `reasoning_effort`.")
    ] = ""
    target_reasoning_effort: Annotated[
        Effort, _says("Reasoning effort asked of the target; blank: as `reasoning_effort`.")
    ] = ""
    rewrite_reasoning_effort: Annotated[
        Effort, _says("Reasoning effort of a rewrite of the document; blank: as the optimizer's.")
    ] = ""
    rewrite_max_completion_tokens: Annotated[
        int, _says("Most tokens of a reply that holds a whole document."), msgspec.Meta(ge=1)
    ] = 64000


class Calls(Section, frozen=True, kw_only=True):
    """How model calls are carried out. Nothing here decides an output."""

    max_attempts: Annotated[
        int, _says("Attempts of one call in all; only passing errors are tried again."), msgspec.Meta(ge=1)
    ] = 5
    max_wait: Annotated[
        float,
        _says("Longest wait before an attempt, in seconds; when a provider asks for more, the call fails."),
        msgspec.Meta(ge=0),
    ] = 120.0
    timeout: Annotated[
        float, _says("Seconds until a call of the optimizer is given up."), msgspec.Meta(gt=0)
    ] = 300.0
    systemic_failures: Annotated[
        int, _says("Equal fatal errors in a row that stop a phase."), msgspec.Meta(ge=1)
    ] = 5
    prices: Annotated[
        str,
        _says(
            "Price table: a YAML file with `<model>: {prompt, cached, completion}`, USD per million tokens."
        ),
    ] = ""
    preflight_call: Annotated[
        bool,
        _says(
            "Make one tiny call to each model before the first paid phase of a new run. Off: only keys, "
            "logins and programs are looked at."
        ),
    ] = True
    answer_attempts: Annotated[
        int, _says("How often the optimizer is asked when its answer cannot be used."), msgspec.Meta(ge=1)
    ] = 3


class Budget(Section, frozen=True, kw_only=True):
    """The most that a run may spend on model calls, in all its sessions. Replayed calls cost nothing."""

    max_cost: Annotated[
        float,
        _says("USD that the run may spend, by the table in calls.prices; 0: no limit."),
        msgspec.Meta(ge=0),
    ] = 0.0
    max_tokens: Annotated[
        Count, _says("Tokens that the run may use, prompts and replies of both models; 0: no limit.")
    ] = 0
    max_calls: Annotated[Count, _says("Model calls that the run may make; 0: no limit.")] = 0


class Settings(Section, frozen=True, kw_only=True):
    """All sections of a run file."""

    train: Train = Train()
    gradient: Gradient = Gradient()
    optimizer: Optimizer = Optimizer()
    evaluation: Evaluation = Evaluation()
    env: Env = Env()
    model: Model = Model()
    calls: Calls = Calls()
    budget: Budget = Budget()
