"""Which benchmarks exist: packages in `skillopt/envs/`, and those of a project in its folder `envs/`."""

import importlib
import importlib.util
import pkgutil
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

from skillopt import envs
from skillopt.envs.base import Environment
from skillopt.errors import ConfigError

OWN = Path("envs")
"""Where a project keeps benchmarks of its own, beside `config/`: a package (folder) each."""
_MEMBERS = ("name", "settings", "prompts", "initial_skill", "read", "check", "reference", "attempt")


def environment_names() -> list[str]:
    """Return the names of the benchmarks that ship, sorted; imports none of them."""
    return sorted(module.name for module in pkgutil.iter_modules(envs.__path__) if module.ispkg)


def own_names() -> list[str]:
    """Return the names of the benchmarks of the working directory; raises ConfigError for a taken one."""
    found = sorted(path.parent.name for path in OWN.glob("*/__init__.py"))
    taken = sorted(set(found) & set(environment_names()))
    if taken:
        raise ConfigError(f"{OWN / taken[0]}: a benchmark of this name ships: give the folder another name")
    return found


def environment(name: str) -> Environment:
    """Return one benchmark; imports that one only. Raises ConfigError when it is none."""
    if name in environment_names():
        found: Environment = importlib.import_module(f"{envs.__name__}.{name}").ENVIRONMENT
        return found
    own = own_names()
    if name not in own:
        raise ConfigError(
            f"env.name: expected one of {', '.join([*environment_names(), *own])}, found {name!r}. A "
            f"benchmark of your own is a package {OWN / '<name>'} in the working directory: "
            "skillopt new-benchmark <name> starts one."
        )
    return _declared(name, _own_module(name))


def require_packages(
    environment: Environment, installed: Callable[[str], object] = importlib.util.find_spec
) -> None:
    """Raise ConfigError with the install command when a package that the benchmark needs is missing.

    `requirements` of a benchmark are names as they are imported; one that ships names its extra alike.
    """
    problem = missing_packages(environment.name, getattr(environment, "requirements", ()), installed)
    if problem:
        raise ConfigError(problem)


def missing_packages(
    benchmark: str, needed: Sequence[str], installed: Callable[[str], object] = importlib.util.find_spec
) -> str:
    """Say which packages that a benchmark needs are missing, with the install command ("" for none)."""
    missing = [name for name in needed if installed(name) is None]
    if not missing:
        return ""
    wanted = f"'skillopt[{benchmark}]'" if benchmark in environment_names() else " ".join(missing)
    return (
        f"env.name: {benchmark} needs {', '.join(missing)}, which this Python ({sys.executable}) "
        f"has not. Install it: python -m pip install {wanted}"
    )


def _own_module(name: str) -> ModuleType:
    """Import a project's package under a name that no other package has."""
    file = (OWN / name / "__init__.py").resolve()
    module_name = f"skillopt_own_envs_{name}"
    known = sys.modules.get(module_name)
    if known is not None and known.__file__ == str(file):
        return known
    spec = importlib.util.spec_from_file_location(
        module_name, file, submodule_search_locations=[str(file.parent)]
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module  # before it runs, as for any package: its modules import each other
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[module_name]
        raise ConfigError(f"{OWN / name}: cannot be imported: {_place(error)}") from error
    return module


def _place(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{where}"


def _declared(name: str, module: ModuleType) -> Environment:
    file = OWN / name / "__init__.py"
    found: Environment | None = getattr(module, "ENVIRONMENT", None)
    if found is None:
        raise ConfigError(f"{file}: expected the benchmark as ENVIRONMENT, found nothing of that name")
    missing = [member for member in _MEMBERS if not hasattr(found, member)]
    if missing:
        raise ConfigError(
            f"{file}: ENVIRONMENT: expected {', '.join(_MEMBERS)}; {', '.join(missing)} missing"
        )
    if found.name != name:
        raise ConfigError(f"{file}: expected the name of its folder, {name!r}, found {found.name!r}")
    return found
