"""What `--set` says is what the run's configuration holds, whatever characters are in it."""

import argparse
import subprocess

import pytest

from skillopt.config.resolved import read_resolved
from skillopt.errors import ConfigError
from skillopt.tools.train import engine_command, run_file
from skillopt.tools.workflow import workflow_root

ENDPOINT = (
    "model.target_backend=openai_compatible",
    "model.openai_compatible_base_url=http://127.0.0.1:1/v1",
)
ODD = r"""a\b it's "so" # no: comment {run} $(touch x) ü 😀 %d ~"""


def test_odd_characters_reach_the_run_as_they_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    args = argparse.Namespace(
        set=["train.num_epochs=2", f"model.target={ODD}", *ENDPOINT, "train.batch_size=3"],
        cores=1,
        snakemake=[],
        dry_run=False,
        verbose=False,
    )
    skill = "results/searchqa/skills/skill_v0000.md"
    subprocess.run(engine_command(workflow_root(), args, [skill], []), check=True, capture_output=True)
    found = read_resolved(tmp_path / "results/searchqa/config.json")
    assert found.roles["target"].model == ODD
    assert (found.settings.train.num_epochs, found.settings.train.batch_size) == (2, 3)
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != ".snakemake") == ["results"]


@pytest.mark.parametrize("name", ["a b", "é", ".h", "sub/x", "../config/x", "/etc/passwd", ""])
def test_a_name_that_no_run_can_have_is_refused(name):
    with pytest.raises(ConfigError, match="expected a name of letters"):
        run_file(workflow_root(), name)
