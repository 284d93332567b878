import asyncio

import msgspec
import pytest
from clients import ask, serving
from endpoint import Answer

from skillopt.errors import ProviderDead
from skillopt.models.base import CallError
from skillopt.models.replies import MOST_TEXT, UnusableReply, ask_json, parse_json_object


class Verdict(msgspec.Struct):
    score: int
    note: str = ""


@pytest.mark.parametrize(
    "text",
    [
        '{"score": 3}',
        '  \n{"score": 3}\n',
        '```json\n{"score": 3}\n```',
        '```\n{"score": 3}\n```\nDone.',
        'Here it is, in {braces}:\n{"score": 3}\nAs asked.',
        'Use `{x}` so:\n```json\n{"score": 3}\n```',
        '<think>maybe {"score": 1}?</think>{"score": 3}',
        '<think>a</think>\n<think>b {</think>\n```json\n{"score": 3}\n```',
        'the chat template opened it: {"score": 1}</think>\n\n{"score": 3}',
        'An example:\n```\ncode\n```\nand the answer:\n```json\n{"score": 3}\n```',
    ],
)
def test_the_single_object_of_a_reply_is_found(text):
    assert parse_json_object(text) == {"score": 3}


def test_an_object_may_hold_fences_braces_and_think_tags_in_its_texts():
    found = parse_json_object(
        '```json\n{"content": "```py\\nf({1})\\n``` <think> {\\"a\\": 1} </think>"}\n```'
    )
    assert found == {"content": '```py\nf({1})\n``` <think> {"a": 1} </think>'}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty"),
        ("  \n", "empty"),
        ("I would say 'a': `b` and leave it there.", "no JSON object"),
        ("It's {'a': 'b'} in Python.", "no JSON object"),
        ('<think>I start with {"score": 3}', "think> block is not closed"),
        ('Well. <think>I start with {"score": 3}', "think> block is not closed"),
        ('```json\n{"score": 3}', "fence around the JSON object is not closed"),
        ('```json\n{"score": 3', "broken or cut off"),
        ('{"edits": [{"op": "append", "content": "a"}, {"op": "app', "broken or cut off"),
        ('{"score": 3,}', "broken or cut off"),
        ('{"score": "a\nb"}', "broken or cut off"),
        ('{"score": 3} {"score": 4}', "more than one JSON object"),
        ('First {"score": 3}, then {"score": 4}.', "more than one|JSON list"),
        ('[{"score": 3}]', "JSON list"),
        ('[{"score": 3}, {"score": 4}]', "JSON list"),
        ("{'edits': [{\"score\": 3}]}", "inside braces that are not JSON"),
        ('{"a":' * 100_000, "cannot be read|broken"),
        ('{"score": ' + "9" * 5000 + "}", "cannot be read"),
        ("3", "no JSON object"),
    ],
)
def test_everything_else_is_refused_with_what_is_wrong(text, problem):
    with pytest.raises(UnusableReply, match=problem):
        parse_json_object(text)


def test_half_a_character_and_no_number_cost_no_reply():
    text = r'{"a": "half \ud83d", "\udc00": [NaN, {"b": "\ud800", "whole": "\ud83d\ude00"}], "c": -Infinity}'
    assert parse_json_object(text) == {"a": "half ?", "?": [None, {"b": "?", "whole": "😀"}], "c": None}


def test_many_braces_take_no_long_time():
    with pytest.raises(UnusableReply, match="no JSON object"):
        parse_json_object("{ " * 500_000)


def answers(*given):
    """Answer with the given ones in turn, the last one again and again."""
    return lambda call: given[min(call.number, len(given)) - 1]


def ask_verdict(tmp_path, rule, attempts=3, check=None, **options):
    async def main():
        async with serving(tmp_path, rule, **options) as (endpoint, client):
            answer = await ask_json(client, ask("judge"), Verdict, attempts=attempts, check=check)
        return answer, endpoint

    return asyncio.run(main())


def test_a_usable_answer_takes_one_call(tmp_path):
    answer, endpoint = ask_verdict(tmp_path, answers(Answer(text='{"score": "3", "mood": "fine"}')))
    assert answer.value == Verdict(score=3)
    assert (answer.problems, answer.usage.calls, len(endpoint.calls)) == ((), 1, 1)


def test_prose_first_is_asked_again_with_the_error_named(tmp_path):
    rule = answers(Answer(text="I think it is three."), Answer(text='{"score": 3}'))
    answer, endpoint = ask_verdict(tmp_path, rule)
    assert answer.value == Verdict(score=3)
    assert answer.problems == ("the answer holds no JSON object",)
    assert answer.texts == ("I think it is three.", '{"score": 3}')
    assert (answer.usage.calls, answer.usage.prompt) == (2, 14)
    _, said, asked = endpoint.calls[1].body["messages"]
    assert said == {"role": "assistant", "content": "I think it is three."}
    assert "the answer holds no JSON object" in asked["content"]


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (Answer(text='{"score": 3}', finish_reason="length"), "cut off"),
        (Answer(text="", finish_reason="length"), "cut off"),
        (Answer(text='{"score": 3}', finish_reason="content_filter"), "content filter"),
        (Answer(text='```json\n{"score": 3}'), "fence"),
        (Answer(text='<think>{"score": 3}'), "think"),
        (Answer(text='{"note": "n"}'), "wrong shape.*score"),
        (Answer(text='{"score": "high"}'), "wrong shape.*score"),
        (Answer(text='{"score": NaN}'), "wrong shape.*score"),
    ],
)
def test_unusable_answers_are_asked_again_a_bounded_number_of_times(tmp_path, reply, problem):
    answer, endpoint = ask_verdict(tmp_path, answers(reply), attempts=3)
    assert answer.value is None
    assert len(endpoint.calls) == len(answer.problems) == answer.usage.calls == 3
    for found in answer.problems:
        with pytest.raises(UnusableReply, match=problem):
            raise UnusableReply(found)


def test_an_answer_that_is_far_too_long_is_asked_again_and_not_repeated_to_the_model(tmp_path):
    long = '{"score": 3, "mood": "%s"}' % ("x" * MOST_TEXT)
    answer, endpoint = ask_verdict(tmp_path, answers(Answer(text=long), Answer(text='{"score": 4}')))
    assert answer.value == Verdict(score=4)
    assert answer.problems == (
        f"the answer is far too long: expected at most 1000000 characters, found {len(long)}",
    )
    assert endpoint.calls[1].body["messages"][1]["content"] == f"{long[:1000]} ..."
    fits = '{"score": 3, "mood": "%s"}' % ("x" * (MOST_TEXT - 24))
    assert len(fits) == MOST_TEXT
    assert ask_verdict(tmp_path / "other", answers(Answer(text=fits)))[0].value == Verdict(score=3)


def test_a_check_refuses_a_value(tmp_path):
    rule = answers(Answer(text='{"score": 30}'), Answer(text='{"score": 3}'))
    answer, _ = ask_verdict(tmp_path, rule, check=lambda verdict: "too high" if verdict.score > 9 else "")
    assert (answer.value, answer.problems) == (Verdict(score=3), ("too high",))


def test_asking_again_is_replayed_too(tmp_path):
    rule = answers(Answer(text="no"), Answer(text="no"), Answer(text='{"score": 3}'))

    async def main():
        async with serving(tmp_path, rule) as (endpoint, client):
            first = await ask_json(client, ask("judge"), Verdict, attempts=3)
            assert len(endpoint.calls) == 3
            assert await ask_json(client, ask("judge"), Verdict, attempts=3) == first
            assert len(endpoint.calls) == 3

    asyncio.run(main())


def test_failures_of_the_provider_are_no_unusable_answers(tmp_path):
    with pytest.raises(CallError, match="HTTP 400"):
        ask_verdict(tmp_path, answers(Answer(status=400, error="no")))

    async def main():
        async with serving(tmp_path, answers(Answer(status=401, error="no"))) as (endpoint, client):
            asked = [ask_json(client, ask(f"q{i}"), Verdict, attempts=3) for i in range(20)]
            found = await asyncio.gather(*asked, return_exceptions=True)
        assert isinstance(found[-1], ProviderDead)
        assert len(endpoint.calls) <= 12

    asyncio.run(main())
