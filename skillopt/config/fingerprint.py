"""Which settings decide the output of which phase: the one table behind "what re-runs"."""

from collections.abc import Callable, Mapping
from typing import Any

from skillopt.config.activity import EARLY, UPDATE_MODE, Values, acts, rewrites
from skillopt.config.resolved import Resolved
from skillopt.files import canonical
from skillopt.models.base import RoleModel

Condition = Callable[[Values], bool]

TARGET = "target"
OPTIMIZER = "optimizer"
BENCHMARK = "benchmark"
"""Stand for the model of a role, and for the benchmark's own settings, as far as they decide an output."""

_ROLLOUT = (TARGET, BENCHMARK, "env.name", "env.max_turns", "env.max_completion_tokens", "train.seed")
_METRIC = ("evaluation.gate_metric", "evaluation.gate_mixed_weight")
_SCORE = (
    *_METRIC,
    "evaluation.use_semantic_density",
    "evaluation.semantic_density_weight",
    "evaluation.leading_words",
)
_GATE = ("evaluation.use_gate", *_SCORE)
_NOTES = ("optimizer.use_skill_aware_reflection", "optimizer.skill_aware_appendix_source")

PHASES: Mapping[str, tuple[str, ...]] = {
    "plan": (
        "train.num_epochs",
        "train.train_size",
        "train.batch_size",
        "train.accumulation",
        "train.seed",
        "optimizer.learning_rate",
        "optimizer.min_learning_rate",
        "optimizer.lr_scheduler",
        "optimizer.slow_update_samples",
        "evaluation.sel_env_num",
        "evaluation.test_env_num",
        "env.name",
        "env.split_mode",
        "env.split_ratio",
        "env.split_seed",
        "env.split_dir",
        "env.data_path",
        "env.limit",
    ),
    "rollout": _ROLLOUT,
    "reflect": (
        OPTIMIZER,
        "env.name",
        "gradient.minibatch_size",
        "gradient.failure_only",
        "optimizer.learning_rate",
        "optimizer.skill_update_mode",
        *_NOTES,
        "model.rewrite_max_completion_tokens",
    ),
    "aggregate": (
        OPTIMIZER,
        "env.name",
        "gradient.merge_batch_size",
        "optimizer.skill_update_mode",
        "model.rewrite_max_completion_tokens",
    ),
    "select": (OPTIMIZER, "env.name", "optimizer.lr_control_mode", "optimizer.skill_update_mode"),
    "update": (
        OPTIMIZER,
        "env.name",
        "env.max_skill_chars",
        "optimizer.skill_update_mode",
        "optimizer.use_skill_aware_reflection",
        "optimizer.skill_aware_consolidate_threshold",
        "model.rewrite_reasoning_effort",
        "model.rewrite_max_completion_tokens",
    ),
    "evaluate": (*_ROLLOUT, EARLY, *_METRIC),
    "evaluate_slow_update": (*_ROLLOUT, EARLY, *_METRIC),
    "gate": _GATE,
    "sample": _ROLLOUT,
    "compare": (*_ROLLOUT, "optimizer.longitudinal_pair_policy"),
    "slow_update": (
        OPTIMIZER,
        "env.name",
        "env.max_skill_chars",
        "optimizer.slow_update_gate_with_selection",
    ),
    "gate_slow_update": _GATE,
    "meta_skill": (OPTIMIZER, "env.name"),
    "best_skill": _SCORE,
    "evaluate_split": _ROLLOUT,
    "repeat": (*_ROLLOUT, "evaluation.repeats"),
    "tabulate": ("train.seed",),
    "summary": ("evaluation.gate_metric",),
}
"""Phase -> the settings that decide its output.

Left out on purpose: what a phase gets as a param or an input of its own (batches, budget, items,
prompts, the skill), and what decides no output (calls.*, budget.*, workers, timeouts, min_coverage).
"""


def _asks_for_rewrites(values: Values) -> bool:
    return bool(values[UPDATE_MODE] == "rewrite_from_suggestions")


def _asks_for_documents(values: Values) -> bool:
    return rewrites(values) and not _asks_for_rewrites(values)


def _update_asks(values: Values) -> bool:
    return _asks_for_rewrites(values) or bool(values["optimizer.skill_aware_consolidate_threshold"])


def _rejects_early(values: Values) -> bool:
    return acts(EARLY, values) and bool(values[EARLY] == "all")


def _rejects_guidance_early(values: Values) -> bool:
    return acts(EARLY, values) and bool(values[EARLY] != "none")


CONDITIONS: Mapping[tuple[str, str], Condition] = {
    **{("evaluate", key): _rejects_early for key in (EARLY, *_METRIC)},
    **{("evaluate_slow_update", key): _rejects_guidance_early for key in (EARLY, *_METRIC)},
    ("reflect", "model.rewrite_max_completion_tokens"): _asks_for_documents,
    ("aggregate", "model.rewrite_max_completion_tokens"): _asks_for_documents,
    ("update", "model.rewrite_max_completion_tokens"): _asks_for_rewrites,
    ("update", OPTIMIZER): _update_asks,
    ("update", "env.name"): _update_asks,
}
"""Where a setting decides a phase only under a condition of that phase."""


def deciding(resolved: Resolved, phase: str) -> str:
    """Return the settings that decide a phase's output, as canonical JSON of one line."""
    values = SettingsByKey(resolved)
    return canonical(
        {key: _value(key, resolved, values) for key in PHASES[phase] if _decides(phase, key, values)}
    )


class SettingsByKey:
    """The settings of a run by their dotted key."""

    def __init__(self, resolved: Resolved) -> None:
        self._settings = resolved.settings

    def __getitem__(self, dotted: str, /) -> Any:
        section, _, name = dotted.partition(".")
        return getattr(getattr(self._settings, section), name)


def _decides(phase: str, key: str, values: SettingsByKey) -> bool:
    if phase == "plan":  # made from all its settings, whether a later phase heeds them or not
        return True
    condition = CONDITIONS.get((phase, key))
    return acts(key, values) and (condition is None or condition(values))


def _value(key: str, resolved: Resolved, values: SettingsByKey) -> Any:
    if key in (TARGET, OPTIMIZER):
        return _identity(resolved.roles[key], resolved.undecisive)  # type: ignore[index]
    if key == BENCHMARK:
        idle = resolved.undecisive
        return {name: value for name, value in resolved.env_settings.items() if f"env.{name}" not in idle}
    return values[key]


def _identity(model: RoleModel, idle: tuple[str, ...]) -> dict[str, Any]:
    """Return what makes a role's model this one, as far as it can change a reply."""
    settings = {name: value for name, value in model.settings.items() if f"{model.role}.{name}" not in idle}
    found: dict[str, Any] = {"backend": model.backend, "model": model.model, "settings": settings}
    if model.reasoning_effort:
        found["reasoning_effort"] = model.reasoning_effort
    return found
