"""LiveMathematicianBench: items, order of options, labels, what comes of each kind of reply, the sample."""

import asyncio
import json
from pathlib import Path

import pytest

from skillopt.envs.base import CommonSettings
from skillopt.envs.livemathematicianbench import ENVIRONMENT, LiveMathSettings
from skillopt.envs.livemathematicianbench.options import Option, generator_seed, shown
from skillopt.envs.livemathematicianbench.scoring import chosen
from skillopt.errors import DataError
from skillopt.models.base import CallError, Reply

SAMPLE = Path(__file__).parents[3] / "data" / "livemathematicianbench"
COUNTS = {"train": 16, "val": 12, "test": 12}
OPTIONS = tuple(
    Option(label=label, text=text) for label, text in (("A", "x is 1"), ("B", "A cat"), ("C", "x"))
)
RAW = {
    "id": "202602:22",
    "question": "Which holds?",
    "theorem_type": ["bound"],
    "choices": [{"label": label, "text": f"t{label}"} for label in "ABCDE"],
    "correct_choice": {"label": "C", "text": "tC"},
    "theorem": "All is well.",
    "sketch": "Clear.",
}


def item_of(tmp_path, **changes):
    file = tmp_path / "items.json"
    file.write_text(json.dumps([RAW | changes]), encoding="utf-8")
    return ENVIRONMENT.read(file)[0]


@pytest.fixture
def item(tmp_path):
    return item_of(tmp_path)


def attempt(item, *replies, skill="", max_turns=1, seed=42, **settings):
    left, sent = list(replies), []

    async def chat(messages, *, tools=(), tool_choice=""):
        sent.append(messages)
        reply = left.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply if isinstance(reply, Reply) else Reply(text=reply)

    common = CommonSettings(max_turns=max_turns, max_completion_tokens=100)
    made = ENVIRONMENT.attempt(item, skill, chat, common, LiveMathSettings(**settings), seed=seed)
    return asyncio.run(made), sent


@pytest.mark.parametrize(
    ("seed", "generator", "order", "correct"),
    [(42, 13154253309490526428, "ABEDC", "E"), (1043, 4759666608236852114, "ABDCE", "D")],
)
def test_order_of_the_options(item, seed, generator, order, correct):
    assert generator_seed(seed, item.id) == generator
    found = shown(item.data, seed)
    assert [option.text for option in found.options] == [f"t{label}" for label in order]
    assert [option.label for option in found.options] == list("ABCDE")
    assert found.correct == Option(label=correct, text="tC")


@pytest.mark.parametrize(
    "answer",
    [
        *("b", "B.", "B:", "B) A cat", "a cat", "B", "(B)", "**B**", "Option B", "The answer is B", "[b]"),
        *(
            "**Option B.**",
            "The answer is (B).",
            "B. A cat",
            "B because of that",
            "$B$",
            "\\boxed{B}",
            "Answer: B",
        ),
    ],
)
def test_label_b(answer):
    assert chosen(answer, OPTIONS) == OPTIONS[1]


@pytest.mark.parametrize(
    "answer",
    [
        "A dog is here",
        "Z",
        "A or B",
        "Option A or option B",
        "none of them",
        "B or C",
        "an answer a cat gave",
        "I see",
    ],
)
def test_no_single_label(answer):
    assert chosen(answer, OPTIONS) is None


@pytest.mark.parametrize("answer", ["A", "a", "(a)", "A.", "A) x is 1", "Option A", "The answer is A."])
def test_label_a_is_no_article(answer):
    assert chosen(answer, OPTIONS) == OPTIONS[0]


def test_right_and_wrong(item):
    right, sent = attempt(item, "So.\n<answer>A</answer> no <answer>E</answer>")
    assert (right.status, right.hard, right.soft, right.answer, right.reason) == ("scored", 1.0, 1.0, "E", "")
    assert [turn.role for turn in right.trajectory] == ["system", "user", "assistant", "note"]
    assert sent[0][1].content.endswith("A. tA\nB. tB\nC. tE\nD. tD\nE. tC")
    wrong, _ = attempt(item, "<answer>C</answer>")
    assert (wrong.status, wrong.hard, wrong.soft, wrong.answer) == ("scored", 0.0, 0.0, "C")
    assert wrong.reason == "MCQ=0: predicted 'C. tE', expected 'E. tC'"
    assert wrong.trajectory[-1].content == (
        "question: Which holds?\npredicted answer: C. tE\ncorrect answer: E. tC\nEM: 0"
    )


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        (Reply(text="Let me", finish_reason="length"), "truncated"),
        (Reply(text="<answer>E", finish_reason="length"), "truncated"),
        (Reply(text=" \n"), "no_answer"),
        (Reply(text="<answer>E"), "unparsed"),
        (Reply(text="<answer></answer>"), "unparsed"),
        (Reply(text="<answer>E or D</answer>"), "unparsed"),
        (Reply(text="I do not know."), "unparsed"),
    ],
)
def test_own_failures_of_the_target(item, reply, status):
    result, _ = attempt(item, reply)
    assert (result.status, result.hard, result.soft) == (status, 0.0, 0.0)
    assert result.reason.startswith("MCQ=0: the ")
    assert "problem: the " in result.trajectory[-1].content


def test_bare_last_line_and_cut_after_the_answer(item):
    assert attempt(item, "It is clear.\nE")[0].hard == 1.0
    assert attempt(item, Reply(text="<answer>E</answer> for", finish_reason="length"))[0].hard == 1.0


def test_failed_call_is_left_to_the_phase(item):
    with pytest.raises(CallError):
        attempt(item, CallError("too slow", kind="timeout"))


def test_skill_reaches_the_target_and_not_the_trajectory(item):
    result, sent = attempt(item, "<answer>E</answer>", skill="- Mind the quantifiers.")
    assert "- Mind the quantifiers." in sent[0][0].content
    assert "Mind" not in result.trajectory[0].content
    assert "## Skill" not in attempt(item, "<answer>E</answer>", skill=" ")[1][0][0].content


def test_settings_show_more_or_keep_the_order(item):
    _, sent = attempt(item, "<answer>C</answer>", shuffle_choices=False, use_theorem=True, use_sketch=True)
    assert sent[0][1].content.startswith(
        "## Theorem\n\nAll is well.\n\n## Proof sketch\n\nClear.\n\n## Question"
    )
    assert "\nC. tC\n" in sent[0][1].content
    assert "All is well" not in attempt(item, "<answer>C</answer>")[1][0][1].content
    assert ENVIRONMENT.reference(item) == "## Theorem\n\nAll is well.\n\n## Proof sketch\n\nClear."


def test_refinement_keeps_the_whole_dialogue(item):
    result, sent = attempt(item, "<answer>A</answer>", "<answer>E</answer>", "never asked", max_turns=3)
    assert [len(messages) for messages in sent] == [2, 4]
    assert sent[1][:2] == sent[0]
    assert (result.turns, result.hard) == (2, 1.0)


def test_forms_of_items(tmp_path):
    texts = item_of(tmp_path, choices=["p", "", "q"], correct_choice="c.")
    assert [choice["label"] for choice in texts.data["choices"]] == ["A", "C"]
    assert (ENVIRONMENT.check(texts), texts.data["correct_choice"]["label"]) == ("", "C")
    named = item_of(tmp_path, choices={"B": "q", "A": "p"}, correct_choice={"label": "d)", "content": "r"})
    assert [choice["label"] for choice in named.data["choices"]] == ["A", "B", "D"]
    nested = {"question": "Why?", "choices": ["p", "q"], "correct_choice": "b"}
    inner = item_of(tmp_path, id=None, month="202511", no=7, mcq=nested, theorem_type="limit")
    assert (inner.id, inner.task_type, inner.data["question"]) == ("202511:7", "limit", "Why?")
    assert item_of(tmp_path, theorem_type=None).task_type == "math_mcq"


def test_more_than_seven_options(tmp_path):
    made = item_of(tmp_path, choices=[f"t{number}" for number in range(9)], correct_choice="I")
    assert ENVIRONMENT.check(made) == ""
    assert len(shown(made.data, 1).options) == 9
    assert shown(made.data, 1).correct.text == "t8"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"question": " "}, "`question`"),
        ({"choices": ["one"], "correct_choice": "A"}, "found 1"),
        ({"choices": [str(number) for number in range(27)]}, "2 to 26 options"),
        ({"correct_choice": "F"}, "found 'F'"),
        ({"correct_choice": None}, "found ''"),
        ({"choices": ["p", "p", "q"]}, "the same text twice"),
        ({"choices": [{"label": "A", "text": "p"}, {"label": "a.", "text": "q"}]}, "each label once"),
    ],
)
def test_items_that_are_refused(tmp_path, changes, message):
    assert message in ENVIRONMENT.check(item_of(tmp_path, **changes))


def test_manifest_and_nameless_items_are_refused(tmp_path):
    file = tmp_path / "items.json"
    file.write_text('[{"id": "202511:1", "month": "202511", "no": 1}]', encoding="utf-8")
    assert "manifest of ids" in ENVIRONMENT.check(ENVIRONMENT.read(file)[0])
    file.write_text('[{"question": "Why?"}]', encoding="utf-8")
    with pytest.raises(DataError, match="entry 1"):
        ENVIRONMENT.read(file)


def test_folder_of_months(tmp_path):
    for month in ("202511", "202512"):
        file = tmp_path / month / f"qa_{month}_final.json"
        file.parent.mkdir()
        file.write_text(json.dumps([RAW | {"id": None, "month": month, "no": 1}]), encoding="utf-8")
    assert [item.id for item in ENVIRONMENT.read(tmp_path)] == ["202511:1", "202512:1"]


def test_sample():
    splits = {name: ENVIRONMENT.read(SAMPLE / name) for name in COUNTS}
    items = [item for found in splits.values() for item in found]
    assert {name: len(found) for name, found in splits.items()} == COUNTS
    assert len({item.id for item in items}) == len({item.data["question"] for item in items}) == 40
    assert [ENVIRONMENT.check(item) for item in items] == [""] * 40


@pytest.mark.parametrize(("right", "score"), [(True, 1.0), (False, 0.0)])
def test_scripted_target_on_the_sample(right, score):
    for item in ENVIRONMENT.read(SAMPLE / "test"):
        found = shown(item.data, 42)
        option = next(option for option in found.options if (option == found.correct) is right)
        assert attempt(item, f"<answer>{option.label}</answer>")[0].hard == score
