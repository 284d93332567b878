"""From files, environment and command line to the settings of a run, all problems reported at once."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from skillopt.config.checks import combination_problems
from skillopt.config.history import History, benchmark_of
from skillopt.config.keys import ROLES, Catalog, Key, common_keys, installed, sections
from skillopt.config.layers import file_layers, override_layer, shown
from skillopt.config.resolved import Resolved
from skillopt.config.roles import (
    Part,
    add_environment,
    environment_layer,
    resolve_parts,
    role_model,
    undecisive,
    unused_settings,
)
from skillopt.config.settings import Settings
from skillopt.envs.registry import own_names
from skillopt.errors import ConfigError
from skillopt.models.base import Role, RoleModel


def load_run(
    run_file: Path, overrides: Sequence[str], env: Mapping[str, str], catalog: Catalog | None = None
) -> Resolved:
    """Resolve a run: defaults < config.yaml < `_base_` chain < run file < environment < overrides.

    `overrides` are texts `section.key=value`. Raises ConfigError naming every problem, one a line.
    """
    catalog = catalog or installed(own_names())
    problems: list[str] = []
    files = file_layers(run_file, problems)
    command_line = override_layer(overrides, problems)
    history = History(catalog, benchmark_of([*files, command_line]))
    history.problems += problems
    for rank, layer in enumerate(files, 1):
        history.add_layer(layer, rank, text=False)
    environment_rank = len(files) + 1
    history.add_layer(environment_layer(env), environment_rank, text=True)
    history.add_layer(command_line, environment_rank + 1, text=True)
    parts = resolve_parts(history)
    for part in parts:
        add_environment(history, part, env, environment_rank)
    roles = {part.role: role_model(history, part) for part in parts}
    if len(roles) == len(ROLES):
        history.problems += unused_settings(history, parts)
    history.problems += combination_problems(history)
    if history.problems:
        raise ConfigError(_report(run_file, history.problems))
    return _located(_resolved(history, parts, roles, run_file), run_file)


def _located(resolved: Resolved, run_file: Path) -> Resolved:
    """Make paths that are not in the working directory point beside the folder of the run file.

    So a run of another project works from any folder (`snakemake --directory`).
    """
    project = run_file.absolute().parent.parent
    env, evaluation, calls = resolved.settings.env, resolved.settings.evaluation, resolved.settings.calls
    paths = {"split_dir": env.split_dir, "data_path": env.data_path, "skill_init": env.skill_init}
    settings = msgspec.structs.replace(
        resolved.settings,
        env=msgspec.structs.replace(env, **_found_beside(project, paths)),
        evaluation=msgspec.structs.replace(evaluation, skills=_found_beside(project, evaluation.skills)),
        calls=msgspec.structs.replace(calls, **_found_beside(project, {"prices": calls.prices})),
    )
    return msgspec.structs.replace(resolved, settings=settings)


def _found_beside(project: Path, paths: Mapping[str, str]) -> dict[str, str]:
    return {name: _beside(project, path) for name, path in paths.items()}


def _beside(project: Path, path: str) -> str:
    if path and not Path(path).exists() and (project / path).exists():
        return str(project / path)
    return path


def _report(run_file: Path, problems: Sequence[str]) -> str:
    found = list(dict.fromkeys(problems))
    if len(found) == 1:
        return found[0]
    return "\n".join([f"{shown(run_file)}: {len(found)} problems", *(f"  {problem}" for problem in found)])


def _own_value(value: Any, key: Key, run_file: Path) -> Any:
    """Return a benchmark's setting, its paths beside the folder of the run file as in `_located`."""
    if not key.path:
        return value
    project = run_file.absolute().parent.parent
    return _beside(project, value) if isinstance(value, str) else [_beside(project, path) for path in value]


def _resolved(
    history: History, parts: Sequence[Part], roles: dict[Role, RoleModel], run_file: Path
) -> Resolved:
    nested: dict[str, dict[str, Any]] = {section: {} for section in sections()}
    for key in common_keys().values():
        nested[key.section][key.name] = history.last(key.dotted).value
    own = {
        key.name: _own_value(history.last(key.dotted).value, key, run_file)
        for key in history.benchmark_keys.values()
    }
    idle = [f"env.{key.name}" for key in history.benchmark_keys.values() if not key.decides]
    for part in parts:
        idle += undecisive(part)
    return Resolved(
        settings=msgspec.convert(nested, Settings),
        env_settings=msgspec.to_builtins(own),
        roles=roles,
        origins=_origins(history),
        undecisive=tuple(sorted(idle)),
    )


def _origins(history: History) -> dict[str, str]:
    """Return where each value came from that is not the built-in default."""
    last = {dotted: history.last(dotted) for dotted in history.keys}
    return {
        dotted: entry.origin
        for dotted, entry in sorted(last.items())
        if entry.origin and entry.value != history.keys[dotted].default
    }
