"""Which files a run has: whether they may be read, and whether one has changed since."""

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from skillopt.config.yamlfile import LARGEST as LARGEST_YAML
from skillopt.errors import ConfigError
from skillopt.progress import SUFFIX

MIB = 1024 * 1024
LARGEST = {".json": 64 * MIB, ".md": 16 * MIB, ".yaml": LARGEST_YAML, ".jsonl": 512 * MIB}
"""Bytes of files that are read as a whole, by their ending: larger ones were not written by a run."""

State = tuple[int, int, int] | None
"""Which file it is, its time and its size; None for none."""


@dataclass(frozen=True)
class Seen:
    """All files and folders of a run at one moment."""

    states: Mapping[str, State]

    @property
    def at_work(self) -> bool:
        """Whether there is a sign of life, which means another thing from one second to the next."""
        return any(path.endswith(SUFFIX) for path in self.states)

    def beside(self, path: str) -> "Seen":
        """Return it with a file of elsewhere that the run is read with."""
        return Seen({**self.states, path: _state(path)})

    def still_holds(self) -> bool:
        """Whether nothing was added, removed, replaced or written since."""
        return all(_state(path) == state for path, state in self.states.items())

    def changed(self, folder: Path) -> float:
        """Return when a record right in a folder was written last (seconds since 1970)."""
        start = f"{folder}/"
        records = [
            state
            for path, state in self.states.items()
            if state and path.endswith(".json") and path.startswith(start) and "/" not in path[len(start) :]
        ]
        return max((state[1] / 1e9 for state in records), default=0.0)


def look(places: Sequence[Path], results: Path) -> Seen:
    """Look at all that is in some folders; raises ConfigError unless it is the results' own.

    A pipe or a device would keep whoever reads it waiting, a link may lead anywhere, and what is too large
    takes the memory of the machine.
    """
    states: dict[str, State] = {}
    for place in places:
        if not is_below(place, results):
            raise ConfigError(f"{place}: expected a folder below {results}, found a link out of it")
        if os.path.lexists(place) and not place.is_dir():
            raise ConfigError(f"{place}: expected a folder, found none. Remove it")
        states[str(place)] = _state(str(place))
        for entry in _inside(place):
            states[entry.path] = _checked(entry, results)
    return Seen(states)


def is_below(path: Path, results: Path) -> bool:
    """Whether a path leads to a place below the results (resolve() raises for a circle of links)."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(results))


def too_large(path: str, size: int) -> str:
    """Say that a file is too large to be read, "" when it is not."""
    most = LARGEST.get(Path(path).suffix)
    if most is None or size <= most:
        return ""
    return (
        f"{path}: expected at most {most // MIB} MB, found {size / MIB:,.0f} MB: no run writes that, and it "
        "is not read. Move it elsewhere"
    )


def _checked(entry: os.DirEntry[str], results: Path) -> State:
    if entry.is_symlink() and not is_below(Path(entry), results):
        raise ConfigError(f"{entry.path}: expected files below {results}, found a link out of it")
    try:
        found = entry.stat()
    except FileNotFoundError:
        if not os.path.lexists(entry):  # removed meanwhile: a run that is at work does that
            return None
        raise _special(entry) from None
    except OSError:  # a circle of links
        raise _special(entry) from None
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
        raise _special(entry)
    if stat.S_ISREG(found.st_mode) and (problem := too_large(entry.path, found.st_size)):
        raise ConfigError(problem)
    return found.st_ino, found.st_mtime_ns, found.st_size


def _special(entry: os.DirEntry[str]) -> ConfigError:
    return ConfigError(f"{entry.path}: expected a file or a folder, found neither. Remove it")


def _state(path: str) -> State:
    try:
        found = os.stat(path)  # noqa: PTH116 - for each file of each run: half the time of a Path
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


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
