"""The edit budget: who sets it, who ranks, and what is left when an answer is of no use."""

import pytest
from endpoint import Answer
from optimizing import ask, in_turn, settings, user_of

from skillopt.envs.registry import environment
from skillopt.phases.select import Chooser, Situation, select, situation, valid_indices
from skillopt.records import Candidate, Digest, Edit, Patch, Suggestion
from tests.decisions.test_scoring import row


def edits(count):
    return Patch(
        reasoning="merged",
        edits=tuple(Edit(op="append", content=f"- {n}", support_count=n) for n in range(count)),
    )


DIGEST = Digest(step=1, action="reject", failed=1, total=2, score_before=0.5, score_after=0.0)


def selected(tmp_path, rule, merged, budget, *overrides):
    def chooser(client):
        return Chooser(
            client=client,
            settings=settings(*overrides),
            prompts=environment("searchqa").prompts,
            situation=Situation(
                skill="# The skill\n", history=(DIGEST,), memory="rank by reach", hard=0.25, soft=0.5, n=40
            ),
        )

    return ask(tmp_path, rule, lambda client: select(2, merged, budget, chooser(client)))


def contents(patch):
    return [edit.content for edit in patch.edits]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_at_or_under_the_budget_nobody_is_asked(tmp_path, count):
    found, calls = selected(tmp_path, in_turn(), edits(count), 3)
    assert (found.how, found.budget, found.patch, calls) == ("within_budget", 3, edits(count), [])
    assert found.budget_reason == "by the schedule"
    assert found.clipped.empty


def test_over_the_budget_the_ranking_decides_and_the_rest_is_listed_by_rank(tmp_path):
    found, calls = selected(
        tmp_path, in_turn({"reasoning": "why", "selected_indices": [3, 0, 4]}), edits(5), 2
    )
    assert len(calls) == 1
    assert "Choose at most 2." in user_of(calls[0])
    assert "rank by reach" in user_of(calls[0])
    assert found.how == "ranked"
    assert contents(found.patch) == ["- 3", "- 0"]
    assert contents(found.clipped) == ["- 4", "- 1", "- 2"]
    assert (found.reasoning, found.patch.reasoning) == ("why", "merged")


@pytest.mark.parametrize(
    ("said", "kept"), [(["a", "b"], "a; b"), ({"a": 1}, '{"a": 1}'), (3, "3"), (None, "")]
)
def test_no_reason_costs_a_ranking_or_a_number(tmp_path, said, kept):
    found, calls = selected(tmp_path, in_turn({"reasoning": said, "selected_indices": [1]}), edits(3), 1)
    assert (found.how, found.reasoning, len(calls)) == ("ranked", kept, 1)
    given = {"reasoning": said, "learning_rate": 3}
    found, calls = selected(tmp_path / "number", in_turn(given), edits(3), None, AUTONOMOUS)
    assert (found.budget_reason, len(calls)) == (f"the optimizer asked for 3: {kept}".strip(), 1)


def test_invalid_and_repeated_indices_are_ignored_and_fewer_than_the_budget_are_fine(tmp_path):
    found, _ = selected(tmp_path, in_turn({"selected_indices": [9, -1, 2, 2, "2", 5]}), edits(5), 3)
    assert found.how == "ranked"
    assert contents(found.patch) == ["- 2"]
    assert contents(found.clipped) == ["- 0", "- 1", "- 3", "- 4"]
    assert valid_indices([3, -1, 0, 3, 4, 0], 4) == [3, 0]


def test_without_a_valid_index_the_list_is_cut_and_that_is_recorded(tmp_path):
    found, calls = selected(tmp_path, in_turn({"selected_indices": [7, -3]}), edits(4), 2)
    assert (found.how, contents(found.patch), contents(found.clipped)) == (
        "fallback_cut",
        ["- 0", "- 1"],
        ["- 2", "- 3"],
    )
    assert len(calls) == 1
    found, calls = selected(tmp_path / "b", in_turn("no", "no", "no"), edits(4), 2)
    assert (found.how, contents(found.patch), len(found.problems), len(calls)) == (
        "fallback_cut",
        ["- 0", "- 1"],
        3,
        3,
    )
    assert found.usage.calls == 3


def test_no_control_takes_everything(tmp_path):
    found, calls = selected(tmp_path, in_turn(), edits(9), 2, "optimizer.lr_control_mode=none")
    assert (found.how, found.budget, found.patch.size, calls) == ("not_limited", None, 9, [])
    found, calls = selected(tmp_path, in_turn(), edits(9), None)
    assert (found.how, found.budget_reason, calls) == ("not_limited", "the schedule has no limit", [])


AUTONOMOUS = "optimizer.lr_control_mode=autonomous"
RATE = {"reasoning": "calm", "confidence": "high", "risk_notes": ["overlap"]}


@pytest.mark.parametrize(
    ("asked", "limit", "how", "kept"),
    [
        (3, 3, "within_budget", 3),
        (99, 3, "within_budget", 3),
        (0, 0, "zero_budget", 0),
        (-4, 0, "zero_budget", 0),
    ],
)
def test_the_optimizer_s_own_number_is_clamped_to_what_there_is(tmp_path, asked, limit, how, kept):
    found, calls = selected(tmp_path, in_turn(RATE | {"learning_rate": asked}), edits(3), None, AUTONOMOUS)
    assert (found.budget, found.how, found.patch.size, found.clipped.size) == (limit, how, kept, 3 - kept)
    assert found.budget_reason == f"the optimizer asked for {asked}: calm"
    assert (found.confidence, found.risk_notes) == ("high", ("overlap",))
    prompt = user_of(calls[0])
    for part in (
        "# The skill",
        "40 attempts",
        "0.2500",
        "0.5000",
        "### Step 1: reject",
        "There are 3 changes",
    ):
        assert part in prompt


def test_the_optimizer_s_own_number_below_what_there_is_leads_to_a_ranking(tmp_path):
    rule = in_turn(RATE | {"learning_rate": "1"}, {"selected_indices": [2]})
    found, calls = selected(tmp_path, rule, edits(3), None, AUTONOMOUS)
    assert (found.how, found.budget, contents(found.patch), len(calls)) == ("ranked", 1, ["- 2"], 2)
    assert found.usage.calls == 2


@pytest.mark.parametrize(
    "bad",
    [
        "I think four.",
        {"reasoning": "no number"},
        Answer(text='{"learning_rate": 3}', finish_reason="length"),
    ],
)
def test_an_unusable_number_means_no_edits_and_is_recorded(tmp_path, bad):
    found, calls = selected(tmp_path, in_turn(bad, bad, bad), edits(3), None, AUTONOMOUS)
    assert (found.budget, found.how, found.patch.empty, found.clipped.size) == (0, "zero_budget", True, 3)
    assert (found.budget_reason, len(found.problems), len(calls)) == ("no usable answer", 3, 3)


@pytest.mark.parametrize(
    ("confidence", "risks", "said"),
    [
        (0.8, "one text", ("0.8", ("one text",))),
        (None, None, ("", ())),
        ({"of": 1}, ["a", "", 2], ("{'of': 1}", ("a", "2"))),
    ],
)
def test_what_else_the_optimizer_says_about_its_number_never_spoils_it(tmp_path, confidence, risks, said):
    given = {"learning_rate": 3, "confidence": confidence, "risk_notes": risks}
    found, _ = selected(tmp_path, in_turn(given), edits(3), None, AUTONOMOUS)
    assert (found.how, (found.confidence, found.risk_notes)) == ("within_budget", said)


def test_the_scores_of_a_step_are_those_of_its_rows():
    rows = [row("a", 1.0), row("b", 0.0, 0.5), row("a", 1.0), row("c", None, status="timeout")]
    found = situation(rows, "# S\n", (DIGEST,), "memory")
    assert (found.hard, found.soft, found.n) == (2 / 3, 2.5 / 3, 3)
    assert (found.skill, found.history, found.memory) == ("# S\n", (DIGEST,), "memory")
    assert (situation([], "", (), "").hard, situation([], "", (), "").n) == (None, 0)


def test_nothing_merged_needs_no_call(tmp_path):
    for control in ("fixed", "autonomous", "none"):
        found, calls = selected(
            tmp_path / control, in_turn(), Patch(), 3, f"optimizer.lr_control_mode={control}"
        )
        assert (found.how, found.patch.empty, calls) == ("nothing", True, [])


def test_suggestions_keep_to_the_budget_and_whole_skills_know_none(tmp_path):
    suggestions = Patch(
        suggestions=tuple(Suggestion(type="add", title=str(n), instruction=f"do {n}") for n in range(3))
    )
    mode = "optimizer.skill_update_mode=rewrite_from_suggestions"
    found, _ = selected(tmp_path, in_turn({"selected_indices": [1]}), suggestions, 1, mode)
    assert [s.title for s in found.patch.suggestions] == ["1"]
    assert [s.title for s in found.clipped.suggestions] == ["0", "2"]
    whole = Patch(candidates=tuple(Candidate(title=str(n), new_skill="# S\n") for n in range(3)))
    mode = "optimizer.skill_update_mode=full_rewrite_minibatch"
    found, calls = selected(tmp_path / "c", in_turn(), whole, 1, mode)
    assert (found.how, found.budget, found.patch, calls) == ("not_limited", None, whole, [])


def test_in_mode_patch_whole_skills_do_not_lift_the_budget(tmp_path):
    """Whatever a file says: the update mode decides whether there is a budget."""
    stray = Patch(edits=edits(3).edits, candidates=(Candidate(title="t", new_skill="# Mine\n"),))
    found, _ = selected(tmp_path, in_turn({"selected_indices": [0]}), stray, 1)
    assert (found.budget, contents(found.patch), found.patch.candidates) == (1, ["- 0"], ())
