"""The repository says one thing in two places: dependencies, commands; and some things nowhere."""

import re
import subprocess
import tomllib

import pytest
import yaml
from pages import ROOT, blocks

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# In pieces, so that this file does not hold what it looks for.
REGISTRIES = [
    "pypi" + ".org",
    "files.python" + "hosted",
    "index" + "-url",
    "anaconda" + ".org",
    "repo.ana" + "conda",
    "trusted" + "-host",
]


def tracked_files():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / line for line in listed.stdout.split("\0") if line]


def test_conda_users_get_the_same_packages():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    plain = [entry for entry in environment["dependencies"] if isinstance(entry, str)]
    (from_pip,) = [entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict)]
    packages = [entry for entry in from_pip if not entry.startswith("--editable")]
    assert sorted(packages) == sorted(PROJECT["dependencies"])
    assert f"python{PROJECT['requires-python']}" in plain


def test_versions_are_pinned():
    every = PROJECT["dependencies"] + [
        p for group in PROJECT["optional-dependencies"].values() for p in group
    ]
    assert [package for package in every if not re.fullmatch(r"[\w.-]+(\[[\w,]+\])?==[\w.]+", package)] == []


def test_the_tests_have_what_the_dashboard_needs():
    extras = PROJECT["optional-dependencies"]
    assert set(extras["dashboard"]) < set(extras["dev"])


def test_no_file_names_a_registry():
    found = [
        f"{path.relative_to(ROOT)}: {address}"
        for path in tracked_files()
        if path.is_file()
        for address in REGISTRIES
        if address.encode() in path.read_bytes()
    ]
    assert found == []


def test_the_readme_says_what_make_demo_runs():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipe = re.search(r"^demo:[^\n]*\n((?:\t[^\n]*\n)+)", makefile, re.MULTILINE)[1].strip()
    cores = re.search(r"^CORES \?= (\d+)$", makefile, re.MULTILINE)[1]
    command = recipe.replace("$(BIN)/", "").replace("$(CORES)", cores)
    assert f"{command}\n" in blocks(ROOT / "README.md", "sh")


def test_both_words_are_in_the_readme_for_the_catalog():
    readme = (ROOT / "README.md").read_text(encoding="utf-8").lower()
    assert "snakemake" in readme
    assert "workflow" in readme
    assert (ROOT / "config/README.md").is_file()
    assert yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text(encoding="utf-8"))["usage"]
