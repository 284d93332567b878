"""From selected changes to a candidate: every way to skip, what is carried over, which notes go in."""

import pytest
from endpoint import Answer
from optimizing import RUN, answer, ask, in_turn, settings, user_of

from skillopt.cli import main
from skillopt.config.resolve import load_run
from skillopt.envs.registry import environment
from skillopt.errors import ExitCode
from skillopt.files import read_json, write_json, write_text
from skillopt.phases.update import (
    Draft,
    Notes,
    collect_notes,
    draft_from_candidates,
    draft_from_edits,
    draft_from_suggestions,
    draft_without_model,
    fit_notes,
    judge,
)
from skillopt.records import (
    Candidate,
    Digest,
    Edit,
    Patch,
    Reflection,
    Reflections,
    Selected,
    Suggestion,
    Update,
)
from skillopt.skill import SkillDocument, appendix_notes, merge_notes, sha256, with_appendix

GUIDED = (
    "# Skill\n\n- One.\n- Two.\n\n<!-- SLOW_UPDATE_START -->\n- Guide.\n<!-- SLOW_UPDATE_END -->\n"
    "<!-- APPENDIX_START -->\n- Note.\n<!-- APPENDIX_END -->\n"
)
REGIONS = GUIDED[GUIDED.index("<!--") :]
PROMPTS = environment("searchqa").prompts


def edit(op="append", target="", content="- New."):
    return Edit(op=op, target=target, content=content)


def chosen(patch, how="within_budget"):
    return Selected(step=1, budget=4, budget_reason="by the schedule", how=how, patch=patch)


def judged(skill, patch, draft=None, notes=None, *overrides, how="within_budget"):
    draft = draft or draft_from_edits(skill, patch)
    notes = notes or Notes(notes=appendix_notes(skill), added=0)
    return judge(1, skill, chosen(patch, how), draft, notes, settings(*overrides))


def test_edits_go_in_in_order_and_every_other_byte_stays():
    patch = Patch(
        edits=(
            edit(content="- Three."),
            edit("insert_after", "- One.", "- One and a half."),
            edit("replace", "- Two.", "- 2."),
            edit("delete", "- Guide."),
            edit("replace", "absent", "x"),
            edit("insert_after", "absent", "- At the end.\n<!-- APPENDIX_START -->"),
        )
    )
    update = judged(GUIDED, patch)
    draft = draft_from_edits(GUIDED, patch)
    assert draft.text == ("# Skill\n\n- One.\n- One and a half.\n- 2.\n- Three.\n- At the end.\n\n" + REGIONS)
    assert [report.status for report in update.edits] == [
        *("applied", "applied", "applied"),
        *("skipped_protected", "skipped_target_missing", "applied_at_end"),
    ]
    assert (update.action, update.chars_before, update.chars_after) == (
        "candidate",
        len(GUIDED),
        len(draft.text),
    )
    assert update.candidate_sha256 == sha256(draft.text)


@pytest.mark.parametrize(
    "edits",
    [
        (edit("delete", "absent"), edit("replace", "- Guide.", "- Mine.")),
        (edit(content="- New."), edit("delete", "- New.")),
        (edit("replace", "- One.", "- One."),),
    ],
    ids=["nothing applied", "applied and undone", "the same"],
)
def test_a_candidate_that_equals_the_skill_is_no_candidate(edits):
    assert judged(GUIDED, Patch(edits=edits)).action == "skip_no_change"


def test_nothing_proposed_and_nothing_allowed_are_told_apart():
    assert judged(GUIDED, Patch(), how="nothing").action == "skip_no_patches"
    assert judged(GUIDED, Patch(), how="zero_budget").action == "skip_no_change"


def test_a_candidate_over_the_limit_is_refused_with_both_sizes():
    patch = Patch(edits=(edit(content="x" * 50),))
    limit = len(GUIDED) + 50
    update = judged(GUIDED, patch, None, None, f"env.max_skill_chars={limit}")
    assert update.action == "skip_too_long"
    assert update.detail == (
        f"the candidate has {len(GUIDED) + 51} characters, expected at most {limit} (env.max_skill_chars); "
        f"the current skill has {len(GUIDED)}"
    )
    update = judged(GUIDED, patch, None, None, f"env.max_skill_chars={limit + 1}")
    assert (update.action, update.detail) == ("candidate", "")


# whole documents


def test_the_first_candidate_that_is_not_empty_is_taken_and_regions_are_carried_over_by_code():
    mine = "# Mine\n\n- All new.\n<!-- SLOW_UPDATE_START -->\n- Hijack.\n<!-- SLOW_UPDATE_END -->\n"
    patch = Patch(
        candidates=(
            Candidate(title="a", new_skill=" \n"),
            Candidate(title="b", new_skill=mine, change_summary="all"),
            Candidate(title="c", new_skill="# Other\n"),
        )
    )
    draft = draft_from_candidates(GUIDED, patch)
    assert draft.text == "# Mine\n\n- All new.\n\n" + REGIONS
    assert draft.summary == "all"
    assert draft_without_model(GUIDED, patch) == draft


def test_edits_are_what_is_drafted_where_there_is_no_candidate():
    patch = Patch(edits=(edit(),))
    assert draft_without_model(GUIDED, patch) == draft_from_edits(GUIDED, patch)
    assert draft_without_model(GUIDED, patch).text != GUIDED


def test_without_a_candidate_that_says_anything_there_is_no_rewrite():
    patch = Patch(candidates=(Candidate(title="a", new_skill=""),))
    draft = draft_from_candidates(GUIDED, patch)
    assert judged(GUIDED, patch, draft).action == "skip_no_rewrite"


SUGGESTED = Patch(suggestions=(Suggestion(type="add", title="t", instruction="Be brief."),))
DIGEST = Digest(step=1, action="skip_no_change", failed=3, total=4)


def rewritten(tmp_path, rule):
    chosen_settings = settings(
        "optimizer.skill_update_mode=rewrite_from_suggestions", "model.rewrite_max_completion_tokens=777"
    )
    return ask(
        tmp_path,
        rule,
        lambda client: draft_from_suggestions(GUIDED, SUGGESTED, (DIGEST,), client, chosen_settings, PROMPTS),
    )


def test_a_rewrite_sees_the_body_only_and_the_regions_are_carried_over(tmp_path):
    draft, calls = rewritten(tmp_path, in_turn({"new_skill": "# Mine\n\n- Brief.", "change_summary": "s"}))
    assert draft.text == "# Mine\n\n- Brief.\n\n" + REGIONS
    assert (draft.summary, draft.no_rewrite) == ("s", False)
    prompt = user_of(calls[0])
    assert "- Guide." not in prompt
    assert "- Note." not in prompt
    for part in ("- One.", "Be brief.", "### Step 1: skip_no_change", "3 of 4 items failed"):
        assert part in prompt
    assert calls[0].body["max_tokens"] == 777


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"new_skill": " \n"}, "new_skill is empty"),
        ({"change_summary": "s"}, "new_skill"),
        (Answer(text='{"new_skill": "# Mi"}', finish_reason="length"), "cut off"),
    ],
)
def test_an_empty_or_cut_off_rewrite_is_no_candidate(tmp_path, bad, said):
    draft, calls = rewritten(tmp_path, in_turn(bad, bad, bad))
    assert (draft.text, draft.no_rewrite, len(calls)) == (GUIDED, True, 3)
    assert all(said in problem for problem in draft.problems)
    assert judged(GUIDED, SUGGESTED, draft).action == "skip_no_rewrite"
    assert judged(GUIDED, SUGGESTED, draft).usage.calls == 3


# notes


def reflections(*groups):
    return Reflections(
        step=1,
        groups=tuple(
            Reflection(kind="failure", micro_batch=0, ids=("a",), patch=None, notes=tuple(notes))
            for notes in groups
        ),
        rows=1,
        failed=1,
        succeeded=0,
        unscored=0,
    )


def collected(tmp_path, rule, skill, found, threshold=0):
    overrides = ["optimizer.use_skill_aware_reflection=true"]
    if threshold:
        overrides.append(f"optimizer.skill_aware_consolidate_threshold={threshold}")
    return ask(
        tmp_path,
        rule,
        lambda client: collect_notes(skill, found, client, settings(*overrides), PROMPTS),
    )


def test_notes_keep_their_order_and_near_duplicates_are_dropped(tmp_path):
    found, calls = collected(
        tmp_path, in_turn(), GUIDED, reflections(["NOTE!", "b  one", "a two."], ["B one.", "- c three"])
    )
    assert found.notes == ("Note.", "b one", "a two.", "c three")
    assert (found.added, found.consolidated, calls) == (3, False, [])


def test_past_the_threshold_one_call_compacts_them(tmp_path):
    rule = in_turn({"notes": ["both", "BOTH."]})
    found, calls = collected(tmp_path, rule, GUIDED, reflections(["look twice"]), threshold=1)
    assert (found.notes, found.added, found.consolidated, len(calls)) == (("both",), 1, True, 1)
    assert "Note.\nlook twice" in user_of(calls[0])
    found, calls = collected(tmp_path / "b", in_turn(), GUIDED, reflections(["look twice"]), threshold=2)
    assert (found.consolidated, calls) == (False, [])
    found, calls = collected(tmp_path / "c", in_turn(), GUIDED, reflections(["note"]), threshold=1)
    assert (found.added, calls) == (0, [])


@pytest.mark.parametrize("bad", [{"notes": []}, {"notes": ["Note.", "look twice"]}, {"notes": ["x" * 99]}])
def test_only_a_shorter_list_that_is_not_empty_is_taken(tmp_path, bad):
    rule = in_turn(bad, bad, bad)
    found, calls = collected(tmp_path, rule, GUIDED, reflections(["look twice"]), threshold=1)
    assert (found.notes, found.consolidated, len(calls)) == (("Note.", "look twice"), False, 3)
    assert len(found.problems) == 3


def fitted(notes, draft, room):
    """Fit notes where the guided skill may grow by `room` characters."""
    return fit_notes(notes, GUIDED, draft, len(GUIDED) + room)


def test_notes_that_do_not_fit_are_left_out_and_recorded():
    notes = Notes(notes=("Note.", "12345", "x" * 40, "abc"), added=3)
    found = fitted(notes, GUIDED, len("- 12345\n- abc\n"))
    assert (found.notes, found.left_out, found.added) == (("Note.", "12345", "abc"), ("x" * 40,), 2)
    assert fitted(notes, GUIDED, 2).notes == ("Note.",)
    assert fitted(notes, GUIDED, 2).added == 0
    assert fit_notes(notes, GUIDED, GUIDED, 0) == notes


def test_notes_give_way_to_the_edits_of_a_draft_that_fits():
    draft = draft_from_edits(GUIDED, Patch(edits=(edit(content="- Three."),)))
    notes = Notes(notes=("Note.", "12345"), added=1)
    grown = len(draft.text) - len(GUIDED)
    assert fitted(notes, draft.text, grown).notes == ("Note.",)
    assert fitted(notes, draft.text, grown + len("- 12345\n")).notes == ("Note.", "12345")
    assert fitted(notes, draft.text, grown - 1).notes == ("Note.", "12345")  # this draft is refused anyway


def test_a_flood_of_notes_is_fitted_too():
    notes = merge_notes((), [f"note {number}" for number in range(100_000)])
    found = fit_notes(Notes(notes=notes, added=len(notes)), "- a\r\n", "- a\r\n- b\r\n", 20_000)
    assert (found.added, len(found.left_out)) == (len(found.notes), len(notes) - len(found.notes))
    assert 20_000 - len("- note 10000\r\n") < len(with_appendix("- a\r\n- b\r\n", found.notes)) <= 20_000


def test_a_skill_that_is_too_long_from_the_start_keeps_its_notes():
    notes = Notes(notes=("Note.", "more"), added=1)
    found = fit_notes(notes, GUIDED, GUIDED, 10)
    assert (found.notes, found.left_out) == (("Note.",), ("more",))


@pytest.mark.parametrize("how", ["nothing", "zero_budget"])
def test_a_skipped_step_still_records_its_notes(how):
    notes = Notes(notes=("Note.", "look twice"), added=1, left_out=("too much",))
    update = judged(GUIDED, Patch(), None, notes, how=how)
    assert update.action in ("skip_no_patches", "skip_no_change")
    assert (update.notes, update.notes_added, update.notes_left_out) == (notes.notes, 1, ("too much",))


def test_a_candidate_holds_the_notes_too():
    notes = Notes(notes=("Note.", "look twice"), added=1)
    patch = Patch(edits=(edit(),))
    draft = draft_from_edits(GUIDED, patch)
    update = judged(GUIDED, patch, draft, notes)
    assert update.candidate_sha256 == sha256(with_appendix(draft.text, notes.notes))
    assert SkillDocument.parse(with_appendix(draft.text, notes.notes)).appendix == "- Note.\n- look twice"


def test_an_answer_of_another_shape_is_asked_for_again(tmp_path):
    rule = in_turn({"new_skill": 5}, answer({"new_skill": "# Mine\n"}))
    draft, calls = rewritten(tmp_path, rule)
    assert len(calls) == 2
    assert "wrong shape" in calls[1].body["messages"][-1]["content"]
    assert draft.text.startswith("# Mine\n")


@pytest.mark.parametrize(
    ("said", "kept"),
    [(["shorter", "clearer"], "shorter; clearer"), ({"a": 1}, '{"a": 1}'), (5, "5"), (None, "")],
)
def test_what_is_said_beside_a_rewrite_never_costs_it(tmp_path, said, kept):
    draft, calls = rewritten(tmp_path, in_turn({"new_skill": "# Mine\n", "change_summary": said}))
    assert (len(calls), draft.problems, draft.summary) == (1, (), kept)
    assert draft.text.startswith("# Mine\n")


def test_a_draft_is_what_judge_says_it_is():
    update = judged(GUIDED, Patch(), Draft(text=GUIDED, summary="none", problems=("p",)))
    assert (update.change_summary, update.problems, update.mode) == ("none", ("p",), "patch")


def test_from_files_to_files_notes_that_do_not_fit_are_in_neither_file(tmp_path):
    run = tmp_path / "run"
    room = len("- 12345\n- New.\n")
    limits = [f"env.max_skill_chars={len(GUIDED) + room}", "optimizer.use_skill_aware_reflection=true"]
    write_json(run / "config.json", load_run(RUN, limits, {}))
    write_text(run / "skill.md", GUIDED)
    write_json(run / "patch.json", chosen(Patch(edits=(edit(),))))
    write_json(run / "reflections.json", reflections(["12345", "y" * 30]))
    command = ["update", "--config", run / "config.json", "--step", 1, "--skill", run / "skill.md"]
    command += ["--patch", run / "patch.json", "--reflections", run / "reflections.json"]
    command += [
        "--candidate",
        run / "candidate.md",
        "--out",
        run / "update.json",
        "--store",
        tmp_path / "calls",
    ]
    assert main([str(part) for part in command]) == ExitCode.OK
    update = read_json(run / "update.json", Update)
    text = (run / "candidate.md").read_text(encoding="utf-8")
    assert (update.action, update.chars_after) == ("candidate", len(GUIDED) + room)
    assert (update.notes, update.notes_left_out) == (("Note.", "12345"), ("y" * 30,))
    assert sha256(text) == update.candidate_sha256
    assert appendix_notes(text) == ("Note.", "12345")
