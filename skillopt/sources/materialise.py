"""Putting a manifest and its source together: the splits of a benchmark as files that a run reads."""

import hashlib
import logging
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

from skillopt.data import SPLITS, require_usable
from skillopt.envs.registry import environment, environment_names
from skillopt.errors import DataError
from skillopt.files import read_json, write_json
from skillopt.progress import Progress
from skillopt.sources.benchmarks import Source
from skillopt.sources.manifest import RECORD, Manifest, listed
from skillopt.sources.upstream import Upstream

log = logging.getLogger(__name__)


class Materialised(msgspec.Struct, frozen=True, kw_only=True):
    """`split_manifest.json` of materialised data: where it comes from, and a hash of every file."""

    benchmark: str
    source_repo: str
    source_revision: str
    source: str
    manifest: str
    manifest_sha256: str
    counts: dict[str, int]
    item_fields: tuple[str, ...]
    files: dict[str, str]


def materialise(
    benchmark: str, source: Source, manifest: Manifest, local: Path | None, out: Path
) -> Materialised:
    """Write the splits below `out`, all of them or nothing; return the record of what is there.

    What is there already, made from the same manifest and unchanged, is kept. Raises DataError when an
    id is not found exactly once, or an item cannot be used.
    """
    present = _present(out, manifest)
    if present is not None:
        log.info("%s: already there, %s", out, _sizes(present.counts))
        return present
    scratch = out.with_name(f".{out.name}.partial")
    shutil.rmtree(scratch, ignore_errors=True)  # what a killed process left
    try:
        folder = scratch / "data"
        upstream = Upstream(
            benchmark=benchmark,
            repo=source.repo,
            revision=source.revision,
            scratch=scratch,
            local=local,
        )
        items = _collect(source, manifest, upstream, folder)
        for split in SPLITS:
            rows = [items[wanted.id] for wanted in manifest.of(split)]
            write_json(folder / split / "items.json", rows)
        _require_usable(benchmark, source, items, folder)
        record = Materialised(
            benchmark=benchmark,
            source_repo=source.repo,
            source_revision=source.revision,
            source=upstream.place,
            manifest=str(manifest.folder),
            manifest_sha256=manifest.sha256,
            counts=manifest.counts,
            item_fields=source.fields,
            files=_hashes(folder),
        )
        _publish(folder, out, record)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    log.info("%s: written, %s", out, _sizes(record.counts))
    return record


def _present(out: Path, manifest: Manifest) -> Materialised | None:
    if not (out / RECORD).is_file():
        return None
    record = read_json(out / RECORD, Materialised)
    whole = all((out / name).is_file() and _hash(out / name) == known for name, known in record.files.items())
    return record if whole and record.manifest_sha256 == manifest.sha256 else None


def _collect(source: Source, manifest: Manifest, upstream: Upstream, folder: Path) -> dict[str, Any]:
    wanted = {one.id: one for one in manifest.items}
    progress = Progress(f"{upstream.benchmark}: items of {upstream.place}", len(wanted))
    found: dict[str, Any] = {}
    times: Counter[str] = Counter()
    for id_, item in source.fetch(upstream, wanted, folder):
        if id_ in wanted:
            times[id_] += 1
            found.setdefault(id_, item)
            progress.step("found")
    progress.end()
    problems = {
        "not found": [id_ for id_ in wanted if not times[id_]],
        "found more than once": [id_ for id_, count in times.items() if count > 1],
    }
    said = [f"{listed(ids)} {what}" for what, ids in problems.items() if ids]
    if said:
        raise DataError(
            f"{upstream.place}: expected each of the {len(wanted)} items of {manifest.folder} once; "
            f"{'; '.join(said)}. The manifest is of other data, or the data are not whole."
        )
    return found


def _require_usable(benchmark: str, source: Source, items: dict[str, Any], folder: Path) -> None:
    for id_, item in items.items():
        missing = [name for name in source.fields if item.get(name) in (None, "", [])]
        if missing:
            raise DataError(f"item {id_}: expected {', '.join(source.fields)}; {', '.join(missing)} missing")
    if benchmark in environment_names():
        for split in SPLITS:
            require_usable(folder / split, environment(benchmark))


def _hashes(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): _hash(path) for path in files}


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _publish(folder: Path, out: Path, record: Materialised) -> None:
    """Move the files to their place. The record comes last: without it nothing counts as being there."""
    (out / RECORD).unlink(missing_ok=True)
    for name in record.files:
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).replace(out / name)
    write_json(out / RECORD, record)


def _sizes(counts: dict[str, int]) -> str:
    return ", ".join(f"{split} {count}" for split, count in counts.items())
