"""The command line as a program among programs."""

import os
import subprocess
import sys

import pytest
from project import ROOT

COMMAND = (sys.executable, "-m", "skillopt")


@pytest.mark.parametrize("lines", [1, 50_000], ids=["kept in a buffer", "written at once"])
def test_output_that_nobody_reads_ends_a_command_quietly(lines, tmp_path):
    for name in ("one", "two"):
        (tmp_path / f"{name}.md").write_text(f"{name}\n" * lines, encoding="utf-8")
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as output:
        done = subprocess.run(
            [*COMMAND, "diff", "one.md", "two.md"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=output,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    assert (done.returncode, done.stderr) == (141, b"")
