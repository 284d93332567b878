"""Each benchmark's failure analyst is told the published kinds of failure."""

import re

import pytest

from skillopt.envs.registry import environment
from skillopt.prompting import TrajectoryView, render

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
    view = TrajectoryView(id="x", task_type="t", reason="r", turns=1, reference="", trajectory=())
    told = render(
        "analyst_failure",
        folder=environment(name).prompts,
        skill="- a rule",
        update_mode="patch",
        skill_aware=False,
        learning_rate=4,
        history=(),
        memory="",
        group=(view,),
    )[0].content
    kinds = told.partition("Kinds of failure")[2].partition("\n\n")[0]
    assert set(re.findall(r"^- (\w+)", kinds, re.MULTILINE)) == {*KINDS[name], "other"}
