"""A copy of the checkout in which a test runs the workflow, and what a dry run would do there."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from warm import dry_run

ROOT = Path(__file__).parents[1]
PARTS = ("Snakefile", "rules", "workflow", "profiles", "skillopt", "config")
_JOB = re.compile(r"^(?:local)?rule (\w+):$")
_WILDCARDS = re.compile(r"^    wildcards: (.+)$")


@dataclass(frozen=True)
class Job:
    """One job of a dry run; `at` is its step, epoch or evaluation."""

    run: str
    rule: str
    at: str = ""


class Project:
    """A folder with the workflow's own files, data and run files of the test's."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        for part in PARTS:
            source = ROOT / part
            if source.is_dir():
                shutil.copytree(source, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(source, folder / part)

    def write_run(self, name: str, text: str) -> Path:
        path = self.folder / "config" / f"{name}.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    def sample(self, name: str, train: int, val: int, test: int) -> None:
        """Write the first items of the shipped sample as data/<name>/."""
        for split, count in (("train", train), ("val", val), ("test", test)):
            source = ROOT / "data" / "searchqa" / split / "items.json"
            items = json.loads(source.read_text(encoding="utf-8"))[:count]
            path = self.folder / "data" / name / split / "items.json"
            path.parent.mkdir(parents=True)
            path.write_text(json.dumps(items, ensure_ascii=False, indent=1), encoding="utf-8")

    def snakemake(
        self, *arguments: str, env: Mapping[str, str] = {}, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run the engine here; raises AssertionError with its output when it fails."""
        return snakemake(self.folder, *arguments, env={"PYTHONPATH": str(self.folder), **env}, check=check)

    def planned(
        self, *targets: str, overrides: Sequence[str] = (), env: Mapping[str, str] = {}
    ) -> frozenset[Job]:
        """Return the jobs that a dry run would do."""
        options = ["--config", f"set={' '.join(overrides)}"] if overrides else []
        arguments = ("--dry-run", *options, "--", *targets)
        if any(name.startswith("PYTHON") for name in env):  # read once, when Python starts
            done = self.snakemake(*arguments, env=env)
        else:
            whole = {**os.environ, "PYTHONPATH": str(self.folder), **env}
            done = dry_run(self.folder, ["--cores", "2", *arguments], whole)
        assert done.returncode == 0, done.stdout + done.stderr
        return jobs_in(done.stdout + done.stderr)


def snakemake(
    folder: Path, *arguments: str, env: Mapping[str, str] = {}, check: bool = True
) -> subprocess.CompletedProcess[str]:
    """Run the engine in a folder, with this checkout; raises AssertionError with its output when it fails."""
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "--cores", "2", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **env},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done


def jobs_in(output: str) -> frozenset[Job]:
    """Read the jobs out of what a dry run prints."""
    found, rule = set(), ""
    for line in output.splitlines():
        if match := _JOB.match(line):
            rule = match[1]
        elif rule and (match := _WILDCARDS.match(line)):
            wildcards = dict(part.split("=", 1) for part in match[1].split(", "))
            at = wildcards.get("step") or wildcards.get("epoch") or wildcards.get("evaluation") or ""
            found.add(Job(wildcards["run"], rule, at))
            rule = ""
    return frozenset(found)
