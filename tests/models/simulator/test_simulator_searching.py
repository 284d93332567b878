"""The simulated target with search tools: rules in any wording lift it, each failure shows its cause."""

from pathlib import Path

import pytest
import simulated
from hypothesis import given
from hypothesis import strategies as st

from skillopt.envs.officeqa import ENVIRONMENT
from skillopt.models.simulator.briefs import Attempt, read_brief
from skillopt.models.simulator.diagnosis import causes_of
from skillopt.models.simulator.rules import rules_in, sentences_of
from skillopt.models.simulator.searching import NOT_FOUND, RULES, Call, next_step, read_wanted
from skillopt.models.simulator.wordings import RULES as WORDINGS

SAMPLE = Path(__file__).parents[3] / "data" / "officeqa"
ALL = ("short", "bare", *RULES)


def attempts(skill, split="val", max_turns=12):
    settings = ENVIRONMENT.settings(data_dirs=(str(SAMPLE / "documents"),), document_scope="corpus")
    items = ENVIRONMENT.read(SAMPLE / split)
    return simulated.attempts(ENVIRONMENT, items, skill, settings=settings, max_turns=max_turns)


def skill_of(rules, number=0):
    return "\n".join(f"- {WORDINGS[rule][number]}" for rule in rules)


def accuracy(skill):
    return simulated.mean_hard(attempts(skill))


@pytest.mark.parametrize("number", [0, 1, 2])
def test_any_wording_lifts_the_score(number):
    assert accuracy(skill_of(ALL, number)) >= 0.9


@pytest.mark.parametrize("missing", ["short", *RULES])
def test_each_rule_is_needed(missing):
    assert accuracy(skill_of([rule for rule in ALL if rule != missing])) < 0.95


def test_an_empty_skill_and_the_initial_one_fail_and_harm_shows():
    assert accuracy("") == accuracy(ENVIRONMENT.initial_skill.read_text(encoding="utf-8")) == 0.0
    for harm in ("Always explain your answer in full sentences.", "List all plausible answers."):
        assert accuracy(f"{skill_of(ALL)}\n- {harm}") == 0.0


def test_each_wording_states_its_rule_alone():
    for rule in RULES:
        for way in WORDINGS[rule]:
            assert {name for sentence in sentences_of(way) for name in rules_in(sentence)} == {rule}


@pytest.mark.parametrize("missing", RULES)
def test_the_analyst_sees_what_is_missing(missing):
    found = set()
    for attempt in attempts(skill_of([rule for rule in ALL if rule != missing]), "train"):
        if attempt.hard:
            continue
        entries = "\n".join(f"[{turn.role}]\n{turn.content}" for turn in attempt.trajectory)
        (seen,) = read_brief(f"```trajectory\n{entries}\n```").attempts("trajectory")
        found.update(causes_of(seen))
    assert missing in found
    assert found & {*RULES, "short", "bare"} <= {missing, "source", "table"}


def test_what_it_looks_up_and_calculates():
    wanted = read_wanted(
        "How many thousand tonnes of salted fish were landed at Maren in 1929 and 1931 together?"
    )
    assert (wanted.phrase, wanted.years, wanted.scale) == ("salted fish", ("1929", "1931"), 3)
    assert wanted.operation == "sum"
    assert read_wanted("By how much did it rise from 1929 to 1931?").operation == "change"
    assert read_wanted("What percentage of it was coal in 1931?").operation == "share"
    assert read_wanted("").phrase == ""


def test_it_acts_on_what_the_tools_gave():
    question, rules = "How many hydrants were there in 1931?", frozenset({"short", "bare"})
    assert next_step(question, rules, []) == Call("grep", {"pattern": "hydrants"})
    hit = "a_1929.txt:3: | Hydrants | 1,124 | 9 |"
    assert "<answer>1,124</answer>" in next_step(question, rules, [hit])
    assert next_step(question, rules, ["error: no such tool"]) == NOT_FOUND
    assert next_step(question, rules | {"table"}, [hit]) == Call("read", {"path": "a_1929.txt"})
    read = "1: Table 1. Network (number)\n2: | | 1932 | 1931 |\n3: | Hydrants | 1,124 | 9 |\n[a: lines]"
    assert "<answer>9</answer>" in next_step(question, rules | {"table"}, [hit, read])
    assert "<answer>1,124</answer>" in next_step(question, rules | {"table"}, [hit, "error: gone"])


def test_without_turns_it_gives_up():
    assert {attempt.status for attempt in attempts(skill_of(ALL), max_turns=2)} == {"scored"}
    assert {attempt.answer for attempt in attempts(skill_of(ALL), max_turns=2)} == {"not found"}


LINES = st.sampled_from(
    [
        *("a_1931.txt:3: | Coal | 0 | 0 |", "x:1: |", "b:2: | a | 9 |", "error: no", "0: ", ""),
        *("1: Table 1. Goods (thousand t)", "2: | | 1931 | 1930 |", "3: | Coal | 0 | 0 |"),
        *("4: | Total | 0 | 0 |", "5: | x | - | 1,2,,3 |", "[a: lines 1 to 2 of 3]", "no line holds 'x'"),
    ]
)
QUESTIONS = (
    "How much coal in 1931?",
    "What percentage was coal in 1931?",
    "By how much from 1930 to 1931?",
    "",
)


@given(
    st.lists(st.lists(LINES, max_size=6).map("\n".join), max_size=5),
    st.sets(st.sampled_from([*ALL, "context", "unsure", "list_all", "first_words"])),
    st.sampled_from(QUESTIONS),
)
def test_no_output_of_a_tool_breaks_it(outputs, rules, question):
    step = next_step(question, frozenset(rules), outputs)
    assert isinstance(step, Call) or step.endswith("</answer>")
    for said in ("", "5", "it was 4,5 in 1931"):
        trace = "\n".join(["grep {", *outputs])
        assert set(causes_of(Attempt(question, "", said, ("5",), trace))) <= set(ALL)
