"""What each job of a run rests on, as files: what it should rest on, and what it did when it was done.

`basis.json` says for each job, by the place of its log and in the order of the data, what decides its output
besides the files that it reads. Beside its log a job notes that, and the content of what it read and wrote.
"""

import argparse
import hashlib
import logging
from collections.abc import Iterator
from pathlib import Path

import msgspec

from skillopt.errors import CorruptFile
from skillopt.files import read_json, write_json
from skillopt.naming import run_of
from skillopt.progress import SIGN, Running, read_sign

log = logging.getLogger(__name__)

BASIS = "basis.json"
SUFFIX = ".made.json"
_DIGITS = 16
_OF_ALL = frozenset({"config.json", "plan.json", BASIS})
"""What every phase may read: the part that decides it is in its basis."""


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """`*.made.json`. `begun` from the moment a job is started anew until it has made its files: those of
    before count only as long as they lie there as they were.

    `read` and `written` are files below the run's folder with hashes of their content; `session` is the
    engine that started the job, "" for none.
    """

    basis: str
    begun: bool = False
    session: str = ""
    read: dict[str, str] = {}
    written: dict[str, str] = {}


def short(content: bytes) -> str:
    """Return a hash that tells contents of one run apart."""
    return hashlib.sha256(content).hexdigest()[:_DIGITS]


def read_basis(run: Path) -> dict[str, str]:
    """Return the basis of each job, in the order of the data; none for a run that has no such file."""
    path = run / BASIS
    return dict(read_json(path, list[tuple[str, str]])) if path.exists() else {}


def session_of(sign: Running) -> str:
    """Return a name for one start of the engine."""
    return f"{sign.host}/{sign.pid}/{sign.started}"


class MadeNote:
    """Keeps the note of one job of a run; does nothing for a command that is no such job."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._run = run_of(args.log) if args.log else None
        self._basis = ""
        if self._run:
            place = args.log.absolute().relative_to(self._run / "logs").with_suffix("").as_posix()
            self._basis = _basis_of(self._run, place)
            self._path = args.log.with_suffix(SUFFIX)
        self._files = [path for value in vars(args).values() for path in _paths(value)]
        self._before: dict[str, str] = {}
        self._written: frozenset[str] = frozenset()

    def begin(self) -> None:
        """Say that what the job made before may change from now on."""
        if not self._basis:
            return
        self._before = self._contents()
        left = self._left()
        if left:
            self._written = frozenset(left.written)
            write_json(self._path, msgspec.structs.replace(left, begun=True))

    def leave(self) -> None:
        """Say what was made, and what of."""
        if not self._basis:
            return
        now = self._contents()
        mine = {name for name, digest in now.items() if self._before.get(name) != digest} | self._written
        made = Made(
            basis=self._basis,
            session=self._session(),
            read={name: digest for name, digest in now.items() if name not in mine},
            written={name: digest for name, digest in now.items() if name in mine},
        )
        write_json(self._path, made)

    def _left(self) -> Made | None:
        """Return the note of when the job was done before."""
        if not self._path.exists():
            return None
        try:
            return read_json(self._path, Made)
        except CorruptFile as error:  # torn by a power cut: a new one is written when the job is done
            log.warning("%s", error)
            return None

    def _contents(self) -> dict[str, str]:
        """Return hashes of the files of the run that the command line names and that are there."""
        assert self._run is not None
        found = {}
        for path in self._files:
            full = path.absolute()
            if not full.is_relative_to(self._run) or full.is_relative_to(self._run / "logs"):
                continue
            name = full.relative_to(self._run).as_posix()
            if name not in _OF_ALL and full.is_file():
                found[name] = short(full.read_bytes())
        return dict(sorted(found.items()))

    def _session(self) -> str:
        assert self._run is not None
        sign = read_sign(self._run / SIGN)
        return session_of(sign) if sign else ""


def _basis_of(run: Path, place: str) -> str:
    try:
        return read_basis(run).get(place, "")
    except CorruptFile as error:  # no output depends on it, and the engine writes it anew when it starts
        log.warning("%s", error)
        return ""


def _paths(value: object) -> Iterator[Path]:
    if isinstance(value, Path):
        yield value
    elif isinstance(value, list):
        yield from (entry for entry in value if isinstance(entry, Path))
