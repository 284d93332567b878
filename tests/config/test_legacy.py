"""Configurations written for the original project load as they are, or say what to do."""

from pathlib import Path

import msgspec
import pytest

from skillopt.config.keys import common_keys
from skillopt.config.legacy import BACKEND_NAMES, RENAMED, WITHOUT_EFFECT
from skillopt.config.resolve import load_run
from skillopt.errors import ConfigError
from skillopt.models.base import BackendSpec, Setting
from skillopt.models.registry import backend_names, backend_spec
from tests.config.conftest import SPECS, catalog_of, never_opened

BASE = {"_base_/default.yaml": (Path(__file__).parent / "original_base.yaml").read_text(encoding="utf-8")}
RUN = """
_base_: _base_/default.yaml
train: {train_size: 400, batch_size: 40}
env:
  name: quiz
  split_mode: split_dir
  split_dir: data/quiz_split
  split_output_dir: ""
  workers: 24
  analyst_workers: 12
  max_turns: 1
  max_completion_tokens: 16384
  limit: 0
"""
CHAT = BackendSpec(
    name="openai_chat",
    description="The original's default.",
    open=never_opened,
    aliases=("azure_openai", "azure"),
    default_model="gpt-4o",
    settings=(
        Setting(name="endpoint", type="str", default="", description="Address.", decides=True),
        Setting(name="api_version", type="str", default="2024-12-01-preview", description="V.", decides=True),
    ),
    secrets=("{ROLE}_AZURE_OPENAI_API_KEY", "AZURE_OPENAI_API_KEY"),
)
MINIMAX = BackendSpec(
    name="minimax_chat",
    description="A vendor.",
    open=never_opened,
    aliases=("minimax",),
    default_model="MiniMax-M3",
    settings=(
        Setting(name="temperature", type="float", default=0.7, description="T.", decides=True),
        Setting(name="max_tokens", type="int", default=8000, description="N.", decides=True),
        Setting(name="enable_thinking", type="bool", default=False, description="E.", decides=True),
    ),
)
WITH_CHAT = catalog_of({**SPECS, "openai_chat": CHAT, "minimax_chat": MINIMAX})


@pytest.fixture
def original(resolve):
    def go(text=RUN, *overrides, **named):
        return resolve(text, *overrides, files=BASE, start=False, **named)

    return go


def test_needs_its_backend(original):
    with pytest.raises(ConfigError) as caught:
        original()
    expected = "backend openai_chat is not available, expected one of agent_exec, openai_compatible"
    assert expected in str(caught.value)
    assert all(expected in line for line in str(caught.value).splitlines())


def test_loads_with_another_backend(original):
    resolved = original(RUN, "model.backend=simulator")
    assert {model.model for model in resolved.roles.values()} == {"simulated"}
    assert resolved.settings.train.train_size == 400
    assert resolved.settings.gradient.analyst_workers == 12
    assert resolved.settings.optimizer.slow_update_gate_with_selection is False
    assert resolved.settings.env.split_dir == "data/quiz_split"
    assert resolved.origins["gradient.analyst_workers"] == "config/run.yaml"
    origin = resolved.origins["optimizer.slow_update_gate_with_selection"]
    assert origin == "config/_base_/default.yaml"


def test_loads_unchanged_once_its_backend_is_there(original):
    resolved = original(catalog=WITH_CHAT)
    target = resolved.roles["target"]
    assert (target.backend, target.model, target.reasoning_effort) == ("openai_chat", "gpt-5.5", "medium")
    assert target.settings == {"endpoint": "", "api_version": "2024-12-01-preview"}


def test_old_spellings_reach_the_backend(original):
    text = RUN + "model: {azure_endpoint: https://a, target_azure_openai_api_version: v2}\n"
    roles = original(text, catalog=WITH_CHAT, env={"OPTIMIZER_AZURE_OPENAI_ENDPOINT": "https://b"}).roles
    assert roles["target"].settings == {"endpoint": "https://a", "api_version": "v2"}
    assert roles["optimizer"].settings["endpoint"] == "https://b"


def test_quoted_numbers_of_the_base_file_are_read_by_type(original):
    resolved = original(RUN, "model.backend=minimax", catalog=WITH_CHAT)
    settings = {"temperature": 0.7, "max_tokens": 8000, "enable_thinking": False}
    assert resolved.roles["target"].settings == settings
    assert resolved.roles["target"].model == "MiniMax-M3"


def test_a_later_label_wins_over_the_role_keys_of_the_base_file(original):
    resolved = original(RUN + "model: {backend: qwen_chat}\n")
    assert {model.backend for model in resolved.roles.values()} == {"qwen_chat"}
    assert {model.model for model in resolved.roles.values()} == {"qwen-model"}


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        (
            "env.split_output_dir=splits",
            "env.split_output_dir has no effect here: the split is made in memory",
        ),
        ("env.out_root=outputs/x", "results are written to results/<name of the run file>"),
        ("gradient.max_analyst_rounds=5", "follows from gradient.minibatch_size; remove it"),
        ("human_feedback.enabled=true", "nobody is asked at a gate; remove it"),
        ("model.minimax_model=MiniMax-M2", "set model.optimizer or model.target"),
        ("model.copilot_chat_target_model=x", "set model.target"),
        ("model.codex_trace_to_optimizer=false", "model.codex_trace_to_optimizer has no effect here"),
        ("model.codex_exec_full_auto=true", "set model.codex_exec_sandbox"),
        (
            "model.minimax_region=cn_zh",
            "model.minimax_region: backend minimax_chat is not available",
        ),
        (
            "model.minimax_temperature=0.5",
            "model.minimax_temperature: backend minimax_chat is not available",
        ),
        ("model.codex_path=/bin/codex", "codex_exec"),
        ("model.azure_openai_api_key=sk-canary", "AZURE_OPENAI_API_KEY"),
        ("optimizer.edit_bugdet=3", "unknown setting"),
    ],
)
def test_other_values_without_effect_say_what_to_do(original, override, expected):
    with pytest.raises(ConfigError) as caught:
        original(RUN, "model.backend=simulator", override)
    assert expected in str(caught.value)
    assert "sk-canary" not in str(caught.value)


def test_both_spellings_in_one_file(original):
    text = RUN + "gradient: {analyst_workers: 5}\n"
    assert original(text, "model.backend=simulator").settings.gradient.analyst_workers == 5


@pytest.mark.parametrize(
    ("names", "backend"),
    [
        (("azure", "azure_openai", "azure-openai", "openai", "openai_chat"), "openai_chat"),
        (("codex", "codex_exec"), "codex_exec"),
        (("claude", "anthropic", "claude_chat"), "claude_chat"),
        (("cursor", "cursor_agent", "cursor_exec"), "cursor_exec"),
        (("copilot", "copilot_cli", "github_copilot", "copilot_chat"), "copilot_chat"),
        (("qwen", "qwen_chat"), "qwen_chat"),
        (("minimax", "minimax_chat"), "minimax_chat"),
        (("compat", "openai-compatible", "openai_compatible_chat"), "openai_compatible"),
        (("claude_code_exec",), "claude_code_exec"),
        (("copilot_exec",), "copilot_exec"),
    ],
)
def test_names_of_backends_and_their_aliases(tmp_path, names, backend):
    """`backend` sets both roles; one that can only be the target leaves the optimizer to its own key."""
    run = tmp_path / "run.yaml"
    run.write_text("env: {name: searchqa, data_path: x.json}")
    for name in names:
        both = ("optimizer", "target") if "optimizer" in backend_spec(backend).roles else ("target",)
        more = [] if len(both) == 2 else ["model.optimizer_backend=claude"]
        roles = load_run(run, [f"model.backend= {name.upper()}", *more], {}).roles
        assert {roles[role].backend for role in both} == {backend}
        for role in both:
            alone = [f"model.{role}_backend={name}"]
            assert load_run(run, alone, {}).roles[role].backend == backend


def test_no_alias_is_used_twice():
    specs = [backend_spec(name) for name in backend_names()]
    names = [name for spec in specs for name in (spec.name, *spec.aliases)]
    assert sorted(names) == sorted(set(names))


def test_old_names_lead_to_keys_that_exist():
    here = [new for new in RENAMED.values() if not new.startswith("model.")]
    assert set(here) <= set(common_keys())
    assert not set(RENAMED) & set(common_keys())
    assert not set(BACKEND_NAMES) & set(BACKEND_NAMES.values())


def test_base_file_has_the_published_protocol():
    """The defaults agree with the base file, but for the gated slow update (the paper's own choice)."""
    import yaml

    shipped = yaml.safe_load(BASE["_base_/default.yaml"])
    defaults = {key.dotted: key.default for key in common_keys().values()}
    for section in ("train", "gradient", "optimizer", "evaluation"):
        for name, value in shipped[section].items():
            if name != "slow_update_gate_with_selection":
                assert msgspec.to_builtins(defaults[f"{section}.{name}"]) == value


def test_the_page_names_every_key_that_is_renamed_or_without_effect():
    page = (Path(__file__).parents[2] / "docs" / "from-the-original.md").read_text(encoding="utf-8")
    here = [dotted for dotted in common_keys() if not dotted.startswith("calls.")]
    for dotted in (*RENAMED, *WITHOUT_EFFECT, *here):
        assert dotted.rpartition(".")[2] in page
    assert all(f"{name}`" in page for name in BACKEND_NAMES)


def test_files_without_sections_are_refused_with_the_place_of_each_key(original):
    with pytest.raises(ConfigError) as caught:
        original("env: quiz\nnum_epochs: 4\nedit_budget: 3\noptimizer_model: m\nmade_up: 1\n")
    moves = "env -> env.name, num_epochs -> train.num_epochs, edit_budget -> optimizer.learning_rate, "
    assert moves + "optimizer_model -> model.optimizer, made_up -> ?" in str(caught.value)


def test_a_flat_key_beside_sections(original):
    with pytest.raises(ConfigError, match=r"edit_budget: unknown.*did you mean optimizer\.learning_rate"):
        original(RUN + "edit_budget: 3\n", "model.backend=simulator")


@pytest.mark.parametrize(
    ("line", "setting", "value"),
    [
        ("qwen_chat_enable_thinking: true", "thinking_mode", "enabled"),
        ("qwen_chat_enable_thinking: false", "thinking_mode", "server_default"),
        ("target_qwen_chat_enable_thinking: true", "thinking_mode", "enabled"),
        ("qwen_chat_thinking_mode: off", "thinking_mode", "disabled"),
        ("qwen_chat_thinking_mode: disabled", "thinking_mode", "disabled"),
        ("qwen_chat_thinking_mode: ''", "thinking_mode", "server_default"),
        ("qwen_chat_temperature: none", "temperature", -1.0),
        ("qwen_chat_temperature: 0.2", "temperature", 0.2),
    ],
)
def test_old_spellings_of_the_real_qwen_backend(tmp_path, line, setting, value):
    run_file = tmp_path / "config" / "run.yaml"
    run_file.parent.mkdir()
    run_file.write_text(
        f"env: {{name: searchqa, split_mode: split_dir, split_dir: data}}\n"
        f"model:\n  backend: qwen_chat\n  {line}\n",
        encoding="utf-8",
    )
    assert load_run(run_file, [], {}).roles["target"].settings[setting] == value


@pytest.mark.parametrize("way", ["file", "environment", "command line"])
@pytest.mark.parametrize(
    ("key", "text", "setting", "value"),
    [
        ("qwen_chat_enable_thinking", "true", "thinking_mode", "enabled"),
        ("qwen_chat_enable_thinking", "0", "thinking_mode", "server_default"),
        ("target_qwen_chat_enable_thinking", "Yes", "thinking_mode", "enabled"),
        ("qwen_enable_thinking", "on", "thinking_mode", "enabled"),
        ("qwen_chat_thinking_mode", "Off", "thinking_mode", "disabled"),
        ("qwen_chat_thinking_mode", "1", "thinking_mode", "enabled"),
        ("target_qwen_chat_thinking_mode", "server-default", "thinking_mode", "server_default"),
        ("qwen_chat_temperature", "None", "temperature", -1.0),
        ("minimax_region", "CN_ZH", "region", "cn_zh"),
        ("minimax_chat_region", "cn-zh", "region", "cn_zh"),
        ("target_minimax_region", "cn_zh", "region", "cn_zh"),
        ("minimax_temperature", "none", "temperature", -1.0),
        ("minimax_chat_temperature", "off", "temperature", -1.0),
    ],
)
def test_values_are_spelt_in_the_environment_and_on_the_command_line_as_in_files(
    tmp_path, way, key, text, setting, value
):
    run_file = tmp_path / "config" / "run.yaml"
    run_file.parent.mkdir()
    backend = "qwen_chat" if "qwen" in key else "minimax_chat"
    line = f"\n  {key}: '{text}'" if way == "file" else ""
    run_file.write_text(
        "env: {name: searchqa, split_mode: split_dir, split_dir: data}\n"
        f"model:\n  backend: {backend}{line}\n",
        encoding="utf-8",
    )
    overrides = [f"model.{key}={text}"] if way == "command line" else []
    env = {key.upper(): text} if way == "environment" else {}
    resolved = load_run(run_file, overrides, env)
    assert resolved.roles["target"].settings[setting] == value
    if way == "environment" and value not in ("server_default", -1.0):
        origin = f"environment variable {key.upper()}"
        role = "target_" if key.startswith("target_") else ""
        assert resolved.origins[f"model.{role}{backend}_{setting}"] == origin


def test_the_name_of_here_wins_over_a_former_one_in_the_environment(tmp_path):
    run_file = tmp_path / "config" / "run.yaml"
    run_file.parent.mkdir()
    run_file.write_text(
        "env: {name: searchqa, split_mode: split_dir, split_dir: data}\nmodel: {backend: qwen_chat}\n"
    )
    env = {"QWEN_CHAT_ENABLE_THINKING": "true", "QWEN_CHAT_THINKING_MODE": "disabled"}
    assert load_run(run_file, [], env).roles["target"].settings["thinking_mode"] == "disabled"
    env = {"MINIMAX_REGION": "mars", "TARGET_BACKEND": "minimax_chat", "QWEN_CHAT_ENABLE_THINKING": "maybe"}
    with pytest.raises(ConfigError) as caught:
        load_run(run_file, [], env)
    assert 'MINIMAX_REGION: model.minimax_chat_region: expected one of global_en, cn_zh, found "mars"' in str(
        caught.value
    )
    assert "QWEN_CHAT_ENABLE_THINKING: model.qwen_chat_thinking_mode: expected one of" in str(caught.value)


def test_the_original_base_file_runs_on_the_real_backends(tmp_path):
    (tmp_path / "config" / "_base_").mkdir(parents=True)
    (tmp_path / "config" / "_base_" / "default.yaml").write_text(
        BASE["_base_/default.yaml"], encoding="utf-8"
    )
    run_file = tmp_path / "config" / "run.yaml"
    run_file.write_text(RUN.replace("name: quiz", "name: searchqa"), encoding="utf-8")
    resolved = load_run(run_file, [], {"AZURE_OPENAI_ENDPOINT": "https://x.openai.azure.com"})
    assert {role.backend for role in resolved.roles.values()} == {"openai_chat"}
    assert {role.model for role in resolved.roles.values()} == {"gpt-5.5"}
    assert resolved.roles["target"].settings["endpoint"] == "https://x.openai.azure.com"


OTHER_BASE = """
model:
  backend: azure_openai
  codex_exec_path: codex
  codex_exec_sandbox: workspace-write
  codex_exec_reasoning_effort: none
  codex_exec_network_access: false
  codex_exec_approval_policy: never
gradient: {max_analyst_rounds: 3}
human_feedback: {enabled: false, timeout_seconds: 0, on_timeout: fallback_to_gate, max_retries_per_step: 3}
"""


def test_a_base_file_of_another_time_runs_on_the_real_backends(tmp_path):
    """What that project's base file sets has changed over time."""
    run_file = tmp_path / "run.yaml"
    (tmp_path / "base.yaml").write_text(OTHER_BASE, encoding="utf-8")
    text = RUN.replace("name: quiz", "name: searchqa").replace("_base_/default.yaml", "base.yaml")
    run_file.write_text(text, encoding="utf-8")
    env = {"AZURE_OPENAI_ENDPOINT": "https://x.openai.azure.com"}
    assert load_run(run_file, [], env).roles["optimizer"].backend == "openai_chat"
    asked = OTHER_BASE.replace("enabled: false", "enabled: true")
    (tmp_path / "base.yaml").write_text(asked, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"human_feedback\.enabled has no effect here: nobody is asked"):
        load_run(run_file, [], env)
