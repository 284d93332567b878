"""What analysts are told, and what becomes of each kind of answer."""

import json

import msgspec
import pytest
from endpoint import Answer
from msgspec.structs import replace
from optimizing import answer, ask, in_turn, settings, system_of, user_of

from skillopt.envs.registry import environment
from skillopt.errors import ProviderDead
from skillopt.phases.reflect import Context, Group, reflect
from skillopt.phases.shapes import MAX_ANSWER_TOKENS
from skillopt.prompting import changes_of
from skillopt.records import Digest, Edit, Item, Patch, Pattern, Turn
from tests.decisions.test_scoring import row

SKILL = "# Skill\n\n- Keep it.\n"
EDIT = {"op": "append", "target": "", "content": "- New."}
SUGGESTION = {"type": "add", "title": "t", "instruction": "Be brief.", "priority_hint": 1}
CANDIDATE = {"title": "t", "new_skill": "# Whole\n", "change_summary": "all"}
FITTING = {
    "patch": {"patch": {"reasoning": "r", "edits": [EDIT]}},
    "rewrite_from_suggestions": {"reasoning": "r", "revise_suggestions": [SUGGESTION]},
    "full_rewrite_minibatch": {"reasoning": "r", "skill_candidates": [CANDIDATE]},
}
LISTS = {
    "patch": "edits",
    "rewrite_from_suggestions": "revise_suggestions",
    "full_rewrite_minibatch": "skill_candidates",
}
ALL = {**FITTING["patch"], **FITTING["rewrite_from_suggestions"], **FITTING["full_rewrite_minibatch"]}


def failed(number):
    said = Turn(role="assistant", content=f"said {number}")
    return replace(row(f"f{number}", 0.0), reason="wrong", trajectory=(said,), turns=2)


def group(*rows, side="failure"):
    return Group(side=side, micro_batch=0, rows=rows or (failed(1), failed(2), failed(3)))


def reflected(tmp_path, rule, *overrides, groups=None, context=None):
    groups = groups or [group()]
    rows = [row for each in groups for row in each.rows]
    chosen = settings(*overrides)
    items = {r.id: Item(id=r.id, data={"answers": [f"gold {r.id}"], "question": "Q?"}) for r in rows}
    given = context or Context(skill=SKILL, history=(), memory="")
    bench = environment("searchqa")
    return ask(
        tmp_path,
        rule,
        lambda client: reflect(3, rows, groups, given, client, chosen, bench, items),
    )


def mode_is(mode):
    return f"optimizer.skill_update_mode={mode}"


@pytest.mark.parametrize("mode", FITTING)
def test_only_the_list_of_the_update_mode_is_taken(tmp_path, mode):
    found, calls = reflected(tmp_path, in_turn(ALL), mode_is(mode))
    assert len(calls) == 1
    long = settings().model.rewrite_max_completion_tokens
    assert long != MAX_ANSWER_TOKENS
    assert calls[0].body["max_tokens"] == (long if mode == "full_rewrite_minibatch" else MAX_ANSWER_TOKENS)
    assert found.groups[0].patch.reasoning == "r"
    patch = found.groups[0].patch
    kept = [len(patch.edits), len(patch.suggestions), len(patch.candidates)]
    assert kept == [int(mode == name) for name in FITTING]


@pytest.mark.parametrize("mode", FITTING)
def test_an_answer_without_its_list_is_asked_for_again_with_the_error_named(tmp_path, mode):
    others = {}
    for other, fitting in FITTING.items():
        if other != mode:
            others |= fitting
    found, calls = reflected(tmp_path, in_turn(others, {"reasoning": "none"}, FITTING[mode]), mode_is(mode))
    assert len(calls) == 3
    for call in calls[1:]:
        assert f'the JSON object has no list "{LISTS[mode]}"' in call.body["messages"][-1]["content"]
    assert found.groups[0].patch.size == 1
    assert len(found.groups[0].problems) == 2
    assert found.groups[0].usage.calls == 3


def test_an_empty_list_is_an_answer_and_null_is_none(tmp_path):
    nothing = {"patch": {"edits": []}}
    found, calls = reflected(tmp_path, in_turn({"patch": {"edits": None}}, {"patch": None}, nothing))
    assert len(calls) == 3
    assert found.groups[0].patch.empty


def test_the_rewrite_lists_may_lie_inside_patch(tmp_path):
    inside = {"patch": FITTING["rewrite_from_suggestions"]}
    found, _ = reflected(tmp_path, in_turn(inside), mode_is("rewrite_from_suggestions"))
    assert [s.instruction for s in found.groups[0].patch.suggestions] == ["Be brief."]
    assert found.groups[0].patch.suggestions[0].priority_hint == "1"


UNUSABLE = [
    "no JSON at all",
    '{"patch": {"edits": [{"op": "append"',
    Answer(text=json.dumps(FITTING["patch"]), finish_reason="length"),
]


def test_a_group_without_a_usable_answer_has_no_patch_and_the_others_go_on(tmp_path):
    bad = iter(UNUSABLE)

    def rule(call):
        return answer(next(bad)) if "said 1" in user_of(call) else answer(FITTING["patch"])

    groups = [group(failed(1)), group(failed(2))]
    found, calls = reflected(tmp_path, rule, groups=groups)
    assert len(calls) == 4
    assert [each.patch is None for each in found.groups] == [True, False]
    assert len(found.groups[0].problems) == 3
    assert "cut off at the limit" in found.groups[0].problems[2]
    assert not found.groups[0].provider_failed


def test_when_no_group_was_answered_because_the_provider_failed_the_phase_fails(tmp_path):
    with pytest.raises(
        ProviderDead, match="none of 1 analysts of failures gave an answer; 1 failed at the provider"
    ):
        reflected(tmp_path, lambda call: Answer(status=400, error="context too long"))


def refuse_failures(call):
    """Analysts of failures meet an outage, those of successes do not."""
    return Answer(status=503, error="later") if "said" in user_of(call) else answer(FITTING["patch"])


def test_an_outage_for_all_analysts_of_failures_is_no_step_without_proposals(tmp_path):
    """The analysts of successes answered: their empty lists would be all that is ever heard of the step."""
    success = group(row("s", 1.0), side="success")
    with pytest.raises(
        ProviderDead, match="none of 2 analysts of failures gave an answer; 2 failed at the provider"
    ):
        reflected(tmp_path, refuse_failures, groups=[group(failed(1)), group(failed(2)), success])


def test_one_failure_of_the_provider_is_no_unusable_answer(tmp_path):
    def rule(call):
        if "said 1" in user_of(call):
            return Answer(status=400, error="context too long")
        return answer(FITTING["patch"])

    found, calls = reflected(tmp_path, rule, groups=[group(failed(1)), group(failed(2))])
    assert len(calls) == 2
    assert [each.provider_failed for each in found.groups] == [True, False]
    assert "context too long" in found.groups[0].problems[0]


def test_edits_over_the_learning_rate_are_cut_and_counted(tmp_path):
    many = [{"op": "append", "content": f"- {n}"} for n in range(5)]
    found, calls = reflected(tmp_path, in_turn({"patch": {"edits": many}}), "optimizer.learning_rate=3")
    assert "At most 3 changes" in user_of(calls[0])
    assert [edit.content for edit in found.groups[0].patch.edits] == ["- 0", "- 1", "- 2"]
    assert found.groups[0].clipped == 2


def test_without_budget_control_nothing_is_cut(tmp_path):
    many = [{"op": "append", "content": f"- {n}"} for n in range(9)]
    found, calls = reflected(tmp_path, in_turn({"patch": {"edits": many}}), "optimizer.lr_control_mode=none")
    assert "## Budget" not in user_of(calls[0])
    assert len(found.groups[0].patch.edits) == 9


def test_support_and_source_are_the_group_s_where_an_edit_has_none(tmp_path):
    edits = [
        EDIT,
        EDIT | {"support_count": 7, "source_type": "success"},
        EDIT | {"support_count": 0},
        EDIT | {"support_count": -2},
    ]
    found, _ = reflected(tmp_path, in_turn({"patch": {"edits": edits}}))
    marks = [(e.support_count, e.source_type, e.merge_level) for e in found.groups[0].patch.edits]
    assert marks == [(3, "failure", 0), (7, "success", 0), (3, "failure", 0), (3, "failure", 0)]
    found, _ = reflected(
        tmp_path / "s", in_turn({"patch": {"edits": [EDIT]}}), groups=[group(row("s", 1.0), side="success")]
    )
    assert [(e.support_count, e.source_type) for e in found.groups[0].patch.edits] == [(1, "success")]


def test_the_prompt_holds_its_parts_in_order(tmp_path):
    digest = Digest(
        step=1,
        action="reject",
        failed=2,
        total=4,
        patterns=(Pattern(failure_type="kind", count=2, description="too long"),),
        tried=Patch(edits=(Edit(op="append", content="- tried before"),)),
        score_before=0.5,
        score_after=0.25,
    )
    context = Context(skill=SKILL, history=(digest,), memory="word it briefly")
    _, calls = reflected(tmp_path, in_turn(FITTING["patch"]), context=context)
    user = user_of(calls[0])
    parts = [
        *(
            "- Keep it.",
            "At most 4 changes",
            "### Step 1: reject",
            "2 of 4 items failed",
            "kind (2): too long",
        ),
        *("Score before 0.5000, with the changes 0.2500", "- tried before", "word it briefly"),
        *("- id: f1", "- why it is not right: wrong", "- turns: 2", "said 1", "- id: f2"),
    ]
    places = [user.find(part) for part in parts]
    assert -1 not in places
    assert places == sorted(places)
    assert user.count(SKILL.strip()) == 1


def test_patterns_and_counts_of_the_step(tmp_path):
    summary = [{"failure_type": "late", "count": "2", "description": "d"}]
    praise = ["brief", {"pattern_type": "copied", "count": 1, "description": "e"}]

    def rule(call):
        if '"failure_summary"' in system_of(call):
            return answer({"batch_size": 1, "failure_summary": summary, **FITTING["patch"]})
        return answer({"success_patterns": praise, **FITTING["patch"]})

    groups = [group(failed(1)), group(row("s", 1.0), row("t", 0.2), side="success")]
    found, _ = reflected(tmp_path, rule, groups=groups)
    named = [[(p.failure_type, p.count, p.description) for p in each.patterns] for each in found.groups]
    assert named == [[("late", 2, "d")], [("", 0, "brief"), ("copied", 1, "e")]]
    assert (found.step, found.rows, found.failed, found.succeeded, found.unscored) == (3, 3, 1, 2, 0)
    assert [(p.description, p.count) for p in found.reasons] == [("wrong", 1)]


@pytest.mark.parametrize(
    ("overrides", "kept"),
    [
        ((), [(), ()]),
        (("optimizer.use_skill_aware_reflection=true",), [("Look twice.",), ("Stay calm.",)]),
        (
            (
                "optimizer.use_skill_aware_reflection=true",
                "optimizer.skill_aware_appendix_source=failure_only",
            ),
            [("Look twice.",), ()],
        ),
    ],
)
def test_notes_are_kept_from_the_sides_that_may_leave_them(tmp_path, overrides, kept):
    def rule(call):
        failure = '"failure_summary"' in system_of(call)
        return answer(FITTING["patch"] | {"appendix_notes": ["Look twice." if failure else "Stay calm."]})

    groups = [group(failed(1)), group(row("s", 1.0), side="success")]
    found, calls = reflected(tmp_path, rule, *overrides, groups=groups)
    assert [each.notes for each in found.groups] == kept
    asked = {'"failure_summary"' in system_of(call): '"appendix_notes"' in system_of(call) for call in calls}
    assert [asked[True], asked[False]] == [bool(notes) for notes in kept]


def test_no_group_needs_no_call(tmp_path):
    found, calls = ask(
        tmp_path,
        in_turn(),
        lambda client: reflect(
            1,
            [],
            [],
            Context(skill="", history=(), memory=""),
            client,
            settings(),
            environment("searchqa"),
            {},
        ),
    )
    assert (found.groups, calls) == ((), [])


ODD = [None, True, -3, 2.5, 10**40, "text", "", ["a", ["b"], None], {"of": {"x": 1}}, "\ud83d", "{{ 7 * 7 }}"]
"""What may stand where a text, a number or a list is asked for."""
BESIDE = ("support_count", "source_type", "type", "title", "priority_hint", "change_summary")
SIDE_FIELDS = ("reasoning", "failure_summary", "success_patterns", "appendix_notes", "batch_size")


def tracked(change, odd):
    """Return a change with something odd in each field beside the one that decides."""
    return dict.fromkeys(BESIDE, odd) | {
        name: value for name, value in change.items() if name in ("op", "content", "instruction", "new_skill")
    }


@pytest.mark.parametrize("odd", ODD, ids=repr)
@pytest.mark.parametrize("mode", FITTING)
def test_nothing_beside_the_changes_costs_an_answer(tmp_path, mode, odd):
    change = {"patch": EDIT, "rewrite_from_suggestions": SUGGESTION, "full_rewrite_minibatch": CANDIDATE}[
        mode
    ]
    others = {name: odd for each, name in LISTS.items() if each != mode}
    proposed = {"reasoning": odd, LISTS[mode]: [tracked(change, odd)]} | others
    given = dict.fromkeys(SIDE_FIELDS, odd)
    given |= {"patch": proposed, LISTS[mode]: odd} if mode == "patch" else proposed | {"patch": odd}
    aware = ["optimizer.use_skill_aware_reflection=true"] if mode == "patch" else []
    found, calls = reflected(tmp_path, in_turn(given), mode_is(mode), *aware)
    assert len(calls) == 1
    assert found.groups[0].patch.size == 1
    assert msgspec.json.decode(msgspec.json.encode(found), type=type(found)) == found
    (made,) = changes_of(found.groups[0].patch)
    said = [getattr(made, name, None) for name in ("content", "instruction", "new_skill")]
    assert [text for text in said if text] == [
        change.get("content") or change.get("instruction") or "# Whole\n"
    ]
    assert (made.support_count, made.source_type) == (3, "failure")


def test_what_is_said_beside_the_changes_is_kept_as_text(tmp_path):
    given = {
        "reasoning": ["one", {"two": 2}],
        "skill_candidates": [CANDIDATE | {"change_summary": ["shorter", "", "clearer"], "title": 5}],
        "failure_summary": {"failure_type": ["late", "twice"], "count": "2", "description": {"a": "b"}},
        "success_patterns": ["brief", 7],
    }
    found, _ = reflected(tmp_path, in_turn(given), mode_is("full_rewrite_minibatch"))
    patch = found.groups[0].patch
    assert patch.reasoning == 'one; {"two": 2}'
    assert (patch.candidates[0].change_summary, patch.candidates[0].title) == ("shorter; clearer", "5")
    named = [(p.failure_type, p.count, p.description) for p in found.groups[0].patterns]
    assert named == [("late; twice", 2, '{"a": "b"}'), ("", 0, "brief"), ("", 0, "7")]


@pytest.mark.parametrize(
    ("notes", "kept", "strays"),
    [
        ("Look twice.", ("Look twice.",), 0),
        (["Look twice.", {"note": "n"}, 3, None, ["x"]], ("Look twice.",), 3),
        ({"note": "n"}, (), 1),
        (None, (), 0),
    ],
)
def test_notes_that_are_no_texts_are_left_out_and_told(tmp_path, notes, kept, strays):
    rule = in_turn(FITTING["patch"] | {"appendix_notes": notes})
    found, calls = reflected(tmp_path, rule, "optimizer.use_skill_aware_reflection=true")
    told = f"appendix_notes: expected texts, found {strays} that are none: left out"
    assert (found.groups[0].notes, len(calls)) == (kept, 1)
    assert found.groups[0].problems == ((told,) if strays else ())
    assert found.groups[0].patch.size == 1


@pytest.mark.parametrize(
    ("edit", "named"),
    [
        ({"op": "replace", "target": ["a"], "content": "b"}, "target"),
        ({"op": "append", "content": ["a"]}, "content"),
        ({"op": "append", "target": ["a"], "content": "b"}, ""),
        ({"op": "delete", "target": "a", "content": {"b": 1}}, ""),
        ({"op": "rename", "target": "a"}, "op"),
    ],
)
def test_an_edit_needs_what_its_operation_needs_and_no_more(tmp_path, edit, named):
    found, calls = reflected(tmp_path, in_turn({"patch": {"edits": [edit]}}, FITTING["patch"]))
    assert len(calls) == (2 if named else 1)
    assert named in "".join(found.groups[0].problems)
    assert found.groups[0].patch.size == 1
