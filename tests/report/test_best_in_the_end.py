"""Guidance that is put in without a score is scored when training has ended: every view tells that score."""

import io

import pytest
from madeup import MadeUp
from rich.console import Console

from skillopt.report.facts import skills_of
from skillopt.report.figures import figures_of
from skillopt.report.lineage import lineage_of
from skillopt.report.record import RunRecord
from skillopt.tools.live import Viewer
from skillopt.tools.status import read_status, text
from skillopt.tools.watch import frame

GUIDED = "slow_update/epoch_02/skill.md"


@pytest.fixture
def made(tmp_path):
    """A run whose last decision left 0.250 as the best score, and guidance without one."""
    made = MadeUp(tmp_path / "results" / "made")
    for number in (1, 2, 3, 4):
        made.step(number)
        if number % 2 == 0:
            made.end_of_epoch(number // 2, "Look twice." if number == 4 else "")
    return made


def watched(folder):
    console = Console(file=io.StringIO(), width=120)
    console.print(frame(Viewer(folder).look()))
    return [" ".join(line.split()) for line in console.file.getvalue().splitlines()]


def test_the_last_skill_is_best_by_the_score_that_it_got_in_the_end(made):
    made.end(last_right=5)
    assert f"hard on selection: current 0.6250, best 0.6250 ({GUIDED})" in text(read_status(made.folder))
    shown = watched(made.folder)
    assert f"current hard 0.625 8 of 8 items {GUIDED}" in shown
    assert f"best hard 0.625 8 of 8 items {GUIDED}" in shown
    record = RunRecord(made.folder)
    assert lineage_of(record).score == 0.625
    assert skills_of(record)[1].selection.score.hard == 0.625
    assert "the best is 0.625." in figures_of(record)["learning"].chart.summary


def test_the_best_skill_stays_the_one_of_the_gate_when_the_last_is_no_better(made):
    made.end(last_right=2)
    record = RunRecord(made.folder)
    assert "best 0.2500 (steps/step_0003/candidate.md)" in text(read_status(made.folder))
    assert lineage_of(record).score == 0.25
    assert "the best is 0.250." in figures_of(record)["learning"].chart.summary
