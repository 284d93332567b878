"""Every prompt renders, names the keys it wants and no others, and takes untrusted text literally."""

import re
from pathlib import Path

import pytest

from skillopt.errors import ConfigError
from skillopt.prompting import GENERAL, PairView, TrajectoryView, fenced, prompt_sources, render
from skillopt.records import Candidate, Digest, Edit, Patch, Pattern, Suggestion, Turn

SKILL = "# Skill\n\n- Use {{ braces }} and {% raw %} as they are, & <b>no</b> entities.\n```\ncode\n```\n"
TURNS = (
    Turn(role="user", content="## Question\n{{ 7 * 7 }} who?"),
    Turn(role="assistant", content="<answer>x</answer>"),
)
VIEW = TrajectoryView(
    id="a\nb", task_type="qa", reason="answered x", turns=1, reference="y", trajectory=TURNS
)
PAIR = PairView(
    id="p1",
    task_type="qa",
    reference="y",
    previous_reason="",
    current_reason="answered x",
    previous=TURNS,
    current=TURNS,
)
EDITS = (
    Edit(op="append", content="- Answer with {{ the }} span."),
    Edit(op="delete", target="- old", support_count=3, source_type="success"),
)
SUGGESTIONS = (Suggestion(type="add", title="t", instruction="be short"),)
CANDIDATES = (Candidate(title="t", new_skill="# New", change_summary="all"),)
DIGEST = Digest(
    step=3,
    action="reject",
    failed=5,
    total=8,
    patterns=(Pattern(failure_type="too_long", count=4, description="whole sentences"),),
    tried=Patch(edits=EDITS),
    score_before=0.5,
    score_after=0.25,
)
MODES = {
    "patch": ("patch", "edits"),
    "rewrite_from_suggestions": ("revise_suggestions",),
    "full_rewrite_minibatch": ("skill_candidates",),
}
ANALYST = {"skill": SKILL, "learning_rate": 4, "history": (DIGEST,), "memory": "MEMO", "group": (VIEW, VIEW)}
PAIRS = {
    "regressed": (PAIR,),
    "persistent_fail": (PAIR,),
    "improved": (PAIR,),
    "stable_success": ("s1", "s2"),
}
SKILLS = {"previous_skill": "# Old", "current_skill": SKILL}
CASES = [
    *(
        ("analyst_failure", ANALYST | {"update_mode": mode, "skill_aware": False}, keys)
        for mode, keys in MODES.items()
    ),
    *(
        ("analyst_success", ANALYST | {"update_mode": mode, "skill_aware": False}, keys)
        for mode, keys in MODES.items()
    ),
    *(
        (
            "merge",
            {"update_mode": mode, "side": "both", "skill": SKILL, "memory": "MEMO", "patches": (patch,) * 2},
            (keys[-1],),
        )
        for (mode, keys), patch in zip(
            MODES.items(),
            (Patch(edits=EDITS), Patch(suggestions=SUGGESTIONS), Patch(candidates=CANDIDATES)),
            strict=True,
        )
    ),
    ("rank", {"skill": SKILL, "changes": EDITS, "budget": 1, "memory": "MEMO"}, ("selected_indices",)),
    (
        "learning_rate",
        {
            "skill": SKILL,
            "changes": EDITS,
            "score_hard": 0.25,
            "score_soft": 0.5,
            "n": 8,
            "history": (DIGEST,),
        },
        ("learning_rate", "confidence", "risk_notes"),
    ),
    (
        "rewrite",
        {"skill_body": SKILL, "suggestions": SUGGESTIONS, "history": (DIGEST,)},
        ("new_skill", "change_summary"),
    ),
    ("slow_update", SKILLS | PAIRS | {"guidance": "GUIDE", "accepted": EDITS}, ("slow_update_content",)),
    ("meta_skill", SKILLS | PAIRS | {"memory": "MEMO"}, ("meta_skill_content",)),
    ("consolidate", {"notes": ("n1", "n2")}, ("notes",)),
]
IDS = [f"{name}-{values.get('update_mode', '')}" for name, values, _ in CASES]
FOREIGN = {
    "slow_update_content": {"slow_update"},
    "meta_skill_content": {"meta_skill"},
    "selected_indices": {"rank"},
    "learning_rate": {"learning_rate"},
    "failure_summary": {"analyst_failure"},
    "success_patterns": {"analyst_success"},
    "appendix_notes": {"analyst_failure"},
    '"patch"': {"analyst_failure", "analyst_success", "learning_rate"},
    '"edits"': {"analyst_failure", "analyst_success", "merge"},
    "new_skill": {"analyst_failure", "analyst_success", "merge", "rewrite"},
    '"notes"': {"consolidate"},
}


@pytest.mark.parametrize(("name", "values", "keys"), CASES, ids=IDS)
def test_the_system_prompt_names_the_wanted_keys_in_quotes(name, values, keys):
    system, user = render(name, folder=None, **values)
    assert (system.role, user.role) == ("system", "user")
    for key in keys:
        assert f'"{key}"' in system.content
    for key, owners in FOREIGN.items():
        if name not in owners:
            assert key not in system.content
            assert key not in user.content.replace(values.get("problem", "\0"), "")


@pytest.mark.parametrize(("name", "values", "keys"), CASES, ids=IDS)
def test_every_value_is_needed(name, values, keys):
    unlimited = {"learning_rate"} if values.get("update_mode") == "full_rewrite_minibatch" else set()
    for missing in values.keys() - unlimited:
        with pytest.raises(ConfigError, match=missing):
            render(name, folder=None, **{key: value for key, value in values.items() if key != missing})


@pytest.mark.parametrize(("name", "values", "keys"), CASES, ids=IDS)
def test_untrusted_text_stays_literal_and_out_of_the_system_prompt(name, values, keys):
    system, user = render(name, folder=None, **values)
    if "skill" in values or "skill_body" in values or "current_skill" in values:
        assert SKILL in user.content
    if "group" in values or "regressed" in values:
        assert "{{ 7 * 7 }} who?" in user.content
    assert "braces" not in system.content
    assert "&amp;" not in user.content


def test_analyst_user_message_is_ordered_from_common_to_special():
    _, user = render("analyst_failure", folder=None, update_mode="patch", skill_aware=False, **ANALYST)
    places = [
        user.content.index(text)
        for text in (
            "# Skill",
            "At most 4 changes",
            "Step 3: reject",
            "MEMO",
            "Trajectory 1 of 2",
            "- id: a b",
        )
    ]
    assert places == sorted(places)
    assert "Score before 0.5000, with the changes 0.2500." in user.content
    assert "tried and rejected" in user.content
    assert "- Answer with {{ the }} span." in user.content


def test_no_limit_no_budget():
    for values in (
        {"update_mode": "patch", "learning_rate": None},
        {"update_mode": "full_rewrite_minibatch", "learning_rate": 4},
    ):
        _, user = render("analyst_success", folder=None, skill_aware=False, **(ANALYST | values))
        assert "At most" not in user.content


def test_skill_aware_asks_for_notes():
    values = ANALYST | {"update_mode": "patch"}
    aware, _ = render("analyst_failure", folder=None, skill_aware=True, **values)
    assert '"appendix_notes"' in aware.content
    assert "EXECUTION_LAPSE" in aware.content


def test_success_analysts_are_asked_for_notes_only_when_theirs_are_kept():
    values = ANALYST | {"update_mode": "patch"}
    asked, _ = render("analyst_success", folder=None, skill_aware=True, **values)
    plain, _ = render("analyst_success", folder=None, skill_aware=False, **values)
    assert '"appendix_notes"' in asked.content
    assert "appendix_notes" not in plain.content


def test_empty_skill_and_memory_leave_no_empty_block():
    system, user = render(
        "merge", folder=None, update_mode="patch", side="failure", skill=" \n", memory="", patches=()
    )
    assert "The skill is empty so far." in user.content
    assert "earlier epochs" not in user.content
    assert "the one from failures wins" not in system.content


def test_a_fence_is_longer_than_any_inside():
    assert fenced("a ```` b", "skill") == "`````skill\na ```` b\n`````"
    assert re.fullmatch(r"```x\n\n```", fenced("", "x"))


def test_a_benchmark_overrides_the_taxonomy_only(tmp_path: Path):
    (tmp_path / "analyst_failure.md.j2").write_text(
        '{% extends "general/analyst_failure.md.j2" %}'
        "{% block taxonomy %}Kinds: too_long, other.{% endblock %}",
        encoding="utf-8",
    )
    values = ANALYST | {"update_mode": "patch", "skill_aware": False}
    own, user = render("analyst_failure", folder=tmp_path, **values)
    general, general_user = render("analyst_failure", folder=None, **values)
    assert "Kinds: too_long, other." in own.content
    assert "rule_missing" not in own.content
    assert "rule_missing" in general.content
    assert '"failure_summary"' in own.content
    assert user == general_user
    assert render("merge", folder=tmp_path, **CASES[6][1]) == render("merge", folder=None, **CASES[6][1])
    assert list(prompt_sources("analyst_failure", tmp_path)) == [
        tmp_path / "analyst_failure.md.j2",
        GENERAL / "analyst_failure.md.j2",
        GENERAL / "parts.md.j2",
    ]


def test_prompt_sources_lists_what_a_prompt_depends_on():
    assert list(prompt_sources("rank", None)) == [GENERAL / "rank.md.j2", GENERAL / "parts.md.j2"]


def test_errors_name_the_prompt_and_the_folders(tmp_path: Path):
    with pytest.raises(ConfigError, match=r"prompt nothing: .*nothing.md.j2.*" + re.escape(str(tmp_path))):
        render("nothing", folder=tmp_path)
    with pytest.raises(ConfigError, match="nothing"):
        prompt_sources("nothing", None)
    (tmp_path / "rank.md.j2").write_text("{% block system %}", encoding="utf-8")
    with pytest.raises(ConfigError, match="prompt rank"):
        render("rank", folder=tmp_path)
    with pytest.raises(ConfigError, match="prompt rank"):
        prompt_sources("rank", tmp_path)
