"""Paths that a model names: below the workspace, or refused."""

from pathlib import PurePosixPath

_LONGEST = 200


def inside(path: str) -> str:
    """Return a path below the workspace in its plain form; raises ValueError for any other."""
    pure = PurePosixPath(path)
    fine = (
        0 < len(path) <= _LONGEST
        and path.isprintable()
        and not pure.is_absolute()
        and ".." not in pure.parts
        and "\\" not in path
        and pure.parts
    )
    if not fine:
        raise ValueError(
            f"expected a path below the working folder, such as solution.py; found {path[:_LONGEST]!r}"
        )
    return pure.as_posix()
