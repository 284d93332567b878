"""The dialogue with the target and what comes of it, with a target whose replies are given."""

import asyncio

import pytest

from skillopt.envs.base import CommonSettings
from skillopt.envs.searchqa import ENVIRONMENT, SearchQASettings
from skillopt.models.base import CallError, Reply
from skillopt.records import Item

ITEM = Item(
    id="1",
    data={
        "id": "1",
        "question": "Who reached the South Pole first?",
        "context": "[DOC] Amundsen was there in 1911. [DOC] Scott came in 1912.",
        "answers": ["Roald Amundsen", "Amundsen"],
    },
    task_type="qa",
)


class Target:
    """Answers with the given replies in turn and keeps what it was sent."""

    def __init__(self, *replies):
        self.replies = list(replies)
        self.sent = []

    async def __call__(self, messages, *, tools=(), tool_choice=""):
        self.sent.append(messages)
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply if isinstance(reply, Reply) else Reply(text=reply)


def attempt(target, skill="", max_turns=1, item=ITEM, **settings):
    common = CommonSettings(max_turns=max_turns, max_completion_tokens=100)
    return asyncio.run(ENVIRONMENT.attempt(item, skill, target, common, SearchQASettings(**settings), seed=1))


def test_right_answer():
    target = Target("He was first.\n<answer>Amundsen</answer>")
    result = attempt(target)
    assert (result.status, result.hard, result.soft, result.answer) == ("scored", 1.0, 1.0, "Amundsen")
    assert (result.turns, result.reason, result.error) == (1, "", None)
    assert [turn.role for turn in result.trajectory] == ["system", "user", "assistant", "note"]
    assert result.trajectory[1].content == target.sent[0][1].content
    assert result.trajectory[2].content == "He was first.\n<answer>Amundsen</answer>"


def test_near_miss_has_a_reason_and_a_note():
    result = attempt(Target("<answer>Captain Amundsen</answer>"))
    assert (result.status, result.hard) == ("scored", 0.0)
    assert result.soft == pytest.approx(2 / 3)
    assert result.reason == "EM=0: predicted 'Captain Amundsen', accepted 'Roald Amundsen' or 'Amundsen'"
    assert result.trajectory[-1].content == (
        "question: Who reached the South Pole first?\n"
        "predicted answer: Captain Amundsen\n"
        "accepted answers: Roald Amundsen | Amundsen\n"
        "EM: 0, F1: 0.6667"
    )
    assert result.extra["gold_answers"] == ["Roald Amundsen", "Amundsen"]
    assert (result.extra["em"], result.extra["sub_em"], result.extra["answer_from"]) == (0, 1, "tag")


@pytest.mark.parametrize(
    ("reply", "status", "answer"),
    [
        (Reply(text="Let me think", finish_reason="length"), "truncated", ""),
        (Reply(text="", finish_reason="length"), "truncated", ""),
        (Reply(text="<answer>Amund", finish_reason="length"), "truncated", "Amund"),
        (Reply(text=" \n"), "no_answer", ""),
        (Reply(text="", finish_reason="content_filter"), "no_answer", ""),
        (Reply(text="Surely <answer>Amundsen"), "unparsed", "Amundsen"),
        (Reply(text="I do not know. <answer> </answer>"), "unparsed", ""),
    ],
)
def test_own_failures_of_the_target(reply, status, answer):
    result = attempt(Target(reply))
    assert (result.status, result.hard, result.soft, result.answer) == (status, 0.0, 0.0, answer)
    assert result.reason.startswith("EM=0: the ")
    assert "Roald Amundsen" in result.reason
    assert "problem: the " in result.trajectory[-1].content


def test_cut_off_after_the_answer_is_scored():
    reply = Reply(text="<answer>Amundsen</answer> because", finish_reason="length")
    assert attempt(Target(reply)).hard == 1.0


def test_untagged_last_line_is_scored():
    result = attempt(Target("It is clear.\nAmundsen"))
    assert (result.status, result.hard, result.extra["answer_from"]) == ("scored", 1.0, "line")


def test_skill_reaches_the_target_and_not_the_trajectory():
    target = Target("<answer>x</answer>")
    result = attempt(target, skill="- Give the surname only.")
    assert "- Give the surname only." in target.sent[0][0].content
    told = result.trajectory[0].content
    assert "surname" not in told
    assert "(The skill document stands here.)" in told
    assert told.replace("(The skill document stands here.)", "- Give the surname only.") == (
        target.sent[0][0].content
    )


def test_blank_skill_has_no_placeholder():
    target = Target("<answer>x</answer>")
    assert attempt(target, skill="\n").trajectory[0].content == target.sent[0][0].content


def test_refinement_keeps_the_whole_dialogue():
    target = Target("<answer>Scott</answer>", "hm, not sure", "<answer>Amundsen</answer>", "never asked")
    result = attempt(target, max_turns=4)
    assert [len(messages) for messages in target.sent] == [2, 4, 6]
    last = target.sent[2]
    assert [m.role for m in last] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert last[:4] == target.sent[1]
    assert last[:2] == target.sent[0]
    assert (last[2].content, last[4].content) == ("<answer>Scott</answer>", "hm, not sure")
    assert "Amundsen was there in 1911" in last[1].content
    assert (result.turns, result.answer, result.hard) == (3, "Amundsen", 1.0)
    said = [turn.content for turn in result.trajectory if turn.role == "assistant"]
    assert said == ["<answer>Scott</answer>", "hm, not sure", "<answer>Amundsen</answer>"]
    asked = [turn.content for turn in result.trajectory if turn.role == "user"]
    assert asked == [last[1].content, last[3].content, last[5].content]


def test_refinement_ends_at_max_turns_with_the_last_complete_answer():
    target = Target("<answer>Amundsen</answer>", "Yes, I am sure.", "Still sure.")
    result = attempt(target, max_turns=3)
    assert (len(target.sent), result.turns, result.answer) == (3, 3, "Amundsen")


def test_blank_reply_ends_the_dialogue():
    target = Target("", "never asked")
    result = attempt(target, max_turns=3)
    assert (len(target.sent), result.status) == (1, "no_answer")


def test_context_budget():
    target = Target("<answer>x</answer>", "<answer>x</answer>")
    cut = attempt(target, context_chars=40)
    assert "[DOC] Amundsen was there in 1911.\n" in target.sent[0][1].content
    assert "Scott" not in target.sent[0][1].content
    assert cut.extra["context_cut"] is True
    assert attempt(target).extra["context_cut"] is False


def test_failed_call_is_left_to_the_phase():
    with pytest.raises(CallError, match="too slow"):
        attempt(Target(CallError("too slow", kind="timeout")))


def test_what_the_package_ships():
    assert ENVIRONMENT.initial_skill.read_text().startswith("# ")
    assert ENVIRONMENT.reference(ITEM) == ""
    assert ENVIRONMENT.prompts.is_dir()
