"""DocVQA: ANLS, items, what the target is sent, what comes of each kind of reply."""

import asyncio
import base64
import json

import pytest

from skillopt.envs.base import CommonSettings
from skillopt.envs.docvqa import ENVIRONMENT, DocVQASettings
from skillopt.envs.docvqa.scoring import anls
from skillopt.models.base import Reply

PAGE = b"\x89PNG\r\n\x1a\nbytes of a page"
RAW = {"questionId": 7, "question": "Which date?", "answers": ["12 March 1999"], "image_path": "p/a.png"}


def item_of(tmp_path, **changes):
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "a.png").write_bytes(PAGE)
    (tmp_path / "items.json").write_text(json.dumps([RAW | changes]), encoding="utf-8")
    return ENVIRONMENT.read(tmp_path)[0]


def attempt(item, *replies, max_turns=1, **settings):
    left, sent = list(replies), []

    async def chat(messages, *, tools=(), tool_choice=""):
        sent.append(messages)
        return left.pop(0)

    common = CommonSettings(max_turns=max_turns, max_completion_tokens=100)
    return asyncio.run(ENVIRONMENT.attempt(item, "", chat, common, DocVQASettings(**settings), 0)), sent


@pytest.mark.parametrize(
    ("said", "gold", "score"),
    [
        ("12 March 1999", "12 march  1999", 1),
        ("12 March 1998", "12 March 1999", 0.9231),
        ("abcd", "abcy", 0.75),
        ("abcd", "abxy", 0),
        ("$1,200", "1200", 0.6667),
        ("Hello.", "hello", 0.8333),
        ("", "x", 0),
    ],
)
def test_anls(said, gold, score):
    assert anls(said, ["nothing like it at all", gold]) == pytest.approx(score, abs=5e-5)


@pytest.mark.parametrize(
    ("text", "finish", "status", "hard", "soft"),
    [
        ("<answer>12 march 1999</answer>", "stop", "scored", 1.0, 1.0),
        ("<answer>12 March 1998</answer>", "stop", "scored", 0.0, 12 / 13),
        ("<answer>never</answer>", "stop", "scored", 0.0, 0.0),
        ("Let me", "length", "truncated", 0.0, 0.0),
        (" ", "stop", "no_answer", 0.0, 0.0),
        ("<answer>12 March 1999", "stop", "unparsed", 0.0, 0.0),
        ("<answer></answer>", "stop", "unparsed", 0.0, 0.0),
    ],
)
def test_replies(tmp_path, text, finish, status, hard, soft):
    result, sent = attempt(item_of(tmp_path), Reply(text=text, finish_reason=finish))
    assert (result.status, result.hard, result.soft) == (status, hard, pytest.approx(soft))
    assert bool(result.reason) == (not hard)
    image = sent[0][1].images[0]
    assert (base64.b64decode(image.data), image.media_type) == (PAGE, "image/png")


def test_a_second_look_has_the_page_and_the_first_answer_before_it(tmp_path):
    first, second = Reply(text="<answer>1998</answer>"), Reply(text="<answer>12 March 1999</answer>")
    result, sent = attempt(item_of(tmp_path), first, second, max_turns=3, image_detail="high")
    assert (result.turns, result.hard) == (2, 1.0)
    assert sent[1][:2] == sent[0]
    assert [message.role for message in sent[1]] == ["system", "user", "assistant", "user"]
    assert sent[1][2].content == "<answer>1998</answer>"
    assert [image.detail for message in sent[1] for image in message.images] == ["high"]


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ("""['12 March 1999', " 12.3.99 "]""", ["12 March 1999", "12.3.99"]),
        ('["a", "b"]', ["a", "b"]),
        ("[unclear]", ["[unclear]"]),
        ("[" * 5000, ["[" * 5000]),
        ("12 March 1999", ["12 March 1999"]),
        ([], []),
    ],
)
def test_forms_of_answers(tmp_path, answers, expected):
    assert item_of(tmp_path, answers=answers).data["answers"] == expected


def test_table_of_the_original_project(tmp_path):
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "a.png").write_bytes(PAGE)
    row = """7,"Which date? document_path: p/a.png",['1999'],form"""
    (tmp_path / "pages.csv").write_text(f"questionId,question,answer,topic\n{row}\n", encoding="utf-8")
    (item,) = ENVIRONMENT.read(tmp_path)
    assert (item.id, item.task_type, item.data["question"]) == ("7", "form", "Which date?")
    assert (item.data["answers"], item.data["image_path"]) == (["1999"], "p/a.png")
    assert ENVIRONMENT.check(item) == ""


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, ""),
        ({"image_path": "../a.png"}, "below the data folder"),
        ({"image_path": "p/b.png"}, "found none"),
        ({"image_path": "p/a.exe"}, "expected an image"),
        ({"answers": []}, "`answers`"),
        ({"question": ""}, "`question`"),
    ],
)
def test_items(tmp_path, changes, message):
    found = ENVIRONMENT.check(item_of(tmp_path, **changes))
    assert message in found and bool(found) == bool(message)
