"""What a person reads about a decision while training runs."""

import msgspec
import pytest

from skillopt.phases.gate import in_words
from skillopt.records import Gate, Score, Scored, State


def score(value, n=40):
    return Score(hard=value, soft=value, value=value, n=n, total=40)


def skill(value, n=40):
    return Scored(
        origin="", skill="", sha256="", visible_sha256="", score=score(value, n), results={}, inherited=False
    )


def gate(**changes):
    plain = Gate(
        step=3,
        epoch=1,
        phase="step",
        action="reject",
        metric="hard",
        candidate=score(0.5),
        compared=score(0.55),
        state=State(current=skill(0.55), best=skill(0.6), scored={}),
    )
    return msgspec.structs.replace(plain, **changes)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "step 3: reject, hard 0.550 -> 0.500; best 0.600"),
        ({"action": "accept_new_best"}, "step 3: accept new best, hard 0.550 -> 0.500; best 0.600"),
        (
            {"action": "skip_no_patches", "candidate": None, "compared": None},
            "step 3: skip no patches; best 0.600",
        ),
        (
            {"phase": "slow_update", "action": "inject", "candidate": None},
            "the end of epoch 1: region for guidance put in without a score; best 0.600",
        ),
        (
            {"phase": "initial", "action": "initial"},
            "the initial skill: hard 0.550; with 40 selection items, hard moves in steps of 0.025",
        ),
        (
            {"phase": "initial", "state": State(current=skill(None, 0), best=skill(None, 0), scored={})},
            "the initial skill: hard no score",
        ),
    ],
)
def test_decisions(changes, words):
    assert in_words(gate(**changes)) == words
