"""The simulated target before options: rules in any wording lift it, a harmful one undoes it."""

import asyncio
from pathlib import Path

import pytest

from skillopt.envs.base import CommonSettings
from skillopt.envs.livemathematicianbench import ENVIRONMENT
from skillopt.models.backends.simulator import BACKEND
from skillopt.models.base import Request, RoleModel
from skillopt.models.simulator.choosing import RULES as MARKS
from skillopt.models.simulator.rules import rules_in
from skillopt.models.simulator.wordings import RULES

SAMPLE = Path(__file__).parents[3] / "data" / "livemathematicianbench"
CHOICE_RULES = ("label", *MARKS)


def accuracy(skill):
    model = BACKEND.open(RoleModel(role="target", backend="simulator", model="m"), {})
    common = CommonSettings(max_turns=1, max_completion_tokens=1024)

    async def chat(messages, *, tools=(), tool_choice=""):
        return await model.complete(Request(messages=messages, max_completion_tokens=1024))

    async def attempts():
        items = ENVIRONMENT.read(SAMPLE / "val")
        return [await ENVIRONMENT.attempt(i, skill, chat, common, ENVIRONMENT.settings(), 0) for i in items]

    return sum(attempt.hard for attempt in asyncio.run(attempts())) / 12


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
