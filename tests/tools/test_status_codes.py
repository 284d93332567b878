"""The code with which a run stands: of each failure, of a run that goes on, of each outcome."""

import json
import os

import pytest

from skillopt.cli import main
from skillopt.config.resolve import load_run
from skillopt.config.resolved import read_resolved
from skillopt.errors import ExitCode
from skillopt.files import read_json, write_json
from skillopt.phases.plan import plan_run
from skillopt.phases.summary import Summary, rests_on
from skillopt.records import Gate, Plan, Score, Scored, State
from skillopt.tools.status import read_status
from skillopt.tools.train import ended

RUN = """
train: {num_epochs: 1, batch_size: 2}
env: {name: searchqa, split_mode: split_dir, split_dir: data}
"""
OUTCOMES = {"improved": 0, "all_rejected": 10, "nothing_proposed": 11, "none_better": 13}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A run that has begun."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config").mkdir()
    (tmp_path / "config/run.yaml").write_text(RUN)
    for split in ("train", "val", "test"):
        (tmp_path / "data" / split).mkdir(parents=True)
        item = {"id": split, "question": "Q?", "context": "c", "answers": ["a"]}
        (tmp_path / "data" / split / "items.json").write_text(json.dumps([item]))
    resolved = load_run(tmp_path / "config/run.yaml", [], {})
    write_json(tmp_path / "results/run/config.json", resolved)
    write_json(tmp_path / "results/run/plan.json", plan_run("run", resolved)[0])
    return tmp_path / "results/run"


def fail(folder, phase, code):
    note = {"command": phase, "exit_code": int(code), "message": "why"}
    write_json(folder / f"logs/step_0001/{phase}.failure.json", note)


FAILURES = [code for code in ExitCode if 0 < code < 10] + [ExitCode.INTERRUPTED]


@pytest.mark.parametrize("code", FAILURES)
def test_a_failed_phase_gives_its_code(folder, code, capsys):
    fail(folder, "rollout", code)
    assert main(["status", str(folder)]) == code
    assert f"failed: rollout ({code.name.lower().replace('_', ' ')}): why" in capsys.readouterr().out
    assert ended(1, read_status(folder)) == code


def test_a_failure_counts_more_than_an_interruption(folder):
    fail(folder, "evaluate", ExitCode.INTERRUPTED)
    fail(folder, "rollout", ExitCode.CAP_REACHED)
    assert main(["status", str(folder)]) == 6


def test_a_run_that_nothing_stopped_is_unfinished(folder, capsys):
    assert main(["status", str(folder)]) == 12
    assert "next: rollout of step 1" in capsys.readouterr().out
    assert ended(1, read_status(folder)) == 1  # the engine failed, and no phase did


def decide(folder, path, phase, value):
    score = Score(hard=value, soft=value, value=value, n=1, total=1)
    skill = Scored(origin="", skill=f"{phase}.md", sha256="", visible_sha256="", score=score, results={})
    state = State(current=skill, best=skill, scored={})
    gate = Gate(step=1, epoch=1, phase=phase, action="accept_new_best", metric="hard", state=state)
    write_json(folder / path / "gate.json", gate)


def test_the_end_of_an_epoch_is_a_decision_too(folder, capsys):
    decide(folder, "steps/step_0001", "step", 0.25)
    assert main(["status", str(folder)]) == 12
    said = capsys.readouterr().out
    assert "last decision: step 1, accept_new_best\nhard on selection: current 0.25" in said
    decide(folder, "slow_update/epoch_01", "slow_update", 0.75)
    assert main(["status", str(folder)]) == 12
    said = capsys.readouterr().out
    assert "last decision: end of epoch 1, accept_new_best\nhard on selection: current 0.75" in said


def finish(folder, outcome):
    """Write a summary of the run as its files are now."""
    resolved, plan = read_resolved(folder / "config.json"), read_json(folder / "plan.json", Plan)
    none = {"sha256": "", "chars": 0, "origin": "", "selection": None, "test": None}
    summary = {
        **{"run": "run", "outcome": outcome, "simulated": (), "metric": "hard"},
        **{"models": {"optimizer": "m", "target": "m"}, "usage": {}, "epochs": ()},
        **{"skills": dict.fromkeys(("initial", "best", "last"), none), "splits": {}},
        "rests_on": rests_on(folder, resolved, plan),
    }
    write_json(folder / "summary.json", summary)


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_an_outcome_gives_its_code(folder, outcome):
    fail(folder, "rollout", ExitCode.PROVIDER_DEAD)  # before the summary: no longer part of the run
    finish(folder, outcome)
    assert isinstance(read_status(folder).summary, Summary)
    assert main(["status", str(folder)]) == OUTCOMES[outcome]
    assert ended(0, read_status(folder)) == OUTCOMES[outcome]


def test_a_summary_from_before_a_change_is_no_outcome(folder, capsys):
    finish(folder, "improved")
    other = load_run(folder.parents[1] / "config/run.yaml", ["optimizer.learning_rate=7"], {})
    write_json(folder / "config.json", other)
    assert main(["status", str(folder)]) == ExitCode.UNFINISHED
    said = capsys.readouterr().out
    assert "summary.json and best_skill.md are from before a change" in said
    assert "improved" not in said
    workers = load_run(folder.parents[1] / "config/run.yaml", ["env.workers=3"], {})
    write_json(folder / "config.json", workers)
    assert main(["status", str(folder)]) == ExitCode.OK
    decide(folder, "steps/step_0000", "initial", 0.0)
    decide(folder, "steps/step_0001", "step", 0.25)
    assert main(["status", str(folder)]) == ExitCode.UNFINISHED
    assert "next: the end of epoch 1" in capsys.readouterr().out
    decide(folder, "slow_update/epoch_01", "slow_update", 0.25)
    assert main(["status", str(folder)]) == ExitCode.UNFINISHED
    assert "next: best_skill.md, then final scores" in capsys.readouterr().out
    (folder / "best_skill.md").write_text(
        "# Skill\n", encoding="utf-8"
    )  # as the engine makes it when only it is named
    assert main(["status", str(folder)]) == ExitCode.UNFINISHED
    said = capsys.readouterr().out
    assert "summary.json is from before a change\n" in said
    assert "next: final scores, summary and report" in said
    assert "(best_skill.md is finished)" in said


def test_a_failure_is_not_followed_by_the_table_of_before(folder, capsys):
    finish(folder, "improved")
    os.utime(folder / "summary.json", (0, 0))
    fail(folder, "rollout", ExitCode.CAP_REACHED)
    assert main(["status", str(folder)]) == ExitCode.CAP_REACHED
    assert "improved" not in capsys.readouterr().out


def test_no_run_is_a_bad_command_line(tmp_path):
    assert main(["status", str(tmp_path)]) == 2
