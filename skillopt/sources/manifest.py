"""Split manifests in the original project's format: which items of a public data set make each split."""

import hashlib
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

from skillopt.data import SPLITS, canonical_split
from skillopt.envs.itemfiles import id_text, read_entries
from skillopt.errors import DataError

RECORD = "split_manifest.json"
_LISTED = 5


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """One item that a manifest names; `entry` is all that it says about it."""

    id: str
    split: str
    entry: dict[str, Any]


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """A manifest as it was read: the items of all splits in order, and a hash of its files."""

    folder: Path
    sha256: str
    items: tuple[Wanted, ...]

    def of(self, split: str) -> list[Wanted]:
        """Return the items of a split in order."""
        return [wanted for wanted in self.items if wanted.split == split]

    @property
    def counts(self) -> dict[str, int]:
        """Return how many items each split has."""
        return {split: len(self.of(split)) for split in SPLITS}


def read_manifest(folder: Path, benchmark: str) -> Manifest:
    """Read `split_manifest.json` (where there is one) and the `items.json` of each split.

    Raises DataError when a split is missing, an id occurs twice, a count is not the declared one, or
    the manifest is of another benchmark.
    """
    missing = [split for split in SPLITS if not (folder / split).is_dir()]
    if missing:
        raise DataError(
            f"{folder}: expected a manifest with {', '.join(SPLITS)}; {', '.join(missing)} missing"
        )
    items = tuple(
        Wanted(id=id_text(place, entry.get("id")), split=split, entry=entry)
        for split in SPLITS
        for place, entry in read_entries(folder / split)
    )
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in sorted(folder.glob("*/*.json*"))))
    found = Manifest(folder=folder, sha256=digest.hexdigest(), items=items)
    _require_unique(found)
    if (folder / RECORD).is_file():
        _require_declared(found, folder / RECORD, benchmark)
    return found


def listed(ids: list[str]) -> str:
    """Return how many ids, and the first few of them."""
    more = ", ..." if len(ids) > _LISTED else ""
    return f"{len(ids)} ({', '.join(ids[:_LISTED])}{more})"


def _require_unique(manifest: Manifest) -> None:
    counts = Counter(wanted.id for wanted in manifest.items)
    twice = [id_ for id_, count in counts.items() if count > 1]
    if twice:
        splits = {id_: [one.split for one in manifest.items if one.id == id_] for id_ in twice[:_LISTED]}
        where = "; ".join(f"{id_!r} in {' and '.join(found)}" for id_, found in splits.items())
        raise DataError(
            f"{manifest.folder}: expected each id once, found {len(twice)} more than once: {where}"
        )


class _Declared(msgspec.Struct, frozen=True, kw_only=True):
    """What is checked of a manifest's own description; it has more keys, and not all have these."""

    benchmark: str = ""
    counts: dict[str, Any] = {}


def _require_declared(manifest: Manifest, path: Path, benchmark: str) -> None:
    try:
        declared = msgspec.json.decode(path.read_bytes(), type=_Declared)
    except msgspec.DecodeError as error:
        raise DataError(f"{path}: expected the description of a manifest, found: {error}") from error
    if declared.benchmark and declared.benchmark.lower() != benchmark:
        raise DataError(f"{path}: expected a manifest of {benchmark}, found one of {declared.benchmark}")
    for name, count in declared.counts.items():
        if name != "total" and count != manifest.counts[canonical_split(name)]:
            found = manifest.counts[canonical_split(name)]
            raise DataError(f"{path}: {name}: {count} items are declared, {found} are listed")
