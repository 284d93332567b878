"""Configurations written for the original project (microsoft/SkillOpt) load as they are.

Keys that mean the same are renamed. A key that has no effect here is dropped while it is blank
or has the value that project ships, and is an error that says what to do otherwise.
"""

from collections.abc import Mapping
from typing import Any

from skillopt.errors import ConfigError

BACKEND_NAMES: Mapping[str, str] = {
    "azure": "openai_chat",
    "azure_openai": "openai_chat",
    "azure-openai": "openai_chat",
    "codex": "codex_exec",
    "claude": "claude_chat",
    "anthropic": "claude_chat",
    "cursor": "cursor_exec",
    "cursor_agent": "cursor_exec",
    "copilot": "copilot_chat",
    "copilot_cli": "copilot_chat",
    "github_copilot": "copilot_chat",
    "qwen": "qwen_chat",
    "minimax": "minimax_chat",
    "openai_compatible_chat": "openai_compatible",
    "compat": "openai_compatible",
}
"""What a high-level label or an alias of the original project stands for."""

RENAMED: Mapping[str, str] = {
    "env.analyst_workers": "gradient.analyst_workers",
    "env.minibatch_size": "gradient.minibatch_size",
    "env.merge_batch_size": "gradient.merge_batch_size",
    "env.failure_only": "gradient.failure_only",
    "env.edit_budget": "optimizer.learning_rate",
    "optimizer.edit_budget": "optimizer.learning_rate",
    "optimizer.min_edit_budget": "optimizer.min_learning_rate",
    "env.seed": "train.seed",
    "env.max_tool_turns": "env.max_turns",
    "env.max_steps": "env.max_turns",
    "env.sel_env_num": "evaluation.sel_env_num",
    "env.test_env_num": "evaluation.test_env_num",
    "model.codex_path": "model.codex_exec_path",
    "model.codex_cli_bin": "model.codex_exec_path",
    "model.codex_bin": "model.codex_exec_path",
    "model.sandbox": "model.codex_exec_sandbox",
    "model.codex_sandbox": "model.codex_exec_sandbox",
}

_OFFLINE = "OfficeQA's target searches the documents in env.data_dirs with tools, and nothing else; remove it"
_GATE = "nobody is asked at a gate; remove it"
_RESULTS = "results are written to results/<name of the run file>; remove it"
WITHOUT_EFFECT: Mapping[str, tuple[Any, str]] = {
    "env.split_output_dir": ("", "the split is made in memory, and its items are in plan.json; remove it"),
    "env.out_root": ("", _RESULTS),
    "train.out_root": ("", _RESULTS),
    "env.search_mode": ("offline", _OFFLINE),
    "env.use_local_tools": (True, _OFFLINE),
    "env.max_queries_per_turn": (4, _OFFLINE),
    "env.data_root": (
        "",
        "workbooks lie in the folder of the data: put the folder spreadsheet beside train, val and test, "
        "and remove it",
    ),
    "env.max_api_workers": (8, "env.workers is how many games are played at once; remove it"),
    "gradient.max_analyst_rounds": (
        3,
        "the number of analyst calls follows from gradient.minibatch_size; remove it",
    ),
    "human_feedback.enabled": (False, _GATE),
    "human_feedback.timeout_seconds": (0, _GATE),
    "human_feedback.on_timeout": ("fallback_to_gate", _GATE),
    "human_feedback.max_retries_per_step": (3, _GATE),
    "model.minimax_model": ("MiniMax-M3", "set model.optimizer or model.target"),
    "model.copilot_chat_optimizer_model": ("", "set model.optimizer"),
    "model.copilot_chat_target_model": ("", "set model.target"),
    "model.codex_exec_full_auto": (False, "set model.codex_exec_sandbox"),
    "model.codex_exec_use_sdk": ("auto", "Codex is used through its command line; remove it"),
    "model.claude_code_exec_use_sdk": ("auto", "Claude Code is used through its command line; remove it"),
    "model.copilot_exec_allow_all_tools": (
        False,
        "the tools that a task needs are allowed, and no others are there; remove it",
    ),
    "model.codex_trace_to_optimizer": (
        True,
        "the trajectories of all agents are shown to the optimizer; remove it",
    ),
}
"""Keys that nothing reads here: the value the original ships, and what to do about another one."""

SHIPPED: Mapping[str, Any] = {
    "azure_openai_api_version": "2024-12-01-preview",
    "azure_openai_ad_scope": "https://cognitiveservices.azure.com/.default",
    "minimax_temperature": "0.7",
    "minimax_max_tokens": "8000",
    "minimax_enable_thinking": "false",
    "codex_exec_path": "codex",
    "codex_exec_sandbox": "workspace-write",
    "codex_exec_reasoning_effort": "none",
    "claude_code_exec_path": "claude",
    "claude_code_exec_effort": "medium",
    "claude_code_exec_max_thinking_tokens": 16384,
}
"""Settings of backends (for one role too) that the original's base file sets to other than blank."""

SETTINGS: Mapping[str, frozenset[str]] = {
    "openai_chat": frozenset(
        {"endpoint", "api_version", "api_key", "auth_mode", "ad_scope", "managed_identity_client_id"}
    ),
    "qwen_chat": frozenset(
        {"base_url", "temperature", "timeout_seconds", "max_tokens", "enable_thinking", "thinking_mode"}
    ),
    "minimax_chat": frozenset({"region", "base_url", "temperature", "max_tokens", "enable_thinking"}),
    "codex_exec": frozenset(
        {
            "path",
            "sandbox",
            "profile",
            "reasoning_effort",
            "use_sdk",
            "network_access",
            "web_search",
            "approval_policy",
        }
    ),
    "claude_code_exec": frozenset({"path", "profile", "use_sdk", "effort", "max_thinking_tokens"}),
    "cursor_exec": frozenset({"path", "sandbox"}),
    "copilot_exec": frozenset({"path", "home", "allow_all_tools"}),
    "copilot_chat": frozenset({"timeout"}),
}
"""Settings of each backend in that project's files (for one role too)."""


FLAT_NAMES: Mapping[str, str] = {
    "backend": "model.backend",
    "model_backend": "model.backend",
    "optimizer_model": "model.optimizer",
    "target_model": "model.target",
    "edit_budget": "optimizer.learning_rate",
    "min_edit_budget": "optimizer.min_learning_rate",
    "env": "env.name",
    "out_root": "env.out_root",
}
"""Names of files without sections that are not the last part of the key they stand for."""


def refuse_flat(values: Mapping[Any, Any], homes: Mapping[str, str], origin: str) -> None:
    """Refuse the oldest form of that project's files, one without sections; say where its keys go.

    `homes` maps the name of a setting to its key with section.
    """
    if not values or any(value is None or isinstance(value, dict) for value in values.values()):
        return
    moves = [f"{name} -> {FLAT_NAMES.get(name) or homes.get(name, '?')}" for name in map(str, values)]
    raise ConfigError(
        f"{origin}: expected sections such as `train:` with `num_epochs: 4` below it, found only single "
        f"keys. Put each under its section ({', '.join(moves)}); docs/from-the-original.md lists old names."
    )


def is_blank(value: Any) -> bool:
    """Whether a value means "not set" in that project's files."""
    return value is None or (isinstance(value, str) and not value.strip())


def without_role(name: str) -> str:
    """Return a key of the section `model` without the role it is for."""
    return name.removeprefix("optimizer_").removeprefix("target_")


def is_shipped(name: str, value: Any) -> bool:
    """Whether a backend's setting has the value of that project's base file."""
    key = without_role(name)
    return key in SHIPPED and SHIPPED[key] == value


def came_with_the_base_file(name: str, value: Any) -> bool:
    """Whether a setting, named and typed as here, has the value of that project's base file."""
    key = without_role(name).replace("minimax_chat_", "minimax_").replace("openai_chat_", "azure_openai_")
    return key in SHIPPED and str(SHIPPED[key]) == str(value)


def known_backend(name: str) -> str:
    """Return the backend that a setting of that project's files belongs to, "" for none."""
    key = without_role(name)
    names = {**BACKEND_NAMES, **{backend: backend for backend in SETTINGS}}
    for alias, backend in names.items():
        if key.removeprefix(f"{alias}_") in SETTINGS.get(backend, ()):
            return backend
    return ""


_THINKING: Mapping[str, str] = {
    **dict.fromkeys(("enabled", "enable", "1", "on", "true", "yes"), "enabled"),
    **dict.fromkeys(("disabled", "disable", "0", "off", "false", "no"), "disabled"),
    **dict.fromkeys(("server_default", "auto", "unset", "none", "null"), "server_default"),
}
"""Spellings of qwen_chat's thinking mode in that project."""

_FORMER: Mapping[tuple[str, str], str] = {("qwen_chat", "thinking_mode"): "enable_thinking"}
"""Settings of backends that had another name and other values in that project, also as variables."""


def names_of(backend: str, setting: str) -> tuple[str, ...]:
    """Return the names of a backend's setting, that of here first."""
    former = _FORMER.get((backend, setting))
    return (setting, former) if former else (setting,)


def respelt(key: str, value: Any) -> tuple[str, Any]:
    """Translate the values of qwen_chat and minimax_chat that are spelt otherwise here.

    In files, in the environment and on the command line alike.
    """
    name = without_role(key.removeprefix("model."))
    name = name.replace("qwen_chat_", "qwen_").replace("minimax_chat_", "minimax_")
    text = str(value).strip().lower().replace("-", "_")
    if name == "qwen_enable_thinking" and not is_blank(value):
        mode = {"enabled": "enabled", "disabled": "server_default"}.get(_THINKING.get(text, ""), value)
        return key.replace("enable_thinking", "thinking_mode"), mode
    if name == "qwen_thinking_mode" and not is_blank(value):
        return key, _THINKING.get(text, value)
    if name == "minimax_region" and isinstance(value, str):
        return key, text
    if name in ("qwen_temperature", "minimax_temperature") and text in ("none", "off", "null"):
        return key, -1.0
    return key, value


def translated(values: Mapping[str, Any], origin: str, problems: list[str]) -> dict[str, Any]:
    """Rename the keys of one layer and drop those without effect; what cannot be dropped is a problem.

    When a layer has both spellings of a key, the one used here wins.
    """
    found: dict[str, Any] = {}
    for key, value in values.items():
        if key in WITHOUT_EFFECT:
            shipped, advice = WITHOUT_EFFECT[key]
            if not is_blank(value) and value != shipped:
                problems.append(f"{origin}: {key} has no effect here: {advice}")
            continue
        new, value = respelt(RENAMED.get(key, key), value)
        if new == key:
            found[new] = value
        elif not is_blank(value):
            found.setdefault(new, value)
    return found
