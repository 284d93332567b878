"""Scoring: normalisation, exact match, F1."""

import pytest

from skillopt.envs.searchqa.rollout import judge_reply
from skillopt.envs.searchqa.scoring import judge, normalise
from skillopt.models.base import Reply

REPLIES = [
    ("<answer>The Beatles!</answer>", ["beatles"], 1, 1),
    ("<answer>Abraham Lincoln</answer>", ["President Abraham Lincoln", "lincoln"], 0, 0.8),
    ("It must be this.\nParis, France", ["Paris"], 0, 0.6667),
    ("<answer></answer>", ["the"], 1, 1),
    ("<answer>U.S.A.</answer>", ["USA"], 1, 1),
    ("<answer>don't stop</answer>", ["dont stop"], 1, 1),
    ("<answer>ice-cream</answer>", ["ice cream"], 0, 0),
    ("<answer>naïve—test</answer>", ["naïve test"], 0, 0),
    ("<answer>x", ["x"], 0, 0),
]


@pytest.mark.parametrize(("reply", "golds", "exact", "f1"), REPLIES)
def test_vectors_from_reply_to_score(reply, golds, exact, f1):
    judgement = judge_reply(Reply(text=reply), golds).judgement
    assert judgement.exact == exact
    assert judgement.f1 == pytest.approx(f1, abs=5e-5)


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("  The  Cat,\n a dog ", "cat dog"),
        ("Theatre of an anthem", "theatre of anthem"),
        ("a.m.", "am"),
        ("A", ""),
        ("“Ça” – là", "“ça” – là"),
    ],
)
def test_normalise(text, normal):
    assert normalise(text) == normal


def test_f1_counts_repeated_tokens_once_each():
    # 1 common token, 3 said, 2 wanted
    assert judge("new new new", ["new york"]).f1 == pytest.approx(2 * 1 / 5)


def test_best_gold_counts():
    judgement = judge("mount everest", ["everest", "Mount Everest", "K2"])
    assert (judgement.exact, judgement.f1, judgement.substring) == (1, 1.0, 1)


def test_empty_prediction_is_right_only_for_a_gold_that_is_empty_too():
    assert judge("!", ["x", "y"]).f1 == 0
    assert judge("", ["x", "an"]).f1 == 1
    assert judge("", ["x"]).substring == 0


def test_empty_gold_is_no_part_of_a_prediction():
    judgement = judge("something", ["the", "else"])
    assert (judgement.exact, judgement.f1, judgement.substring) == (0, 0, 0)


def test_substring_is_recorded_in_both_directions():
    assert judge("Paris, France", ["Paris"]).substring == 1
    assert judge("Paris", ["Paris, France"]).substring == 1
    assert judge("Rome", ["Paris"]).substring == 0
