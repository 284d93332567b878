"""An evaluation that may be given up early: which ones may, and what a failing item does to it."""

import argparse
import importlib
import json
from pathlib import Path

import pytest
from endpoint import Answer
from loop import SIZES, model, serving, write_items

from skillopt.config.resolved import read_resolved
from skillopt.errors import LowCoverage
from skillopt.files import read_jsonl, write_json
from skillopt.phases.gate import Files, gate_rule, initial_gate, scored
from skillopt.phases.plan import plan_run
from skillopt.records import Row
from skillopt.skill import sha256

RUN = "results/loop"
ALL_RIGHT = "# Guidance\n\n- RULE 1: look.\n- RULE 2: look closer.\n"
ALL_WRONG = "# Guidance\n\nGuess.\n"


def phase(name, *arguments):
    """Run a phase as its command does, in this process."""
    module = importlib.import_module(f"skillopt.phases.{name}")
    parser = argparse.ArgumentParser()
    module.add_arguments(parser)
    module.main(parser.parse_args(arguments))


def evaluate(skill, out, *arguments):
    Path("skill.md").write_text(skill)
    phase(
        "evaluate",
        "--config",
        f"{RUN}/config.json",
        "--skill",
        "skill.md",
        "--out",
        f"{RUN}/{out}",
        *arguments,
    )
    return [json.loads(line) for line in Path(RUN, out).read_text().splitlines()]


@pytest.fixture
def server(tmp_path, monkeypatch):
    """The endpoint of a run whose current skill has 3 of 4 selection items right."""
    with serving() as server:
        server.rule = model
        monkeypatch.chdir(tmp_path)
        write_items(Path("data"))
        run = {
            "train": {"num_epochs": 1, "batch_size": 6},
            "evaluation": {"early_reject": "all", "min_coverage": 0.75},
            "env": {"name": "searchqa", "split_mode": "split_dir", "split_dir": "data"},
            "model": {"backend": "openai_compatible", "openai_compatible_base_url": server.url},
            "calls": {"max_attempts": 1},
        }
        Path("config").mkdir()
        Path("config/loop.yaml").write_text(json.dumps(run))
        phase("config", "--run-file", "config/loop.yaml", "--out", f"{RUN}/config.json")
        resolved = read_resolved(Path(RUN, "config.json"))
        write_json(Path(RUN, "plan.json"), plan_run("loop", resolved)[0])
        assert [row["hard"] for row in evaluate(ALL_RIGHT, "current.jsonl")] == [1, 1, 0, 1]
        write_state()
        yield server


def write_state():
    """Let the skill that was just evaluated be the current one."""
    rule = gate_rule(read_resolved(Path(RUN, "config.json")).settings)
    rows = read_jsonl(Path(RUN, "current.jsonl"), Row)
    current = scored(ALL_RIGHT, rows, Files(skill="skill.md", rows="current.jsonl"), rule)
    write_json(Path(RUN, "gate.json"), initial_gate(current, rule.metric))


STATE = ("--state", f"{RUN}/gate.json")


def candidate(text):
    made = {"action": "candidate", "candidate_sha256": sha256(text)}
    write_json(Path(RUN, "update.json"), made)
    return evaluate(text, "selection.jsonl", *STATE, "--update", f"{RUN}/update.json")


def test_a_candidate_may_be_given_up_and_a_skill_of_which_the_score_is_wanted_may_not(server):
    assert len(candidate(ALL_WRONG)) < SIZES["val"]
    scores = ("--scores", f"{RUN}/scores.json", "--label", "val/last")
    assert len(evaluate(ALL_WRONG, "last.jsonl", *STATE, *scores)) == SIZES["val"]
    assert json.loads(Path(RUN, "scores.json").read_text())["overall"]["score"]["total"] == SIZES["val"]


def test_a_part_of_the_items_is_said_to_be_one(server, caplog):
    caplog.set_level("INFO")
    assert len(candidate(ALL_WRONG)) == 1
    assert "evaluation of skill.md on val, items 1-1 of 4: 1/1 done, 1 scored, mean hard 0.000" in caplog.text
    assert "evaluation of skill.md on val: given up after 1 of 4 items, it cannot win" in caplog.text


def failing(*numbers):
    def rule(call):
        gone = any(f"What is thing {number} of" in call.prompt for number in numbers)
        return Answer(status=500, error="gone") if gone else model(call)

    return rule


def test_an_item_that_always_fails_counts_as_one_of_all_items_where_a_candidate_is_given_up(server):
    """The same share as if all had been done: the run would not come further otherwise, ever."""
    server.rule = failing(9)  # the one that the current skill fails, which comes first
    rows = candidate(ALL_WRONG)
    assert [(row["status"], row["hard"]) for row in rows] == [("provider_error", None)]


def test_too_many_failures_are_no_verdict_where_a_candidate_is_given_up(server):
    evaluate(ALL_WRONG, "current.jsonl")
    write_state()  # the current skill has nothing right: all items come first
    server.rule = failing(7, 8)
    with pytest.raises(LowCoverage, match="2 of 4 items have a score"):
        candidate(ALL_WRONG + "\n- Guess again.\n")
