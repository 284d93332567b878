"""Starting and stopping runs: a process group each, which goes on when the dashboard ends."""

import fcntl
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

from skillopt.errors import ConfigError, CorruptFile
from skillopt.files import WriteError, read_json, write_json
from skillopt.process import mark_of, members, variable_of
from skillopt.redact import redact

USER, PASSWORD = "SKILLOPT_WEBUI_USER", "SKILLOPT_WEBUI_PASS"
"""Environment variables of the dashboard alone: a run does not get them."""
STARTED = "SKILLOPT_DASHBOARD_START"
"""Environment variable: which start of a dashboard a process belongs to."""
LOG = "logs/dashboard.log"
_RECORD = "logs/dashboard.json"
_LOCK = ".dashboard.lock"
_TAIL = 8000
"""Characters of the log that are shown at most."""


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """A run that a dashboard started: `mark` tells its process from a later one of the number `pid`.

    `start` is in the environment of all that it started: they go on without it when it alone is killed.
    """

    pid: int
    mark: str
    start: str
    host: str


class Launcher:
    """Starts and stops the runs of one results folder, for every dashboard that looks at it."""

    def __init__(self, results: Path) -> None:
        self._results = results
        self._mutex = threading.Lock()
        self._children: dict[str, subprocess.Popen[bytes]] = {}

    def process(self, run: str) -> int | None:
        """Return the process group of a run that a dashboard on this machine started, None when it is gone.

        It has the number of the process that led it, which may have ended before the others.
        """
        child = self._children.get(run)
        if child is not None:
            child.poll()
        started = self._started(run)
        if started is None or started.host != socket.gethostname():
            return None
        return started.pid if _lives(started) else None

    def code(self, run: str) -> int | None:
        """Return the exit code of a run that this dashboard started and that has ended."""
        child = self._children.get(run)
        return None if child is None else child.poll()

    def start(self, run: str, busy: Iterator[str]) -> None:
        """Start a run; raises ConfigError when it, or another run of this folder, is at work.

        `busy` yields names of runs that show a sign of life.
        """
        with self._alone():
            at_work = next((name for name in busy), None)
            if at_work is not None:
                raise ConfigError(
                    f"{at_work} is at work, and one workflow at a time can work in a folder. "
                    "Wait for it or stop it, then start again."
                )
            log = self._results / run / LOG
            log.parent.mkdir(parents=True, exist_ok=True)
            start = secrets.token_hex(8)
            kept = {name: value for name, value in os.environ.items() if name not in (USER, PASSWORD)}
            with log.open("ab") as output:
                child = subprocess.Popen(
                    # By its file: of `x.yaml`, as the name of a run, `train` would make `x`.
                    [sys.executable, "-m", "skillopt", "train", f"config/{run}.yaml"],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    env=kept | {STARTED: start},
                )
            self._children[run] = child
            mark = mark_of(child.pid) or ""
            record = Started(pid=child.pid, mark=mark, start=start, host=socket.gethostname())
            try:
                write_json(self._results / run / _RECORD, record)
            except WriteError:  # nobody could stop it from here
                child.terminate()
                raise

    def stop(self, run: str) -> None:
        """Interrupt a run as Ctrl-C would; raises ConfigError when no dashboard here started it."""
        with self._alone():
            pid = self.process(run)
            if pid is None or not _signal(pid, signal.SIGINT):
                raise ConfigError(
                    f"{run}: expected a run that a dashboard on this machine started and that is at work, "
                    "found none. A run of a terminal is stopped there, with Ctrl-C."
                )

    def _started(self, run: str) -> Started | None:
        try:
            path = self._results / run / _RECORD
            return read_json(path, Started) if path.is_file() else None  # a pipe would keep us waiting
        except (FileNotFoundError, CorruptFile):
            return None

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other threads and other dashboards of this folder from starting and stopping meanwhile."""
        self._results.mkdir(exist_ok=True)
        with self._mutex, (self._results / _LOCK).open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _lives(started: Started) -> bool:
    """Whether the process that was started lives, or others of its group that it has started."""
    mark = mark_of(started.pid)
    if mark is not None:
        return mark == started.mark  # else another process has its number, and there is no such group
    if started.pid <= 0 or not started.start or not _signal(started.pid, 0):
        return False
    return any(variable_of(pid, STARTED) == started.start for pid in members(started.pid))


def _signal(group: int, number: int) -> bool:
    """Send a signal to a process group; False when there is none, or it is another user's."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError, OverflowError):
        return False
    return True


def log_tail(log: Path, lines: int, secrets: list[str]) -> str:
    """Return the end of what a started run printed, without credentials."""
    with log.open("rb") as file:
        # Twice as much as is shown: of a credential that the cut goes through, no part is recognised.
        file.seek(max(log.stat().st_size - 2 * _TAIL, 0))
        text = file.read().decode("utf-8", "replace")
    return "\n".join(redact(text, secrets)[-_TAIL:].splitlines()[-lines:])


def secret_values(env: Mapping[str, str]) -> list[str]:
    """Return the values of variables whose names say that they hold a secret."""
    from skillopt.config.history import SECRET

    return [value for name, value in env.items() if SECRET.search(name.lower()) or name == PASSWORD]
