"""What the launcher is told and what it reports, as JSON; no third-party package is needed to read it."""

import json
from pathlib import Path
from typing import NamedTuple


class Spec(NamedTuple):
    """One run. `files` is the folder whose content the program finds in its own, `out` gets what it leaves.

    `argv` is the program; `env` its whole environment. `isolated`: in a root and namespaces of its
    own; else it works in `files` itself. `user` and `group` are what root becomes (None: as is).
    `seconds` are of wall time; `memory`, `disk` and `file_size` are bytes, of all processes and
    files together but for `file_size`; `collected` bytes of files are brought back at most.
    """

    argv: list[str]
    env: dict[str, str]
    files: str
    out: str
    report: str
    root: str
    readable: list[str]
    isolated: bool
    user: int | None
    group: int | None
    seconds: float
    memory: int
    processes: int
    file_size: int
    disk: int
    collected: int


class Report(NamedTuple):
    """How a run ended: the exit code (negative for a signal), the limit that ended it ("" for none).

    `left` are files that were not brought back, each with the reason.
    """

    code: int
    limit: str
    left: list[str]


def read_spec(path: str) -> Spec:
    """Read what is to be run."""
    return Spec(**json.loads(Path(path).read_text(encoding="utf-8")))


def as_json(record: Spec | Report) -> str:
    """Return a record as JSON."""
    return json.dumps(record._asdict())


def read_report(path: Path) -> Report:
    """Read how it ended."""
    return Report(**json.loads(path.read_text(encoding="utf-8")))
