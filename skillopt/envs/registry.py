"""Which benchmarks exist: every package (folder) in `skillopt/envs/` declares one."""

import importlib
import pkgutil

from skillopt import envs
from skillopt.envs.base import Environment
from skillopt.errors import ConfigError


def environment_names() -> list[str]:
    """Return the names of all benchmarks, sorted; imports none of them."""
    return sorted(module.name for module in pkgutil.iter_modules(envs.__path__) if module.ispkg)


def environment(name: str) -> Environment:
    """Return one benchmark; imports that one only."""
    if name not in environment_names():
        raise ConfigError(f"env.name: expected one of {', '.join(environment_names())}, found {name!r}")
    found: Environment = importlib.import_module(f"{envs.__name__}.{name}").ENVIRONMENT
    return found
