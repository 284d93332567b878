"""Reading and writing the files of a run: UTF-8, atomic, deterministic bytes."""

import contextlib
import errno
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from skillopt.errors import CorruptFile, SkillOptError

T = TypeVar("T")


class WriteError(SkillOptError):
    """A file of a run cannot be written; the old one, if any, is as it was."""


def write_bytes(path: Path, content: bytes) -> None:
    """Write `content` so that a reader sees the old file or the new one, never a part.

    The temporary file lies in the target's folder and is removed when writing fails
    (a full disk leaves the old file as it was). Its name is always the same, since each file has one
    writer: what a killed process left is overwritten. It is on the disk before it gets its name, so
    that a power cut leaves no empty file that looks finished. Raises WriteError.
    """
    partial = path.with_name(f".{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_through(partial, content)
        partial.replace(path)
    except OSError as error:
        raise WriteError(
            f"{path}: cannot be written: {error.strerror}. Make it possible (room on the disk, permissions), "
            "then run the same command again; paid replies are kept in the call store."
        ) from error
    finally:
        with contextlib.suppress(OSError):
            partial.unlink()


def write_through(path: Path, content: bytes) -> None:
    """Write a file that is on the disk when this returns; raises OSError."""
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def make_folder(path: Path) -> None:
    """Make a folder where there is none; raises WriteError."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WriteError(
            f"{path}: the folder cannot be made: {error.strerror}. Make it possible (room on the disk, "
            "permissions, no file in its place), then run the same command again."
        ) from error


def write_text(path: Path, text: str) -> None:
    """Write text as UTF-8 with its line ends as they are."""
    write_bytes(path, text.encode("utf-8"))


def canonical(value: Any) -> str:
    """Return `value` as one line of JSON with sorted keys: equal values give equal text."""
    return msgspec.json.encode(value, order="sorted").decode("utf-8")


def as_json(value: Any) -> bytes:
    """Return one record as indented JSON, fields in the order of their definition."""
    return msgspec.json.format(msgspec.json.encode(value, order="deterministic"), indent=2) + b"\n"


def write_json(path: Path, value: Any) -> None:
    """Write one record as indented JSON."""
    write_bytes(path, as_json(value))


def write_jsonl(path: Path, rows: Iterable[Any]) -> None:
    """Write one JSON object per line."""
    write_bytes(path, b"".join(msgspec.json.encode(row, order="deterministic") + b"\n" for row in rows))


def read_given(path: Path) -> bytes:
    """Read a file that somebody named; raises OSError for a pipe or a device, which may never end."""
    if kind := _no_file(path):
        raise OSError(errno.EINVAL, f"{kind}, no file", str(path))
    return path.read_bytes()


def read_bytes(path: Path) -> bytes:
    """Read a file of a run; raises CorruptFile when something else lies in its place."""
    if kind := _no_file(path):
        raise CorruptFile(
            f"{path}: expected a file, found {kind}. Delete it and run the same command again; paid replies "
            "are kept in the call store."
        )
    return path.read_bytes()


def _no_file(path: Path) -> str:
    """Say what lies there when it is no file, "" for a file; raises FileNotFoundError for nothing."""
    mode = path.stat().st_mode
    if stat.S_ISREG(mode):
        return ""
    return "a folder" if stat.S_ISDIR(mode) else "a pipe or device"


def read_text(path: Path) -> str:
    """Read UTF-8 text without changing its line ends.

    Raises CorruptFile when it is no file, or its bytes are not UTF-8.
    """
    try:
        return read_bytes(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise CorruptFile(f"{path}: expected UTF-8 text, found byte {error.start} that is not") from error


def read_json(path: Path, kind: type[T]) -> T:
    """Read one record of type `kind`; raises CorruptFile when it is no such record."""
    return _decode(path, read_bytes(path), kind, "")


def read_jsonl(path: Path, kind: type[T]) -> list[T]:
    """Read one record of type `kind` per line; raises CorruptFile naming the bad line."""
    lines = read_bytes(path).split(b"\n")
    if lines.pop() != b"":
        raise CorruptFile(f"{path}: the last line is cut off. Delete the file and run again.")
    return [_decode(path, line, kind, f", line {number}") for number, line in enumerate(lines, 1)]


def _decode(path: Path, content: bytes, kind: type[T], where: str) -> T:
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        name = getattr(kind, "__name__", str(kind))
        raise CorruptFile(
            f"{path}{where}: expected a {name} record, found: {error}. "
            "Delete the file and run the same command again; paid replies are kept in the call store."
        ) from error
