"""Layers, types, roles and errors of a run's configuration."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from skillopt.config.keys import installed
from skillopt.config.resolve import load_run
from skillopt.config.resolved import read_resolved
from skillopt.config.settings import Settings
from skillopt.config.values import found as shown_value
from skillopt.errors import ConfigError, CorruptFile
from skillopt.files import canonical, write_json


def message(resolve, *arguments, **named):
    with pytest.raises(ConfigError) as caught:
        resolve(*arguments, **named)
    return str(caught.value)


# layers


def test_defaults_are_those_of_the_settings(resolve):
    resolved = resolve()
    assert resolved.settings.train == Settings().train
    assert resolved.settings.optimizer.lr_scheduler == "cosine"
    assert resolved.env_settings == {"context_chars": 6000, "cache": ""}
    assert resolved.origins == {"env.name": "command line", "env.data_path": "command line"}


LAYERS = [
    ({"config.yaml": "train: {seed: 1}"}, "", {}, (), 1, "config/config.yaml"),
    (
        {"config.yaml": "train: {seed: 1}", "base.yaml": "train: {seed: 2}"},
        "_base_: base.yaml",
        {},
        (),
        2,
        "config/base.yaml",
    ),
    ({"base.yaml": "train: {seed: 2}"}, "_base_: base.yaml\ntrain: {seed: 3}", {}, (), 3, "config/run.yaml"),
    ({"base.yaml": "train: {seed: 2}"}, "train: {seed: 3}", {}, ("train.seed=4",), 4, "command line"),
]


@pytest.mark.parametrize(("files", "text", "env", "overrides", "seed", "origin"), LAYERS)
def test_later_layers_win(resolve, files, text, env, overrides, seed, origin):
    resolved = resolve(text, *overrides, env=env, files=files)
    assert resolved.settings.train.seed == seed
    assert resolved.origins["train.seed"] == origin


def test_environment_lies_between_file_and_command_line(resolve):
    text = "model: {backend: compat, openai_compatible_base_url: http://file}"
    env = {"OPENAI_COMPATIBLE_BASE_URL": "http://env"}
    assert resolve(text).roles["target"].settings["base_url"] == "http://file"
    from_env = resolve(text, env=env)
    assert from_env.roles["target"].settings["base_url"] == "http://env"
    key = "model.openai_compatible_base_url"
    assert from_env.origins[key] == "environment variable OPENAI_COMPATIBLE_BASE_URL"
    from_line = resolve(text, f"{key}=http://line", env=env)
    assert from_line.roles["optimizer"].settings["base_url"] == "http://line"
    assert from_line.origins[key] == "command line"


def test_merge_is_deep_and_bases_are_relative_to_their_file(resolve):
    files = {
        "shared/deep.yaml": "train: {seed: 7, batch_size: 5}",
        "shared/base.yaml": "_base_: deep.yaml\ntrain: {batch_size: 6}",
    }
    train = resolve("_base_: shared/base.yaml\ntrain: {num_epochs: 1}", files=files).settings.train
    assert (train.seed, train.batch_size, train.num_epochs) == (7, 6, 1)


def test_value_set_back_to_the_default_has_no_origin(resolve):
    resolved = resolve("_base_: base.yaml\ntrain: {seed: 42}", files={"base.yaml": "train: {seed: 1}"})
    assert "train.seed" not in resolved.origins


def test_config_yaml_may_be_the_run_itself(tmp_path, monkeypatch, catalog):
    monkeypatch.chdir(tmp_path)
    Path("config.yaml").write_text("env: {name: quiz, data_path: x.json}\ntrain: {seed: 9}\n")
    assert load_run(Path("config.yaml"), [], {}, catalog).settings.train.seed == 9


def test_circle_of_bases(resolve):
    text = message(
        resolve, "_base_: a.yaml", files={"a.yaml": "_base_: b.yaml", "b.yaml": "_base_: run.yaml"}
    )
    assert "config/run.yaml -> config/a.yaml -> config/b.yaml -> config/run.yaml" in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("_base_: none.yaml", "config/none.yaml (named by _base_ in config/run.yaml): expected a config"),
        ("_base_: [a, b]", "config/run.yaml: _base_: expected the path of one file"),
        ("- a\n- b", "config/run.yaml: expected sections (train, gradient"),
        ("train: 3\nenv: {}", "config/run.yaml: train: expected a section with keys, found a single value"),
        ("train:\n  seed: [1\n", "config/run.yaml, line 3, column 1: expected YAML"),
        ("train:\n  seed: 1\n  seed: 2\n", "config/run.yaml, line 3, column 3: expected YAML"),
        ("num_epochs: 4\nbatch_size: 40", "docs/from-the-original.md"),
    ],
)
def test_broken_files(resolve, text, expected):
    assert expected in message(resolve, text)


def test_a_run_file_that_cannot_be_read_is_a_mistake_of_the_configuration(tmp_path, monkeypatch, catalog):
    monkeypatch.chdir(tmp_path)
    Path("latin.yaml").write_bytes("# für\n".encode("latin1"))
    with pytest.raises(ConfigError, match=r"latin\.yaml: expected UTF-8 text, found byte 3 that is not"):
        load_run(Path("latin.yaml"), [], {}, catalog)
    Path("folder.yaml").mkdir()
    with pytest.raises(ConfigError, match=r"folder\.yaml: expected a"):
        load_run(Path("folder.yaml"), [], {}, catalog)


def test_missing_run_file(tmp_path, monkeypatch, catalog):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=r"config/none\.yaml: expected a configuration file, found none"):
        load_run(Path("config/none.yaml"), [], {}, catalog)


BOMB = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 10))
MERGES = "a0: &a0 {x: 1}\n" + "".join(
    f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}\n" for n in range(1, 10)
)


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("env:\n  ? [a, b]\n  : 1\n", "config/run.yaml, line 2, column 5: expected YAML, found: a list"),
        ("env:\n  ? {a: b}\n  : 1\n", "config/run.yaml, line 2, column 5: expected YAML, found: a list"),
        ('env:\n  limit: !!int "x"', "config/run.yaml, line 2, column 10: expected YAML, found: a tag"),
        ('env:\n  limit: !!int ""', "config/run.yaml, line 2, column 10: expected YAML, found: a tag"),
        ("env:\n  limit: !!float x", "config/run.yaml, line 2, column 10: expected YAML, found: a tag"),
        ("env:\n  limit: !!bool x", "config/run.yaml, line 2, column 10: expected YAML, found: a tag"),
        ("env:\n  limit: !!timestamp 2020-99-99", "config/run.yaml, line 2, column 10: expected YAML, fou"),
        ("env: !!python/name:os.system {}", "config/run.yaml, line 1, column 6: expected YAML, found: a tag"),
        ("env:\n  limit: ! 1", "config/run.yaml, line 2, column 10: expected YAML, found: a tag"),
        ("env:\n  limit: " + "9" * 5000, "config/run.yaml, line 2, column 10: expected YAML, found: a whole"),
        ("env:\n  limit: -" + "9" * 31, "config/run.yaml, line 2, column 10: expected YAML, found: a whole"),
        ("env:\n  limit: " + "[" * 3000, "config/run.yaml, line 2, column "),
        ("env:\n  limit: " + "[" * 900 + "]" * 900, "config/run.yaml, line 2, column "),
        ("evaluation:\n  leading_words: &a [*a]", "config/run.yaml, line 2, column 18: expected YAML, fou"),
        ("evaluation: &a\n  <<: *a", "config/run.yaml, line 1, column 13: expected YAML, found: an alias"),
        (BOMB, "config/run.yaml, line 6, column 5: expected YAML, found: more than 100000 values"),
        (MERGES, "config/run.yaml, line "),
        ("train: *none", "config/run.yaml, line 1, column 8: expected YAML, found: found undefined alias"),
        ("train: {seed: \x01}", "config/run.yaml: expected YAML, found characters"),
        (
            '_base_: "a\\0b"',
            "'config/a\\x00b' (named by _base_ in config/run.yaml): expected a configuration",
        ),
        (f"_base_: {'a' * 5000}", "'config/aaaaaaaaaaaa"),
    ],
)
def test_yaml_that_cannot_be_meant_is_refused_with_its_place(resolve, text, start):
    found = message(resolve, text)
    assert found.startswith(start)
    assert len(found) < 500


def test_aliases_and_merges_as_people_write_them_are_read(resolve):
    settings = resolve("train: {seed: &s 3, batch_size: *s}\nenv: {<<: {limit: 2}, limit: 4}").settings
    assert (settings.train.seed, settings.train.batch_size, settings.env.limit) == (3, 3, 4)


def test_a_value_is_shown_short_whatever_it_holds(resolve):
    line = ["x"]
    for _ in range(30):
        line = [line] * 9
    assert len(shown_value(line)) == 63
    assert shown_value({"a": line}) == "a group of keys"
    assert "CANARY" not in shown_value("sk-CANARY0123456789abcdef0123456789abcdef0123456789")


def test_broken_yaml_does_not_show_the_line(resolve):
    assert "sk-canary" not in message(resolve, "model: {a: sk-canary: x}")


def test_empty_section_and_empty_file(resolve):
    assert resolve("train:\n").settings.train == Settings().train
    assert resolve("").settings == resolve("train: {}").settings


# values


@pytest.mark.parametrize(
    ("override", "section", "name", "value"),
    [
        ("train.seed=42", "train", "seed", 42),
        ("train.seed= 7 ", "train", "seed", 7),
        ("optimizer.use_slow_update=false", "optimizer", "use_slow_update", False),
        ("evaluation.min_coverage=1", "evaluation", "min_coverage", 1.0),
        ("evaluation.min_coverage=5e-1", "evaluation", "min_coverage", 0.5),
        ("env.split_ratio=1:1:1", "env", "split_ratio", "1:1:1"),
        ("env.data_path=0042", "env", "data_path", "0042"),
        ("env.data_path=a=b.json", "env", "data_path", "a=b.json"),
        ("env.data_path=true", "env", "data_path", "true"),
        ("calls.max_wait=1.10", "calls", "max_wait", 1.1),
    ],
)
def test_overrides_are_read_by_type(resolve, override, section, name, value):
    found = getattr(getattr(resolve("", override).settings, section), name)
    assert (found, type(found)) == (value, type(value))


def test_list_override(resolve):
    on = "evaluation.use_semantic_density=true"
    for text in ("evaluation.leading_words=must,never", 'evaluation.leading_words=["must", "never"]'):
        assert resolve("", on, text).settings.evaluation.leading_words == ("must", "never")


def test_typed_settings_of_benchmark_and_backend(resolve):
    resolved = resolve(
        "", "env.context_chars=12", "model.backend=compat", "model.openai_compatible_temperature=0.5"
    )
    assert resolved.env_settings["context_chars"] == 12
    assert resolved.roles["optimizer"].settings["temperature"] == 0.5


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("train.seed=0042", 'train.seed: expected a whole number (0 or more), found "0042"'),
        ("train.seed=2_1_7", 'found "2_1_7"'),
        ("train.seed=1.0", 'found "1.0"'),
        ("train.batch_size=0", "train.batch_size: expected a whole number (1 or more), found 0"),
        ("gradient.merge_batch_size=1", "expected a whole number (2 or more), found 1"),
        ("optimizer.use_slow_update=yes", 'expected true or false, found "yes"'),
        ("optimizer.use_slow_update=1", 'expected true or false, found "1"'),
        ("optimizer.lr_scheduler=cosin", "expected one of constant, linear, cosine, autonomous"),
        ("optimizer.lr_scheduler=cosin", "did you mean 'cosine'?"),
        ("optimizer.longitudinal_pair_policy=some", "expected one of mixed, changed, unchanged"),
        ("evaluation.gate_mixed_weight=1.5", "expected a number (0 or more, 1 or less), found 1.5"),
        ("evaluation.min_coverage=nan", 'found "nan"'),
        ("env.context_chars=0", "env.context_chars: expected a whole number (1 or more), found 0"),
        ("train.seed", "expected section.key=value"),
        ("learning_rate=8", "did you mean optimizer.learning_rate?"),
        ("trian.seed=8", "did you mean train.seed?"),
        ("trian.sed=8", "did you mean train?"),
        ("train=8", "train: expected a key of this section (train.<key>), found none"),
        ("gradient.flavour=8", "expected one of minibatch_size, merge_batch_size, analyst_workers"),
        (
            "train.learning_rate=8",
            "train.learning_rate: unknown setting; did you mean optimizer.learning_rate?",
        ),
        ("optimizer.learnin_rate=8", "did you mean optimizer.learning_rate?"),
        ("env.contex_chars=8", "unknown setting of the benchmark quiz; did you mean env.context_chars?"),
        ("env.rooms=8", "env.rooms: unknown setting of the benchmark quiz"),
        ("model.openai_compatible_base_ulr=x", "did you mean model.openai_compatible_base_url?"),
        ("model.optimizer_agent_exec_path=x", "unknown setting"),
        ("env.name=quix", "expected one of house, quiz, found 'quix'; did you mean quiz?"),
        ("env.split_ratio=2:1", "three whole numbers above 0"),
        ("env.split_ratio=2:0:7", "three whole numbers above 0"),
        (f"env.split_ratio={'9' * 5000}:1:1", "three whole numbers above 0"),
        ("optimizer.learning_rate=1", "optimizer.min_learning_rate (2) is above optimizer.learning_rate (1"),
        ("env.item_timeout=60", "env.item_timeout (60 s) is below env.exec_timeout (120 s"),
        ("env.split_mode=split_dir", "env.split_dir: expected a folder with train/, val/ and test/"),
    ],
)
def test_refused_overrides(resolve, override, expected):
    text = message(resolve, "", override)
    assert expected in text
    assert "command line" in text


def test_giving_up_early_needs_a_gate_that_looks_at_results_alone(resolve):
    early = "evaluation.early_reject=all"
    style = "evaluation.use_semantic_density=true"
    assert "early_reject has no effect: it needs evaluation.use_gate: true, and use_semantic_dens" in message(
        resolve, "", early, style
    )
    resolve("", style)  # the default steps aside
    assert "early_reject has no effect: it needs evaluation.use_gate: true" in message(
        resolve, "evaluation: {use_gate: false}", early
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("train: {seed: x}", 'config/run.yaml: train.seed: expected a whole number (0 or more), found "x"'),
        ("train: {seed: true}", "train.seed: expected a whole number (0 or more), found true"),
        ("train: {seed: 1.0}", "train.seed: expected a whole number (0 or more), found 1.0"),
        ("train: {seed: }", "train.seed: expected a whole number (0 or more), found nothing"),
        ("train: {seed: {a: 1}}", "train.seed: expected a whole number (0 or more), found a group of keys"),
        ("env: {data_path: 7}", "env.data_path: expected text, found 7 (put it in quotes)"),
        ("env: {skill_init: [a]}", 'env.skill_init: expected text, found ["a"]'),
        ("train: {sed: 1}", "config/run.yaml: train.sed: unknown setting; did you mean train.seed?"),
        ("seed: 1\ntrain: {}", "seed: unknown, expected one of the sections"),
        ("runs: {a: 1}", "runs: unknown, expected one of the sections"),
    ],
)
def test_refused_values_in_files(resolve, text, expected):
    found = message(resolve, text)
    assert expected in found
    assert "config/run.yaml" in found


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("calls.timeout", "1e999"),
        ("budget.max_cost", "1e999"),
        ("budget.max_cost", "-1e999"),
        ("env.exec_timeout", "9" * 400 + ".0"),
        ("env.exec_timeout", "9" * 29),
        ("train.seed", "9" * 29),
        ("train.seed", "1e999"),
        ("model.openai_compatible_timeout", "1e999"),
    ],
)
def test_numbers_that_json_does_not_hold_are_refused(resolve, key, value):
    section, _, name = key.partition(".")
    for arguments in ((f"{section}: {{{name}: {value}}}",), ("", f"{key}={value}")):
        found = message(resolve, *arguments)
        assert f"{key}: expected a" in found
        assert "number" in found
    assert len(message(resolve, "", f"{key}={'9' * 5000}")) < 300


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("train.num_epochs=100", "expected a whole number (1 or more, 99 or less), found 100"),
        ("train.accumulation=1001", "expected a whole number (1 or more, 1000 or less), found 1001"),
    ],
)
def test_upper_bounds(resolve, override, words):
    assert words in message(resolve, "", override)


def test_an_infinite_number_of_the_environment_is_refused(resolve):
    found = message(resolve, "model: {backend: compat}", env={"TARGET_OPENAI_COMPATIBLE_TIMEOUT": "1e999"})
    assert "too large or no number" in found


def test_ratio_is_text_whatever_yaml_thinks(resolve):
    assert resolve("env: {split_ratio: 2:1:7}").settings.env.split_ratio == "2:1:7"
    assert resolve("env: {split_ratio: 1:20:30}").settings.env.split_ratio == "1:20:30"


def test_all_problems_at_once(resolve):
    text = message(resolve, "train: {sed: 1, batch_size: 0}", "calls.timeout=soon", "model.backend=none")
    lines = text.splitlines()
    assert lines[0] == "config/run.yaml: 4 problems"
    assert len(lines) == 5
    assert any("train.sed" in line for line in lines)
    assert any("backend none is not available" in line for line in lines)


def test_a_key_given_twice_on_the_command_line(resolve):
    assert "train.seed is given twice" in message(resolve, "", "train.seed=1", "train.seed=2")


def test_benchmark_and_data_are_required(resolve):
    text = message(resolve, start=False)
    assert "env.name: expected one of house, quiz, found nothing" in text
    assert "env.data_path: expected a data file to split" in text


# combinations and settings without effect


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (("evaluation.gate_mixed_weight=0.3",), "evaluation.gate_metric: mixed"),
        (("evaluation.semantic_density_weight=0.3",), "evaluation.use_semantic_density: true"),
        (("evaluation.leading_words=must",), "evaluation.use_semantic_density: true"),
        (("evaluation.eval_test=false", "evaluation.test_env_num=3"), "evaluation.eval_test: true"),
        (("optimizer.lr_control_mode=none", "optimizer.learning_rate=8"), "learning_rate has no effect"),
        (
            ("optimizer.lr_control_mode=autonomous", "optimizer.lr_scheduler=linear"),
            "lr_scheduler has no eff",
        ),
        (
            ("optimizer.lr_scheduler=constant", "optimizer.min_learning_rate=1"),
            "min_learning_rate has no effect",
        ),
        (("optimizer.skill_aware_appendix_source=failure_only",), "use_skill_aware_reflection: true"),
        (("optimizer.skill_aware_consolidate_threshold=4",), "use_skill_aware_reflection: true"),
        (("optimizer.use_slow_update=false", "optimizer.slow_update_gate_with_selection=false"), "needs"),
        (
            (
                "optimizer.use_slow_update=false",
                "optimizer.use_meta_skill=false",
                "optimizer.slow_update_samples=3",
            ),
            "slow_update_samples has no effect",
        ),
        (("train.num_epochs=1", "optimizer.slow_update_samples=3"), "slow_update_samples has no effect"),
        (
            ("train.num_epochs=1", "optimizer.longitudinal_pair_policy=changed"),
            "longitudinal_pair_policy has no effect",
        ),
        (
            ("train.num_epochs=2", "optimizer.use_slow_update=false", "optimizer.slow_update_samples=3"),
            "optimizer.use_meta_skill: true and 3",
        ),
        (
            (
                "gradient.failure_only=true",
                "optimizer.use_skill_aware_reflection=true",
                "optimizer.skill_aware_appendix_source=failure_only",
            ),
            "skill_aware_appendix_source has no effect: it needs gradient.failure_only: false",
        ),
        (
            (
                "model.reasoning_effort=low",
                "model.optimizer_reasoning_effort=high",
                "model.target_reasoning_effort=high",
            ),
            "model.reasoning_effort has no effect",
        ),
        (("model.rewrite_reasoning_effort=high",), "rewrite_from_suggestions"),
        (("model.rewrite_max_completion_tokens=9",), "full_rewrite_minibatch"),
        (
            ("optimizer.skill_update_mode=full_rewrite_minibatch", "optimizer.learning_rate=8"),
            "has no effect",
        ),
        (
            ("optimizer.skill_update_mode=full_rewrite_minibatch", "optimizer.min_learning_rate=1"),
            "min_learning_rate has no effect",
        ),
        (("optimizer.lr_control_mode=none", "optimizer.learning_rate=8"), "learning_rate has no effect"),
        (
            ("optimizer.learning_rate=2", "optimizer.min_learning_rate=3"),
            "optimizer.min_learning_rate (3) is above optimizer.learning_rate (2, command line)",
        ),
        (("env.split_dir=x",), "env.split_mode: split_dir"),
        (("model.openai_compatible_base_url=http://b",), "the target is played by simulator"),
        (("model.target=some-model",), "model.target has no effect"),
        (
            (
                "optimizer.use_skill_aware_reflection=true",
                "optimizer.skill_update_mode=full_rewrite_minibatch",
            ),
            "use_skill_aware_reflection: not with optimizer.skill_update_mode: full_rewrite_minibatch",
        ),
        (
            ("evaluation.use_semantic_density=true", "evaluation.leading_words=do not"),
            "expected single words, found 'do not'",
        ),
        (
            ("model.backend=qwen_chat", "model.optimizer_backend=compat", "model.target_backend=compat"),
            "model.backend has no effect",
        ),
    ],
)
def test_combinations(resolve, overrides, expected):
    assert expected in message(resolve, "", *overrides)


def test_a_higher_layer_may_switch_off_what_a_file_sets(resolve):
    text = "evaluation: {gate_metric: mixed, gate_mixed_weight: 0.3}\nmodel: {backend: compat, target: m}"
    text += "\n  # an address\nenv: {split_ratio: 1:1:1}"
    resolved = resolve(text, "evaluation.gate_metric=hard", env={"TARGET_BACKEND": "simulator"})
    assert resolved.settings.evaluation.gate_metric == "hard"
    assert resolved.roles["target"].model == "simulated"


def test_budget_that_does_not_fall_may_be_one(resolve):
    assert resolve("", "optimizer.learning_rate=1", "optimizer.lr_scheduler=constant")


# roles


def backends(resolved):
    return tuple(resolved.roles[role].backend for role in ("optimizer", "target"))


LABELS = [
    ("", (), {}, ("simulator", "simulator")),
    ("model: {backend: openai_compatible}", (), {}, ("openai_compatible",) * 2),
    ("model: {backend: Compat}", (), {}, ("openai_compatible",) * 2),
    ("model: {backend: qwen}", (), {}, ("qwen_chat",) * 2),
    ("model: {backend: compat, optimizer_backend: qwen}", (), {}, ("qwen_chat", "openai_compatible")),
    ("model: {backend: compat, target_backend: simulator}", (), {}, ("openai_compatible", "simulator")),
    ("model: {optimizer_backend: compat}", (), {}, ("openai_compatible", "simulator")),
    ("model: {optimizer_backend: qwen}", ("model.backend=compat",), {}, ("openai_compatible",) * 2),
    ("model: {backend: compat}", (), {"TARGET_BACKEND": "qwen"}, ("openai_compatible", "qwen_chat")),
    (
        "model: {target_backend: compat}",
        ("model.backend=simulator",),
        {"TARGET_BACKEND": "qwen"},
        ("simulator",) * 2,
    ),
    ("model: {optimizer_backend: compat, backend: agent_exec}", (), {}, ("openai_compatible", "agent_exec")),
    ("model: {backend: compat}", ("model.backend=agent_exec",), {}, ("openai_compatible", "agent_exec")),
    ("model: {backend: compat}", (), {"TARGET_BACKEND": " "}, ("openai_compatible",) * 2),
]


@pytest.mark.parametrize(("text", "overrides", "env", "expected"), LABELS)
def test_label_and_role_keys(resolve, text, overrides, env, expected):
    assert backends(resolve(text, *overrides, env=env)) == expected


def test_backend_that_cannot_play_the_role(resolve):
    assert "set model.optimizer_backend" in message(resolve, "model: {backend: agent_exec}")
    text = message(resolve, "", env={"OPTIMIZER_BACKEND": "agent_exec"})
    assert text.startswith("environment variable OPTIMIZER_BACKEND: ")
    assert "can only be the target" in text


def test_model_names(resolve):
    def target(text, *overrides, **named):
        return resolve(text, *overrides, **named).roles["target"].model

    assert target("model: {backend: compat}") == "small"
    assert target("model: {backend: compat, target: gpt-5.5}") == "gpt-5.5"
    assert target("model: {target: mine}", env={"TARGET_BACKEND": "compat"}) == "mine"
    assert target("model: {backend: compat}", env={"TARGET_MODEL": "from-env"}) == "from-env"
    assert target("model: {backend: compat, target: gpt-5.5}", "model.backend=qwen") == "qwen-model"
    assert target("model: {backend: compat}", "model.backend=qwen", "model.target=gpt-5.5") == "gpt-5.5"
    base = {"base.yaml": "model: {backend: compat, target: gpt-5.5}"}
    assert target("_base_: base.yaml\nmodel: {target: ''}", files=base) == "small"


def test_settings_of_a_role_win_within_a_layer_and_layers_win_over_roles(resolve):
    text = """
model:
  backend: compat
  openai_compatible_base_url: http://shared
  optimizer_openai_compatible_base_url: http://own
"""

    def addresses(*overrides, env=None):
        roles = resolve(text, *overrides, env=env).roles
        return tuple(roles[role].settings["base_url"] for role in ("optimizer", "target"))

    assert addresses() == ("http://own", "http://shared")
    env = {"TARGET_OPENAI_COMPATIBLE_BASE_URL": "http://env"}
    assert addresses(env=env) == ("http://own", "http://env")
    assert addresses("model.openai_compatible_base_url=http://line", env=env) == ("http://line",) * 2


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("model.target", "m-\udcff"),
        ("model.compat_base_url", "http://h/\ud800"),
        ("env.data_path", "items-\udcff.json"),
        ("evaluation.skills", '{"x": "\\ud800.md"}'),
    ],
)
def test_text_that_utf8_cannot_hold_is_refused_at_once(resolve, key, value):
    with pytest.raises(
        ConfigError, match=rf"command line: {key.partition('.')[0]}.*: expected text that can be"
    ):
        resolve("model: {backend: compat}", f"{key}={value}")


@pytest.mark.parametrize(
    "name", ["OPTIMIZER_MODEL", "TARGET_DEPLOYMENT", "COMPAT_BASE_URL", "TARGET_BACKEND"]
)
def test_variables_that_are_no_text_are_refused_by_name(resolve, name):
    with pytest.raises(ConfigError, match=f"environment variable {name}: .*expected text that can be"):
        resolve("model: {backend: compat}", env={name: "http://h/\udcff"})


def test_blank_settings_of_backends_are_unset(resolve):
    """A blank key of a role must not defeat the shared one, nor a blank key the environment."""
    text = "model: {backend: qwen, qwen_chat_thinking_mode: enabled, target_qwen_chat_thinking_mode: ''}"
    assert resolve(text).roles["target"].settings["thinking_mode"] == "enabled"
    text = "model: {backend: qwen, qwen_chat_thinking_mode: ''}"
    env = {"QWEN_CHAT_THINKING_MODE": "disabled"}
    assert resolve(text, env=env).roles["target"].settings["thinking_mode"] == "disabled"
    assert resolve(text).roles["target"].settings["thinking_mode"] == "server_default"


@pytest.mark.parametrize("spelling", ["TARGET_COMPAT_BASE_URL", "COMPAT_TARGET_BASE_URL"])
def test_variables_of_one_role_have_two_spellings_and_win_over_the_shared_one(resolve, spelling):
    env = {spelling: "http://own", "COMPAT_BASE_URL": "http://shared"}
    resolved = resolve("model: {backend: compat}", env=env)
    found = [resolved.roles[role].settings["base_url"] for role in ("optimizer", "target")]
    assert found == ["http://shared", "http://own"]
    key = "model.target_openai_compatible_base_url"
    assert resolved.origins[key] == f"environment variable {spelling}"


def test_each_role_may_have_an_effort_of_its_own(resolve):
    def efforts(text, *overrides):
        roles = resolve(text, *overrides).roles
        return tuple(roles[role].reasoning_effort for role in ("optimizer", "target"))

    shared = "model: {backend: compat, reasoning_effort: low}"
    assert efforts(shared) == ("low", "low")
    assert efforts(shared, "model.optimizer_reasoning_effort=high") == ("high", "low")
    own = "model: {backend: compat, reasoning_effort: low, target_reasoning_effort: none}"
    assert efforts(own) == ("low", "none")
    assert efforts(own, "model.reasoning_effort=medium") == ("medium", "medium"), "a higher layer wins"


def test_deployments_are_models_under_an_older_name(resolve):
    env = {"OPTIMIZER_DEPLOYMENT": "big", "TARGET_DEPLOYMENT": "old", "TARGET_MODEL": "small"}
    roles = resolve("model: {backend: compat}", env=env).roles
    assert [roles[role].model for role in ("optimizer", "target")] == ["big", "small"]


def test_choices_of_backends(resolve):
    found = message(resolve, "model: {backend: qwen, qwen_chat_thinking_mode: enabeld}")
    assert "model.qwen_chat_thinking_mode: expected one of server_default, enabled, disabled" in found


def test_a_bad_value_in_the_environment_names_the_variable(resolve):
    env = {"OPENAI_COMPATIBLE_TIMEOUT": "soon"}
    found = message(resolve, "model: {backend: compat}", env=env)
    assert found.startswith("environment variable OPENAI_COMPATIBLE_TIMEOUT: ")
    assert resolve("", env=env), "variables of backends that play no role are not read"


def test_alias_as_prefix_of_keys_and_variables(resolve):
    roles = resolve("model: {backend: qwen, qwen_base_url: http://b}").roles
    assert roles["target"].settings["base_url"] == "http://b"
    roles = resolve("model: {backend: compat}", env={"COMPAT_BASE_URL": "http://c"}).roles
    assert roles["target"].settings["base_url"] == "http://c"


# secrets


@pytest.mark.parametrize(
    ("key", "variable"),
    [
        ("openai_compatible_api_key", "variable OPENAI_COMPATIBLE_API_KEY "),
        ("target_openai_compatible_api_key", "variable TARGET_OPENAI_COMPATIBLE_API_KEY "),
        ("minimax_api_key", "variable MINIMAX_API_KEY "),
        ("optimizer_azure_openai_api_key", "variable OPTIMIZER_AZURE_OPENAI_API_KEY "),
        ("github_token", "variable GITHUB_TOKEN "),
    ],
)
def test_secrets_are_refused_and_never_shown(resolve, key, variable):
    for arguments in ((f"model: {{{key}: sk-canary}}",), ("", f"model.{key}=sk-canary")):
        text = message(resolve, *arguments)
        assert variable in text
        assert "sk-canary" not in text
    assert resolve(f"model: {{{key}: ''}}")


def test_a_login_in_an_address_is_refused_and_never_shown(resolve):
    text = "model: {backend: compat, openai_compatible_base_url: 'https://me:sk-canary@host/v1'}"
    found = message(resolve, text)
    assert "expected an address without a login" in found
    assert "sk-canary" not in found


ADDRESSES = [
    "http://host/v1?api_key=CANARY",
    "http://host/v1#CANARY",
    "http://CANARY@host/v1",
    "http://me:CANARY@host/v1",
    "me:CANARY@host/v1",
    "https://me:8080/CANARY@host",
    "http://host/v1\r\nX-Key: CANARY",
    "http://host:CANARY/v1",
    "CANARY",
    "ftp://host/CANARY",
    "http:///CANARY",
    "http://host/sk-CANARY0123456789abcdef/v1",
    "http://host:0/CANARY",
    "http://host\\CANARY/v1",
]
ACCOUNT = "https://gateway.example/accounts/0123456789abcdef0123456789abcdef/v1"
VARIABLES = [
    "sk-CANARY",
    "sk_live_CANARY0123456789",
    "CANARY KEY",
    "9CANARY",
    "CANARY0123456789abcdefghij",
    "$CANARY",
]


@pytest.mark.parametrize(
    ("name", "value"),
    [*(("base_url", value) for value in ADDRESSES), *(("api_key_env", value) for value in VARIABLES)],
)
def test_addresses_and_names_of_variables_are_checked_and_never_shown(resolve, name, value):
    key = f"openai_compatible_{name}"
    for setting in (key, f"target_{key}", f"compat_{name}"):
        for arguments in (
            (f"model: {{backend: compat, {setting}: {json.dumps(value)}}}",),
            ("model: {backend: compat}", f"model.{setting}={value}"),
            (f"model: {{{setting}: {json.dumps(value)}}}",),
        ):
            text = message(resolve, *arguments)
            assert name in text
            assert "CANARY" not in text
    for variable in (key.upper(), f"TARGET_{key.upper()}"):
        text = message(resolve, "model: {backend: compat}", env={variable: value})
        assert text.startswith(f"environment variable {variable}: ")
        assert "CANARY" not in text


def test_good_addresses_and_variables_pass(resolve):
    for url in (
        "http://localhost:8000",
        "https://a-b.example/v1/",
        "http://[::1]:1/v1",
        "http://10.0.0.1/x",
        "http://model_server:80/v1",
        ACCOUNT,
    ):
        text = f"model: {{backend: compat, compat_base_url: '{url}', compat_api_key_env: MY_KEY_2}}"
        settings = resolve(text).roles["target"].settings
        assert (settings["base_url"], settings["api_key_env"]) == (url, "MY_KEY_2")


def test_every_address_and_name_of_a_variable_of_a_backend_is_declared_as_one():
    found = {}
    for name, load in installed().backends.items():
        for setting in load().settings:
            if setting.name.endswith(("url", "endpoint", "api_key_env")) or setting.form != "text":
                found[f"{name}.{setting.name}"] = setting.form
    assert {name for name, form in found.items() if form == "text"} == set()
    assert found["openai_chat.endpoint"] == found["qwen_chat.base_url"] == "address"
    assert found["minimax_chat.api_key_env"] == "variable"


# the file


def test_round_trip_and_no_key_of_the_environment(resolve, tmp_path):
    env = {"TARGET_BACKEND": "compat", "OPENAI_COMPATIBLE_API_KEY": "sk-canary"}
    resolved = resolve("train: {seed: 1}", env=env)
    path = tmp_path / "config.json"
    write_json(path, resolved)
    assert read_resolved(path) == resolved
    assert "sk-canary" not in path.read_text()
    assert json.loads(path.read_text())["origins"]["train.seed"] == "config/run.yaml"
    assert canonical(resolved) == canonical(resolve("train: {seed: 1}", env=env))


def test_broken_file_says_what_to_do(tmp_path):
    path = tmp_path / "config.json"
    path.write_text("{}")
    with pytest.raises(CorruptFile, match="Delete the file"):
        read_resolved(path)


def test_reading_imports_little():
    code = (
        "import sys; import skillopt.config.resolved; "
        "print([name for name in sys.modules if name == 'yaml' or name.startswith("
        "('skillopt.models.backends', 'skillopt.envs', 'skillopt.config.keys'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_paths_are_looked_for_beside_the_run_file_too(tmp_path, monkeypatch):
    """A run of another project works from any folder."""
    project = tmp_path / "project"
    for folder in ("config", "data", "elsewhere"):
        (project / folder).mkdir(parents=True)
    (project / "prices.yaml").write_text("m: {prompt: 1, completion: 2}", encoding="utf-8")
    run = project / "config/run.yaml"
    run.write_text(
        "env: {name: searchqa, split_mode: split_dir, split_dir: data}\n"
        "model: {backend: simulator}\ncalls: {prices: prices.yaml}\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(project / "elsewhere")
    settings = load_run(run, [], {}).settings
    assert settings.calls.prices == str(project / "prices.yaml")
    assert settings.env.split_dir == str(project / "data")
    monkeypatch.chdir(project)
    assert load_run(run, [], {}).settings.calls.prices == "prices.yaml"
