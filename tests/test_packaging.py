"""The wheel, installed where there is no checkout, trains a skill."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LEFT_OUT = shutil.ignore_patterns("__pycache__", "results", ".git", ".venv", ".snakemake", "dist", ".*_cache")
BUNDLED = ("Snakefile", "rules", "workflow", "profiles", "config", "data")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Build in a copy, so that nothing is left in the checkout."""
    source = tmp_path_factory.mktemp("source") / "skillopt"
    shutil.copytree(ROOT, source, ignore=LEFT_OUT)
    out = source.parent / "dist"
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, source]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """Return the programs of an environment that has the wheel, and this one's other packages."""
    folder = tmp_path_factory.mktemp("environment") / "venv"
    venv.create(folder, with_pip=False)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
    (packages / "others.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    command = ["-m", "pip", "--python", folder / "bin/python", "install", "--no-deps", "--no-index", wheel]
    subprocess.run([sys.executable, *command], check=True, capture_output=True, timeout=120)
    return folder / "bin"


def run(program, *arguments, cwd, code=0):
    environment = {key: os.environ[key] for key in ("HOME", "TMPDIR") if key in os.environ}
    done = subprocess.run(
        [program, *arguments],
        cwd=cwd,
        env={**environment, "PATH": "/usr/local/bin:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == code, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def files_below(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_the_wheel_holds_the_package_and_the_workflow(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    expected = {f"skillopt/{file}" for file in files_below(ROOT / "skillopt") if "__pycache__" not in file}
    for part in BUNDLED:
        below = {f"{part}/{file}" for file in files_below(ROOT / part)} if (ROOT / part).is_dir() else {part}
        expected |= {f"skillopt/_workflow/{file}" for file in below if "__pycache__" not in file}
    assert expected - names == set()


def test_a_project_outside_the_checkout(installed, tmp_path):
    where = run(installed / "python", "-c", "import skillopt; print(skillopt.__file__)", cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(installed.parent)

    skillopt = installed / "skillopt"
    run(skillopt, "init", "demo", cwd=tmp_path)
    demo = tmp_path / "demo"
    assert {"README.md", "config/config.yaml", "config/searchqa.yaml", "data/README.md"} < files_below(demo)
    run(skillopt, "init", "demo", cwd=tmp_path, code=2)

    # Another setting than the shipped file has shows that the project's file is read.
    config = demo / "config/searchqa.yaml"
    config.write_text(config.read_text().replace("num_epochs: 2", "num_epochs: 1"))
    plan = run(skillopt, "train", "searchqa", "--dry-run", cwd=demo)
    assert "rollout                     3" in plan
    assert not (demo / "results").exists()

    printed = run(skillopt, "train", "searchqa", "--cores", "2", cwd=demo)
    assert "searchqa: improved" in printed
    best = demo / "results/searchqa/best_skill.md"
    trained = best.read_bytes()
    made = calls(demo, "made")
    assert made > 100

    # All of it comes from the call store the second time.
    shutil.rmtree(demo / "results/searchqa")
    run(skillopt, "train", "searchqa", "--cores", "2", cwd=demo)
    assert best.read_bytes() == trained
    assert calls(demo, "made") == made
    assert calls(demo, "replayed") > 100


def calls(project, kind):
    accounts = json.loads((project / "results/searchqa/calls.json").read_text())
    return sum(total[kind] for total in accounts["totals"])
