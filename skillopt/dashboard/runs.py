"""The runs of a folder: those that have results, and those that are only configured."""

import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec

from skillopt.checked import checked_config
from skillopt.config.resolve import load_run
from skillopt.config.yamlfile import KEPT
from skillopt.dashboard.files import Seen, is_below, look, too_large
from skillopt.dashboard.launch import Launcher, secret_values
from skillopt.errors import ConfigError, SkillOptError
from skillopt.phases.plan import require_plannable
from skillopt.redact import one_line, redact
from skillopt.report.chart import Chart
from skillopt.report.figures import learning, usage
from skillopt.report.record import RunRecord
from skillopt.report.runs import RunRow, compare, render_runs, row_of
from skillopt.tools.live import View, Viewer
from skillopt.tools.train import run_file
from skillopt.tools.workflow import workflow_root

T = TypeVar("T")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
"""As the workflow has it; nothing else is looked for on the disk."""
_SHOWN = 600
"""Characters of what is wrong with a configuration that are shown: its plan tells all of it."""
DEFAULTS = "config"
"""config/config.yaml is no run: it holds what all runs of a folder have in common."""


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """One run of the list.

    `state` is a condition of `tools.live`, or `ready`, `unusable` (it has a configuration that cannot be
    planned), `starting`, `unreadable`.
    """

    name: str
    state: str
    note: str = ""
    view: View | None = None
    changed: float = 0.0


class Watched:
    """A run that is looked at again and again: what is read of it is kept as long as no file has changed."""

    def __init__(self, results: Path, name: str) -> None:
        self.folder = results / name
        self._results = results
        calls = results / ".calls"
        self._places = (self.folder, calls / "ledger" / name, calls / "times" / name)
        self._viewer = Viewer(self.folder)
        self._lock = threading.RLock()
        self._seen = Seen({})
        self._made: dict[object, Any] = {}

    def checked(self) -> Seen:
        """Return what files there are; raises ConfigError unless all of them may be read."""
        with self._lock:
            if not self._seen.states or not self._seen.still_holds():
                self._made.clear()
                self._seen = Seen({})
                seen = look(self._places, self._results)
                prices = self._prices()
                self._seen = seen.beside(prices) if prices else seen
            return self._seen

    def _prices(self) -> str:
        """Return the path of the price table, "" for none, or where the configuration is none to be read."""
        try:
            return checked_config(self.folder / "config.json").settings.calls.prices
        except (SkillOptError, OSError):
            return ""

    @property
    def changed(self) -> float:
        """When a record was written last, as of the last look."""
        return self._seen.changed(self.folder)

    def kept(self, make: Callable[[], T]) -> T:
        """Return what a function makes of the files; it is called again when one has changed."""
        with self._lock:
            seen = self.checked()
            if make not in self._made or seen.at_work:
                self._made[make] = make()
            return cast(T, self._made[make])

    def look(self) -> View:
        """Read the run's files."""
        return self.kept(self._viewer.look)

    def record(self) -> RunRecord:
        """Read the whole run."""
        return self.kept(self._record)

    def row(self) -> RunRow:
        """Work out what stands of the run beside others."""
        return self.kept(self._row)

    def _record(self) -> RunRecord:
        return RunRecord(self.folder)

    def _row(self) -> RunRow:
        return row_of(self.record())

    def curve(self) -> Chart:
        """Draw the scores so far."""
        return self.kept(self._curve)

    def _curve(self) -> Chart:
        return learning(self.record()).chart

    def spending(self, view: View) -> Chart:
        """Draw the tokens so far."""
        return usage(self.folder.name, view.totals).chart


class Runs:
    """Finds runs by their names, below one results folder."""

    def __init__(self, results: Path, launcher: Launcher) -> None:
        self.results = results
        self._launcher = launcher
        self._watched: dict[str, Watched] = {}
        self._comparing = threading.Lock()
        self._compared: tuple[list[RunRecord], str] | None = None

    def folder(self, name: str) -> Path:
        """Return a run's folder; raises ConfigError for a name that is none, or leads elsewhere."""
        if not NAME.fullmatch(name) or name == DEFAULTS:
            raise ConfigError("expected the name of a run: letters, digits, and . _ - after the first")
        folder = self.results / name
        if not is_below(folder, self.results):
            raise ConfigError(f"{name}: expected a folder below {self.results}, found a link out of it")
        return folder

    def checked(self, name: str) -> Seen:
        """Look at all files of a run; raises ConfigError unless they may be read."""
        return self.watched(name).checked()

    def file(self, name: str, path: str) -> Path:
        """Return a file of a run that is there; raises FileNotFoundError for all others."""
        found = self.folder(name) / path
        if not found.is_file() or not is_below(found, self.results):
            raise FileNotFoundError(path)
        return found

    def record(self, name: str) -> RunRecord:
        """Return a whole run to read; raises ConfigError as `checked` does."""
        return self.watched(name).record()

    def watched(self, name: str) -> Watched:
        """Return a run to look at."""
        self.folder(name)
        return self._watched.setdefault(name, Watched(self.results, name))

    def side_by_side(self, names: Sequence[str]) -> str:
        """Return the page that compares runs; the last one is kept, and made once however many ask."""
        with self._comparing:
            watched = [self.watched(name) for name in names]
            records = [run.record() for run in watched]
            if self._compared is None or self._compared[0] != records:
                page = render_runs(records, compare(records, [run.row() for run in watched]))
                self._compared = records, page
            return self._compared[1]

    def has_results(self, name: str) -> bool:
        """Whether a run has begun."""
        return (self.folder(name) / "config.json").is_file()

    def can_start(self, name: str) -> bool:
        """Whether there is a configuration of the run."""
        try:
            return run_file(workflow_root(), name).is_file()
        except ConfigError:
            return False

    def names(self) -> list[str]:
        """Return the names of all runs."""
        begun = (path.parent.name for path in self.results.glob("*/config.json"))
        configured = (path.stem for path in Path("config").glob("*.yaml"))
        logged = (path.parent.parent.name for path in self.results.glob("*/logs/dashboard.json"))
        return sorted({n for n in (*begun, *configured, *logged) if NAME.fullmatch(n) and n != DEFAULTS})

    def listed(self, name: str) -> Listed:
        """Look at one run; what cannot be read is a state of its own."""
        try:
            launched = self._launcher.process(name) is not None
            watched = self.watched(name)
            if not self.has_results(name):
                watched.checked()
                self._check_file(name)
                if launched:
                    return Listed(name=name, state="starting")
                problem = self._plan_problem(name)
                return Listed(name=name, state="unusable" if problem else "ready", note=problem)
            view = watched.look()
        except (SkillOptError, OSError) as error:
            note = redact(str(error), secret_values(os.environ))
            return Listed(name=name, state="unreadable", note=note)
        state = "starting" if launched and view.condition != "running" else view.condition
        return Listed(name=name, state=state, note=view.note, view=view, changed=watched.changed)

    def _check_file(self, name: str) -> None:
        """Raise ConfigError when a run's configuration is too large to be read."""
        path = Path("config", f"{name}.yaml")
        if path.is_file() and (problem := too_large(str(path), path.stat().st_size)):
            raise ConfigError(problem)

    def _plan_problem(self, name: str) -> str:
        """Say why a run cannot be planned, as far as that is seen at once: no item is read.

        A configuration that takes long to read is looked at when the plan is asked for.
        """
        try:
            file = run_file(workflow_root(), name)
            if file.stat().st_size <= KEPT:
                require_plannable(load_run(file, [], os.environ))
        except Exception as error:  # a benchmark of the project's own may raise anything
            told = str(error) if isinstance(error, SkillOptError) else f"{type(error).__name__}: {error}"
            return one_line(told, _SHOWN, secret_values(os.environ))
        return ""

    def all(self) -> list[Listed]:
        """Look at all runs, those that changed last first."""
        return sorted(map(self.listed, self.names()), key=lambda run: (-run.changed, run.name))

    def busy(self) -> Iterator[str]:
        """Yield the runs that are at work."""
        for run in map(self.listed, self.names()):
            if run.state in ("running", "starting") or self._launcher.process(run.name) is not None:
                yield run.name
