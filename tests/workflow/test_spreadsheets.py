"""One step of training on the workbooks that ship, through the workflow, programs and all."""

import json
import shutil

import pytest
from project import ROOT, Project
from sheets import needs_isolation

SMALL = (
    "env.limit=4 train.num_epochs=1 train.batch_size=4 "
    "optimizer.use_slow_update=false optimizer.use_meta_skill=false evaluation.eval_test=false"
)


@pytest.mark.slow
@needs_isolation
def test_a_step_on_the_sample_finds_a_rule(tmp_path):
    project = Project(tmp_path / "project")
    shutil.copytree(ROOT / "data/spreadsheetbench", project.folder / "data/spreadsheetbench")
    project.snakemake("results/spreadsheetbench/best_skill.md", "--config", f"set={SMALL}")
    results = project.folder / "results/spreadsheetbench"
    assert "formulas" in (results / "best_skill.md").read_text()
    gate = json.loads((results / "steps/step_0001/gate.json").read_text())
    assert gate["action"] == "accept_new_best"
    rows = [
        json.loads(line) for line in (results / "steps/step_0001/rollouts.jsonl").read_text().splitlines()
    ]
    assert {row["status"] for row in rows} == {"scored"}
    assert sum(row["hard"] for row in rows) == 0
    assert {row["extra"]["sandbox"][0] for row in rows} == {"no network"}
