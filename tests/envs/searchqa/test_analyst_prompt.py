"""The failure analyst's prompt has this benchmark's taxonomy and is otherwise the general one."""

from analysts import failure_prompt

from skillopt.envs.searchqa import ENVIRONMENT
from skillopt.prompting import TrajectoryView
from skillopt.records import Turn


def prompt(folder):
    view = TrajectoryView(
        id="sq-1",
        task_type="qa",
        reason="EM=0: predicted 'a', accepted 'b'",
        turns=1,
        reference="",
        trajectory=(Turn(role="note", content="question: q"),),
    )
    return failure_prompt(folder, view)


def test_taxonomy_replaces_the_general_one():
    own, general = prompt(ENVIRONMENT.prompts)[0].content, prompt(None)[0].content
    assert "quiz question" in own
    assert "quiz question" not in general
    for label in ("rule_missing", "rule_wrong", "rule_ignored", "answer_format", "other"):
        assert own.count(f"\n- {label}") == 1
    before, _, after = general.partition("Kinds of failure")
    assert own.startswith(before.rstrip())
    assert own.endswith(after[after.index("An edit is one of") :])


def test_user_message_is_the_general_one():
    assert prompt(ENVIRONMENT.prompts)[1] == prompt(None)[1]
