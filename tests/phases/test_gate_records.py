"""What a gate record says: decisions, what is reused, what stands afterwards, what later steps are told."""

import pytest
from msgspec.structs import replace

from skillopt.cli import main
from skillopt.config.resolve import load_run
from skillopt.decisions.gate import GateRule
from skillopt.errors import ExitCode
from skillopt.files import read_json, write_json, write_jsonl, write_text
from skillopt.phases.gate import (
    Files,
    digest,
    initial_gate,
    scored,
    skill_after,
    slow_update_gate,
    step_gate,
    with_text,
)
from skillopt.records import (
    Edit,
    Gate,
    Patch,
    Pattern,
    Plan,
    Reflection,
    Reflections,
    Selected,
    SlowUpdate,
    SplitInfo,
    Update,
)
from skillopt.skill import sha256, visible, with_appendix, with_slow_update
from tests.decisions.test_scoring import row
from tests.optimizing import RUN

RULE = GateRule()
SKILL = "# Skill\n\n- One.\n"
BETTER = "# Skill\n\n- Two.\n"


def skill(text, *hard, name="steps/step_0001/selection.jsonl"):
    rows = [row(f"i{n}", value) for n, value in enumerate(hard)]
    return scored(text, rows, Files(skill="a.md", rows=name), RULE)


def before(*hard, epoch=1):
    return replace(
        initial_gate(skill(SKILL, *hard, name="eval/val/initial/rollouts.jsonl"), "hard"), epoch=epoch
    )


def made(text, action="candidate", **fields):
    return Update(
        step=1,
        action=action,
        mode="patch",
        chars_before=1,
        chars_after=1,
        candidate_sha256=sha256(text),
        **fields,
    )


def test_the_initial_skill_is_current_and_best_and_scored():
    gate = before(1.0, 0.0)
    assert (gate.action, gate.step, gate.candidate.value) == ("initial", 0, 0.5)
    assert gate.state.current == gate.state.best
    assert gate.state.scored == {sha256(visible(SKILL)): "eval/val/initial/rollouts.jsonl"}


def test_an_accepted_step():
    gate = step_gate(1, 1, before(1.0, 0.0), made(BETTER), skill(BETTER, 1.0, 1.0), RULE)
    assert (gate.action, gate.paired, gate.improved, gate.regressed) == ("accept_new_best", 2, ("i1",), ())
    assert (gate.candidate.value, gate.compared.value) == (1.0, 0.5)
    assert gate.state.current.sha256 == gate.state.best.sha256 == sha256(BETTER)
    assert gate.reused_from == ""
    assert gate.state.scored[sha256(visible(BETTER))] == "steps/step_0001/selection.jsonl"


def test_a_candidate_whose_text_was_scored_says_where_the_rows_come_from_and_is_not_accepted():
    state = before(1.0, 0.0)
    again = with_slow_update(SKILL, "")  # another file, the same text for the target
    gate = step_gate(2, 1, state, made(again), skill(again, 1.0, 0.0), RULE)
    assert (gate.action, gate.reused_from) == ("reject", "eval/val/initial/rollouts.jsonl")
    gate = slow_update_gate(state, slow("candidate", again), skill(again, 1.0, 0.0), RULE)
    assert (gate.action, gate.reused_from) == ("reject", "eval/val/initial/rollouts.jsonl")


@pytest.mark.parametrize("action", ["skip_no_patches", "skip_no_change", "skip_no_rewrite", "skip_too_long"])
def test_a_skipped_step_keeps_everything_and_says_why(action):
    state = before(1.0, 0.0)
    gate = step_gate(1, 1, state, made(SKILL, action), None, RULE)
    assert (gate.action, gate.candidate, gate.state) == (action, None, state.state)


def test_a_new_epoch_starts_with_an_empty_memory():
    told = replace(before(0.0), state=replace(before(0.0).state, memory=(some_digest(),)))
    assert step_gate(2, 1, told, made(SKILL, "skip_no_change"), None, RULE).state.memory == (some_digest(),)
    assert step_gate(2, 2, told, made(SKILL, "skip_no_change"), None, RULE).state.memory == ()
    assert slow_update_gate(told, slow("inject"), None, RULE).state.memory == ()


def slow(action, text=BETTER):
    return SlowUpdate(epoch=2, action=action, chars_before=1, chars_after=2, candidate_sha256=sha256(text))


@pytest.mark.parametrize(
    ("made_action", "said"),
    [
        ("prepare_region", "inject"),
        ("inject", "inject"),
        ("skip_no_content", "skip_no_content"),
        ("skip_no_pairs", "skip_no_pairs"),
        ("skip_too_long", "skip_too_long"),
    ],
)
def test_the_end_of_an_epoch_without_a_score(made_action, said):
    state = before(1.0, 0.0)
    gate = slow_update_gate(state, slow(made_action), None, RULE)
    assert (gate.action, gate.phase, gate.epoch) == (said, "slow_update", 2)
    assert (gate.state.best, gate.state.current) == (state.state.best, state.state.current)


def test_guidance_goes_through_the_gate_like_any_other():
    better = slow_update_gate(before(1.0, 0.0), slow("candidate"), skill(BETTER, 1.0, 1.0), RULE)
    assert (better.action, better.state.best.sha256) == ("accept_new_best", sha256(BETTER))
    equal = slow_update_gate(before(1.0, 0.0), slow("candidate"), skill(BETTER, 0.0, 1.0), RULE)
    assert (equal.action, equal.improved, equal.regressed) == ("reject", ("i1",), ("i0",))
    off = slow_update_gate(
        before(1.0, 0.0), slow("candidate"), skill(BETTER, 0.0, 0.0), GateRule(use_gate=False)
    )
    assert (off.action, off.state.best.sha256) == ("force_accept", sha256(SKILL))


def test_a_text_put_in_without_a_score_inherits_one_unless_the_target_sees_no_difference():
    state = before(1.0, 0.0).state
    guided = with_text(state, with_slow_update(SKILL, "Guide."), "skill.md").current
    assert (guided.inherited, guided.skill, guided.score) == (True, "skill.md", state.current.score)
    empty = with_text(state, with_slow_update(SKILL, ""), "skill.md").current
    assert (empty.inherited, empty.visible_sha256) == (False, state.current.visible_sha256)
    assert empty.sha256 != state.current.sha256


@pytest.mark.parametrize("action", ["reject", "skip_no_patches", "skip_too_long"])
def test_notes_are_kept_whatever_the_gate_decides(action):
    gate = replace(before(0.0), action=action)
    noted = made(BETTER, notes=("Note.",), notes_added=1)
    assert skill_after(gate, SKILL, BETTER, noted) == with_appendix(SKILL, ("Note.",))
    assert skill_after(gate, SKILL, BETTER, made(BETTER)) == SKILL


@pytest.mark.parametrize("action", ["accept", "accept_new_best", "force_accept"])
def test_a_taken_candidate_is_the_skill(action):
    assert skill_after(replace(before(0.0), action=action), SKILL, BETTER, made(BETTER)) == BETTER


# the digest


def some_digest():
    return digest(reflections(), selected(), before(0.0))


def pattern(kind, count, text="d"):
    return Pattern(failure_type=kind, count=count, description=text)


def group(ids, *patterns, kind="failure"):
    return Reflection(kind=kind, micro_batch=0, ids=ids, patch=Patch(), patterns=patterns)


def reflections(*groups, reasons=()):
    return Reflections(
        step=3, groups=groups, rows=9, failed=4, succeeded=4, unscored=1, reasons=tuple(reasons)
    )


def selected():
    edits = (Edit(op="append", content="- tried"),)
    return Selected(step=3, budget=4, budget_reason="", how="within_budget", patch=Patch(edits=edits))


def test_failure_patterns_are_added_up_with_the_items_they_were_seen_among():
    found = reflections(
        group(("a", "b"), pattern("late", 1), pattern("long", 1)),
        group(("c",), pattern("late", 2), pattern("late", 1, "another")),
        group(("s",), pattern("good", 9), kind="success"),
    )
    left = digest(found, selected(), before(0.0))
    assert [(p.failure_type, p.description, p.count, p.ids) for p in left.patterns] == [
        ("late", "d", 3, ("a", "b", "c")),
        ("long", "d", 1, ("a", "b")),
        ("late", "another", 1, ("c",)),
    ]
    assert (left.failed, left.total, left.failed_ids) == (4, 9, ("a", "b", "c"))


def test_without_a_pattern_the_grouped_reasons_are_passed_on():
    reason = Pattern(failure_type="reason", count=2, description="too long", ids=("a", "b"))
    left = digest(reflections(group(("a", "b")), reasons=(reason,)), selected(), before(0.0))
    assert left.patterns == (reason,)


def test_only_a_rejected_step_leaves_what_it_tried_with_both_scores():
    worse = step_gate(3, 1, before(1.0, 0.0), made(BETTER), skill(BETTER, 0.0, 0.0), RULE)
    left = digest(reflections(), selected(), worse)
    assert (left.step, left.action, left.score_before, left.score_after) == (3, "reject", 0.5, 0.0)
    assert left.tried == selected().patch
    better = step_gate(3, 1, before(1.0, 0.0), made(BETTER), skill(BETTER, 1.0, 1.0), RULE)
    left = digest(reflections(), selected(), better)
    assert (left.tried.empty, left.score_before, left.score_after) == (True, None, None)


# what is said at the start


def run_gate(tmp_path, hard, soft=None, *overrides, skill=SKILL, planned=None):
    run, source = tmp_path / "run", tmp_path / "initial.md"
    write_text(source, SKILL)
    write_json(run / "config.json", load_run(RUN, [f"env.skill_init={source}", *overrides], {}))
    write_json(run / "plan.json", plan_of(len(hard) if planned is None else planned))
    write_text(run / "skill.md", skill)
    write_jsonl(run / "rows.jsonl", [row(f"i{n}", value, soft) for n, value in enumerate(hard)])
    command = ["gate", "--config", run / "config.json", "--plan", run / "plan.json"]
    command += ["--skill", run / "skill.md", "--rows", run / "rows.jsonl", "--out", run / "gate.json"]
    return main([str(part) for part in command])


def plan_of(selection_items):
    val = SplitInfo(source="val", size=selection_items, used=selection_items, sha256="")
    return Plan(run="run", num_epochs=1, steps_per_epoch=1, splits={"val": val}, epochs=(), steps=())


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        ({"planned": 3}, "rows.jsonl: expected a row for each of 3 selection items, found 2 rows"),
        ({"skill": ""}, "skill.md: expected the text that the configuration"),
        ({"skill": "# Skill\n"}, "skill.md: expected the text that the configuration"),
    ],
)
def test_a_cut_off_file_of_the_initial_skill_is_named_and_starts_nothing(tmp_path, capsys, damage, named):
    assert run_gate(tmp_path, [1.0, 0.0], **damage) == ExitCode.CORRUPT_FILE
    assert named in capsys.readouterr().err
    assert not (tmp_path / "run/gate.json").exists()


def test_the_start_says_what_the_gate_can_see(tmp_path, capsys):
    assert run_gate(tmp_path, [1.0, 0.0, 1.0, 0.0, 1.0]) == ExitCode.OK
    gate = read_json(tmp_path / "run/gate.json", Gate)
    assert gate.state.current.score.value == 0.6
    said = capsys.readouterr().err
    assert "with 5 selection items, hard moves in steps of 0.2" in said
    assert "no candidate can be better" not in said


@pytest.mark.parametrize(
    ("hard", "soft", "overrides", "stopped"),
    [
        ([1.0, 1.0], 1.0, (), True),
        ([1.0, 1.0], 0.5, (), True),
        ([1.0, 1.0], 0.5, ("evaluation.gate_metric=soft",), False),
        ([1.0, 1.0], 1.0, ("evaluation.gate_metric=mixed", "evaluation.gate_mixed_weight=0.3"), True),
        ([1.0, 0.0], 1.0, (), False),
        ([1.0, 1.0], 1.0, ("evaluation.use_semantic_density=true",), False),
    ],
)
def test_a_score_that_cannot_rise_stops_the_run(tmp_path, capsys, hard, soft, overrides, stopped):
    code = run_gate(tmp_path, hard, soft, *overrides)
    assert code == (ExitCode.BAD_CONFIG if stopped else ExitCode.OK)
    assert ("no headroom" in capsys.readouterr().err) == stopped
    assert (tmp_path / "run/gate.json").exists() != stopped


def test_without_the_gate_a_score_that_cannot_rise_is_only_said(tmp_path, capsys):
    assert run_gate(tmp_path, [1.0, 1.0], 1.0, "evaluation.use_gate=false") == ExitCode.OK
    assert "no candidate can be better" in capsys.readouterr().err
