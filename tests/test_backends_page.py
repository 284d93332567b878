"""docs/backends.md: every backend has a line that runs, and it says what is true."""

import re
import shlex
from pathlib import Path

import pytest

from skillopt.config.resolve import load_run
from skillopt.models.registry import backend_names, backend_spec

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "backends.md").read_text(encoding="utf-8")
LINES = re.findall(r'--config set="([^"]*)" results/searchqa/best_skill.md', PAGE)
ENV = {"AZURE_OPENAI_ENDPOINT": "https://x.openai.azure.com"}


def roles(line):
    overrides = [part.replace("<deployment>", "d").replace("<model>", "m") for part in shlex.split(line)]
    return load_run(ROOT / "config" / "searchqa.yaml", overrides, ENV).roles


@pytest.mark.parametrize("line", LINES)
def test_every_line_resolves(line):
    assert {role.backend for role in roles(line).values()} <= set(backend_names())


def test_every_backend_has_a_line():
    shown = {role.backend for line in LINES for role in roles(line).values()}
    assert shown == set(backend_names()) - {"simulator"}


@pytest.mark.parametrize("name", sorted(set(backend_names()) - {"simulator"}))
def test_names_and_keys_are_on_the_page(name):
    spec = backend_spec(name)
    assert f"`{name}`" in PAGE
    assert not spec.default_model or f"`{spec.default_model}`" in PAGE
    assert not spec.secrets or any(secret.partition("}_")[2] or secret in PAGE for secret in spec.secrets)
