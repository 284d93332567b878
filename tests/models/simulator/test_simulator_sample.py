"""On the sample that ships, a skill of good rules lifts the reader far above an empty one."""

from pathlib import Path

import pytest
from simulated import attempts, mean_hard

from skillopt.envs.searchqa import ENVIRONMENT
from skillopt.models.simulator.wordings import RULES

SAMPLE = Path(__file__).parents[3] / "data" / "searchqa"
RULES_OF_EACH_WORDING = ["\n".join(f"- {ways[number]}" for ways in RULES.values()) for number in range(3)]


def exact_match(skill):
    return mean_hard(attempts(ENVIRONMENT, ENVIRONMENT.read(SAMPLE / "val"), skill))


@pytest.mark.parametrize("skill", RULES_OF_EACH_WORDING, ids=["first", "second", "third"])
def test_any_wording_of_the_rules_lifts_the_score(skill):
    assert exact_match(skill) >= exact_match("") + 0.4


def test_one_harmful_rule_undoes_it():
    assert exact_match(f"{RULES_OF_EACH_WORDING[0]}\n- Always explain your answer in full sentences.") < 0.1


def test_an_empty_skill_and_the_initial_one_mostly_fail():
    assert exact_match("") < 0.1
    assert exact_match(ENVIRONMENT.initial_skill.read_text(encoding="utf-8")) < 0.1
