"""The hierarchical merge: which patches meet in which call, and what comes of each answer."""

import re

import msgspec
import pytest
from optimizing import answer, ask, in_turn, settings, system_of, user_of

from skillopt.envs.registry import environment
from skillopt.phases.aggregate import Merger, aggregate, concatenate, useful
from skillopt.phases.shapes import MAX_ANSWER_TOKENS
from skillopt.records import Candidate, Edit, Patch, Reflection, Reflections, Suggestion


def patch(name, support=1, side="failure"):
    edit = Edit(op="append", content=f"- {name}", support_count=support, source_type=side)
    return Patch(reasoning=f"why {name}", edits=(edit,))


def reflections(failures=(), successes=()):
    groups = [("failure", each) for each in failures] + [("success", each) for each in successes]
    return Reflections(
        step=2,
        groups=tuple(
            Reflection(kind=side, micro_batch=0, ids=("a",), patch=proposed) for side, proposed in groups
        ),
        rows=1,
        failed=1,
        succeeded=0,
        unscored=0,
    )


def merged(tmp_path, rule, found, *overrides, memory="", size=2):
    def merger(client):
        return Merger(
            client=client,
            settings=settings(f"gradient.merge_batch_size={size}", *overrides),
            prompts=environment("searchqa").prompts,
            skill="# The skill\n",
            memory=memory,
        )

    return ask(tmp_path, rule, lambda client: aggregate(found, merger(client)))


def proposals(call):
    """Which edits the prompt of a merge shows, in order."""
    return re.findall(r'"content": "- ([^"]+)"', user_of(call))


def joining(call):
    """Merge to one edit that is named after its parts."""
    return answer(
        {"reasoning": "m", "edits": [{"op": "append", "content": f"- {'+'.join(proposals(call))}"}]}
    )


def test_levels_until_one_patch_remains_and_a_lone_patch_passes_through(tmp_path):
    found, calls = merged(tmp_path, joining, reflections([patch(name) for name in "abcde"]))
    assert sorted(proposals(call) for call in calls) == [
        ["a", "b"],
        ["a+b", "c+d"],
        ["a+b+c+d", "e"],
        ["c", "d"],
    ]
    assert [edit.content for edit in found.patch.edits] == ["- a+b+c+d+e"]
    assert [(note.side, note.level, note.patches, note.outcome) for note in found.merges] == [
        ("failure", 1, 2, "merged"),
        ("failure", 1, 2, "merged"),
        ("failure", 2, 2, "merged"),
        ("failure", 3, 2, "merged"),
    ]
    assert found.step == 2


def test_one_patch_needs_no_call(tmp_path):
    only = patch("a", support=5)
    found, calls = merged(tmp_path, in_turn(), reflections([only]))
    assert (found.patch, found.merges, calls) == (only, (), [])
    found, calls = merged(tmp_path, in_turn(), reflections([], [only]))
    assert (found.patch, calls) == (only, [])
    found, calls = merged(tmp_path, in_turn(), reflections())
    assert (found.patch.empty, calls) == (True, [])


def test_both_sides_meet_in_one_last_merge_failures_first(tmp_path):
    sides = reflections([patch("a"), patch("b"), patch("c")], [patch("s", side="success")])
    found, calls = merged(tmp_path, joining, sides)
    assert proposals(calls[-1]) == ["a+b+c", "s"]
    assert "the one from failures wins" in system_of(calls[-1])
    assert not any("the one from failures wins" in system_of(call) for call in calls[:-1])
    assert [(note.side, note.level) for note in found.merges] == [("failure", 1), ("failure", 2), ("both", 3)]
    assert found.patch.edits[0].merge_level == 3


def test_the_batch_size_bounds_a_merge(tmp_path):
    found, calls = merged(tmp_path, joining, reflections([patch(name) for name in "abcde"]), size=4)
    assert sorted(proposals(call) for call in calls) == [["a", "b", "c", "d"], ["a+b+c+d", "e"]]
    assert len(found.merges) == 2


def test_merged_edits_carry_support_source_and_level(tmp_path):
    given = [
        {"op": "append", "content": "- own", "support_count": 9, "source_type": "success"},
        {"op": "replace", "target": "- old", "content": "- none"},
    ]
    found, calls = merged(
        tmp_path, in_turn({"edits": given}), reflections([patch("a", support=3), patch("b", support=4)])
    )
    assert calls[0].body["max_tokens"] == MAX_ANSWER_TOKENS
    marks = [(edit.support_count, edit.source_type, edit.merge_level) for edit in found.patch.edits]
    assert marks == [(9, "success", 1), (7, "failure", 1)]
    edits = [(edit.op, edit.target, edit.content) for edit in found.patch.edits]
    assert edits == [("append", "", "- own"), ("replace", "- old", "- none")]
    several = Patch(edits=(*patch("a", support=3).edits, *patch("b", support=5).edits))
    sides = reflections([several, patch("c", support=4)])
    found, _ = merged(tmp_path / "m", in_turn({"edits": given}), sides)
    assert [edit.support_count for edit in found.patch.edits] == [9, 5 + 4]
    pair = [patch("a", side="success"), patch("b", side="success")]
    found, _ = merged(tmp_path / "s", in_turn({"edits": given}), reflections([], pair))
    assert [edit.source_type for edit in found.patch.edits] == ["success", "success"]


@pytest.mark.parametrize(
    "change",
    [
        Edit(op="append", content="Be brief."),
        Suggestion(type="add", title="Brevity", instruction="Be brief."),
        Candidate(title="Brevity", new_skill="Be brief."),
    ],
)
def test_files_tell_support_source_and_level_of_every_change_whatever_they_are(change):
    """Also where they are as nobody said anything else, and decoded from a file or not."""
    for one in (change, msgspec.json.decode(msgspec.json.encode(change), type=type(change))):
        written = msgspec.json.decode(msgspec.json.encode(one))
        assert set(written) == set(change.__struct_fields__)
        assert (written["support_count"], written["source_type"], written["merge_level"]) == (0, "failure", 0)


def test_an_unusable_merge_falls_back_to_concatenation_failures_first_and_says_so(tmp_path):
    bad = ("no JSON", {"reasoning": "no list"}, {"edits": None})
    sides = reflections([patch("a", 3)], [patch("s", 2, "success")])
    found, calls = merged(tmp_path, in_turn(*bad), sides)
    assert len(calls) == 3
    assert [edit.content for edit in found.patch.edits] == ["- a", "- s"]
    assert [(e.support_count, e.source_type, e.merge_level) for e in found.patch.edits] == [
        (3, "failure", 1),
        (2, "success", 1),
    ]
    (note,) = found.merges
    assert (note.outcome, len(note.problems), note.usage.calls) == ("concatenated", 3, 3)
    assert 'no list "edits"' in note.problems[1]


@pytest.mark.parametrize("stray", ["skill_candidates", "revise_suggestions"])
def test_a_merge_that_brings_another_mode_s_list_does_not_get_round_the_budget(tmp_path, stray):
    others = {
        "skill_candidates": [{"title": "t", "new_skill": "# Mine\n"}],
        "revise_suggestions": [{"instruction": "all of it"}],
    }
    again = {"edits": [{"op": "append", "content": "- a"}]}
    found, calls = merged(
        tmp_path, in_turn({stray: others[stray]}, again | others), reflections([patch("a"), patch("b")])
    )
    assert 'no list "edits"' in calls[1].body["messages"][-1]["content"]
    assert [edit.content for edit in found.patch.edits] == ["- a"]
    assert (found.patch.suggestions, found.patch.candidates) == ((), ())


def test_a_merge_may_drop_everything(tmp_path):
    found, calls = merged(tmp_path, in_turn({"edits": []}), reflections([patch("a"), patch("b")]))
    assert found.patch.empty
    assert len(calls) == 1


def test_a_side_that_merged_to_nothing_leaves_the_other_as_it_is(tmp_path):
    def rule(call):
        return answer({"edits": []}) if "a" in proposals(call) else joining(call)

    found, calls = merged(tmp_path, rule, reflections([patch("a"), patch("b")], [patch("s", side="success")]))
    assert len(calls) == 1
    assert [edit.content for edit in found.patch.edits] == ["- s"]


def test_suggestions_and_candidates_are_merged_in_their_own_lists(tmp_path):
    suggestion = Patch(suggestions=(Suggestion(type="add", title="t", instruction="A.", support_count=2),))
    found, _ = merged(
        tmp_path,
        in_turn({"revise_suggestions": [{"instruction": "A and B."}]}),
        reflections([suggestion, suggestion]),
        "optimizer.skill_update_mode=rewrite_from_suggestions",
    )
    assert [
        (s.instruction, s.priority_hint, s.support_count, s.source_type, s.merge_level)
        for s in found.patch.suggestions
    ] == [("A and B.", "", 4, "failure", 1)]
    candidate = Patch(candidates=(Candidate(title="t", new_skill="# A\n", support_count=2),))
    found, calls = merged(
        tmp_path / "c",
        in_turn({"skill_candidates": [{"new_skill": "# AB\n"}]}),
        reflections([candidate, candidate]),
        "optimizer.skill_update_mode=full_rewrite_minibatch",
        "model.rewrite_max_completion_tokens=777",
    )
    assert [(c.new_skill, c.support_count, c.source_type, c.merge_level) for c in found.patch.candidates] == [
        ("# AB\n", 4, "failure", 1)
    ]
    unmerged = concatenate([suggestion, candidate, candidate], 3)
    assert [(s.instruction, s.merge_level) for s in unmerged.suggestions] == [("A.", 3)]
    assert [(c.new_skill, c.merge_level) for c in unmerged.candidates] == [("# A\n", 3)] * 2
    assert calls[0].body["max_tokens"] == 777


def test_the_memory_and_the_skill_are_in_the_prompt(tmp_path):
    _, calls = merged(tmp_path, joining, reflections([patch("a"), patch("b")]), memory="merge boldly")
    assert "merge boldly" in user_of(calls[0])
    assert "# The skill" in user_of(calls[0])
    assert "why a" in user_of(calls[0])


def test_groups_without_a_patch_or_with_an_empty_one_are_left_out():
    found = reflections([patch("a"), None, Patch(reasoning="nothing general")], [patch("s")])
    assert useful(found, "failure") == [patch("a")]
    assert useful(found, "success") == [patch("s")]


def test_concatenation_keeps_the_order():
    joined = concatenate([patch("a"), patch("b", side="success")], 2)
    assert [(edit.content, edit.merge_level) for edit in joined.edits] == [("- a", 2), ("- b", 2)]
