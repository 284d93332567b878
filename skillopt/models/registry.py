"""Which backends exist: every module in `skillopt/models/backends/` declares one."""

import importlib
import pkgutil
from functools import cache

from skillopt.errors import ConfigError
from skillopt.models import backends
from skillopt.models.base import BackendSpec


@cache
def backend_names() -> tuple[str, ...]:
    """Return the names of all backends, sorted; imports none of them."""
    return tuple(
        sorted(
            module.name
            for module in pkgutil.iter_modules(backends.__path__)
            if not module.name.startswith("_")
        )
    )


def backend_spec(name: str) -> BackendSpec:
    """Return one backend's declaration; imports that backend's module only."""
    if name not in backend_names():
        raise ConfigError(f"model backend: expected one of {', '.join(backend_names())}, found {name!r}")
    spec: BackendSpec = importlib.import_module(f"{backends.__name__}.{name}").BACKEND
    return spec


@cache
def aliases() -> dict[str, str]:
    """Return every accepted name of a backend and the name it stands for."""
    specs = [backend_spec(name) for name in backend_names()]
    return {alias: spec.name for spec in specs for alias in (spec.name, *spec.aliases)}
