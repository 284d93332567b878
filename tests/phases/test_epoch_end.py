"""Slow update and meta skill: what the optimizer is shown, and what becomes of each answer."""

import pytest
from endpoint import Answer
from msgspec.structs import replace
from optimizing import RUN, ask, in_turn, settings, user_of

from skillopt.cli import main
from skillopt.config.resolve import load_run
from skillopt.decisions.pairs import classify
from skillopt.envs.registry import environment
from skillopt.errors import ExitCode
from skillopt.files import write_json, write_jsonl, write_text
from skillopt.phases.meta_skill import meta_skill
from skillopt.phases.slow_update import accepted_edits, prepare_region, slow_update, view_pairs
from skillopt.records import Edit, Gate, Pairs, Patch, Score, Scored, Selected, State, Turn
from skillopt.skill import SkillDocument, sha256, with_appendix, with_slow_update
from tests.decisions.test_scoring import row

OLD = "# Skill\n\n- Old.\n"
NEW = with_appendix(with_slow_update("# Skill\n\n- New.\n", "- Previous guidance."), ("Note.",))
BENCH = environment("searchqa")
KINDS = {"gain": (0, 1), "loss": (1, 0), "never": (0, 0), "always": (1, 1)}


def done(name, hard, when):
    reason = "" if hard else f"{name} wrong {when}"
    said = Turn(role="assistant", content=f"{name} said {when}")
    return replace(row(name, float(hard)), reason=reason, trajectory=(said,), task_type="qa")


def views():
    previous = [done(name, before, "before") for name, (before, _) in KINDS.items()]
    current = [done(name, after, "now") for name, (_, after) in KINDS.items()]
    pairs = Pairs(epoch=2, policy="mixed", sampled=4, topped_up=0, pairs=classify(previous, current)[0])
    return view_pairs(pairs, previous, current, {"loss": "reference of loss"})


def guided(tmp_path, rule, *overrides, current=NEW, accepted=()):
    chosen = settings(*overrides)
    return ask(
        tmp_path,
        rule,
        lambda client: slow_update(2, (OLD, current), views(), accepted, client, chosen, BENCH),
    )


def in_order(text, parts):
    places = [text.find(part) for part in parts]
    assert -1 not in places, parts[places.index(-1)]
    assert places == sorted(places)


def test_both_skills_the_previous_guidance_and_the_pairs_by_weight(tmp_path):
    accepted = (Edit(op="append", content="- New."),)
    _, calls = guided(tmp_path, in_turn({"slow_update_content": "- G."}), accepted=accepted)
    user = user_of(calls[0])
    in_order(
        user,
        [
            *("- Old.", "- New.", "- Previous guidance.", "## Changes accepted", '"- New."'),
            *("## Regressed", "### Item loss", "reference of loss", "loss said before", "loss wrong now"),
            *("loss said now", "## Persistent failures", "### Item never", "never wrong before"),
            *("never said before", "## Improved", "### Item gain", "gain said now", "## Stable successes"),
        ],
    )
    assert "1 items: always" in user
    assert "always said" not in user


def test_the_guidance_replaces_the_region_and_nothing_else(tmp_path):
    rule = in_turn(
        {"reasoning": "why", "slow_update_content": "\n- Check.\n<!-- APPENDIX_END -->\n- Twice.\n"}
    )
    (text, record), _ = guided(tmp_path, rule)
    assert text == NEW.replace("- Previous guidance.\n", "- Check.\n- Twice.\n")
    assert (record.action, record.reasoning, record.epoch) == ("candidate", "why", 2)
    assert record.candidate_sha256 == sha256(text)
    assert (record.chars_before, record.chars_after, record.detail) == (len(NEW), len(text), "")
    assert SkillDocument.parse(text).appendix == "- Note."


def test_without_its_gate_the_guidance_is_put_in(tmp_path):
    (text, record), _ = guided(
        tmp_path,
        in_turn({"slow_update_content": "- G."}),
        "optimizer.slow_update_gate_with_selection=false",
        current=OLD,
    )
    assert record.action == "inject"
    assert text == with_slow_update(OLD, "- G.")


@pytest.mark.parametrize("gated", ["true", "false"])
def test_guidance_over_the_limit_is_skipped_with_both_sizes(tmp_path, gated):
    limit = len(NEW) + 5
    (text, record), _ = guided(
        tmp_path,
        in_turn({"slow_update_content": "- " + "x" * 60}),
        f"env.max_skill_chars={limit}",
        f"optimizer.slow_update_gate_with_selection={gated}",
    )
    size = len(NEW) - len("- Previous guidance.") + 62
    assert (text, record.action, record.candidate_sha256) == (NEW, "skip_too_long", sha256(NEW))
    assert (record.chars_before, record.chars_after) == (len(NEW), size)
    assert f"the candidate has {size} characters, expected at most {limit}" in record.detail
    assert f"the current skill has {len(NEW)}" in record.detail
    assert record.slow_update_content == "- " + "x" * 60


SAME = {"slow_update_content": "- Previous guidance."}
CUT = Answer(text='{"slow_update_content": "- G."}', finish_reason="length")


@pytest.mark.parametrize(
    ("answers", "problems"),
    [([SAME], 0), ([{"slow_update_content": " \n"}], 0), (["no", CUT, {"reasoning": "r"}], 3)],
    ids=["equal", "empty", "unusable"],
)
def test_no_new_guidance_leaves_the_skill_alone(tmp_path, answers, problems):
    (text, record), calls = guided(tmp_path, in_turn(*answers))
    assert (text, record.action, record.candidate_sha256) == (NEW, "skip_no_content", sha256(NEW))
    assert (len(record.problems), len(calls), record.usage.calls) == (problems, len(answers), len(answers))


def test_the_first_epoch_puts_an_empty_region_at_the_end():
    text, record = prepare_region(1, OLD, 0)
    assert text == OLD + "\n<!-- SLOW_UPDATE_START -->\n<!-- SLOW_UPDATE_END -->\n"
    assert (record.action, record.candidate_sha256) == ("prepare_region", sha256(text))
    assert prepare_region(1, NEW, 0)[0] == NEW
    text, record = prepare_region(1, OLD, len(OLD) + 10)
    assert (text, record.action) == (OLD, "skip_too_long")
    assert "characters, expected at most" in record.detail


def gate(action):
    score = Score(hard=0.0, soft=0.0, value=0.0, n=1, total=1)
    skill = Scored(origin="", skill="", sha256="", visible_sha256="", score=score, results={})
    return Gate(
        step=1,
        epoch=1,
        phase="step",
        action=action,
        metric="hard",
        state=State(current=skill, best=skill, scored={}),
    )


def test_edits_of_accepted_steps_only():
    actions = ["accept", "reject", "skip_no_change", "force_accept", "accept_new_best"]
    patches = [
        Selected(
            step=n,
            budget=1,
            budget_reason="",
            how="ranked",
            patch=Patch(edits=(Edit(op="append", content=str(n)),)),
        )
        for n in range(5)
    ]
    found = accepted_edits([gate(action) for action in actions], patches)
    assert [edit.content for edit in found] == ["0", "3", "4"]


@pytest.mark.parametrize("said", [["a", "b"], {"a": 1}, 3, "half \ud83d"])
def test_no_reason_costs_guidance_or_a_memory(tmp_path, said):
    (text, record), calls = guided(tmp_path, in_turn({"slow_update_content": "- G.", "reasoning": said}))
    assert (record.action, "- G." in text, len(calls)) == ("candidate", True, 1)
    found, calls = remembered(tmp_path / "b", in_turn({"meta_skill_content": "m", "reasoning": said}))
    assert (found.action, found.meta_skill_content, len(calls)) == ("written", "m", 1)
    assert found.reasoning == record.reasoning
    assert record.reasoning in ("a; b", '{"a": 1}', "3", "half ?")


# the optimizer's memory


def remembered(tmp_path, rule, memory="old memory"):
    return ask(
        tmp_path,
        rule,
        lambda client: meta_skill(2, (OLD, NEW), memory, views(), client, settings(), BENCH),
    )


def test_the_memory_is_written_from_both_skills_the_old_memory_and_the_pairs(tmp_path):
    found, calls = remembered(tmp_path, in_turn({"reasoning": "r", "meta_skill_content": " new \n"}))
    assert (found.action, found.meta_skill_content, found.reasoning) == ("written", "new", "r")
    assert (found.usage.calls, found.usage.prompt) == (1, 7)
    in_order(
        user_of(calls[0]),
        ["- Old.", "- New.", "old memory", "## Regressed", "## Persistent", "## Improved", "## Stable"],
    )


def test_without_a_memory_none_is_shown(tmp_path):
    _, calls = remembered(tmp_path, in_turn({"meta_skill_content": "new"}), memory="")
    assert "## The previous memory" not in user_of(calls[0])


@pytest.mark.parametrize("answers", [["no", CUT, {"reasoning": "r"}], [{"meta_skill_content": "  "}]])
def test_without_a_usable_answer_the_old_memory_is_kept_and_that_is_recorded(tmp_path, answers):
    found, calls = remembered(tmp_path, in_turn(*answers))
    assert (found.action, found.meta_skill_content, len(calls)) == ("kept", "old memory", len(answers))
    assert len(found.problems) == (len(answers) if len(answers) > 1 else 0)
    assert found.usage.calls == len(answers)


@pytest.mark.parametrize("side", ["previous", "current"])
@pytest.mark.parametrize("left", [0, 2])
def test_cut_off_rows_of_a_comparison_are_named(tmp_path, capsys, side, left):
    run = tmp_path / "run"
    write_json(run / "config.json", load_run(RUN, [], {}))
    previous = [done(name, before, "before") for name, (before, _) in KINDS.items()]
    current = [done(name, after, "now") for name, (_, after) in KINDS.items()]
    pairs = Pairs(epoch=2, policy="mixed", sampled=4, topped_up=0, pairs=classify(previous, current)[0])
    write_json(run / "pairs.json", pairs)
    write_text(run / "skill.md", NEW)
    rows = {"previous": previous, "current": current}
    rows[side] = rows[side][:left]
    for name, found in rows.items():
        write_jsonl(run / f"{name}.jsonl", found)
    command = ["slow_update", "--epoch", "2", "--config", run / "config.json", "--store", tmp_path / "calls"]
    command += ["--skill", run / "skill.md", "--previous-skill", run / "skill.md"]
    command += ["--pairs", run / "pairs.json", "--candidate", run / "candidate.md", "--out", run / "out.json"]
    command += ["--previous", run / "previous.jsonl", "--current", run / "current.jsonl"]
    assert main([str(part) for part in command]) == ExitCode.CORRUPT_FILE
    expected = f"{side}.jsonl: expected the 4 rows that were compared, found {left} rows"
    assert expected in capsys.readouterr().err
    assert not (tmp_path / "calls").exists()
