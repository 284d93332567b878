"""What always holds, one test each, on one finished run with an optimizer that disobeys.

Numbers are those of the list below; three have files of their own, named in the test at the end.

1 best_skill.md is a gated candidate or the initial skill, 2 acceptance is strict and a text is scored once,
3 the edit budget holds, 4 protected regions change through their own phase only, 5 the optimizer sees no
selection or test item and test items wait for the end, 6 the same bytes in any order of completion,
7 kill -9 repeats no call, 8 an outage is no score, 9 a key reaches no file, 10 wrong settings are refused.
"""

import hashlib
import json
import re
from pathlib import Path

import pytest
from endpoint import Answer
from loop import CANARY, TRAIN, Project, is_optimizer, kind_of, model, rules_in

from skillopt.skill import SkillDocument, visible

SETTINGS = {
    "train__batch_size": 3,
    "optimizer__learning_rate": 4,
    "optimizer__min_learning_rate": 1,
    "optimizer__use_skill_aware_reflection": True,
}
STEPS = (1, 2, 3, 4)
EPOCHS = (1, 2)
TRAIN_THINGS, TEST_THINGS = set(range(1, 7)), set(range(11, 15))
PROTECTED = [
    {"op": "replace", "target": "<!-- SLOW_UPDATE_START -->", "content": "gone"},
    {"op": "delete", "target": "Read the question twice."},
    {"op": "append", "content": "<!-- SLOW_UPDATE_START -->\nmine\n<!-- SLOW_UPDATE_END -->"},
]


def disobedient(call):
    """A useful first edit, then a harmful one in two epochs, then a useful one; always too many of them."""
    kind = kind_of(call)
    if kind == "target":
        return Answer(text="<answer>worse</answer>") if "HARM" in call.prompt else model(call)
    if kind == "slow_update_content":
        return Answer(text=json.dumps({"slow_update_content": "- RULE 3: look at the level."}))
    if kind == "selected_indices":
        return Answer(text=json.dumps({"selected_indices": [-1, 99, 0, 0, 1, 2, 3]}))
    if kind != "failure_summary":
        return model(call)
    useful = json.loads(model(call).text)["patch"]["edits"]
    harm = rules_in(call.prompt) == 1 and "HARM" not in call.prompt
    edits = [{"op": "append", "content": "HARM"}] if harm else useful
    found = {"patch": {"edits": [*edits, *PROTECTED, *PROTECTED]}}
    return Answer(text=json.dumps(found | {"appendix_notes": ["Read the question twice."]}))


def delayed(call):
    """The same replies, in an order of completion that has nothing to do with that of the calls."""
    answer = disobedient(call)
    answer.delay = hashlib.sha256(call.raw).digest()[0] % 8 / 100
    return answer


class Finished:
    """A finished run and the calls of it in the order they arrived."""

    def __init__(self, project, calls):
        self.project = project
        self.calls = calls
        self.read = project.read
        self.rows = project.rows

    def text(self, path):
        return (self.project.results / path).read_text(encoding="utf-8")

    def step(self, step, name):
        return self.read(f"steps/step_{step:04d}/{name}.json")

    def before(self, step):
        """Return skill and gate record that a step starts from."""
        if step == 3:
            return self.text("slow_update/epoch_01/skill.md"), self.read("slow_update/epoch_01/gate.json")
        return self.text(f"skills/skill_v{step - 1:04d}.md"), self.step(step - 1, "gate")

    def decisions(self):
        """Return the state before, the gate record and the rows of every candidate, in order."""
        for step in STEPS:
            folder = f"steps/step_{step:04d}"
            yield (
                self.before(step)[1]["state"],
                self.step(step, "gate"),
                self.rows(f"{folder}/selection.jsonl"),
            )
            if step % 2 == 0:
                folder = f"slow_update/epoch_{step // 2:02d}"
                state = self.step(step, "gate")["state"]
                yield state, self.read(f"{folder}/gate.json"), self.rows(f"{folder}/selection.jsonl")


def train(folder: Path, server, rule, before=(), **settings) -> Finished:
    project = Project(folder, server.url, **SETTINGS, **settings)
    server.reset(rule)
    running = project.start(*before, *TRAIN).wait()
    assert running.code == 0, running.text
    assert server.repeated == 0
    return Finished(project, list(server.calls))


@pytest.fixture(scope="module")
def run(server, tmp_path_factory):
    made = train(tmp_path_factory.mktemp("invariants"), server, disobedient)
    # What the tests below rest on: an acceptance, two rejections of one text, guidance that is taken.
    actions = [gate["action"] for _, gate, _ in made.decisions()]
    assert actions == ["accept_new_best", "reject", "inject", "reject", "accept_new_best", "accept_new_best"]
    return made


def test_invariant_1_best_skill_is_a_gated_candidate_or_the_initial_skill(run):
    gated = {run.text("skills/skill_v0000.md")}
    for folder in [f"steps/step_{step:04d}" for step in STEPS] + ["slow_update/epoch_02"]:
        if run.rows(f"{folder}/selection.jsonl"):
            gated.add(run.text(f"{folder}/candidate.md"))
    assert len(gated) >= 4
    assert run.text("best_skill.md") in gated


def hard_mean(results, ids):
    return sum(results[id_] for id_ in ids) / len(ids)


def test_invariant_2_acceptance_is_strict_on_the_same_items_and_a_text_is_scored_once(run):
    """Scores are computed anew from rows; step 3 proposes what step 2 was rejected for."""
    for state, gate, rows in run.decisions():
        if not rows:
            continue
        current = {id_: pair[0] for id_, pair in state["current"]["results"].items() if pair}
        candidate = {row["id"]: row["hard"] for row in rows}
        ids = sorted(current.keys() & candidate.keys())
        assert len(ids) == gate["paired"] == 4
        better = hard_mean(candidate, ids) > hard_mean(current, ids)
        assert gate["action"].startswith("accept") == better
        assert (gate["state"]["current"]["sha256"] == gate["candidate_sha256"]) == better
    harmful = [run.text(f"steps/step_000{step}/candidate.md") for step in (2, 3)]
    assert visible(harmful[0]) == visible(harmful[1])
    assert run.step(3, "gate")["reused_from"] == "steps/step_0002/selection.jsonl"
    assert run.rows("steps/step_0003/selection.jsonl") == run.rows("steps/step_0002/selection.jsonl")
    asked = [call for call in run.calls if kind_of(call) == "target" and "HARM" in call.prompt]
    assert len(asked) == 4  # the selection split, once


def test_invariant_3_no_more_edits_are_applied_than_the_budget_allows(run):
    for planned in run.read("plan.json")["steps"]:
        step, budget = planned["step"], planned["edit_budget"]
        edits = run.step(step, "update")["edits"]
        assert len([edit for edit in edits if edit["status"].startswith("applied")]) <= budget
        assert len(run.step(step, "merged")["patch"]["edits"]) == 4  # of the seven that were proposed
    assert [planned["edit_budget"] for planned in run.read("plan.json")["steps"]] == [4, 2, 1, 1]


def test_invariant_4_protected_regions_change_through_their_own_phase_only(run):
    for step in STEPS:
        before = SkillDocument.parse(run.before(step)[0])
        candidate = SkillDocument.parse(run.text(f"steps/step_{step:04d}/candidate.md"))
        assert candidate.slow_update == before.slow_update
        assert candidate.appendix == "- Read the question twice."  # not deleted by an edit
        assert candidate.body != before.body
    assert "gone" not in run.text("best_skill.md")
    for epoch, guidance in zip(EPOCHS, ("", "- RULE 3: look at the level."), strict=True):
        before = SkillDocument.parse(run.text(f"skills/skill_v{2 * epoch:04d}.md"))
        after = SkillDocument.parse(run.text(f"slow_update/epoch_{epoch:02d}/skill.md"))
        assert (after.body, after.appendix, after.slow_update) == (before.body, before.appendix, guidance)


def things(call):
    return {int(number) for number in re.findall(r"[Tt]hing (\d+)", call.prompt)}


def test_invariant_5_the_optimizer_sees_train_items_only_and_the_test_waits_for_the_end(run):
    shown = [things(call) for call in run.calls if is_optimizer(call)]
    assert set().union(*shown) == TRAIN_THINGS
    initial = next(call for call in run.calls if kind_of(call) == "target").body["messages"][0]
    training = [
        number
        for number, call in enumerate(run.calls)
        if is_optimizer(call) or (kind_of(call) == "target" and things(call) <= TRAIN_THINGS)
    ]
    tests = [(number, call) for number, call in enumerate(run.calls) if things(call) & TEST_THINGS]
    early = [call for number, call in tests if number < max(training)]
    assert all(call.body["messages"][0] == initial for call in early)
    asked = [(call.body["messages"][0]["content"], *things(call)) for _, call in tests]
    texts = {visible(run.text(path)) for path in ("skills/skill_v0000.md", "best_skill.md")}
    assert len(asked) == len(set(asked)) == len(TEST_THINGS) * len(texts)  # the last skill is the best one


def test_invariant_6_the_same_bytes_with_other_workers_in_another_order_of_completion(run, server, tmp_path):
    """And with other hashes, another time zone, another language and a terminal that knows few characters."""
    ascii_only = ("LC_ALL=C", "PYTHONCOERCECLOCALE=0", "PYTHONUTF8=0", "PYTHONIOENCODING=cp1252")
    machine = ("env", "PYTHONHASHSEED=7", "TZ=Asia/Tokyo", *ascii_only)
    again = train(tmp_path, server, delayed, machine, env__workers=8, gradient__analyst_workers=1)
    ours, theirs = (results_of(made.project) for made in (run, again))
    assert len(ours) > 60
    assert theirs == ours


def results_of(project):
    """Return the files of a run without what names the number of workers."""
    files = project.files()
    del files["config.json"]
    return files


HAVE_THEIR_OWN = {
    "7_kill": ("workflow/test_kills.py", "test_killed_inside_phases"),
    "8_outage": ("workflow/test_faults.py", "test_an_outage_in_any_phase_ends_with_its_code_and_a_message"),
    "9_key": ("workflow/test_faults.py", "test_no_key_reaches_a_file_or_a_prompt"),
}


@pytest.mark.parametrize(("file", "test"), HAVE_THEIR_OWN.values(), ids=HAVE_THEIR_OWN)
def test_invariant_has_its_own_test_elsewhere(file, test):
    text = (Path(__file__).parents[1] / file).read_text(encoding="utf-8")
    assert f"\ndef {test}(" in text


def test_invariant_9_no_key_in_any_file_of_a_run_that_gives_notes_and_takes_guidance(run):
    paths = [path for path in run.project.folder.rglob("*") if path.is_file()]
    assert len(paths) > 100
    assert [path for path in paths if CANARY.encode() in path.read_bytes()] == []


WRONG = [
    ("optimizer.learning_rat=3", "optimizer.learning_rate"),
    ("optimizer.lr_scheduler=cosin", "cosine"),
    ("evaluation.gate_mixed_weight=0.3", "gate_metric: mixed"),
]


def test_invariant_10_unknown_misspelt_and_inert_settings_are_refused_before_the_first_call(server, tmp_path):
    project = Project(tmp_path, server.url)
    server.reset(disobedient)
    running = project.start("skillopt", "train", "loop", "--set", *(override for override, _ in WRONG)).wait()
    assert running.code == 2, running.text
    for _, said in WRONG:
        assert said in running.text
    assert server.calls == []
    assert not project.results.exists()
