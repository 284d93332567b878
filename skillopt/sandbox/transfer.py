"""Files into the scratch folder, and out of it again: regular ones only, and not too much."""

import contextlib
import os
import shutil
import stat
from pathlib import Path

from skillopt.sandbox.paths import inside

_MOST_FILES = 200
_MOST_PATHS = 10_000
_LISTED, _SHOWN = 20, 100


def put(source: str, target: str, owner: tuple[int, int] | None) -> None:
    """Copy all that is in one folder into another, for a given user and group."""
    shutil.copytree(source, target, dirs_exist_ok=True)
    own(target, owner)


def own(folder: str, owner: tuple[int, int] | None) -> None:
    """Give a folder and all in it to a user and group (None: leave it)."""
    if owner:
        os.chown(folder, *owner)
        for place, folders, files in os.walk(folder):
            for name in (*folders, *files):
                os.chown(Path(place, name), *owner, follow_symlinks=False)


def take(scratch: str, out: int, room: int) -> list[str]:
    """Copy the regular files of the scratch folder to the open folder `out`; return what was left, and why.

    Nothing is followed and nothing but plain data is kept: no links, no devices, no rights. At most
    `room` bytes in all. The program must have ended.
    """
    left: list[str] = []
    kept = 0
    for path in _paths(Path(scratch)):
        name = path.relative_to(scratch).as_posix()
        try:
            status = path.lstat()
            reason = _refused(name, status, room) or (
                "" if kept < _MOST_FILES else f"more than {_MOST_FILES} files"
            )
            if not reason:
                _copy(path, name, out)
                kept, room = kept + 1, room - status.st_size
        except OSError as error:  # such as a path that is too long: the program's doing
            reason = error.strerror or "cannot be read"
        if reason:
            left.append(f"{name if _is_plain(name) else ascii(name)[:_SHOWN]} ({reason})")
    return left[:_LISTED]


def _refused(name: str, status: os.stat_result, room: int) -> str:
    """Say why a file is not brought back ("" when it is)."""
    if not stat.S_ISREG(status.st_mode):
        return "not a regular file"
    if status.st_nlink > 1:
        return "another name of a file"
    if not _is_plain(name):
        return "a name that cannot be kept"
    return f"{status.st_size} bytes" if status.st_size > room else ""


def _paths(folder: Path) -> list[Path]:
    """Return what is in a folder, folders themselves left out, in the order of the names."""
    found: list[Path] = []
    for place, folders, files in os.walk(folder):
        folders.sort()
        # Not Path.is_symlink: that raises an error for a path which is too long.
        links = [name for name in folders if os.path.islink(f"{place}/{name}")]  # noqa: PTH114
        found += [Path(place, name) for name in sorted([*files, *links])]
        if len(found) > _MOST_PATHS:
            break
    return found[:_MOST_PATHS]


def _is_plain(name: str) -> bool:
    """Whether the file could also be named by a caller, and told in any encoding."""
    try:
        return inside(name) == name
    except ValueError:
        return False


def _copy(source: Path, name: str, out: int) -> None:
    reading = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(reading, "rb") as origin:
        *folders, file = name.split("/")
        target = os.dup(out)
        for folder in folders:
            with contextlib.suppress(FileExistsError):
                os.mkdir(folder, 0o700, dir_fd=target)
            below = os.open(folder, os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=target)
            os.close(target)
            target = below
        writing = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=target)
        os.close(target)
        with os.fdopen(writing, "wb") as copy:
            shutil.copyfileobj(origin, copy)
