"""The simulated target before workbooks: it knows its kinds of task, and each rule mends what it is for."""

import simulated
from sheets import SAMPLE, needs_isolation

from skillopt.envs.spreadsheetbench import ENVIRONMENT
from skillopt.models.simulator.rules import rules_in, rules_of
from skillopt.models.simulator.sheetfaults import is_program_attempt, program_causes
from skillopt.models.simulator.sheets import RULES as HABITS
from skillopt.models.simulator.wordings import RULES


def attempts(skill, count=8):
    return simulated.attempts(ENVIRONMENT, ENVIRONMENT.read(SAMPLE / "val")[:count], skill)


def said(attempt):
    return "\n".join(f"[{turn.role}]\n{turn.content}" for turn in attempt.trajectory)


def worded(number, *left_out):
    return "\n".join(f"- {RULES[rule][number]}" for rule in HABITS if rule not in left_out)


def test_each_wording_states_its_rule_alone():
    for rule in (*HABITS, "program"):
        assert [rules_of(way) for way in RULES[rule]] == [{rule}] * 3
    assert rules_in("Build the result in a new, empty workbook.") == ("new_book",)


@needs_isolation
def test_the_rules_make_every_program_right():
    assert [attempt.reason for attempt in attempts(worded(0))] == [""] * 8


@needs_isolation
def test_an_empty_skill_fails_and_the_failures_show_what_is_missing():
    done = attempts("")
    assert sum(attempt.hard for attempt in done) == 0
    assert all(is_program_attempt(said(attempt)) for attempt in done)
    causes = [program_causes(said(attempt)) for attempt in done]
    assert causes == [
        ["values"],
        ["values", "all_rows"],
        ["values", "all_rows"],
        ["values"],
        ["iso"],
        ["all_rows", "iso"],
        ["header"],
        ["all_rows"],
    ]


@needs_isolation
def test_what_is_left_shows_once_the_plain_causes_are_gone():
    done = attempts(worded(0, "numeric", "normalise"), count=4)
    failed = {
        number: program_causes(said(attempt)) for number, attempt in enumerate(done) if not attempt.hard
    }
    assert failed == {1: ["numeric"], 3: ["normalise"]}


@needs_isolation
def test_harmful_rules_undo_it():
    prose = attempts(f"{worded(0)}\n- Always explain your answer in full sentences.")
    assert {attempt.status for attempt in prose} == {"unparsed"}
    assert program_causes(said(prose[0])) == ["program"]
    emptied = attempts(f"{worded(0)}\n- Build the result in a new, empty workbook.", count=2)
    assert sum(attempt.hard for attempt in emptied) == 0
