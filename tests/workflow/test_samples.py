"""The samples train from any folder with nothing but the simulator: at least one change is accepted."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from skillopt.envs.registry import environment

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow


STATUSES = {
    "alfworld": {"scored"},
    "docvqa": {"scored"},
    "livemathematicianbench": {"scored", "unparsed"},  # untrained, the target names no label now and then
    "officeqa": {"scored"},
}


@pytest.mark.parametrize("name", STATUSES)
def test_an_epoch_on_the_sample(name, tmp_path):
    command = [sys.executable, "-m", "snakemake", "-s", ROOT / "Snakefile", "--directory", tmp_path]
    options = ["--cores", "2", "--config", "set=train.num_epochs=1", "--"]
    done = subprocess.run(
        [*command, *options, f"results/{name}/best_skill.md"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    run = tmp_path / "results" / name
    gates = [json.loads(file.read_text()) for file in sorted(run.glob("steps/*/gate.json"))]
    assert len(gates) == 3
    assert any(gate["action"].startswith("accept") for gate in gates)
    best = (run / "best_skill.md").read_bytes()
    assert best != environment(name).initial_skill.read_bytes()
    assert best in [file.read_bytes() for file in run.glob("skills/*.md")]
    rows = [json.loads(line) for line in (run / "steps/step_0001/rollouts.jsonl").read_text().splitlines()]
    assert {row["status"] for row in rows} == STATUSES[name]
