"""What a changed setting re-runs, in words: for the documentation, from the table of fingerprints."""

from collections.abc import Mapping

from skillopt.config.fingerprint import BENCHMARK, OPTIMIZER, PHASES, TARGET
from skillopt.config.keys import Key

NOTHING = "nothing"
UNDECISIVE = frozenset(
    {
        "train.train_size",
        "gradient.analyst_workers",
        "evaluation.min_coverage",
        "env.workers",
        "env.exec_timeout",
        "env.item_timeout",
        "calls.max_attempts",
        "calls.max_wait",
        "calls.timeout",
        "calls.systemic_failures",
        "calls.answer_attempts",
        "calls.prices",
        "calls.preflight_call",
        "budget.max_cost",
        "budget.max_tokens",
        "budget.max_calls",
    }
)
"""Settings that decide no output, only whether and when there is one."""

_ITEMS = "what reads items that changed"
_BUDGET = "select, from the first step whose budget changes"
OTHERWISE: Mapping[str, str] = {
    "train.num_epochs": f"the added epochs; under a falling schedule also {_BUDGET}",
    "train.batch_size": "all but the evaluation of the initial skill",
    "train.accumulation": "all but the evaluation of the initial skill",
    "train.seed": "everything",
    "optimizer.min_learning_rate": _BUDGET,
    "optimizer.lr_scheduler": _BUDGET,
    "optimizer.use_slow_update": "the end of the first epoch",
    "optimizer.slow_update_samples": "sample, compare",
    "optimizer.use_meta_skill": "meta_skill, and reflect of the epoch after it",
    "evaluation.early_reject": "evaluate: of guidance, or of all candidates",
    "evaluation.gate_metric": "gate, best_skill; with early_reject also evaluate",
    "evaluation.gate_mixed_weight": "gate, best_skill; with early_reject also evaluate",
    "evaluation.sel_env_num": "evaluate on the selection split, gate",
    "evaluation.test_env_num": "evaluation on the test split",
    "evaluation.eval_test": "evaluation on the test split, alone",
    "evaluation.skills": "the evaluation of a skill whose file is another, and the tables",
    "env.name": "everything",
    "env.skill_init": "everything, when the skill is another",
    "env.split_mode": _ITEMS,
    "env.split_ratio": _ITEMS,
    "env.split_seed": _ITEMS,
    "env.split_dir": _ITEMS,
    "env.data_path": _ITEMS,
    "env.limit": _ITEMS,
    "model.backend": "as the model of both roles",
}
"""Settings that act through the plan, the items or the order of the files, or on everything."""

_MODELS: Mapping[str, tuple[str, ...]] = {
    "model.optimizer": (OPTIMIZER,),
    "model.optimizer_backend": (OPTIMIZER,),
    "model.target": (TARGET,),
    "model.target_backend": (TARGET,),
    "model.reasoning_effort": (OPTIMIZER, TARGET),
    "model.optimizer_reasoning_effort": (OPTIMIZER,),
    "model.target_reasoning_effort": (TARGET,),
}


_UNTOLD = (
    "plan",
    "evaluate_split",
    "evaluate_slow_update",
    "gate_slow_update",
    "summary",
    "repeat",
    "tabulate",
)
"""Phases that go with one that is told, or with the results."""


def reruns(dotted: str) -> str:
    """Say what a setting that all runs have re-runs; what follows from it is left to be understood."""
    if dotted in UNDECISIVE:
        return NOTHING
    return OTHERWISE.get(dotted) or phases_of(_MODELS.get(dotted, (dotted,)))


def reruns_benchmark(key: Key) -> str:
    """Say what a benchmark's own setting re-runs."""
    return phases_of((BENCHMARK,)) if key.decides else NOTHING


def reruns_backend(key: Key) -> str:
    """Say what a backend's setting, for both roles, re-runs."""
    return "as the model of its role" if key.decides else NOTHING


def phases_of(names: tuple[str, ...]) -> str:
    """Return the phases that any of the settings decides, in the order of the table; "" for none."""
    found = [phase for phase, keys in PHASES.items() if any(name in keys for name in names)]
    shown = [phase for phase in found if phase not in _UNTOLD] or found
    return ", ".join(shown)
