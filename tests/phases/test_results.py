"""Best skill, history and summary, from the files of a small run that is written by hand."""

import pytest
from msgspec.structs import replace

from skillopt.cli import main
from skillopt.config.resolve import load_run
from skillopt.decisions.gate import GateRule
from skillopt.errors import ExitCode
from skillopt.files import read_json, write_json, write_jsonl, write_text
from skillopt.phases.best_skill import best_of
from skillopt.phases.evaluate import Protocol, Scores, equal_rows, has_candidate, split_score
from skillopt.phases.gate import Files, initial_gate, scored, slow_update_gate, step_gate
from skillopt.phases.history import as_csv, event_of, history
from skillopt.phases.summary import SkillScores, Summary, count_epochs, outcome_of, table, usage_of
from skillopt.records import (
    Edit,
    EditReport,
    EpochPlan,
    Gate,
    Merged,
    MergeNote,
    MetaSkill,
    Patch,
    Plan,
    Reflection,
    Reflections,
    Scored,
    Selected,
    SlowUpdate,
    Update,
    Usage,
)
from skillopt.skill import sha256, visible
from tests.decisions.test_scoring import row
from tests.optimizing import RUN, settings

RULE = GateRule()
INITIAL, BETTER = "# Skill\n", "# Skill\n\n- One.\n"
NO_MEMORY = "optimizer.use_meta_skill=false"


def usage(calls):
    return Usage(calls=calls, prompt=10 * calls, completion=calls)


def rows(*hard):
    return [replace(row(f"i{n}", value), usage=usage(1)) for n, value in enumerate(hard)]


def skill(text, *hard, path="skills/skill_v0000.md", origin="eval/val/initial/rollouts.jsonl"):
    return scored(text, rows(*hard), Files(skill=path, rows=origin), RULE)


START = initial_gate(skill(INITIAL, 1.0, 0.0), "hard")


def update(action="candidate", text=BETTER):
    edit = Edit(op="append", content="- One.")
    return Update(
        step=1,
        action=action,
        mode="patch",
        edits=(EditReport(edit=edit, status="applied"), EditReport(edit=edit, status="skipped_empty")),
        chars_before=8,
        chars_after=16,
        candidate_sha256=sha256(text),
        usage=usage(1),
    )


def step(*hard, number=1, text=BETTER, before=START, rule=RULE):
    candidate = skill(
        text,
        *hard,
        path=f"steps/step_{number:04d}/candidate.md",
        origin=f"steps/step_{number:04d}/selection.jsonl",
    )
    return step_gate(number, number, before, update(text=text), candidate, rule)


def slow(action, before, *hard, text=BETTER, epoch=2):
    record = SlowUpdate(
        epoch=epoch,
        action=action,
        chars_before=8,
        chars_after=16,
        candidate_sha256=sha256(text),
        usage=usage(1),
    )
    folder = f"slow_update/epoch_{epoch:02d}"
    candidate = skill(text, *hard, path=f"{folder}/candidate.md", origin=f"{folder}/selection.jsonl")
    return record, slow_update_gate(before, record, candidate if hard else None, RULE)


# best skill


def test_best_is_what_the_last_gate_says_unless_the_last_skill_is_strictly_better():
    gate = step(1.0, 1.0)
    assert best_of(gate, None, RULE).skill == "steps/step_0001/candidate.md"
    last = skill("other", 1.0, 1.0, path="last.md")
    assert best_of(gate, last, RULE).skill == "steps/step_0001/candidate.md"
    assert best_of(START, last, RULE) == last


def test_the_earliest_of_equally_good_skills_is_best():
    first = step(1.0, 1.0)
    second = step(1.0, 1.0, number=2, text="# Other\n", before=first)
    assert second.action == "reject"
    assert second.state.best.skill == "steps/step_0001/candidate.md"
    unguarded = step(1.0, 1.0, number=2, text="# Other\n", before=first, rule=GateRule(use_gate=False))
    assert unguarded.action == "force_accept"
    assert unguarded.state.best.skill == "steps/step_0001/candidate.md"


# outcome


def outcome(*gates, best=None):
    return outcome_of([event_of(gate) for gate in (START, *gates)], best or gates[-1].state.best)


def test_outcomes():
    accepted, rejected = step(1.0, 1.0), step(0.0, 0.0)
    skipped = step_gate(1, 1, START, update("skip_no_patches", INITIAL), None, RULE)
    taken = step(0.0, 0.0, rule=GateRule(use_gate=False))
    injected = slow("inject", rejected)[1]
    assert outcome(accepted) == "improved"
    assert outcome(rejected) == "all_rejected"
    assert outcome(rejected, injected) == "all_rejected"
    assert outcome(skipped) == outcome(skipped, slow("skip_too_long", skipped)[1]) == "nothing_proposed"
    assert outcome(taken) == "none_better"
    last = skill(
        BETTER, 1.0, 1.0, path="slow_update/epoch_02/skill.md", origin="eval/val/last/rollouts.jsonl"
    )
    assert outcome(rejected, injected, best=last) == "improved"


def test_gates_are_counted_by_epoch_and_kind():
    gates = [START, step(1.0, 1.0), step(0.0, 0.0, number=2), slow("skip_no_content", START)[1]]
    counted = count_epochs([event_of(gate) for gate in gates])
    assert [(c.epoch, c.accepted, c.rejected, c.skipped) for c in counted] == [(1, 1, 0, 0), (2, 0, 1, 1)]
    assert counted[1].actions == {"reject": 1, "skip_no_content": 1}
    assert count_epochs([event_of(START)]) == ()


# a run by hand: two epochs of one step


def plan(epochs=2):
    return Plan(
        run="run",
        num_epochs=epochs,
        steps_per_epoch=1,
        splits={},
        epochs=tuple(
            EpochPlan(epoch=n, first_step=n, last_step=n, sample=1, comparison=("i0", "i1"))
            for n in range(1, epochs + 1)
        ),
        steps=(),
    )


@pytest.fixture
def run(tmp_path):
    """Step 1 is accepted; its text comes again in step 2 and from the slow update."""
    folder = tmp_path / "run"
    first = step(1.0, 1.0)
    second = step(1.0, 1.0, number=2, before=first)
    record, guided = slow("candidate", second, 1.0, 1.0)
    write_json(folder / "steps/step_0000/gate.json", START)
    for number, gate in ((1, first), (2, second)):
        write_step(folder / f"steps/step_{number:04d}", number, gate)
    prepared, empty = slow("prepare_region", first, epoch=1)
    for epoch, made, gate in ((1, prepared, empty), (2, record, guided)):
        write_json(folder / f"slow_update/epoch_{epoch:02d}/slow_update.json", made)
        write_json(folder / f"slow_update/epoch_{epoch:02d}/gate.json", gate)
    write_jsonl(folder / "slow_update/epoch_01/selection.jsonl", [])
    write_jsonl(folder / "slow_update/epoch_02/selection.jsonl", rows(1.0, 1.0))
    write_jsonl(folder / "slow_update/epoch_02/sample.jsonl", rows(0.0))
    write_jsonl(folder / "slow_update/epoch_02/previous.jsonl", rows(0.0, 0.0))
    write_jsonl(folder / "slow_update/epoch_02/current.jsonl", rows(1.0, 1.0))
    write_scores(folder / "eval/val/initial", INITIAL, rows(1.0, 0.0))
    return folder


def write_step(folder, number, gate):
    write_jsonl(folder / "rollouts.jsonl", rows(0.0, 0.0, 1.0))
    patch = Patch(edits=(Edit(op="append", content="- One."),))
    groups = [
        Reflection(kind="failure", micro_batch=0, ids=("i0", "i1"), patch=patch, usage=usage(2)),
        Reflection(kind="success", micro_batch=0, ids=("i2",), patch=None, usage=usage(3)),
    ]
    found = Reflections(step=number, groups=tuple(groups), rows=3, failed=2, succeeded=1, unscored=0)
    write_json(folder / "reflections.json", found)
    note = MergeNote(side="failure", level=1, patches=2, outcome="merged", usage=usage(1))
    write_json(folder / "merged.json", Merged(step=number, patch=patch, merges=(note,)))
    chosen = Selected(
        step=number, budget=4, budget_reason="", how="ranked", patch=patch, clipped=patch, usage=usage(1)
    )
    write_json(folder / "patch.json", chosen)
    write_json(folder / "update.json", update())
    write_jsonl(folder / "selection.jsonl", rows(1.0, 1.0))
    write_json(folder / "gate.json", gate)


def write_scores(folder, text, found, reused_from=""):
    write_jsonl(folder / "rollouts.jsonl", found)
    scores = Scores(
        split=folder.parent.name,
        skill="skill.md",
        skill_sha256=sha256(text),
        visible_sha256=sha256(visible(text)),
        reused_from=reused_from,
        protocol=Protocol(items="i", prompts="p", settings={}),
        overall=split_score(found),
        task_types={},
    )
    write_json(folder / "scores.json", scores)


def run_plan(epochs=2):
    from skillopt.records import StepPlan

    steps = tuple(StepPlan(step=n, epoch=n, batches=(), edit_budget=4) for n in range(1, epochs + 1))
    return replace(plan(epochs), steps=steps)


def used(run, *overrides, named=None):
    from skillopt.phases.summary import SkillScores

    texts = named or {"initial": INITIAL, "best": BETTER, "last": BETTER}
    skills = {
        name: SkillScores(sha256=sha256(text), chars=0, origin="", selection=None, test=None)
        for name, text in texts.items()
    }
    found = usage_of(run, run_plan(), settings(*overrides).optimizer, skills)
    return {role: {phase: u.calls for phase, u in phases.items()} for role, phases in found.items()}


def test_usage_counts_each_call_once_also_where_an_equal_text_came_again(run):
    found = used(run)
    assert found["target"] == {
        "rollout": 6,
        "evaluate": 2,  # step 1 alone: step 2 and the slow update took its rows over
        "sample": 1,
        "compare": 3,  # one item topped up with the previous skill, two with the current one
        "evaluate_val": 2,
    }
    assert found["optimizer"] == {"reflect": 10, "aggregate": 2, "select": 2, "update": 2, "slow_update": 2}


def test_tests_of_equal_texts_count_once_and_those_of_other_texts_not_at_all(run):
    write_scores(run / "eval/test/initial", INITIAL, rows(0.0, 0.0, 0.0))
    write_scores(run / "eval/test/best", BETTER, rows(1.0, 1.0, 1.0))
    write_scores(run / "eval/test/last", BETTER, rows(1.0, 1.0, 1.0), reused_from="eval/test/best")
    assert used(run)["target"]["evaluate_test"] == 6
    write_scores(run / "eval/test/best", "# A best skill of long ago\n", rows(1.0, 1.0, 1.0))
    assert used(run)["target"]["evaluate_test"] == 3


def test_what_an_earlier_form_of_the_run_left_is_not_counted(run):
    memory = MetaSkill(epoch=2, action="written", meta_skill_content="m", usage=usage(1))
    write_json(run / "meta_skill/epoch_02/meta_skill.json", memory)
    assert "meta_skill" not in used(run)["optimizer"]  # of the last epoch, from when there was a third
    found = used(run, "optimizer.use_slow_update=false")
    assert "slow_update" not in found["optimizer"]
    assert not {"compare", "sample"} & found["target"].keys()


def test_history_has_one_event_a_gate_in_order(run):
    events = history(run, run_plan(), slow_update=True)
    assert [(e.phase, e.epoch, e.step, e.action) for e in events] == [
        ("initial", 0, 0, "initial"),
        ("step", 1, 1, "accept_new_best"),
        ("slow_update", 1, 1, "inject"),
        ("step", 2, 2, "reject"),
        ("slow_update", 2, 2, "reject"),
    ]
    first = events[1]
    assert (first.candidate, first.compared, first.paired, first.current, first.best) == (
        1.0,
        0.5,
        2,
        1.0,
        1.0,
    )
    assert (first.improved, first.regressed, first.failed, first.rows) == (1, 0, 2, 3)
    assert (first.groups, first.groups_without_answer, first.merged, first.budget) == (2, 1, 1, 4)
    assert (first.selected, first.clipped, first.applied, first.skill_chars) == (1, 1, 1, 16)
    assert [e.phase for e in history(run, run_plan(), slow_update=False)] == ["initial", "step", "step"]
    lines = as_csv(events).splitlines()
    assert len(lines) == 6
    assert lines[0].startswith("epoch,step,phase,action,metric,candidate")
    assert lines[1].startswith("0,0,initial,initial,hard,0.5,,0,0,,0.5,0.5,skills/skill_v0000.md,0,0,,")


def test_best_skill_is_a_copy_of_the_text_that_was_scored(run):
    write_json(run / "config.json", load_run(RUN, [], {}))
    write_text(run / "steps/step_0001/candidate.md", BETTER)
    write_text(run / "last.md", BETTER)
    command = ["best_skill", "--config", run / "config.json", "--last", run / "last.md"]
    command += ["--gates", run / "steps/step_0000/gate.json", run / "slow_update/epoch_02/gate.json"]
    command += ["--out", run / "best_skill.md", "--record", run / "best_skill.json"]
    assert main([str(part) for part in command]) == ExitCode.OK
    assert (run / "best_skill.md").read_bytes() == BETTER.encode()
    assert read_json(run / "best_skill.json", Scored).origin == "steps/step_0001/selection.jsonl"
    for damaged in (BETTER.encode() + b"- by hand\n", BETTER.encode() + b"\xff"):
        (run / "steps/step_0001/candidate.md").write_bytes(damaged)
        assert main([str(part) for part in command]) == ExitCode.CORRUPT_FILE


@pytest.mark.parametrize(("hard", "best"), [(1.0, "last.md"), (0.0, "steps/step_0001/candidate.md")])
def test_a_last_skill_with_rows_of_its_own_becomes_best_when_it_is_better(run, hard, best):
    write_json(run / "config.json", load_run(RUN, [], {}))
    gate = read_json(run / "slow_update/epoch_02/gate.json", Gate)
    half = replace(gate.state.best, results=dict.fromkeys(gate.state.best.results, (0.5, 0.5)))
    text = BETTER + "- The last.\n"
    current = replace(gate.state.current, sha256=sha256(text))
    write_json(run / "gate.json", replace(gate, state=replace(gate.state, current=current, best=half)))
    write_text(run / "steps/step_0001/candidate.md", BETTER)
    write_text(run / "last.md", text)
    write_jsonl(run / "last.jsonl", [row(id_, hard) for id_ in half.results])
    command = ["best_skill", "--config", run / "config.json", "--gates", run / "gate.json"]
    command += ["--last", run / "last.md", "--last-rows", run / "last.jsonl"]
    command += ["--out", run / "best_skill.md", "--record", run / "best_skill.json"]
    assert main([str(part) for part in command]) == ExitCode.OK
    assert read_json(run / "best_skill.json", Scored).skill == best
    assert (run / "best_skill.md").read_bytes() == (run / best).read_bytes()


# equal texts


def test_rows_of_an_equal_text_are_found_in_the_state_or_beside(run):
    state = run / "slow_update/epoch_02/gate.json"
    assert read_json(state, Gate).state.scored.keys() == {sha256(visible(INITIAL)), sha256(visible(BETTER))}
    assert equal_rows(sha256(visible(BETTER)), state, run, []) == run / "steps/step_0001/selection.jsonl"
    assert equal_rows(sha256("another"), state, run, []) is None
    beside = [run / "eval/val/initial/scores.json"]
    assert equal_rows(sha256(visible(INITIAL)), None, run, beside) == run / "eval/val/initial/rollouts.jsonl"
    assert equal_rows(sha256("another"), None, run, beside) is None


def test_only_a_candidate_is_evaluated(run):
    path = run / "steps/step_0001/update.json"
    assert has_candidate(None, path, BETTER)
    assert has_candidate(path, run / "candidate.md", BETTER)
    write_json(path, update("skip_too_long"))
    assert not has_candidate(path, run / "candidate.md", INITIAL)


def printed(metric, selection):
    scores = SkillScores(
        sha256="", chars=8, origin="", selection=split_score(selection), test=split_score(rows(1.0, 0.0))
    )
    return table(
        Summary(
            run="mine",
            outcome="all_rejected",
            simulated=("optimizer",),
            models={"optimizer": "simulator/simulated"},
            metric=metric,
            skills=dict.fromkeys(("initial", "best", "last"), scores),
            epochs=count_epochs([event_of(step(1.0, 0.0))]),
            usage={"optimizer": {"reflect": usage(1), "select": Usage(calls=2)}},
            splits={},
        )
    ).splitlines()


def test_the_printed_table():
    lines = printed("hard", rows(1.0, 0.0, 0.0, 0.0))
    assert lines[:2] == ["mine: all rejected", "simulated: optimizer"]
    assert " ".join(lines[2].split()) == "skill selection hard test hard test soft chars"
    assert " ".join(lines[3].split()) == "initial 0.250 [0.05, 0.70] 0.500 [0.09, 0.91] 0.500 [0.09, 0.91] 8"
    assert lines[6:] == [
        "epoch 1: 0 accepted, 1 rejected, 0 skipped",
        "optimizer (simulator/simulated): 3 calls used, tokens in unknown, out unknown",
    ]


def test_the_printed_table_names_gaps_and_shows_the_score_of_the_gate():
    lines = printed("soft", rows(1.0, 0.0, 0.0, None))
    assert " ".join(lines[2].split()) == "skill selection hard selection soft test hard test soft chars"
    assert " ".join(lines[3].split()[:4]) == "initial 0.333 [0.06, 0.79]"
    assert lines[6:9] == [
        f"{name} on selection: 3 of 4 items have a score" for name in ("initial", "best", "last")
    ]


def test_coverage_is_the_share_of_rows_with_a_score():
    assert split_score(rows(1.0, 0.0, 0.0, None)).coverage == 0.75
    assert split_score([]).coverage is None


@pytest.mark.parametrize("text", ["", "# Skill\n"])
@pytest.mark.parametrize("name", ["best", "initial"])
def test_a_skill_of_the_run_that_is_not_the_recorded_one_is_not_evaluated(tmp_path, capsys, name, text):
    run, source = tmp_path / "run", tmp_path / "initial.md"
    write_text(source, BETTER)
    write_json(run / "config.json", load_run(RUN, [f"env.skill_init={source}"], {}))
    path = run / ("best_skill.md" if name == "best" else "skills/skill_v0000.md")
    write_text(path, text)
    write_json(run / "best_skill.json", skill(BETTER, 1.0))
    command = ["evaluate", "--config", run / "config.json", "--skill", path, "--label", f"test/{name}"]
    command += ["--split", "test", "--store", tmp_path / "calls", "--out", run / "rows.jsonl"]
    assert main([str(part) for part in command]) == ExitCode.CORRUPT_FILE
    assert f"{path}: expected the text that" in capsys.readouterr().err
    assert not (tmp_path / "calls").exists()
    assert not (run / "rows.jsonl").exists()
