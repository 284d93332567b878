"""Reading data files of any benchmark: JSON, JSONL and CSV, untrusted, refused with file and place."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeGuard

import msgspec

from skillopt.errors import DataError
from skillopt.files import read_given

_SHOWN_KEY = 80
"""Characters of a key in a message."""

SPLIT_FOLDERS = frozenset({"train", "val", "test"})


def read_entries(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """Read the entries of one data file, or of the one data file of a folder, each with its place.

    A `.jsonl` file has one object per line. A `.json` file holds an array of objects, an object
    with such an array under `data`, or an object whose values are the entries (the key is then
    the `id` of an entry that has none); failing that, it is read as JSONL. A `.csv` file has the
    names of the fields in its first row; every value is text, and empty ones are left out.
    A key or a column that an object or a table has twice is refused: one value would be lost.

    Raises DataError naming the file and the entry; for broken JSON, line and column.
    """
    file = _data_file(path) if path.is_dir() else path
    read = {".jsonl": _lines, ".csv": _table}.get(file.suffix.lower(), _whole)
    entries = read(file, _text(file))
    for place, entry in entries:
        if not isinstance(entry, dict):
            raise DataError(f"{place}: expected an object, found {_kind(entry)}.{_hint(entry)}")
    return entries


def id_text(place: str, given: Any, wanted: str = "an `id`") -> str:
    """Return the id of an entry, a whole number as text; raises DataError naming place and `wanted`."""
    if isinstance(given, int) and not isinstance(given, bool):
        given = str(given)
    if not is_text(given):
        raise DataError(f"{place}: expected {wanted} (text or a whole number), found {given!r}.")
    return given


def is_text(value: object) -> TypeGuard[str]:
    """Whether a value is a text that is not blank."""
    return isinstance(value, str) and bool(value.strip())


def only_data_file(folder: Path) -> Path | None:
    """Return the one data file of a folder: `items.*` among others; None where there is not one."""
    files = _data_files(folder)
    preferred = [name for name in files if name in {"items.json", "items.jsonl", "items.csv"}]
    return next((folder / found[0] for found in (preferred, files) if len(found) == 1), None)


def _data_files(folder: Path) -> list[str]:
    names = sorted(entry.name for entry in folder.iterdir())
    return [name for name in names if name.lower().endswith((".json", ".jsonl", ".csv"))]


def _data_file(folder: Path) -> Path:
    only = only_data_file(folder)
    if only:
        return only
    files = _data_files(folder)
    if all((folder / name).exists() for name in SPLIT_FOLDERS):
        raise DataError(
            f"{folder}: expected a data file, found the folders of finished splits. "
            "Set env.split_mode: split_dir and env.split_dir to this folder."
        )
    found = ", ".join(files) if files else "none"
    raise DataError(
        f"{folder}: expected exactly one .json, .jsonl or .csv file, found {found}. "
        "Name the one to read items.json."
    )


def _text(file: Path) -> str:
    try:
        return read_given(file).decode("utf-8-sig")
    except FileNotFoundError as error:
        raise DataError(f"{file}: expected a data file, found nothing there.") from error
    except OSError as error:
        raise DataError(f"{file}: expected a readable data file, found: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{file}: expected UTF-8 text, found a byte at {error.start} that is not.") from error


def _whole(file: Path, text: str) -> list[tuple[str, Any]]:
    try:
        content = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        first = next((line for line in text.splitlines() if line.strip()), "")
        if isinstance(_try(first), dict):
            return _lines(file, text)
        raise DataError(_fault(file, text, 1, error)) from error
    _refuse_repeated(str(file), text)
    if isinstance(content, dict) and isinstance(content.get("data"), list):
        content = content["data"]
    if isinstance(content, dict) and content and all(isinstance(value, dict) for value in content.values()):
        return [(f"{file}, entry {key!r}", {"id": key, **value}) for key, value in content.items()]
    if not isinstance(content, list):
        raise DataError(
            f"{file}: expected an array of items, an object with a `data` array, or an object of items; "
            f"found {_kind(content)}."
        )
    return [(f"{file}, entry {number}", entry) for number, entry in enumerate(content, 1)]


def _lines(file: Path, text: str) -> list[tuple[str, Any]]:
    entries = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                entries.append((f"{file}, line {number}", msgspec.json.decode(line)))
            except (msgspec.DecodeError, RecursionError) as error:
                raise DataError(_fault(file, line, number, error)) from error
            _refuse_repeated(f"{file}, line {number}", line)
    return entries


class _Repeated(msgspec.Struct, frozen=True):
    """Stands for an object that has a key twice."""

    key: str


def _refuse_repeated(place: str, text: str) -> None:
    """Refuse valid JSON that holds an object with a key twice, of which a decoder keeps the last value."""
    import json

    found: list[_Repeated] = []

    def read(pairs: list[tuple[str, Any]]) -> Any:
        values = dict(pairs)
        if len(values) == len(pairs):
            return values
        found.append(_Repeated(_commonest(key for key, _ in pairs)))
        return found[-1]

    try:
        content = json.loads(text, object_pairs_hook=read, parse_int=len, parse_float=len)
    except RecursionError as error:
        raise DataError(f"{place}: JSON that cannot be used: it is nested too deeply.") from error
    if found:
        where = _entry_of(content, found[0])
        raise DataError(
            f"{place}{where}: expected each key of an object once, found {_quoted(found[0].key)} "
            "more than once. Remove or rename all but one."
        )


def _entry_of(content: Any, repeated: _Repeated) -> str:
    """Name the entry of a whole file that holds an object, "" when it is none below an entry."""
    if isinstance(content, dict) and isinstance(content.get("data"), list):
        content = content["data"]
    if isinstance(content, list):
        return next((f", entry {n}" for n, value in enumerate(content, 1) if _holds(value, repeated)), "")
    if isinstance(content, dict):
        found = (key for key, value in content.items() if _holds(value, repeated))
        return next((f", entry {_quoted(key)}" for key in found), "")
    return ""


def _holds(value: Any, wanted: _Repeated) -> bool:
    """Whether a value read from JSON is, or has somewhere in it, the very object."""
    if isinstance(value, dict):
        value = list(value.values())
    return value is wanted or (isinstance(value, list) and any(_holds(part, wanted) for part in value))


def _commonest(names: Iterable[str]) -> str:
    return Counter(names).most_common(1)[0][0]


def _quoted(key: str) -> str:
    return repr(key if len(key) <= _SHOWN_KEY else f"{key[:_SHOWN_KEY]}...")


def _table(file: Path, text: str) -> list[tuple[str, Any]]:
    import csv
    import io

    csv.field_size_limit(max(csv.field_size_limit(), len(text)))  # all of it is in memory already
    reader = csv.DictReader(io.StringIO(text, newline=""), restkey="", strict=True)
    entries = []
    try:
        names = list(reader.fieldnames or ())
        if len(set(names)) < len(names):
            twice = _quoted(_commonest(names))
            raise DataError(f"{file}, line 1: expected each column once, found {twice} more than once.")
        for entry in reader:
            place = f"{file}, line {reader.line_num}"
            if "" in entry:
                raise DataError(f"{place}: expected {len(reader.fieldnames or ())} values, found more.")
            entries.append((place, {name: value for name, value in entry.items() if value}))
    except csv.Error as error:
        raise DataError(f"{file}, entry {len(entries) + 1}: CSV that cannot be used: {error}.") from error
    return entries


def _fault(file: Path, text: str, first_line: int, error: Exception) -> str:
    """Say where JSON is broken, by line and column where that can be told."""
    import json

    try:
        json.loads(text, parse_int=len, parse_float=len)  # no number is read: it may have 5,000 digits
    except json.JSONDecodeError as found:
        line = first_line + found.lineno - 1
        return f"{file}, line {line}, column {found.colno}: broken JSON: {found.msg}."
    except RecursionError:
        pass
    return f"{file}, line {first_line}: JSON that cannot be used: {error}."


def _try(line: str) -> Any:
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return None


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")


def _hint(entry: Any) -> str:
    if not isinstance(entry, str):
        return ""
    return " A list of ids is a manifest: it has to be materialised, that is, replaced by the whole items."
