"""Which settings act only beside which others: where they do not, they are refused and decide nothing."""

from collections.abc import Callable
from typing import Any, Protocol

import msgspec

UPDATE_MODE = "optimizer.skill_update_mode"
BUDGET_CONTROL = "optimizer.lr_control_mode"
EARLY = "evaluation.early_reject"


class Values(Protocol):
    """Settings by their dotted key."""

    def __getitem__(self, dotted: str, /) -> Any: ...


def rewrites(values: Values) -> bool:
    """Whether the whole document is rewritten instead of edited."""
    return bool(values[UPDATE_MODE] != "patch")


def has_budget(values: Values) -> bool:
    """Whether there is an edit budget."""
    return bool(values[UPDATE_MODE] != "full_rewrite_minibatch")


def scheduled(values: Values) -> bool:
    """Whether the schedule sets the edit budget."""
    return has_budget(values) and bool(values[BUDGET_CONTROL] == "fixed")


def falls(values: Values) -> bool:
    """Whether the edit budget falls over the steps."""
    return scheduled(values) and values["optimizer.lr_scheduler"] in ("linear", "cosine")


def compares(values: Values) -> bool:
    """Whether the end of an epoch is compared: for guidance from epoch 2 on, for a memory with 3 epochs."""
    epochs = values["train.num_epochs"]
    return bool(
        (values["optimizer.use_slow_update"] and epochs > 1)
        or (values["optimizer.use_meta_skill"] and epochs > 2)
    )


class Inert(msgspec.Struct, frozen=True, kw_only=True):
    """Keys that act only while `acts` holds; `switches` decide that, `needs` says it in words."""

    keys: tuple[str, ...]
    switches: tuple[str, ...]
    acts: Callable[[Values], bool]
    needs: str


INERT: tuple[Inert, ...] = (
    Inert(
        keys=("evaluation.gate_mixed_weight",),
        switches=("evaluation.gate_metric",),
        acts=lambda values: values["evaluation.gate_metric"] == "mixed",
        needs="evaluation.gate_metric: mixed",
    ),
    Inert(
        keys=("evaluation.semantic_density_weight", "evaluation.leading_words"),
        switches=("evaluation.use_semantic_density",),
        acts=lambda values: values["evaluation.use_semantic_density"],
        needs="evaluation.use_semantic_density: true",
    ),
    Inert(
        keys=(EARLY,),
        switches=("evaluation.use_gate", "evaluation.use_semantic_density"),
        acts=lambda values: values["evaluation.use_gate"] and not values["evaluation.use_semantic_density"],
        needs="evaluation.use_gate: true, and use_semantic_density: false, since how much style counts for "
        "depends on how many items have a score in the end",
    ),
    Inert(
        keys=("evaluation.test_env_num",),
        switches=("evaluation.eval_test",),
        acts=lambda values: values["evaluation.eval_test"],
        needs="evaluation.eval_test: true",
    ),
    Inert(
        keys=("optimizer.lr_control_mode",),
        switches=(UPDATE_MODE,),
        acts=has_budget,
        needs="an edit budget, which full_rewrite_minibatch has not",
    ),
    Inert(
        keys=("optimizer.learning_rate",),
        switches=(UPDATE_MODE, BUDGET_CONTROL),
        acts=lambda values: has_budget(values) and values[BUDGET_CONTROL] != "none",
        needs="an edit budget, which lr_control_mode none and full_rewrite_minibatch have not",
    ),
    Inert(
        keys=("optimizer.lr_scheduler",),
        switches=(UPDATE_MODE, BUDGET_CONTROL),
        acts=scheduled,
        needs="optimizer.lr_control_mode: fixed, and an update mode with an edit budget",
    ),
    Inert(
        keys=("optimizer.min_learning_rate",),
        switches=(UPDATE_MODE, BUDGET_CONTROL, "optimizer.lr_scheduler"),
        acts=falls,
        needs="optimizer.lr_scheduler: linear or cosine, with optimizer.lr_control_mode: fixed",
    ),
    Inert(
        keys=("optimizer.slow_update_samples", "optimizer.longitudinal_pair_policy"),
        switches=("optimizer.use_slow_update", "optimizer.use_meta_skill", "train.num_epochs"),
        acts=compares,
        needs="a comparison of epochs: optimizer.use_slow_update: true and 2 epochs, or "
        "optimizer.use_meta_skill: true and 3",
    ),
    Inert(
        keys=("optimizer.slow_update_gate_with_selection",),
        switches=("optimizer.use_slow_update",),
        acts=lambda values: values["optimizer.use_slow_update"],
        needs="optimizer.use_slow_update: true",
    ),
    Inert(
        keys=("optimizer.skill_aware_appendix_source", "optimizer.skill_aware_consolidate_threshold"),
        switches=("optimizer.use_skill_aware_reflection",),
        acts=lambda values: values["optimizer.use_skill_aware_reflection"],
        needs="optimizer.use_skill_aware_reflection: true",
    ),
    Inert(
        keys=("optimizer.skill_aware_appendix_source",),
        switches=("gradient.failure_only",),
        acts=lambda values: not values["gradient.failure_only"],
        needs="gradient.failure_only: false, since only analysts of failures are asked otherwise",
    ),
    Inert(
        keys=("model.rewrite_reasoning_effort",),
        switches=(UPDATE_MODE,),
        acts=lambda values: values[UPDATE_MODE] == "rewrite_from_suggestions",
        needs="optimizer.skill_update_mode: rewrite_from_suggestions",
    ),
    Inert(
        keys=("model.rewrite_max_completion_tokens",),
        switches=(UPDATE_MODE,),
        acts=rewrites,
        needs="optimizer.skill_update_mode: rewrite_from_suggestions or full_rewrite_minibatch",
    ),
    Inert(
        keys=("env.data_path", "env.split_ratio", "env.split_seed"),
        switches=("env.split_mode",),
        acts=lambda values: values["env.split_mode"] == "ratio",
        needs="env.split_mode: ratio",
    ),
    Inert(
        keys=("env.split_dir",),
        switches=("env.split_mode",),
        acts=lambda values: values["env.split_mode"] == "split_dir",
        needs="env.split_mode: split_dir",
    ),
)


def acts(dotted: str, values: Values) -> bool:
    """Whether a setting has any effect beside the others."""
    return all(inert.acts(values) for inert in INERT if dotted in inert.keys)
