"""What is looked at before the first phase that is paid for, also when no call is made."""

import argparse
import json

import pytest

from skillopt.config.resolve import load_run
from skillopt.errors import ConfigError
from skillopt.phases import config, preflight


def run(folder, monkeypatch, **model):
    """Run the phase without its call, in a folder with one item per split and no key in the environment."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", "/nowhere")
    settings = {
        "env": {"name": "searchqa", "split_mode": "split_dir", "split_dir": "data"},
        "model": model,
        "calls": {"preflight_call": False},
    }
    (folder / "config").mkdir()
    (folder / "config" / "demo.yaml").write_text(json.dumps(settings))
    for module, arguments in (
        (config, ("--run-file", "config/demo.yaml", "--out", "config.json")),
        (preflight, ("--config", "config.json", "--out", "preflight.json")),
    ):
        parser = argparse.ArgumentParser()
        module.add_arguments(parser)
        module.main(parser.parse_args(arguments))


def test_keys_and_programs_are_looked_at_without_a_call(tmp_path, monkeypatch):
    monkeypatch.delenv("MINIMAX_API_KEY", raising=False)
    with pytest.raises(ConfigError) as caught:
        run(tmp_path, monkeypatch, optimizer_backend="minimax_chat", target_backend="cursor_exec")
    first, *others = str(caught.value).splitlines()
    assert first.startswith("optimizer (minimax_chat, MiniMax-M3): no key")
    assert "OPTIMIZER_MINIMAX_API_KEY or MINIMAX_API_KEY" in first
    assert "no program 'cursor-agent' found" in others[0]
    assert not (tmp_path / "preflight.json").exists()


def test_the_simulator_needs_nothing(tmp_path, monkeypatch):
    run(tmp_path, monkeypatch, backend="simulator")
    assert json.loads((tmp_path / "preflight.json").read_text()) == {"ready": True}


@pytest.mark.parametrize(
    ("backend", "key"),
    [
        ("claude_chat", "ANTHROPIC_API_KEY"),
        ("codex_exec", "CODEX_API_KEY"),
        ("qwen_chat", "QWEN_CHAT_API_KEY"),
    ],
)
def test_roles_with_keys_of_their_own_are_asked_apart(tmp_path, monkeypatch, backend, key):
    run(tmp_path, monkeypatch, backend="simulator")
    settings = [f"model.backend={backend}", "model.optimizer=m", "model.target=m"]
    resolved = load_run(tmp_path / "config" / "demo.yaml", settings, {})
    assert len(preflight.probes(resolved, {key: "k"})) == 1
    assert len(preflight.probes(resolved, {key: "k", f"TARGET_{key}": "t"})) == 2
