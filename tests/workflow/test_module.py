"""The workflow as a module of somebody's own Snakefile: dry and real, with their own start and names."""

import json
import re
from pathlib import Path

import pytest
from project import ROOT, jobs_in, snakemake

RUN = """
train: {num_epochs: 1, batch_size: 4}
evaluation: {eval_test: false}
env: {name: searchqa, split_mode: ratio, data_path: items.json, limit: 4}
"""
START = """
onstart:
    print(sorted(path.name for path in __import__("pathlib").Path("results/mine").iterdir()))
"""
PROFILE = ("--workflow-profile", str(ROOT / "profiles/default"))


def documented() -> str:
    """Return the Snakefile that the documentation shows."""
    page = (ROOT / "docs/module.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    return text


@pytest.fixture
def folder(tmp_path) -> Path:
    (tmp_path / "config").mkdir()
    (tmp_path / "config/mine.yaml").write_text(RUN)
    items = json.loads((ROOT / "data/searchqa/train/items.json").read_text(encoding="utf-8"))[:30]
    (tmp_path / "items.json").write_text(json.dumps(items))
    (tmp_path / "Snakefile").write_text(documented() + START)
    return tmp_path


def test_a_module_plans_trains_and_keeps_its_records_up_to_date(folder):
    jobs = jobs_in(snakemake(folder, *PROFILE, "--dry-run").stdout)
    assert {job.rule for job in jobs} >= {"rollout", "reflect", "gate", "best_skill"}
    assert not (folder / "results").exists()

    done = snakemake(folder, *PROFILE)
    assert "['basis.json', 'config.json', 'logs', 'plan.json']" in done.stdout
    results = folder / "results/mine"
    assert (folder / "deployed/AGENTS.md").read_bytes() == (results / "best_skill.md").read_bytes()
    assert jobs_in(snakemake(folder, *PROFILE, "--dry-run").stdout) == set()

    override = ("--config", "set=evaluation.gate_metric=soft")
    snakemake(folder, *PROFILE, *override, "--", "results/mine/steps/step_0001/gate.json")
    assert (
        json.loads((results / "config.json").read_text())["settings"]["evaluation"]["gate_metric"] == "soft"
    )
    assert json.loads((results / "steps/step_0001/gate.json").read_text())["metric"] == "soft"


def test_rules_of_a_module_may_have_other_names(folder):
    text = documented().replace("exclude all", "as skillopt_*")
    (folder / "Snakefile").write_text(text)
    jobs = jobs_in(snakemake(folder, *PROFILE, "--dry-run").stdout)
    assert {job.rule for job in jobs} >= {"skillopt_rollout", "skillopt_evaluate_slow_update"}


def test_a_prefix_is_refused(folder):
    text = documented().replace("    config: config", '    config: config\n    prefix: "elsewhere"')
    (folder / "Snakefile").write_text(text)
    done = snakemake(folder, *PROFILE, "--dry-run", check=False)
    assert done.returncode != 0
    assert "module with prefix" in done.stdout + done.stderr
