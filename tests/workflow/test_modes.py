"""Every mode of the loop, end to end on the simulator: many runs in one command, one call store."""

from pathlib import Path

import pytest
from modes import (
    calls_are_those_of_the_forecast,
    holds_together,
    make,
    read,
    rows,
    shared_is_paid_once,
    steps,
)

from skillopt.skill import SkillDocument

MODES = {
    "accumulation": {
        "train": ", accumulation: 2",
        "optimizer": ", lr_control_mode: autonomous",
        "evaluation": ", gate_metric: soft",
    },
    "suggestions": {"optimizer": ", skill_update_mode: rewrite_from_suggestions"},
    "candidates": {
        "gradient": ", failure_only: true",
        "optimizer": ", skill_update_mode: full_rewrite_minibatch",
    },
    "notes": {"optimizer": ", use_skill_aware_reflection: true, skill_aware_consolidate_threshold: 1"},
    "forced": {"optimizer": ", slow_update_gate_with_selection: false, lr_control_mode: none"},
    "memory_only": {
        "epochs": 3,
        "optimizer": ", use_slow_update: false, slow_update_samples: 4, longitudinal_pair_policy: changed",
    },
    "plain": {"optimizer": ", use_slow_update: false, use_meta_skill: false"},
    "open": {"evaluation": ", use_gate: false, eval_test: true"},
    "short": {
        "optimizer": ", slow_update_gate_with_selection: false",
        "env": ", max_skill_chars: 100",
    },
}


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> Path:
    return make(tmp_path_factory.mktemp("modes") / "project", MODES)


@pytest.mark.parametrize("name", MODES)
def test_a_run_holds_together(results, name):
    holds_together(results, name)


@pytest.mark.parametrize("name", MODES)
def test_the_calls_of_a_run_are_those_of_its_forecast(results, name, monkeypatch):
    monkeypatch.chdir(results.parent)
    calls_are_those_of_the_forecast(results, name)


def test_runs_in_one_command_pay_once_for_what_they_share(results):
    shared_is_paid_once(results, MODES)


def test_accumulation_reflects_on_each_micro_batch_and_makes_one_step_of_them(results):
    plan = read(results, "accumulation", "plan.json")
    assert plan["steps_per_epoch"] == 1
    reflections = read(results, "accumulation", "steps/step_0001/reflections.json")
    assert {group["micro_batch"] for group in reflections["groups"]} == {0, 1}
    assert reflections["rows"] == 12


def test_rewriting_from_suggestions(results):
    selected = read(results, "suggestions", "steps/step_0001/patch.json")
    assert selected["patch"]["suggestions"]
    assert not selected["patch"]["edits"]
    update = read(results, "suggestions", "steps/step_0001/update.json")
    assert (update["mode"], update["action"]) == ("rewrite_from_suggestions", "candidate")
    assert update["usage"]["calls"] == 1


def test_whole_candidates_know_no_budget(results):
    selected = read(results, "candidates", "steps/step_0001/patch.json")
    assert (selected["how"], selected["budget"]) == ("not_limited", None)
    candidate = (results / "candidates/steps/step_0001/candidate.md").read_text()
    assert selected["patch"]["candidates"][0]["new_skill"].strip() in candidate


def test_the_optimizer_sets_its_own_budget_or_nobody_does(results):
    asked = read(results, "accumulation", "steps/step_0001/patch.json")
    assert asked["budget_reason"].startswith("the optimizer asked for")
    assert read(results, "forced", "steps/step_0001/patch.json")["how"] == "not_limited"


def test_notes_go_into_the_appendix_whatever_the_gate_decides(results):
    for planned in read(results, "notes", "plan.json")["steps"]:
        step = planned["step"]
        update = read(results, "notes", f"steps/step_{step:04d}/update.json")
        after = SkillDocument.parse((results / f"notes/skills/skill_v{step:04d}.md").read_text())
        assert [f"- {note}" for note in update["notes"]] == (after.appendix or "").splitlines()
    assert (results / "notes/eval/val/last/rollouts.jsonl").exists()


def test_guidance_is_gated_or_put_in_without_a_score_and_never_into_best_that_way(results):
    gated = read(results, "suggestions", "slow_update/epoch_02/gate.json")
    assert gated["action"] in ("accept", "accept_new_best", "reject")
    record = read(results, "forced", "slow_update/epoch_02/slow_update.json")
    gate = read(results, "forced", "slow_update/epoch_02/gate.json")
    assert (record["action"], gate["action"]) == ("inject", "inject")
    assert gate["candidate"] is None
    assert gate["state"]["current"]["inherited"]
    assert rows(results, "forced", "slow_update/epoch_02/selection.jsonl") == []
    guidance = SkillDocument.parse((results / "forced/slow_update/epoch_02/skill.md").read_text()).slow_update
    assert guidance == record["slow_update_content"]
    assert (
        gate["state"]["best"]
        == read(results, "forced", f"steps/step_{gate['step']:04d}/gate.json")["state"]["best"]
    )


def test_without_slow_update_no_region_appears_and_the_memory_still_gets_its_pairs(results):
    for name in ("memory_only", "plain"):
        for skill in (results / name / "skills").iterdir():
            assert "SLOW_UPDATE" not in skill.read_text()
    assert read(results, "memory_only", "meta_skill/epoch_02/meta_skill.json")["action"] == "written"
    assert read(results, "memory_only", "slow_update/epoch_02/pairs.json")["sampled"] == 4
    assert not (results / "memory_only/meta_skill/epoch_03").exists()  # nobody would read it
    assert not (results / "memory_only/slow_update/epoch_03").exists()
    assert not (results / "plain/meta_skill").exists()
    assert not (results / "plain/slow_update").exists()


def test_only_changed_pairs_are_kept_and_topped_up(results):
    pairs = read(results, "memory_only", "slow_update/epoch_02/pairs.json")
    assert {pair["kind"] for pair in pairs["pairs"]} <= {"improved", "regressed"}
    assert len(pairs["pairs"]) >= 4 or pairs["sampled"] + pairs["topped_up"] == 12


def test_with_the_gate_off_every_candidate_is_taken(results):
    actions = {gate["action"] for gate in steps(results, "open")}
    assert "force_accept" in actions
    assert actions <= {"force_accept", "skip_no_change", "skip_no_patches"}
    assert {event["left_out"] for event in read(results, "open", "history.json")} == {0}


def test_failures_only(results):
    reflections = read(results, "candidates", "steps/step_0001/reflections.json")
    assert {group["kind"] for group in reflections["groups"]} == {"failure"}
    assert not (results / "candidates/eval/test").exists()


def test_too_long_candidates_are_refused_with_both_sizes(results):
    update = read(results, "short", "steps/step_0001/update.json")
    assert update["action"] == "skip_too_long"
    assert str(update["chars_after"]) in update["detail"]
    assert "100" in update["detail"]
    assert read(results, "short", "summary.json")["outcome"] == "nothing_proposed"
    for epoch in (1, 2):
        folder = f"slow_update/epoch_{epoch:02d}"
        record = read(results, "short", f"{folder}/slow_update.json")
        assert record["action"] == read(results, "short", f"{folder}/gate.json")["action"] == "skip_too_long"
        assert f"{record['chars_after']} characters, expected at most 100" in record["detail"]
        assert f"the current skill has {record['chars_before']}" in record["detail"]
        assert rows(results, "short", f"{folder}/selection.jsonl") == []


def test_the_last_skill_s_score_is_taken_over_when_its_text_has_one(results):
    scores = read(results, "short", "eval/val/last/scores.json")
    assert scores["reused_from"].endswith("eval/val/initial/rollouts.jsonl")
    assert rows(results, "short", "eval/val/last/rollouts.jsonl") == rows(
        results, "short", "eval/val/initial/rollouts.jsonl"
    )
    assert read(results, "forced", "eval/val/last/scores.json")["reused_from"] == ""


def test_the_sample_is_what_the_comparison_starts_with(results):
    pairs = read(results, "memory_only", "slow_update/epoch_02/pairs.json")
    previous = rows(results, "memory_only", "slow_update/epoch_02/previous.jsonl")
    sample = rows(results, "memory_only", "slow_update/epoch_02/sample.jsonl")
    planned = read(results, "memory_only", "plan.json")["epochs"][1]["comparison"]
    assert [row["id"] for row in sample] == planned[:4]
    assert previous[:4] == sample
    assert len(previous) == 4 + pairs["topped_up"]
    plan = read(results, "suggestions", "plan.json")["epochs"]
    assert [
        (results / f"suggestions/slow_update/epoch_{e['epoch']:02d}/sample.jsonl").exists() for e in plan
    ] == [
        False,
        True,
    ]


def test_the_memory_of_an_epoch_holds_its_earlier_steps_and_what_was_rejected(results):
    first, second, third, _ = steps(results, "plain")
    failed = set(first["digest"]["failed_ids"])
    assert all(set(pattern["ids"]) <= failed for pattern in first["digest"]["patterns"])
    assert all(pattern["ids"] and pattern["count"] for pattern in first["digest"]["patterns"])
    assert [digest["step"] for digest in second["state"]["memory"]] == [1, 2]
    assert [digest["step"] for digest in third["state"]["memory"]] == [3]
    for gate in (first, second, third):
        digest = gate["state"]["memory"][-1]
        tried = digest["tried"]["edits"]
        assert bool(tried) == (gate["action"] == "reject")
        assert digest["failed"] == len(digest["failed_ids"])
