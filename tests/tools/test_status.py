"""How a run ended, as an exit code: the table of docs/exit-codes.md."""

import re
from pathlib import Path
from typing import get_args

import pytest

from skillopt.errors import ExitCode
from skillopt.phases.summary import Outcome, Summary
from skillopt.tools.status import FailedPhase, Status

PAGE = Path(__file__).parents[2] / "docs" / "exit-codes.md"
CODES = {"improved": 0, "all_rejected": 10, "nothing_proposed": 11, "none_better": 13}


def summary(outcome):
    return Summary(
        run="demo",
        outcome=outcome,
        simulated=(),
        models={},
        metric="hard",
        skills={},
        epochs=(),
        usage={},
        splits={},
        rests_on="",
    )


def status(outcome=None, failures=()):
    return Status(
        run="demo",
        steps_done=1,
        steps=1,
        next_phase="",
        last=None,
        current=None,
        best=None,
        failures=failures,
        summary=summary(outcome) if outcome else None,
    )


@pytest.mark.parametrize("outcome", get_args(Outcome))
def test_each_outcome_has_its_code(outcome):
    assert status(outcome).exit_code == CODES[outcome]


def test_a_failure_comes_before_an_outcome_and_neither_means_unfinished():
    failed = FailedPhase(command="gate", exit_code=4, message="too few")
    assert status("improved", (failed,)).exit_code == ExitCode.LOW_COVERAGE
    assert status().exit_code == ExitCode.UNFINISHED


def test_the_page_names_every_code():
    rows = re.findall(r"^\| (\d+) \| ([a-z ]+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert {int(code): name for code, name in rows} == {
        code.value: code.name.lower().replace("_", " ") for code in ExitCode
    }
