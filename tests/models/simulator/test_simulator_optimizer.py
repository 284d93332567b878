"""The simulated optimizer: every call answers in its shape, and what it says depends on its prompt."""

import json

import msgspec
import pytest

from skillopt.models.simulator.optimizer import call_kind, improve
from skillopt.models.simulator.rules import HARMFUL, HELPFUL, rules_in, rules_of
from skillopt.phases import shapes
from skillopt.prompting import PairView, TrajectoryView, render
from skillopt.records import Candidate, Digest, Edit, Patch, Suggestion, Turn

SKILL = "# Notes\n\nNothing has been learned yet.\n"
MODES = ("patch", "rewrite_from_suggestions", "full_rewrite_minibatch")
SEEDS = [str(number) for number in range(30)]


def turns(said, accepted, question="Who designed the tower of Arn?"):
    return (
        Turn(role="system", content="You answer questions."),
        Turn(
            role="user",
            content="## Context\n\n[DOC] The tower of Arn was designed by Ilse Korven. Boats pass Port Hale."
            f"\n\n## Question\n\n{question}",
        ),
        Turn(role="assistant", content=f"I think so.\n<answer>{said}</answer>"),
        Turn(
            role="note",
            content=f"question: {question}\npredicted answer: {said}\naccepted answers: {accepted}",
        ),
    )


def view(said, accepted="Ilse Korven", number=1):
    return TrajectoryView(
        id=f"i{number}",
        task_type="qa",
        reason="EM=0",
        turns=1,
        reference="",
        trajectory=turns(said, accepted),
    )


def pair(said, number=1):
    return PairView(
        id=f"i{number}",
        task_type="qa",
        reference="",
        previous_reason="",
        current_reason="EM=0",
        previous=turns("Ilse Korven", "Ilse Korven"),
        current=turns(said, "Ilse Korven"),
    )


CHATTY = tuple(
    view("Based on it, the tower of Arn was designed by Ilse Korven in those days.", number=n)
    for n in range(8)
)
WRONG_PLACE = tuple(view("Port Hale", number=n) for n in range(8))


def call(name, shape, seed="0", **values):
    system, user = render(name, folder=None, **values)
    return msgspec.json.decode(improve(system.content, user.content, seed), type=shape)


def patch_of(answer, mode="patch"):
    changes = answer.changes(mode) if isinstance(answer, shapes.AnalystAnswer) else answer
    return changes.as_patch(mode, "failure", 1, 0)


def analyse(group, side="failure", mode="patch", seed="0", **values):
    given = {"skill": SKILL, "learning_rate": 4, "history": (), "memory": "", "skill_aware": False}
    return call(
        f"analyst_{side}", shapes.AnalystAnswer, seed, update_mode=mode, group=group, **(given | values)
    )


def proposed(answer, mode="patch"):
    patch = answer.changes(mode).as_patch(mode, "failure", 8, 0)
    texts = [edit.content for edit in patch.edits]
    texts += [suggestion.instruction for suggestion in patch.suggestions]
    texts += [candidate.new_skill for candidate in patch.candidates]
    return rules_of("\n".join(texts))


@pytest.mark.parametrize("mode", MODES)
def test_an_analyst_diagnoses_what_is_in_its_prompt(mode):
    assert {"short", "bare"} <= proposed(analyse(CHATTY, mode=mode), mode)
    assert "rare" in proposed(analyse(WRONG_PLACE, mode=mode), mode)
    assert not {"short", "bare"} & proposed(analyse(WRONG_PLACE, mode=mode), mode)


def test_an_analyst_counts_patterns_and_keeps_to_the_budget():
    answer = analyse(CHATTY, learning_rate=2)
    assert len(patch_of(answer).edits) == 2
    assert {pattern.count for pattern in answer.patterns()} == {8}
    assert answer.patterns()[0].failure_type == "rule_missing"


def test_an_analyst_patches_gaps_only():
    known = (
        "- Give the shortest span.\n- No explanation in the tags.\n- Copy the words of the passage exactly.\n"
    )
    for seed in SEEDS:
        assert not {"short", "bare", "exact"} & proposed(analyse(CHATTY, skill=known, seed=seed))


def test_the_first_edit_replaces_the_line_that_says_nothing():
    edits = patch_of(analyse(CHATTY)).edits
    assert (edits[0].op, edits[0].target) == ("replace", "Nothing has been learned yet.")
    assert all(edit.op == "append" for edit in edits[1:])


@pytest.mark.parametrize("mode", MODES)
def test_a_harmful_line_is_repaired(mode):
    harmful = "- Always explain your answer in full sentences."
    answer = analyse(CHATTY, mode=mode, skill=f"# Notes\n{harmful}\n")
    patch = answer.changes(mode).as_patch(mode, "failure", 8, 0)
    if mode == "patch":
        assert (patch.edits[0].op, patch.edits[0].target) == ("replace", harmful)
    elif mode == "rewrite_from_suggestions":
        assert patch.suggestions[0].type == "remove"
        assert harmful in patch.suggestions[0].instruction
    else:
        assert harmful not in patch.candidates[0].new_skill


def test_most_proposals_help_and_some_do_not():
    rules = [proposed(analyse(CHATTY, seed=seed)) for seed in SEEDS]
    spoiled = sum(bool(found & set(HARMFUL)) for found in rules)
    assert all(found & set(HELPFUL) for found in rules)
    assert 0 < spoiled < len(SEEDS) / 2


def test_what_was_rejected_or_warned_of_is_not_tried_again():
    tried = tuple(
        Edit(op="append", content=text) for text in ("- Always explain your answer in full sentences.",)
    )
    digest = Digest(
        step=1,
        action="reject",
        failed=8,
        total=8,
        tried=Patch(edits=tried),
        score_before=0.2,
        score_after=0.0,
    )
    memory = "- Done harm: lists of possible answers."
    free = [proposed(analyse(CHATTY, seed=seed)) for seed in SEEDS * 3]
    bound = [proposed(analyse(CHATTY, seed=seed, history=(digest,), memory=memory)) for seed in SEEDS * 3]
    assert any("full_sentence" in found or "list_all" in found for found in free)
    assert not any("full_sentence" in found or "list_all" in found for found in bound)


def test_a_rule_that_was_not_followed_becomes_a_reminder():
    answer = analyse(CHATTY, skill="- Answer with the shortest span.\n", skill_aware=True)
    assert [rules_in(note) for note in answer.notes()] == [("short",)]
    assert answer.patterns()[0].failure_type == "rule_ignored"
    assert analyse(CHATTY, skill_aware=False).notes() == ()


def test_successes_teach_what_the_skill_lacks():
    group = tuple(view("Ilse Korven", number=n) for n in range(4))
    found = [analyse(group, side="success", seed=seed) for seed in SEEDS]
    assert any("short" in proposed(answer) for answer in found)
    assert any(answer.changes("patch").as_patch("patch", "success", 4, 0).empty for answer in found)
    assert found[0].patterns()[0].count == 4


def test_a_merge_joins_equal_meanings_and_lets_failures_win():
    def edit(text, **more):
        return Edit(op="append", content=text, **more)

    patches = (
        Patch(edits=(edit("- Keep the answer brief.", support_count=3), edit("- Be calm.", support_count=1))),
        Patch(
            edits=(
                edit("- Answer with the shortest span.", support_count=5, source_type="success"),
                edit("- Answer in full sentences.", support_count=9, source_type="success"),
            )
        ),
    )
    answer = call(
        "merge",
        shapes.ChangesAnswer,
        update_mode="patch",
        side="both",
        skill=SKILL,
        memory="",
        patches=patches,
    )
    merged = [(change.content, change.support_count, change.source_type) for change in patch_of(answer).edits]
    assert merged == [("- Keep the answer brief.", 8, "failure"), ("- Be calm.", 1, "failure")]


def test_a_merge_keeps_one_replacement_of_a_line():
    patches = tuple(
        Patch(edits=(Edit(op="replace", target="old", content=text),))
        for text in ("- Keep the answer brief.", "- Copy the words of the passage exactly.")
    )
    answer = call(
        "merge",
        shapes.ChangesAnswer,
        update_mode="patch",
        side="failure",
        skill="old",
        memory="",
        patches=patches,
    )
    assert sorted((edit.op, edit.target) for edit in patch_of(answer).edits) == [
        ("append", ""),
        ("replace", "old"),
    ]


def test_merges_of_the_rewrite_modes_answer_in_their_shape():
    suggestion = Suggestion(type="add", title="t", instruction="Keep the answer brief.", support_count=2)
    given = {"side": "failure", "skill": "# Old\n", "memory": ""}
    answer = call(
        "merge",
        shapes.ChangesAnswer,
        update_mode="rewrite_from_suggestions",
        patches=(Patch(suggestions=(suggestion,)),) * 2,
        **given,
    )
    assert [
        (item.instruction, item.support_count)
        for item in patch_of(answer, "rewrite_from_suggestions").suggestions
    ] == [("Keep the answer brief.", 4)]
    texts = (
        "# Old\n- Keep the answer brief.\n",
        "# Old\n- Give only the name.\n- Be calm.\n",
        "# Old\n- Odd.\n",
    )
    candidates = tuple(Patch(candidates=(Candidate(title="t", new_skill=text),)) for text in texts)
    answer = call(
        "merge", shapes.ChangesAnswer, update_mode="full_rewrite_minibatch", patches=candidates, **given
    )
    (merged,) = patch_of(answer, "full_rewrite_minibatch").candidates
    assert "# Old" in merged.new_skill
    assert rules_of(merged.new_skill) == {"short"}
    assert "Odd" not in merged.new_skill


def test_ranks_by_support_within_the_budget():
    changes = tuple(
        Edit(op="append", content=f"- {text}", support_count=count)
        for text, count in (
            ("Be calm.", 1),
            ("Keep the answer brief.", 40),
            ("No explanation inside the tags.", 30),
        )
    )
    for seed in SEEDS:
        answer = call(
            "rank", shapes.RankAnswer, seed, skill="# Notes\n", changes=changes, budget=2, memory=""
        )
        assert sorted(answer.selected_indices) == [1, 2]
    stale = call("rank", shapes.RankAnswer, skill="Give only the name.", changes=changes, budget=1, memory="")
    assert stale.selected_indices == (2,)


def test_learning_rate_falls_with_scores_and_rejections():
    changes = tuple(Edit(op="append", content=f"- {n}") for n in range(9))
    digest = Digest(step=1, action="reject", failed=8, total=8)

    def rate(score, history=()):
        given = {"skill": SKILL, "changes": changes, "score_soft": 0.5, "n": 8}
        return call(
            "learning_rate", shapes.LearningRateAnswer, score_hard=score, history=history, **given
        ).learning_rate

    assert rate(0.0) > rate(0.5) > rate(0.5, (digest,)) > 0


def test_a_rewrite_carries_out_suggestions():
    answer = call(
        "rewrite",
        shapes.RewriteAnswer,
        skill_body="# Notes\n\n- Answer in full sentences.\n- Be kind.\n- Odd.\n",
        suggestions=(
            Suggestion(type="add", title="t", instruction="Keep the answer brief."),
            Suggestion(type="remove", title="t", instruction="Remove this line: - Odd."),
        ),
        history=(),
    )
    assert answer.new_skill == "# Notes\n\n- Be kind.\n- Keep the answer brief.\n"


PAIRS = {"persistent_fail": (pair("Port Hale", 2),), "improved": (), "stable_success": ("i9",)}


def test_slow_update_writes_what_the_body_lacks_and_keeps_old_guidance():
    answer = call(
        "slow_update",
        shapes.SlowUpdateAnswer,
        previous_skill="# Old\n",
        current_skill="- No explanation inside the tags.\n",
        guidance="- Copy the words of the passage exactly.\n- Answer in full sentences.",
        regressed=CHATTY_PAIRS,
        accepted=(),
        **PAIRS,
    )
    rules = rules_of(answer.slow_update_content)
    assert {"short", "exact", "rare"} <= rules
    assert not rules & {"full_sentence", "bare"}


CHATTY_PAIRS = (pair("Based on it, the tower of Arn was designed by Ilse Korven in those days."),)


def test_memory_names_what_is_open_and_what_did_harm():
    answer = call(
        "meta_skill",
        shapes.MetaSkillAnswer,
        previous_skill="- Answer unknown when unsure.\n",
        current_skill="# Notes\n",
        memory="- Done harm: lists of possible answers.",
        regressed=CHATTY_PAIRS,
        **PAIRS,
    )
    for topic in ("lists of possible answers", "refusals to answer", "whole sentences as answers"):
        assert topic in answer.meta_skill_content
    assert "Still open" in answer.meta_skill_content


def test_consolidation_keeps_one_note_of_each_meaning():
    notes = ("Keep the answer brief.", "Give only the name.", "Check twice.", "check twice.")
    answer = call("consolidate", shapes.NotesAnswer, notes=notes)
    assert answer.notes == ("Keep the answer brief.", "Check twice.")


def test_a_target_prompt_is_no_optimizer_call():
    assert call_kind("You answer quiz questions. ## Skill\n- Keep notes and edits.") == ""


def test_answers_are_plain_json_objects():
    system, user = render(
        "analyst_failure",
        folder=None,
        update_mode="patch",
        skill=SKILL,
        learning_rate=4,
        history=(),
        memory="",
        skill_aware=True,
        group=CHATTY,
    )
    answer = json.loads(improve(system.content, user.content, "0"))
    assert list(answer) == ["batch_size", "failure_summary", "appendix_notes", "patch"]
    assert list(answer["patch"]["edits"][0]) == ["op", "target", "content"]
