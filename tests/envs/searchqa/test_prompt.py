"""What the target is told."""

import pytest

from skillopt.envs.searchqa.prompt import check_message, cut_context, system_message, user_message

OPTIMIZER_KEYS = [
    '"edits"',
    "selected_indices",
    "slow_update_content",
    "meta_skill_content",
    '"patch"',
    "revise_suggestions",
    "new_skill",
    "learning_rate",
]


def test_blank_skill_leaves_no_trace():
    assert system_message(" \n\n").content == system_message("").content
    assert "## Skill" not in system_message("").content
    assert "\n\n\n" not in system_message("").content


def test_skill_stands_whole_under_its_heading_between_role_and_format():
    skill = "# Rules\n\n- cost: $5 or ${x}, {{ y }} and 100%"
    content = system_message(f"\n{skill}\n").content
    assert content.index("## Skill") < content.index(skill) < content.index("## Answer format")
    assert "\n\n\n" not in content


def test_question_is_last_and_values_are_not_expanded():
    content = user_message("[DOC] $question", " Who was {{ it }}? \n").content
    assert content == "## Context\n\n[DOC] $question\n\n## Question\n\nWho was {{ it }}?"


def test_no_words_by_which_optimizer_prompts_are_known():
    for message in (system_message("- a rule"), user_message("c", "q"), check_message()):
        assert not [key for key in OPTIMIZER_KEYS if key in message.content]


@pytest.mark.parametrize(
    ("context", "limit", "cut"),
    [
        ("[DOC] aaaa [DOC] bbbb", 21, "[DOC] aaaa [DOC] bbbb"),
        ("[DOC] aaaa [DOC] bbbb", 20, "[DOC] aaaa"),
        ("[DOC] aaaa [DOC] bbbb", 10, "[DOC] aaaa"),
        ("[DOC] aaaa [DOC] bbbb", 9, "[DOC] aaa [truncated]"),
        ("lead in [DOC] aaaa [DOC] b", 20, "lead in [DOC] aaaa"),
        ("no marker at all", 5, "no ma [truncated]"),
        # nothing but a marker fits: better a cut passage than none
        (" [DOC] [DOC] abcdefghij", 16, " [DOC] [DOC] abc [truncated]"),
        # a short passage after one that does not fit stays out: only leading ones are kept
        ("[DOC] a [DOC] bbbbbbbb [DOC] c", 20, "[DOC] a"),
    ],
)
def test_context_is_cut_between_passages(context, limit, cut):
    assert cut_context(context, limit) == cut
