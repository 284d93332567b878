"""Which prompts feed which phase, and what changes their hash."""

import re
import shutil
from pathlib import Path

import pytest

from skillopt import phases
from skillopt.config.templates import PROMPTS, TARGET, prompts_digest, used_prompts
from skillopt.envs.registry import environment, environment_names
from skillopt.prompting import SUFFIX

USED = {
    "rollout": (TARGET,),
    "reflect": ("analyst_failure", "analyst_success"),
    "aggregate": ("merge",),
    "select": ("rank",),
    "update": (),
    "evaluate": (TARGET,),
    "repeat": (TARGET,),
    "sample": (TARGET,),
    "compare": (TARGET,),
    "slow_update": ("slow_update",),
    "meta_skill": ("meta_skill",),
}
CHANGES = [
    ((), {}),
    (("gradient.failure_only=true",), {"reflect": ("analyst_failure",)}),
    (("optimizer.lr_control_mode=autonomous",), {"select": ("learning_rate", "rank")}),
    (("optimizer.lr_control_mode=none",), {"select": ()}),
    (("optimizer.skill_update_mode=full_rewrite_minibatch",), {"select": ()}),
    (("optimizer.skill_update_mode=rewrite_from_suggestions",), {"update": ("rewrite",)}),
    (
        ("optimizer.use_skill_aware_reflection=true", "optimizer.skill_aware_consolidate_threshold=3"),
        {"update": ("consolidate",)},
    ),
]


@pytest.mark.parametrize(("overrides", "others"), CHANGES)
def test_a_phase_has_exactly_the_prompts_that_it_uses(resolve, overrides, others):
    resolved = resolve("", *overrides)
    assert {phase: used_prompts(resolved, phase) for phase in PROMPTS} == USED | others


def test_every_prompt_that_a_phase_renders_is_in_the_table():
    """`render("name"`, or `render(f"analyst_{side}"` for all that begin so."""
    found = set()
    for module in Path(phases.__file__).parent.glob("*.py"):
        for name in re.findall(r'render\(\s*f?"(\w+)', module.read_text(encoding="utf-8")):
            found |= {(module.stem, other) for other in PROMPTS[module.stem] if other.startswith(name)}
    told = (TARGET,)
    assert found == {(phase, name) for phase, names in PROMPTS.items() if names != told for name in names}


@pytest.fixture
def folder(tmp_path):
    copy = tmp_path / "prompts"
    shutil.copytree(environment("searchqa").prompts, copy)
    return copy


@pytest.mark.parametrize("names", [("analyst_failure",), (TARGET,)])
def test_an_edit_counts_and_a_move_does_not(folder, tmp_path, names):
    digest = prompts_digest(names, folder)
    assert prompts_digest(names, environment("searchqa").prompts) == digest
    moved = tmp_path / "elsewhere" / "prompts"
    shutil.copytree(folder, moved)
    assert prompts_digest(names, moved) == digest
    for file in ("analyst_failure.md.j2", "target_user.md"):
        path = moved / file
        path.write_text(path.read_text() + "\n")
    edited = moved.rename(tmp_path / "edited")
    assert prompts_digest(names, edited) != digest
    assert prompts_digest(("merge",), edited) == prompts_digest(("merge",), folder)


def test_a_prompt_counts_with_the_templates_that_it_is_made_of(tmp_path):
    digests = []
    for part in ("- Be brief.", "- Be exact."):
        folder = tmp_path / part
        folder.mkdir()
        (folder / "rank.md.j2").write_text('{% extends "general/rank.md.j2" %}{% include "own.md.j2" %}')
        (folder / "own.md.j2").write_text(part)
        digests.append(prompts_digest(("rank",), folder))
    assert digests[0] != digests[1]


def test_each_benchmark_keeps_what_the_target_is_told_where_it_counts():
    for name in environment_names():
        told = {path.name for path in environment(name).prompts.glob(TARGET)}
        assert told
        others = {path.name for path in environment(name).prompts.iterdir() if path.is_file()} - told
        assert all(other.endswith(SUFFIX) for other in others), name
