"""Each benchmark's failure analyst is told the published kinds of failure."""

import re

import pytest
from analysts import failure_prompt

from skillopt.envs.registry import environment

RULES = ("rule_missing", "rule_wrong", "rule_ignored")
KINDS = {
    "alfworld": (
        *("navigation_loop", "missed_object", "wrong_sequence", "premature_stop", "action_loop"),
        *("appliance_error", *RULES),
    ),
    "docvqa": ("evidence_miss", "near_match_confusion", "normalization_error", "reading_error"),
    "livemathematicianbench": ("quantifier_miss", "strength_mismatch", "condition_miss", "option_confusion"),
    "officeqa": ("retrieval_miss", "evidence_miss", "operand_error", "calculation_error", "answer_format"),
    "searchqa": (*RULES, "answer_format"),
    "spreadsheetbench": (*RULES, "data_exploration", "code_error"),
}


@pytest.mark.parametrize("name", KINDS)
def test_kinds_of_failure(name):
    told = failure_prompt(environment(name).prompts)[0].content
    kinds = told.partition("Kinds of failure")[2].partition("\n\n")[0]
    assert set(re.findall(r"^- (\w+)", kinds, re.MULTILINE)) == {*KINDS[name], "other"}
