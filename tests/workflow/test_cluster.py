"""The way of a submitted job, with the profile for SLURM and bash as the cluster."""

import json

import pytest
from project import Project

pytest.importorskip(
    "snakemake_executor_plugin_cluster_generic", reason="the executor is in the extra `dev`: install it again"
)

RUN = """
train: {num_epochs: 1, batch_size: 4}
env: {name: searchqa, split_mode: split_dir, split_dir: data/small}
"""
SUBMIT = """#!/bin/bash
grep '^# properties = ' "$1" >> submitted.txt
exec bash "$1"
"""


def test_only_the_phases_in_which_the_target_works_are_submitted(tmp_path):
    project = Project(tmp_path / "project")
    project.sample("small", 4, 3, 3)
    project.write_run("one", RUN)
    submit = project.folder / "submit.sh"
    submit.write_text(SUBMIT)
    submit.chmod(0o755)
    project.snakemake(
        *(
            "--profile",
            "profiles/slurm",
            "--executor",
            "cluster-generic",
            "--seconds-between-status-checks",
            "1",
        ),
        *("--cluster-generic-submit-cmd", "./submit.sh", "--", "results/one/steps/step_0001/gate.json"),
    )
    lines = (project.folder / "submitted.txt").read_text().splitlines()
    jobs = [json.loads(line.removeprefix("# properties = ")) for line in lines]
    assert sorted(job["rule"] for job in jobs) == ["evaluate", "evaluate_initial", "rollout"]
    assert all(job["resources"]["mem_mb"] == 4000 for job in jobs)
    rows = (project.folder / "results/one/steps/step_0001/selection.jsonl").read_text().splitlines()
    assert len(rows) == 3
    assert not project.planned("results/one/steps/step_0001/gate.json")  # a local run goes on from there
