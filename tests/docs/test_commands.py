"""The shell blocks of the pages run as they stand, in a copy of the repository."""

import shutil
import subprocess
import sys

import pytest
from pages import PAGES, ROOT, blocks, environment, name

LEFT_OUT = shutil.ignore_patterns(
    "results", ".git", ".venv", ".snakemake", "dist", "build", "__pycache__", ".*_cache", ".hypothesis"
)


@pytest.mark.slow
def test_blocks_run_and_their_run_is_the_one_that_is_shown(tmp_path):
    copy = tmp_path / "skillopt"
    shutil.copytree(ROOT, copy, ignore=LEFT_OUT)
    ran = 0
    for page in sorted(PAGES, key=lambda page: page.name != "README.md" or page.parent != ROOT):
        for block in blocks(page, "sh"):
            done = subprocess.run(
                ["bash", "-euc", block],
                cwd=copy,
                env=environment(copy),
                capture_output=True,
                text=True,
                timeout=240,
                check=False,
            )
            assert done.returncode == 0, f"{name(page)}:\n{block}\n{done.stdout}\n{done.stderr}"
            ran += 1
    assert ran >= 6
    shown = ("README.md", "docs/learning-curve.svg")
    command = [sys.executable, "docs/make_picture.py", "results/searchqa"]
    subprocess.run(command, cwd=copy, env=environment(copy), check=True, timeout=60)
    assert [file for file in shown if (copy / file).read_bytes() != (ROOT / file).read_bytes()] == [], (
        "stale: skillopt train searchqa && python docs/make_picture.py results/searchqa"
    )
