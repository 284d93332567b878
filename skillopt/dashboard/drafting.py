"""From a filled-in form to a run that could start: its settings, its plan with its price, its file."""

import asyncio
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from skillopt.config.keys import Catalog
from skillopt.config.resolve import load_run
from skillopt.config.resolved import Resolved
from skillopt.dashboard.form import Draft, as_file, place_problems, values_of
from skillopt.dashboard.launch import secret_values
from skillopt.dashboard.runs import DEFAULTS, NAME
from skillopt.errors import ConfigError, SkillOptError
from skillopt.files import canonical, read_text
from skillopt.forecast.estimate import Forecast, forecast
from skillopt.models.keys import key_variables
from skillopt.models.registry import backend_spec
from skillopt.phases.plan import plan_run
from skillopt.redact import redact
from skillopt.runs import Run
from skillopt.skill import sha256
from skillopt.tools.train import run_file
from skillopt.tools.workflow import workflow_root

_MOST_LOOKED = 64
"""Items of a split whose requests are built, as when a run begins."""


@dataclass(frozen=True)
class Planned:
    """A run that could start. `keys` are the environment variables of secrets: whether one is set."""

    resolved: Resolved
    forecast: Forecast
    text: str
    keys: dict[str, dict[str, bool]]

    @property
    def digest(self) -> str:
        """Return a hash of the settings: what is confirmed is what was shown."""
        return sha256(canonical(self.resolved))


def check(draft: Draft, catalog: Catalog, results: Path) -> Planned | None:
    """Validate a form; None when something is wrong: the draft tells what, and beside which field."""
    _check_name(draft, results)
    text = as_file(values_of(draft, catalog))
    with tempfile.TemporaryDirectory(prefix="skillopt-dashboard-") as temporary:
        folder = Path(temporary).resolve()
        file = folder / "config" / f"{draft.name if 'name' not in draft.problems else 'run'}.yaml"
        file.parent.mkdir()
        file.write_text(text, encoding="utf-8")
        defaults = Path("config", "config.yaml").resolve()
        if defaults.is_file():
            base = f"_base_: {str(defaults)!r}\n"
            file.with_name("config.yaml").write_text(base, encoding="utf-8")
        try:
            resolved = load_run(file, [], os.environ)
            # What only the form refuses, such as a path that leads elsewhere, is not looked at.
            return None if draft.problems else _planned(draft.name, resolved, text, results)
        except SkillOptError as error:
            place_problems(draft, str(error).replace(f"{folder}/", ""), file.name)
            return None


def plan_of(name: str, results: Path) -> Planned:
    """Plan a run that has a file; raises ConfigError or DataError when it cannot start."""
    file = run_file(workflow_root(), name)
    resolved = load_run(file, [], os.environ)  # which refuses a file that is too large to be shown
    text = redact(read_text(file), secret_values(os.environ))
    return _planned(name, resolved, text, results)


def write(draft: Draft, text: str) -> Path:
    """Write the file of a checked form; raises ConfigError when there is one meanwhile."""
    path = Path("config", f"{draft.name}.yaml")
    path.parent.mkdir(exist_ok=True)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise ConfigError(f"{path}: expected no such file, found one. Choose another name.") from None
    except OSError as error:  # a full disk: the part that was written is no configuration, and takes the name
        path.unlink(missing_ok=True)
        raise ConfigError(f"{path}: cannot be written: {error.strerror}") from error
    return path


def _check_name(draft: Draft, results: Path) -> None:
    name = draft.name
    if not NAME.fullmatch(name) or name == DEFAULTS:
        draft.refuse(
            "name", "expected letters, digits, and . _ - after the first character (not `config`); up to 80"
        )
        return
    if name.endswith((".yaml", ".yml")):
        draft.refuse("name", "expected the name of a run, found one of a file: leave out the ending")
    taken = [Path("config", f"{name}.yaml"), workflow_root() / "config" / f"{name}.yaml", results / name]
    if any(os.path.lexists(path) for path in taken):
        draft.refuse("name", f"there is a run or a configuration named {name}; choose another name")


def _planned(name: str, resolved: Resolved, text: str, results: Path) -> Planned:
    plan, splits = plan_run(name, resolved)
    found = asyncio.run(forecast(Run(resolved, plan, splits), results / ".calls", most=_MOST_LOOKED))
    return Planned(resolved=resolved, forecast=found, text=text, keys=_keys(resolved))


def _keys(resolved: Resolved) -> dict[str, dict[str, bool]]:
    """Tell for each role which variables may hold its key, and which are set; never what they hold."""
    return {
        role: {
            name: bool(os.environ.get(name))
            for name in key_variables(model.role, backend_spec(model.backend).secrets)
        }
        for role, model in resolved.roles.items()
    }
