"""The simulated target before options: rules in any wording lift it, a harmful one undoes it."""

from pathlib import Path

import pytest
from simulated import attempts, mean_hard

from skillopt.envs.livemathematicianbench import ENVIRONMENT
from skillopt.models.simulator.choosing import RULES as MARKS
from skillopt.models.simulator.rules import rules_in
from skillopt.models.simulator.wordings import RULES

SAMPLE = Path(__file__).parents[3] / "data" / "livemathematicianbench"
CHOICE_RULES = ("label", *MARKS)


def accuracy(skill):
    return mean_hard(attempts(ENVIRONMENT, ENVIRONMENT.read(SAMPLE / "val"), skill))


@pytest.mark.parametrize("number", [0, 1, 2])
def test_any_wording_lifts_the_score(number):
    rules = "\n".join(f"- {RULES[rule][number]}" for rule in CHOICE_RULES)
    assert accuracy(rules) == 1.0
    assert accuracy(f"{rules}\n- Always explain your answer in full sentences.") < 0.1
    assert 0 < accuracy("\n".join(rules.split("\n")[:3])) < 1


def test_each_wording_states_its_rule_alone():
    for rule in CHOICE_RULES:
        assert [rules_in(way) for way in RULES[rule]] == [(rule,)] * 3


def test_an_empty_skill_and_the_initial_one_mostly_fail():
    assert accuracy("") < 0.1
    assert accuracy(ENVIRONMENT.initial_skill.read_text(encoding="utf-8")) < 0.1
