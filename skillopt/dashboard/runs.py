"""The runs of a folder: those that have results, and those that are only configured."""

import os
import re
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec

from skillopt.dashboard.launch import Launcher, secret_values
from skillopt.errors import ConfigError, SkillOptError
from skillopt.redact import redact
from skillopt.report.chart import Chart
from skillopt.report.figures import learning, usage
from skillopt.report.record import RunRecord
from skillopt.tools.live import View, Viewer
from skillopt.tools.train import run_file
from skillopt.tools.workflow import workflow_root

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
"""As the workflow has it; nothing else is looked for on the disk."""
DEFAULTS = "config"
"""config/config.yaml is no run: it holds what all runs of a folder have in common."""


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """One run of the list. `state` is a condition of `tools.live`, or `ready`, `starting`, `unreadable`."""

    name: str
    state: str
    note: str = ""
    view: View | None = None
    changed: float = 0.0


class Watched:
    """A run that is looked at again and again; what takes long is only worked out when it changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._viewer = Viewer(folder)
        self._lock = threading.Lock()
        self._drawn: tuple[object, Chart] | None = None

    def look(self) -> View:
        """Read the run's files."""
        with self._lock:
            return self._viewer.look()

    def curve(self, view: View) -> Chart:
        """Draw the scores so far."""
        with self._lock:
            gates = [self.folder / name for name in view.gates]
            now = tuple((path, path.stat().st_mtime_ns) for path in gates if path.exists())
            if self._drawn is None or self._drawn[0] != now:
                self._drawn = now, learning(RunRecord(self.folder)).chart
            return self._drawn[1]

    def spending(self, view: View) -> Chart:
        """Draw the tokens so far."""
        return usage(self.folder.name, view.totals).chart


class Runs:
    """Finds runs by their names, below one results folder."""

    def __init__(self, results: Path, launcher: Launcher) -> None:
        self.results = results
        self._launcher = launcher
        self._watched: dict[str, Watched] = {}

    def folder(self, name: str) -> Path:
        """Return a run's folder; raises ConfigError for a name that is none, or leads elsewhere."""
        if not NAME.fullmatch(name) or name == DEFAULTS:
            raise ConfigError("expected the name of a run: letters, digits, and . _ - after the first")
        folder = self.results / name
        if not self._is_below(folder):
            raise ConfigError(f"{name}: expected a folder below {self.results}, found a link out of it")
        return folder

    def _is_below(self, path: Path) -> bool:
        """Whether a path leads to a place below the results (resolve() raises for a circle of links)."""
        return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(self.results))

    def checked(self, name: str) -> Path:
        """Return a run's folder; raises ConfigError unless all in it are files and folders of the results.

        A pipe or a device would keep whoever reads it waiting, and a link may lead anywhere.
        """
        folder = self.folder(name)
        if os.path.lexists(folder) and not folder.is_dir():
            raise ConfigError(f"{folder}: expected a folder, found none. Remove it")
        for path in _inside(folder):
            if path.is_symlink() and not self._is_below(Path(path)):
                raise ConfigError(f"{path.path}: expected files below {self.results}, found a link out of it")
            if not _is_data(path):
                raise ConfigError(f"{path.path}: expected a file or a folder, found neither. Remove it")
        return folder

    def file(self, name: str, path: str) -> Path:
        """Return a file of a run that is there; raises FileNotFoundError for all others."""
        found = self.folder(name) / path
        if not found.is_file() or not self._is_below(found):
            raise FileNotFoundError(path)
        return found

    def record(self, name: str) -> RunRecord:
        """Return a whole run to read; raises ConfigError as `checked` does."""
        return RunRecord(self.checked(name))

    def watched(self, name: str) -> Watched:
        """Return a run to look at."""
        return self._watched.setdefault(name, Watched(self.folder(name)))

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
            self.checked(name)
            launched = self._launcher.process(name) is not None
            if not self.has_results(name):
                return Listed(name=name, state="starting" if launched else "ready")
            view = self.watched(name).look()
            changed = max(
                (p.stat().st_mtime for p in self.folder(name).glob("*.json") if p.is_file()), default=0.0
            )
        except (SkillOptError, OSError) as error:
            note = redact(str(error), secret_values(os.environ))
            return Listed(name=name, state="unreadable", note=note)
        state = "starting" if launched and view.condition != "running" else view.condition
        return Listed(name=name, state=state, note=view.note, view=view, changed=changed)

    def all(self) -> list[Listed]:
        """Look at all runs, those that changed last first."""
        return sorted(map(self.listed, self.names()), key=lambda run: (-run.changed, run.name))

    def busy(self) -> Iterator[str]:
        """Yield the runs that are at work."""
        for run in map(self.listed, self.names()):
            if run.state in ("running", "starting") or self._launcher.process(run.name) is not None:
                yield run.name


def _inside(folder: Path) -> Iterator[os.DirEntry[str]]:
    """Yield all that is in a folder and below, but not what is behind a link."""
    try:
        entries = list(os.scandir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return
    for entry in entries:
        yield entry
        if entry.is_dir(follow_symlinks=False):
            yield from _inside(Path(entry))


def _is_data(entry: os.DirEntry[str]) -> bool:
    """Whether it is a file or a folder, or has been removed meanwhile: a run that is at work does that."""
    try:
        mode = entry.stat().st_mode
    except FileNotFoundError:
        return not os.path.lexists(entry)
    except OSError:  # a circle of links
        return False
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)
