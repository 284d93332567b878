"""The folders and the environment of one call: made fresh, and removed afterwards."""

import contextlib
import logging
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

log = logging.getLogger(__name__)


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Four folders below `root`: the agent works in `work`; `home` and `tmp` are its HOME and TMPDIR.

    `private` holds what goes to the agent's program and is not the agent's to read (settings,
    system prompt).
    """

    root: Path
    work: Path
    home: Path
    tmp: Path
    private: Path


@contextlib.contextmanager
def make_place() -> Iterator[Place]:
    """Make the folders of one call, readable for this user alone, and remove them at the end."""
    root = Path(tempfile.mkdtemp(prefix="skillopt-")).resolve()
    try:
        folders = {name: root / name for name in ("work", "home", "tmp", "private")}
        for folder in folders.values():
            folder.mkdir(mode=0o700)
        yield Place(root=root, **folders)
    finally:
        remove(root)


def environment(
    place: Place, env: Mapping[str, str], program: str, extra: Mapping[str, str]
) -> dict[str, str]:
    """Return the whole environment of an agent: PATH, HOME, TMPDIR, LANG, and `extra`.

    Nothing else of `env` is handed over. The program's own folder ends PATH, where the
    interpreter of a script may lie that is not on PATH.
    """
    path = env.get("PATH") or os.defpath
    own = str(Path(program).parent)
    if own not in path.split(os.pathsep):
        path = f"{path}{os.pathsep}{own}"
    return {
        "PATH": path,
        "HOME": str(place.home),
        "TMPDIR": str(place.tmp),
        "LANG": env.get("LANG") or "C.UTF-8",
        **extra,
    }


def remove(root: Path) -> None:
    """Remove a folder with all in it, whatever was made of it; a failure is only logged.

    What stands in its place instead, such as a link, is removed and not followed.
    """
    with contextlib.suppress(OSError, RecursionError):
        shutil.rmtree(root)
        return
    if not os.path.lexists(root):
        return
    try:
        _take_apart(root)
    except OSError as error:
        log.warning("cannot remove the temporary folder %s (%s): remove it by hand", root, error)


def _take_apart(root: Path) -> None:
    """Remove what `rmtree` cannot: locked folders, and folders in folders deeper than a path can name.

    Every folder is moved to the top, is made writable, and gives its own folders away in the same manner.
    """
    top = Path(tempfile.mkdtemp(prefix=f"{root.name}-", dir=root.parent))
    root.rename(top / "0")
    count, waiting = 0, [top]
    while waiting:
        folder = waiting.pop()
        with os.scandir(folder) as entries:
            found = list(entries)
        for entry in found:
            if not entry.is_dir(follow_symlinks=False):
                Path(entry.path).unlink()
                continue
            Path(entry.path).chmod(stat.S_IRWXU)  # a folder that moves is written to
            count += 1
            waiting.append(Path(entry.path).rename(top / str(count)))
        if folder != top:
            folder.rmdir()
    top.rmdir()
