"""docs/backends.md: every backend has a line that runs, and it says what is true."""

import re
import shlex
from pathlib import Path

import pytest

from skillopt.config.resolve import load_run
from skillopt.config.roles import variables
from skillopt.models.registry import backend_names, backend_spec

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "backends.md").read_text(encoding="utf-8")
LINE = re.compile(r'--config set="([^"]*)" results/searchqa/best_skill.md')
LINES = LINE.findall(PAGE)
BLOCKS = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
ENV = {"AZURE_OPENAI_ENDPOINT": "https://x.openai.azure.com"}


def roles(line):
    overrides = [part.replace("<deployment>", "d").replace("<model>", "m") for part in shlex.split(line)]
    return load_run(ROOT / "config" / "searchqa.yaml", overrides, ENV).roles


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_three_lines_are_enough_and_set_nothing_that_is_not_read(block):
    lines = block.strip().splitlines()
    assert len(lines) == 3
    [line] = LINE.findall(block)
    known = {
        variable
        for role in roles(line).values()
        for spec in [backend_spec(role.backend)]
        for variable in (
            *(secret.format(ROLE=role.role.upper()) for secret in spec.secrets),
            *(name for setting in spec.settings for name in variables(spec, setting, None)),
        )
    }
    exported = {
        name
        for text in lines
        if text.startswith("export ")
        for name in re.findall(r"\b([A-Z][A-Z_]+)=", text.partition("#")[0])
    }
    assert exported <= known


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
