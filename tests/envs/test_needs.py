"""What a benchmark needs is checked before anything is paid for, with what to do about it."""

import asyncio
import subprocess
import sys

import pytest
from sheets import ROOT

from skillopt.config.resolve import load_run
from skillopt.envs.registry import environment_names, require_packages
from skillopt.envs.spreadsheetbench import ENVIRONMENT
from skillopt.errors import ConfigError
from skillopt.phases.plan import plan_run, require_capabilities
from skillopt.phases.preflight import require_machine

RUN = "env:\n  name: spreadsheetbench\n  split_mode: split_dir\n  split_dir: data/spreadsheetbench\n"


@pytest.fixture
def run_file(tmp_path):
    file = tmp_path / "sheets.yaml"
    file.write_text(RUN, encoding="utf-8")
    return file


def test_a_package_that_is_not_installed():
    with pytest.raises(
        ConfigError, match=r"spreadsheetbench needs openpyxl, .*'skillopt\[spreadsheetbench\]'"
    ):
        require_packages(ENVIRONMENT, installed=lambda name: None)


@pytest.mark.parametrize(
    ("name", "beside", "other", "key"),
    [
        ("officeqa", "match=numeric", "match=text", "tolerance=0.5"),
        ("alfworld", "engine=textworld", "engine=household", "games_dir=games"),
    ],
)
def test_a_setting_without_effect_beside_another_is_refused(run_file, name, beside, other, key):
    settings = [f"env.name={name}", f"env.{key}"]
    load_run(run_file, [*settings, f"env.{beside}"], {})
    setting, needed = key.partition("=")[0], beside.replace("=", ": ")
    with pytest.raises(ConfigError, match=f"env.{setting} has no effect: it needs env.{needed}"):
        load_run(run_file, [*settings, f"env.{other}"], {})


def test_a_run_file_may_switch_off_what_a_setting_of_its_base_needs(tmp_path, run_file):
    base = tmp_path / "base.yaml"
    base.write_text("env: {name: officeqa, split_mode: split_dir, split_dir: d, tolerance: 0.5}")
    run_file.write_text("_base_: base.yaml\nenv: {match: text}")
    assert load_run(run_file, [], {}).env_settings["match"] == "text"


def test_tools_are_needed_in_one_mode(run_file):
    require_capabilities(load_run(run_file, [], {}), ENVIRONMENT)
    react = load_run(run_file, ["env.mode=react", "model.target_backend=codex_exec"], {})
    with pytest.raises(
        ConfigError, match="needs a target that takes tools; the backend 'codex_exec' does not"
    ):
        plan_run("sheets", react)


def test_a_machine_that_cannot_isolate_says_so(run_file, monkeypatch):
    resolved = load_run(run_file, [], {})
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(
        ConfigError, match=r"cannot be done on this machine: programs of the target cannot be run"
    ):
        asyncio.run(require_machine(resolved))


def test_the_questions_need_nothing(run_file):
    run_file.write_text("env:\n  name: searchqa\n  data_path: x\n", encoding="utf-8")
    asyncio.run(require_machine(load_run(run_file, [], {})))


EXTRAS = ("alfworld", "gymnasium", "openpyxl", "pandas", "PIL", "textworld", "datasets")


@pytest.mark.parametrize("name", environment_names())
def test_importing_a_benchmark_imports_no_package_of_an_extra_and_no_other_benchmark(name):
    code = (
        "import sys; from skillopt.envs.registry import environment; "
        f"environment({name!r}); print(*sorted(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    modules = set(done.stdout.split())
    assert modules & set(EXTRAS) == set()
    assert {other for other in environment_names() if f"skillopt.envs.{other}" in modules} == {name}
