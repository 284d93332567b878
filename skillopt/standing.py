"""Which files of a run belong to its present configuration, plan and data: the one answer for all views.

While a run is done again after a change, files of before lie there until their jobs start. What is told from
files alone: a job has to be done again when what decides it (`basis.json`) is not what it was made with, when
what it read has other content now or is itself of before. The times of files play no part. Jobs that left no
note count, unless a decision before them does not; without `basis.json` all that is there does.
"""

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import msgspec

from skillopt.config.resolved import Resolved
from skillopt.errors import CorruptFile
from skillopt.files import read_bytes, read_json
from skillopt.made import SUFFIX, Made, read_basis, session_of, short
from skillopt.progress import SIGN, read_sign
from skillopt.records import Plan
from skillopt.runs import gate_files
from skillopt.signs import lives

log = logging.getLogger(__name__)

_START = "steps/step_0000/gate.json"
_RESULTS = ("best_skill.md", "best_skill.json")
_EVALUATIONS = ("eval/val/last", "eval/test/best", "eval/test/last")
"""Made when all gates are: files and folders."""


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """`gates` are the decisions that belong to the run as it is now, of all that are `wanted`; oldest first.

    `complete` tells that no decision is left to be made. `again` counts the steps of which a decision of
    before lies there; `files` and `folders` name what is of before, below the run's folder.
    """

    gates: tuple[str, ...] = ()
    wanted: tuple[str, ...] = ()
    complete: bool = False
    again: int = 0
    files: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()

    @property
    def steps_done(self) -> int:
        """How many steps have ended."""
        return sum(_is_step(gate) for gate in self.gates)

    def is_of_before(self, path: str) -> bool:
        """Whether a file was made before a change and is made anew."""
        return path in self.files or path.rpartition("/")[0] in self.folders


class StandingReader:
    """Reads how a run stands again and again: only notes that have changed are read anew."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._notes: dict[str, tuple[tuple[int, int], Made | None]] = {}

    def look(self, plan: Plan | None, resolved: Resolved, now: float | None = None) -> Standing:
        """Read the notes of all jobs; without a plan nothing belongs to the run."""
        if plan is None:
            return Standing()
        session = self._session(time.time() if now is None else now)
        basis = read_basis(self._folder)
        made, old = self._jobs(basis, session)
        wanted = gate_files(plan, resolved.settings.optimizer.use_slow_update)
        there = {name for name in wanted if (self._folder / name).exists()}
        # A record that was lost by hand is not made again as long as nothing needs it.
        known = there | made if basis else set(wanted)
        count = 0
        while count < len(wanted) and wanted[count] not in old and wanted[count] in known:
            count += 1
        later = wanted[max(count, 1) + 1 :]  # the first step runs beside the evaluation of the initial skill
        folders = {name.rpartition("/")[0] for name in later}
        left = there.intersection(wanted[count:])
        old |= left | {_skill_after(name) for name in left if name != _START}
        if count < len(wanted):
            old |= set(_RESULTS)
            folders |= set(_EVALUATIONS)
        return Standing(
            gates=tuple(name for name in wanted[:count] if name in there),
            wanted=tuple(wanted),
            complete=count == len(wanted),
            again=sum(_is_step(name) for name in left),
            files=frozenset(old),
            folders=frozenset(folders),
        )

    def _jobs(self, basis: Mapping[str, str], session: str) -> tuple[set[str], set[str]]:
        """Return the files that are made, and those of jobs to be done again, along the way of the data."""
        content: dict[str, str] = {}
        anew: set[str] = set()
        old: set[str] = set()
        for place, expected in basis.items():
            made = self._note(place)
            if made is None:
                continue
            if made.basis != expected or self._has_changed(made, content, old):
                old |= made.written.keys()
            elif session and made.session != session and not anew.isdisjoint(made.read):
                old |= made.written.keys()  # the engine does again what follows from a job that it did
            else:
                content |= made.written
                anew |= made.written.keys() if session and made.session == session else set()
        return set(content), old

    def _has_changed(self, made: Made, content: dict[str, str], old: set[str]) -> bool:
        """Tell whether a job read what is of before, or what has other content now.

        Of a job that was begun anew and did not end, the same holds for what it wrote.
        """
        if made.begun and any(self._content(name) != digest for name, digest in made.written.items()):
            return True
        changed = [name for name, digest in made.read.items() if content.get(name, digest) != digest]
        return not old.isdisjoint(made.read) or any(
            self._content(name) != made.read[name] for name in changed
        )

    def _content(self, name: str) -> str:
        """Return a hash of a file as it lies there: it may have been changed by hand since it was made."""
        path = self._folder / name
        return short(read_bytes(path)) if path.exists() else ""

    def _note(self, place: str) -> Made | None:
        path = self._folder / f"logs/{place}{SUFFIX}"
        try:
            state = path.stat()
        except FileNotFoundError:
            return None
        version = (state.st_mtime_ns, state.st_size)
        if place not in self._notes or self._notes[place][0] != version:
            self._notes[place] = version, _read_note(path)
        return self._notes[place][1]

    def _session(self, now: float) -> str:
        """Return the engine that is at work on the run, "" for none."""
        sign = read_sign(self._folder / SIGN)
        return session_of(sign) if sign and lives(sign, now) else ""


def lost_outputs(
    folder: Path, basis: Mapping[str, str], begun: Callable[[Iterable[str]], set[str]]
) -> list[str]:
    """Return the files of jobs to be done again that are not there, below the run's folder, sorted.

    The engine removes them before it starts a job. When that attempt failed or was killed, the engine makes
    them only for a job that it does anyway, and takes what was made of the old ones for up to date.
    `basis` is what each job should rest on. What was deleted by hand from a finished run is none of them.
    `begun` tells which of some files the engine knows as those of a job that did not end: one that was
    killed as it started has said nothing itself, and the next command may have another configuration again.
    """
    made, old = StandingReader(folder)._jobs(basis, "")
    if (folder / "summary.json").exists():
        old.add("history.json")  # made of decisions alone, by a job that leaves no note
    gone = {name for name in made | old if not (folder / name).exists()}
    return sorted(gone & (old | begun(gone)))


def _read_note(path: Path) -> Made | None:
    try:
        return read_json(path, Made)
    except CorruptFile as error:  # torn by a power cut: no output depends on it
        log.warning("%s", error)
        return None


def _is_step(gate: str) -> bool:
    return gate.startswith("steps/") and gate != _START


def _skill_after(gate: str) -> str:
    """Return the skill that a gate leaves."""
    folder = gate.rpartition("/")[0]
    if folder.startswith("slow_update/"):
        return f"{folder}/skill.md"
    return f"skills/skill_v{folder.rpartition('_')[2]}.md"
