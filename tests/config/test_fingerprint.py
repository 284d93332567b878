"""What a change of a setting re-runs."""

import json

import pytest

from skillopt.config.fingerprint import PHASES, deciding

TARGET = {"rollout", "evaluate", "evaluate_slow_update", "sample", "compare", "evaluate_split", "repeat"}
OPTIMIZER = {"reflect", "aggregate", "select", "slow_update", "meta_skill"}
GATES = {"gate", "gate_slow_update"}
BASE = ("model.optimizer_backend=compat", "model.target_backend=compat")


def changed(resolve, overrides, always=()):
    before = resolve("", *BASE, *always)
    replaced = {override.partition("=")[0] for override in overrides}
    kept = [override for override in (*BASE, *always) if override.partition("=")[0] not in replaced]
    after = resolve("", *kept, *overrides)
    return {phase for phase in PHASES if deciding(before, phase) != deciding(after, phase)}


REWRITE = "optimizer.skill_update_mode=rewrite_from_suggestions"
FULL = "optimizer.skill_update_mode=full_rewrite_minibatch"
AWARE = "optimizer.use_skill_aware_reflection=true"
CHANGES = [
    ("evaluation.gate_metric=soft", (), GATES | {"evaluate_slow_update", "best_skill", "summary"}),
    ("evaluation.gate_metric=soft", ("evaluation.use_gate=false",), GATES | {"best_skill", "summary"}),
    (
        "evaluation.gate_mixed_weight=0.2",
        ("evaluation.gate_metric=mixed",),
        GATES | {"evaluate_slow_update", "best_skill"},
    ),
    ("evaluation.use_gate=false", (), GATES | {"evaluate_slow_update"}),
    ("evaluation.early_reject=all", (), {"evaluate", "evaluate_slow_update"}),
    ("evaluation.early_reject=none", (), {"evaluate_slow_update"}),
    (
        "evaluation.gate_metric=soft",
        ("evaluation.early_reject=all",),
        GATES | {"evaluate", "evaluate_slow_update", "best_skill", "summary"},
    ),
    ("evaluation.gate_metric=soft", ("evaluation.early_reject=none",), GATES | {"best_skill", "summary"}),
    ("evaluation.use_semantic_density=true", (), GATES | {"evaluate_slow_update", "best_skill"}),
    ("evaluation.leading_words=must", ("evaluation.use_semantic_density=true",), GATES | {"best_skill"}),
    ("optimizer.slow_update_gate_with_selection=false", (), {"slow_update"}),
    ("optimizer.learning_rate=8", (), {"plan", "reflect"}),
    ("optimizer.min_learning_rate=1", (), {"plan"}),
    ("optimizer.lr_scheduler=linear", (), {"plan"}),
    ("optimizer.lr_control_mode=autonomous", (), {"select"}),
    ("optimizer.longitudinal_pair_policy=changed", (), {"compare"}),
    ("optimizer.skill_aware_appendix_source=failure_only", (AWARE,), {"reflect"}),
    ("optimizer.skill_aware_consolidate_threshold=9", (AWARE,), {"update"}),
    (AWARE, (), {"reflect", "update"}),
    ("gradient.minibatch_size=4", (), {"reflect"}),
    ("gradient.failure_only=true", (), {"reflect"}),
    ("gradient.merge_batch_size=4", (), {"aggregate"}),
    ("model.rewrite_max_completion_tokens=99", (REWRITE,), {"update"}),
    ("model.rewrite_reasoning_effort=high", (REWRITE,), {"update"}),
    ("model.rewrite_max_completion_tokens=99", (FULL,), {"reflect", "aggregate"}),
    ("env.max_skill_chars=900", (), {"update", "slow_update"}),
    ("env.context_chars=900", (), TARGET),
    ("env.max_turns=2", (), TARGET),
    ("env.max_completion_tokens=2", (), TARGET),
    ("model.target=other", (), TARGET),
    ("model.target_openai_compatible_base_url=http://b", (), TARGET),
    ("model.optimizer=other", (), OPTIMIZER),
    ("model.optimizer=other", (REWRITE,), OPTIMIZER | {"update"}),
    ("model.reasoning_effort=low", (), TARGET | OPTIMIZER),
    ("model.optimizer_reasoning_effort=low", (), OPTIMIZER),
    ("model.target_reasoning_effort=low", (), TARGET),
    ("train.num_epochs=5", (), {"plan"}),
    ("env.limit=5", (), {"plan"}),
    ("evaluation.test_env_num=5", (), {"plan"}),
    ("evaluation.repeats=3", (), {"repeat"}),
    # what decides no output
    ('evaluation.skills={"mine": "mine.md"}', (), set()),
    ("evaluation.eval_test=false", (), set()),
    ("evaluation.min_coverage=0.5", (), set()),
    ("env.workers=3", (), set()),
    ("env.exec_timeout=3", (), set()),
    ("env.item_timeout=300", (), set()),
    ("env.cache=folder", (), set()),
    ("env.skill_init=other.md", (), set()),
    ("gradient.analyst_workers=3", (), set()),
    ("calls.max_attempts=1", (), set()),
    ("calls.max_wait=1", (), set()),
    ("calls.timeout=1", (), set()),
    ("calls.systemic_failures=1", (), set()),
    ("calls.answer_attempts=1", (), set()),
    ("model.openai_compatible_timeout=3", (), set()),
]


@pytest.mark.parametrize(("override", "always", "phases"), CHANGES)
def test_a_change_reaches_exactly_its_phases(resolve, override, always, phases):
    assert changed(resolve, [override], always) == phases


def test_order_and_spelling_do_not_matter(resolve):
    one = resolve("model: {backend: compat, target: m}\ntrain: {seed: 1, batch_size: 2}")
    two = resolve("train: {batch_size: 2, seed: 1}  # a comment\nmodel: {target: m, backend: Compat}")
    assert [deciding(one, phase) for phase in PHASES] == [deciding(two, phase) for phase in PHASES]


def test_shared_and_role_key_of_equal_value_are_the_same(resolve):
    one = resolve("model: {backend: compat, openai_compatible_base_url: http://b}")
    text = "model: {backend: compat, target_openai_compatible_base_url: http://b,"
    two = resolve(text + " optimizer_openai_compatible_base_url: http://b}")
    assert deciding(one, "rollout") == deciding(two, "rollout")


def test_canonical_line_of_json(resolve):
    text = deciding(resolve("", *BASE), "rollout")
    assert json.loads(text)["target"] == {
        "backend": "openai_compatible",
        "model": "small",
        "settings": {"base_url": "http://a", "temperature": None},
    }
    assert "\n" not in text


def test_unknown_phase(resolve):
    with pytest.raises(KeyError):
        deciding(resolve(), "roll_out")


def test_a_setting_without_effect_is_no_part_of_it(resolve):
    hard, mixed = (
        json.loads(deciding(resolve("", *BASE, f"evaluation.gate_metric={metric}"), "gate"))
        for metric in ("hard", "mixed")
    )
    assert mixed == hard | {"evaluation.gate_metric": "mixed", "evaluation.gate_mixed_weight": 0.5}
