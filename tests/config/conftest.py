"""Backends and benchmarks of the tests' own, so that these tests do not move with the installed ones."""

from pathlib import Path
from typing import Annotated

import msgspec
import pytest

from skillopt.config.keys import Catalog
from skillopt.config.resolve import load_run
from skillopt.envs.base import EnvSettings
from skillopt.models.base import BackendSpec, Setting


class QuizSettings(EnvSettings, frozen=True, kw_only=True):
    context_chars: Annotated[int, msgspec.Meta(description="Characters shown.", ge=1)] = 6000
    cache: Annotated[str, msgspec.Meta(description="A folder.", extra={"decides": False})] = ""


class HouseSettings(EnvSettings, frozen=True, kw_only=True):
    rooms: Annotated[int, msgspec.Meta(description="Rooms.")] = 3


def never_opened(role, env):
    raise AssertionError("the configuration opens no backend")


BASE_URL = Setting(
    name="base_url", type="str", default="http://a", description="Address.", decides=True, form="address"
)
KEY_ENV = Setting(
    name="api_key_env", type="str", default="", description="Variable.", decides=False, form="variable"
)
TIMEOUT = Setting(name="timeout", type="float", default=300.0, description="Seconds.", decides=False)
HEAT = Setting(name="temperature", type="float", default=None, description="Temperature.", decides=True)
THINKING = Setting(
    name="thinking_mode",
    type="str",
    default="server_default",
    description="Thinking.",
    decides=True,
    choices=("server_default", "enabled", "disabled"),
)
SPECS = {
    spec.name: spec
    for spec in (
        BackendSpec(
            name="simulator",
            description="Simulated.",
            open=never_opened,
            default_model="simulated",
            capabilities=frozenset({"simulated"}),
        ),
        BackendSpec(
            name="openai_compatible",
            description="An endpoint.",
            open=never_opened,
            aliases=("compat",),
            default_model="small",
            settings=(BASE_URL, TIMEOUT, HEAT, KEY_ENV),
            secrets=("{ROLE}_OPENAI_COMPATIBLE_API_KEY", "OPENAI_COMPATIBLE_API_KEY"),
        ),
        BackendSpec(
            name="qwen_chat",
            description="Another endpoint.",
            open=never_opened,
            aliases=("qwen",),
            default_model="qwen-model",
            settings=(BASE_URL, THINKING),
        ),
        BackendSpec(
            name="agent_exec",
            description="An agent.",
            open=never_opened,
            roles=("target",),
            default_model="agent-model",
            settings=(
                Setting(name="path", type="str", default="agent", description="Program.", decides=True),
            ),
        ),
    )
}


def catalog_of(specs):
    return Catalog(
        backends={name: lambda spec=spec: spec for name, spec in specs.items()},
        environments={"quiz": lambda: QuizSettings, "house": lambda: HouseSettings},
        aliases=lambda: {alias: spec.name for spec in specs.values() for alias in (spec.name, *spec.aliases)},
    )


@pytest.fixture
def catalog():
    return catalog_of(SPECS)


@pytest.fixture
def resolve(tmp_path, monkeypatch, catalog):
    """Write files below config/ and resolve config/run.yaml."""
    monkeypatch.chdir(tmp_path)

    def go(text="", *overrides, env=None, files=None, start=True, catalog=catalog):
        folder = tmp_path / "config"
        for name, content in {**(files or {}), "run.yaml": text}.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        given = ["env.name=quiz", "env.data_path=items.json"] if start else []
        taken = {override.partition("=")[0] for override in overrides}
        given = [override for override in given if override.partition("=")[0] not in taken]
        return load_run(Path("config/run.yaml"), [*given, *overrides], env or {}, catalog)

    return go
