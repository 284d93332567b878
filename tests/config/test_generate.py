"""Files that are made from the settings: up to date, and true."""

import ast
import json
import re
from pathlib import Path

import jsonschema
import pytest
import yaml

from skillopt.config import generate
from skillopt.config.as_markdown import markdown
from skillopt.config.as_schema import schema
from skillopt.config.as_yaml import scalar, yaml_text
from skillopt.config.fingerprint import PHASES
from skillopt.config.keys import backend_keys, common_keys, installed
from skillopt.config.reruns import OTHERWISE, UNDECISIVE, reruns
from skillopt.config.resolve import load_run
from skillopt.config.settings import Settings

ROOT = Path(__file__).parents[2]


def test_no_file_is_stale():
    assert generate.stale(ROOT, installed()) == []


def test_check_names_stale_files_and_writing_mends_them(tmp_path, capsys):
    assert generate.main(["--root", str(tmp_path), "--check"]) == 1
    assert "config/config.yaml is stale" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    assert generate.main(["--root", str(tmp_path)]) == 0
    assert generate.main(["--root", str(tmp_path), "--check"]) == 0
    (tmp_path / "docs/configuration.md").write_text("old")
    assert generate.stale(tmp_path, installed()) == ["docs/configuration.md"]


def test_yaml_holds_every_default(resolve, catalog):
    values = yaml.safe_load(yaml_text(catalog))
    for key in common_keys().values():
        found = values[key.section][key.name]
        assert found == (list(key.default) if isinstance(key.default, tuple) else key.default)
    resolved = resolve("", files={"config.yaml": yaml_text(catalog)})
    assert resolved == resolve("", files={"config.yaml": ""})
    assert resolved.settings.calls == Settings().calls


def test_commented_settings_of_the_yaml_can_be_used(resolve, catalog):
    lines = yaml_text(catalog).splitlines()
    wanted = [line.removeprefix("  # ") for line in lines if line.startswith("  # openai_compatible_")]
    assert len(wanted) == 4
    text = "model:\n  backend: compat\n" + "".join(f"  {line}\n" for line in wanted)
    assert resolve(text).roles["target"].settings["base_url"] == "http://a"


@pytest.mark.parametrize(
    "value", ["", "a b", "no", "2:1:7", "x: y", "1", 1, 1.5, 120.0, 1e-9, True, None, ("a", "b: c")]
)
def test_scalars_read_back(value):
    found = yaml.safe_load(f"key: {scalar(value)}")["key"]
    assert found == (list(value) if isinstance(value, tuple) else value) or float(found) == value


def problems(catalog, text):
    checker = jsonschema.Draft202012Validator(json.loads(schema(catalog)))
    return [error.message for error in checker.iter_errors(yaml.safe_load(text))]


def test_schema_is_a_schema_with_a_description_for_every_key(catalog):
    document = json.loads(schema(catalog))
    jsonschema.Draft202012Validator.check_schema(document)
    for section in document["properties"].values():
        for described in section.get("properties", {}).values():
            assert described.get("description") or described["anyOf"]


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ("_base_: a.yaml\ntrain: {num_epochs: 2}\ncalls:\n", True),
        ("model: {backend: compat, target_openai_compatible_temperature: 0.5}", True),
        ("model: {openai_compatible_temperature: null}", True),
        ("env: {name: quiz, context_chars: 3}", True),
        ("env: {context_chars: 0}", False),
        ("train: {num_epoch: 2}", False),
        ("train: {num_epochs: 0}", False),
        ("trian: {}", False),
        ("optimizer: {lr_scheduler: cosin}", False),
        ("model: {qwen_chat_thinking_mode: maybe}", False),
        ("model: {optimizer_agent_exec_path: x}", False),
    ],
)
def test_schema_accepts_and_refuses(catalog, text, valid):
    assert (problems(catalog, text) == []) is valid


def test_shipped_files_fit_the_schema():
    paths = sorted((ROOT / "config").glob("*.yaml"))
    assert {"config.yaml", "searchqa.yaml"} < {path.name for path in paths}
    for path in paths:
        assert problems(installed(), path.read_text(encoding="utf-8")) == []


def test_the_shipped_run(monkeypatch):
    monkeypatch.chdir(ROOT)
    resolved = load_run(Path("config/searchqa.yaml"), [], {})
    assert {model.backend for model in resolved.roles.values()} == {"simulator"}
    assert resolved.settings.env.split_dir == "data/searchqa"
    assert (resolved.settings.train.num_epochs, resolved.settings.train.batch_size) == (2, 20)
    assert set(resolved.origins.values()) == {"config/searchqa.yaml"}


def test_page_has_every_key(catalog):
    page = markdown(catalog)
    for key in common_keys().values():
        assert f"| `{key.name}` |" in page
    for load in catalog.backends.values():
        assert all(f"`{setting.name}`" in page.replace(f"{load().name}_", "") for setting in load().settings)


def test_every_setting_has_an_effect_that_is_written_down():
    """No setting is inert: it decides a phase, the plan, or how phases are carried out."""
    deciding = {name for names in PHASES.values() for name in names}
    parts = ("", "_backend", "_reasoning_effort")
    roles = {f"model.{role}{part}" for role in ("optimizer", "target") for part in parts}
    known = deciding | UNDECISIVE | set(OTHERWISE) | roles | {"model.reasoning_effort"}
    assert set(common_keys()) - known == set()
    assert (UNDECISIVE | set(OTHERWISE)) - set(common_keys()) == set()
    assert not UNDECISIVE & (deciding - {"train.train_size"})
    assert all(reruns(dotted) for dotted in common_keys())


def test_every_backend_setting_reaches_the_role(resolve, catalog):
    for spec in (load() for load in catalog.backends.values() if "simulator" not in load().name):
        for setting in spec.settings:
            other = "http://other" if setting.form == "address" else "other"
            value = {"str": setting.choices[-1] if setting.choices else other}.get(setting.type, 7)
            role = spec.roles[-1]
            key = f"model.{role}_{spec.name}_{setting.name}"
            assert key in backend_keys(spec)
            resolved = resolve("", f"model.{role}_backend={spec.name}", f"{key}={value}")
            assert resolved.roles[role].settings[setting.name] == value
            assert resolved.origins[key] == "command line"


RESOLVED_FOR_A_ROLE = {
    *(
        f"model.{role}{part}"
        for role in ("optimizer", "target")
        for part in ("", "_backend", "_reasoning_effort")
    ),
    "model.backend",
    "model.reasoning_effort",
}
"""What `config/roles.py` makes a role's model of."""


def test_every_setting_is_read_by_a_phase_or_a_rule():
    """A setting that is checked and recorded but read by nobody would be inert."""
    code = {path: path.read_text(encoding="utf-8") for path in (ROOT / "skillopt").rglob("*.py")}
    read = [
        names_in(text)
        for path, text in code.items()
        if path.relative_to(ROOT / "skillopt").parts[0] not in ("config", "forecast", "report")
    ]
    named = set[str]().union(*read)
    named |= {
        text
        for path in (ROOT / "rules").glob("*.smk")
        for text in re.findall(r'"(\w+\.\w+)"', path.read_text())
    }
    unread = {key.dotted for key in common_keys().values() if not {key.name, key.dotted} & named}
    assert unread - RESOLVED_FOR_A_ROLE == set()


@pytest.mark.parametrize("benchmark", sorted(installed().environments))
def test_every_setting_of_a_benchmark_is_read_by_it(benchmark):
    folder = ROOT / "skillopt/envs" / benchmark
    named = set[str]().union(*(names_in(path.read_text(encoding="utf-8")) for path in folder.rglob("*.py")))
    own = set(installed().environments[benchmark]().__struct_fields__)
    assert own - named == set()


def names_in(source):
    """Return the attributes that Python code reads, and the texts `section.key` in it."""
    nodes = list(ast.walk(ast.parse(source)))
    attributes = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return attributes | {text for text in texts if re.fullmatch(r"\w+\.\w+", text)}
