"""Options have an order of their own in each batch of training, and one and the same in evaluations."""

import argparse
import importlib
import json
from pathlib import Path

import pytest
from pages import ROOT

from skillopt.config.resolved import read_resolved
from skillopt.envs.livemathematicianbench import ENVIRONMENT
from skillopt.envs.livemathematicianbench.options import shown
from skillopt.files import write_json
from skillopt.phases.plan import plan_run

RUN = "results/livemathematicianbench"


def phase(name, *arguments):
    """Run a phase as its command does, in this process; return its rows by id."""
    module = importlib.import_module(f"skillopt.phases.{name}")
    parser = argparse.ArgumentParser()
    module.add_arguments(parser)
    module.main(parser.parse_args(arguments))
    out = Path(arguments[arguments.index("--out") + 1])
    return [json.loads(line) for line in out.read_text().splitlines()] if out.suffix == ".jsonl" else []


@pytest.fixture
def plan(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_file = ROOT / "config/livemathematicianbench.yaml"
    phase("config", "--run-file", str(run_file), "--out", f"{RUN}/config.json")
    made = plan_run("livemathematicianbench", read_resolved(Path(RUN, "config.json")))[0]
    write_json(Path(RUN, "plan.json"), made)
    Path("skill.md").write_text("# Nothing\n")
    return made


def call(name, out, *arguments):
    given = ("--config", f"{RUN}/config.json", "--store", "results/.calls", "--out", f"{RUN}/{out}")
    return phase(name, *given, "--skill", "skill.md", *arguments)


def told(item, seed):
    return "\n".join(f"{option.label}. {option.text}" for option in shown(item.data, seed).options)


def test_seeds_of_batches_and_of_the_run(plan):
    items = {item.id: item for item in ENVIRONMENT.read(ROOT / "data/livemathematicianbench/train")}
    for step in (1, 3):
        rows = call("rollout", f"{step}.jsonl", "--plan", f"{RUN}/plan.json", "--step", str(step))
        (batch,) = plan.steps[step - 1].batches
        assert batch.seed == {1: 1043, 3: 2043}[step]
        assert [row["id"] for row in rows] == list(batch.ids)
        assert all(
            row["trajectory"][1]["content"].endswith(told(items[row["id"]], batch.seed)) for row in rows
        )
    for row in call("evaluate", "all.jsonl", "--split", "train"):
        assert row["trajectory"][1]["content"].endswith(told(items[row["id"]], 42))
    assert any(told(item, 1043) != told(item, 2043) != told(item, 42) for item in items.values())
