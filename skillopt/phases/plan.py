"""The whole run, known before anything is paid for: epochs, steps, batches, edit budgets."""

from pathlib import Path
from typing import Any

import msgspec

from skillopt.config.resolved import Resolved
from skillopt.data import (
    SPLITS,
    Splits,
    content_digest,
    load_splits,
    require_data,
    used_items,
    with_file_digests,
)
from skillopt.decisions.plan import make_plan
from skillopt.envs.base import CommonSettings, Environment, WithObstacles
from skillopt.envs.registry import environment, require_packages
from skillopt.errors import ConfigError
from skillopt.files import as_json, read_bytes, write_json
from skillopt.models.registry import backend_spec
from skillopt.phases.spending import require_countable
from skillopt.records import Plan, SplitInfo


def plan_run(run: str, resolved: Resolved) -> tuple[Plan, Splits]:
    """Read the data and plan a run; raises ConfigError or DataError before anything is paid for."""
    settings = resolved.settings
    bench = require_plannable(resolved)
    splits = load_splits(resolved, bench)
    splits = _with_file_digests(splits, bench, resolved)
    info: dict[str, SplitInfo] = {}
    for name in SPLITS:
        chosen = used_items(splits, name, settings.evaluation)
        info[name] = SplitInfo(
            source=splits.source(name),
            size=len(splits.named(name)),
            used=len(chosen),
            sha256=content_digest(chosen),
        )
    train, optimizer = settings.train, settings.optimizer
    plan = make_plan(
        run,
        train_ids=[item.id for item in splits.train],
        splits=info,
        num_epochs=train.num_epochs,
        train_size=train.train_size,
        batch_size=train.batch_size,
        accumulation=train.accumulation,
        seed=train.seed,
        learning_rate=optimizer.learning_rate,
        min_learning_rate=optimizer.min_learning_rate,
        lr_scheduler=optimizer.lr_scheduler,
        slow_update_samples=optimizer.slow_update_samples,
    )
    return plan, splits


def require_plannable(resolved: Resolved) -> Environment:
    """Return the benchmark of a run; raises ConfigError or DataError for what is seen without its items."""
    bench = environment(resolved.settings.env.name)
    require_packages(bench)
    require_capabilities(resolved, bench)
    require_no_obstacles(resolved, bench)
    require_countable(resolved)
    require_data(resolved.settings.env)
    return bench


def _with_file_digests(splits: Splits, bench: Environment, resolved: Resolved) -> Splits:
    own = msgspec.convert(resolved.env_settings, bench.settings)
    everything = with_file_digests([*splits.train, *splits.val, *splits.test], bench, own)
    items = iter(everything)
    return msgspec.structs.replace(
        splits, **{name: [next(items) for _ in splits.named(name)] for name in SPLITS}
    )


def write_records(folder: Path, resolved: Resolved, plan: Plan) -> None:
    """Write config.json and plan.json of a run where they are missing or say something else."""
    for name, value in (("config", resolved), ("plan", plan)):
        path = folder / f"{name}.json"
        if not path.exists() or read_bytes(path) != as_json(value):
            write_json(path, value)


def require_capabilities(resolved: Resolved, bench: Environment) -> None:
    """Raise ConfigError when the target's backend lacks what the benchmark needs, such as images."""
    backend = resolved.roles["target"].backend
    declared: Any = getattr(bench, "needs", frozenset())
    own = msgspec.convert(resolved.env_settings, bench.settings)
    needs: frozenset[str] = declared(own) if callable(declared) else declared
    missing = sorted(needs - backend_spec(backend).capabilities)
    if missing:
        raise ConfigError(
            f"env.name: {bench.name} needs a target that takes {', '.join(missing)}; the backend {backend!r} "
            "does not. Choose another model.target_backend."
        )


def require_no_obstacles(resolved: Resolved, bench: Environment) -> None:
    """Raise ConfigError with all that keeps the benchmark from starting, such as a missing package."""
    if not isinstance(bench, WithObstacles):
        return
    env = resolved.settings.env
    common = CommonSettings(max_turns=env.max_turns, max_completion_tokens=env.max_completion_tokens)
    found = bench.obstacles(msgspec.convert(resolved.env_settings, bench.settings), common)
    if found:
        raise ConfigError("\n".join(found))
