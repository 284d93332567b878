"""Benchmarks that ship and those of a project."""

import json

import pytest

from skillopt.config.resolve import load_run
from skillopt.envs.registry import environment, environment_names, own_names, require_packages
from skillopt.errors import ConfigError
from skillopt.phases.plan import plan_run
from skillopt.tools.new_benchmark import main


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(name, text, **others):
        package = tmp_path / "envs" / name
        package.mkdir(parents=True)
        for file, content in {"__init__": text, **others}.items():
            (package / f"{file}.py").write_text(content)

    return write


class Started:
    def __init__(self, name, folder):
        self.name = name
        self.folder = folder


def test_what_ships_is_found_without_a_project(project):
    assert {"searchqa", "docvqa", "livemathematicianbench"} <= set(environment_names())
    assert own_names() == []
    assert environment("searchqa").name == "searchqa"


def test_a_package_of_the_project_may_have_modules_of_its_own(project, tmp_path):
    main(Started("mine", tmp_path))
    package = tmp_path / "envs/mine"
    text = (package / "__init__.py").read_text()
    (package / "judging.py").write_text("RIGHT = 'yes'\n")
    (package / "__init__.py").write_text(
        text.replace("\nFOLDER", "\nfrom .judging import RIGHT\n\nFOLDER") + "\nENVIRONMENT.right = RIGHT\n"
    )
    found = environment("mine")
    assert (found.name, found.right, own_names()) == ("mine", "yes", ["mine"])
    assert environment("mine") is found


def test_its_settings_are_checked_like_others(project, tmp_path):
    main(Started("mine", tmp_path))
    run = tmp_path / "config/mine.yaml"
    assert load_run(run, [], {}).env_settings == {"ignore_case": True}
    assert load_run(run, ["env.ignore_case=false"], {}).env_settings == {"ignore_case": False}
    with pytest.raises(ConfigError, match=r"env\.ignore_cas: unknown setting of the benchmark mine; did you"):
        load_run(run, ["env.ignore_cas=false"], {})


def test_its_items_are_checked_before_anything_is_paid_for(project, tmp_path):
    main(Started("mine", tmp_path))
    file = tmp_path / "data/mine/val/items.json"
    entries = json.loads(file.read_text())
    entries[2]["answer"] = " "
    file.write_text(json.dumps(entries))
    with pytest.raises(
        ConfigError, match=r"val/items\.json, entry 3 \(id 'val-3'\): expected a text in `answer`"
    ):
        plan_run("mine", load_run(tmp_path / "config/mine.yaml", [], {}))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1\n", "expected the benchmark as ENVIRONMENT"),
        ("\n\nx = 1 / 0\n", r"cannot be imported: ZeroDivisionError: .*__init__\.py, line 3"),
        ("import not_there_at_all\n", "ModuleNotFoundError: No module named 'not_there_at_all'"),
        (
            "class E:\n    name = 'other'\nENVIRONMENT = E()\n",
            "settings, prompts, initial_skill, read, .*missing",
        ),
    ],
)
def test_what_is_no_benchmark(project, text, said):
    project("mine", text)
    with pytest.raises(ConfigError, match=said):
        environment("mine")


def test_another_name_than_its_folder_s(project, tmp_path):
    main(Started("mine", tmp_path))
    (tmp_path / "envs/mine").rename(tmp_path / "envs/yours")
    with pytest.raises(ConfigError, match="expected the name of its folder, 'yours', found 'mine'"):
        environment("yours")


def test_a_name_that_ships_is_taken(project):
    project("searchqa", "")
    with pytest.raises(ConfigError, match="a benchmark of this name ships"):
        own_names()


def test_an_unknown_name_says_how_to_start_one(project):
    project("mine", "")
    with pytest.raises(ConfigError, match=r"searchqa, .*mine, found 'yours'.*skillopt new-benchmark <name>"):
        environment("yours")


class Needy:
    requirements = ("json", "not_there_at_all", "nor_this")

    def __init__(self, name):
        self.name = name


def test_missing_packages_are_named_with_the_command_that_installs_them():
    with pytest.raises(
        ConfigError, match=r"mine needs not_there_at_all, nor_this, .* pip install not_there_"
    ):
        require_packages(Needy("mine"))
    with pytest.raises(ConfigError, match=r"pip install 'skillopt\[searchqa\]'"):
        require_packages(Needy("searchqa"))
    require_packages(environment("searchqa"))


def test_packages_are_checked_before_the_data_are_read(project, tmp_path):
    main(Started("mine", tmp_path))
    file = tmp_path / "envs/mine/__init__.py"
    file.write_text(file.read_text().replace("= ()  #", "= ('not_there_at_all',)  #"))
    with pytest.raises(ConfigError, match="mine needs not_there_at_all"):
        plan_run("mine", load_run(tmp_path / "config/mine.yaml", ["env.split_dir=nowhere"], {}))
