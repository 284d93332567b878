"""What is brought back from an agent's folder: plain files that were asked for, whatever else is there."""

import base64
import fnmatch
import itertools
import os
import stat
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import msgspec

from skillopt.models.agents.workspace import OWN
from skillopt.models.base import File
from skillopt.redact import MASK, secret_forms

FILE_LIMIT = 16 * 1024 * 1024
"""Bytes of one file that is brought back; a larger one is left behind."""

TOTAL_LIMIT = 64 * 1024 * 1024
"""Bytes of all files that are brought back."""

MOST_FILES = 200
"""Files that are brought back."""

_MOST_PATHS = 10_000
"""Paths that are looked at."""


class Collected(msgspec.Struct, frozen=True, kw_only=True):
    """The files that were brought back, by path, and what was left behind, with the reason."""

    files: tuple[File, ...]
    left: tuple[str, ...]


def collect(root: Path, patterns: Sequence[str], secrets: Sequence[str]) -> Collected:
    """Return the regular files below `root` that match one of `patterns`, sorted by path.

    Nothing is followed: links, and whatever lies behind one, are left behind; so is everything when
    the folder `root`, a path without links, is no longer there itself. Patterns are relative; `**`
    stands for any folders. Secrets in the files are masked.
    """
    wanted = [_pattern(pattern) for pattern in patterns]
    files: list[File] = []
    left: list[str] = []
    if not wanted:
        return Collected(files=(), left=())
    if Path(os.path.realpath(root)) != root or not root.is_dir():
        return Collected(files=(), left=("everything (the folder was replaced)",))
    room = TOTAL_LIMIT
    for path in _paths(root, left):
        if not any(_matches(path.split("/"), pattern) for pattern in wanted):
            continue
        if len(files) == MOST_FILES:
            left.append(f"{path} and what follows (more than {MOST_FILES} files)")
            break
        content, reason = _read(root / path, min(FILE_LIMIT, room))
        if reason:
            left.append(f"{path} ({reason})")
        else:
            room -= len(content)
            files.append(File(path=path, data=_encoded(content, secrets)))
    return Collected(files=tuple(files), left=tuple(left))


def _pattern(text: str) -> tuple[str, ...]:
    """Return the parts of a pattern; raises ValueError when it leads outside."""
    pure = PurePosixPath(text)
    if ".." in pure.parts or pure.is_absolute():
        raise ValueError(f"collect: expected a pattern below the workspace, found {text!r}")
    return pure.parts


def _matches(path: Sequence[str], pattern: Sequence[str]) -> bool:
    if not pattern:
        return not path
    if pattern[0] == "**":
        return any(_matches(path[start:], pattern[1:]) for start in range(len(path) + 1))
    return bool(path) and fnmatch.fnmatchcase(path[0], pattern[0]) and _matches(path[1:], pattern[1:])


def _paths(root: Path, left: list[str]) -> list[str]:
    """Return what lies below `root` and is no folder, sorted; note in `left` what cannot be looked at."""
    found: list[str] = []
    waiting, looked_at = [""], 0
    while waiting and looked_at < _MOST_PATHS:
        folder = waiting.pop()
        try:
            names = _names(root / folder, _MOST_PATHS - looked_at)
        except OSError as error:  # such as a path that is too long: the agent's doing
            left.append(f"{folder[-200:]} ({error.strerror})")
            continue
        looked_at += len(names)
        for name, is_folder in names:
            if folder or name not in OWN:
                (waiting if is_folder else found).append(f"{folder}{name}{'/' if is_folder else ''}")
    if looked_at >= _MOST_PATHS:
        left.append(f"all but {_MOST_PATHS} paths (too many)")
    return sorted(found)


def _names(folder: Path, most: int) -> list[tuple[str, bool]]:
    """Return at most so many names of a folder, and whether each is one itself."""
    with os.scandir(folder) as entries:
        return [
            (entry.name, entry.is_dir(follow_symlinks=False)) for entry in itertools.islice(entries, most)
        ]


def _read(path: Path, limit: int) -> tuple[bytes, str]:
    """Return the bytes of a regular file, or why there are none."""
    try:
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode):
            return b"", "not a regular file of the workspace"
        if status.st_size > limit:
            return b"", f"{status.st_size} bytes"
        return path.read_bytes(), ""
    except OSError as error:
        return b"", str(error.strerror)


def _encoded(content: bytes, secrets: Sequence[str]) -> str:
    for form in secret_forms(secrets):
        content = content.replace(form.encode(), MASK.encode())
    return base64.b64encode(content).decode()
