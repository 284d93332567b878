"""The benchmark measures what it says: a tiny run, its calls counted on both sides."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_a_tiny_recipe(tmp_path):
    out = tmp_path / "results.json"
    command = [sys.executable, "benchmarks/run.py", "tiny", "--out", out]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=300)
    measures = {entry["name"]: entry for entry in json.loads(out.read_text())["measures"]}
    calls = measures["tiny: calls"]
    # At least: one probe, two rollouts of 3, selection of 3 under the initial skill, test of 3, two analysts.
    assert calls["value"] >= 1 + 6 + 3 + 3 + 2
    assert calls["note"].startswith("0 repeated")


def test_an_unknown_recipe_is_refused():
    done = subprocess.run(
        [sys.executable, "benchmarks/run.py", "fast"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "fast" in done.stderr
