"""The items of a run: three splits, read or drawn, and checked before anything is paid for.

Nothing is written: with `split_mode: ratio` the splits are drawn anew from the data file and the
split seed each time. Ids are data, never paths; a whole number as id becomes text.
"""

import hashlib
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from skillopt.config.resolved import Resolved
from skillopt.config.settings import Env, Evaluation
from skillopt.envs.base import Environment, WithFiles
from skillopt.envs.itemfiles import SPLIT_FOLDERS, id_text, only_data_file, read_entries
from skillopt.errors import ConfigError, DataError, changed
from skillopt.files import canonical, read_given
from skillopt.records import Batch, Item

SplitName = Literal["train", "val", "test"]
SPLITS: tuple[SplitName, ...] = ("train", "val", "test")
ALIASES: dict[str, SplitName] = {
    "train": "train",
    "val": "val",
    "valid_seen": "val",
    "selection": "val",
    "test": "test",
    "valid_unseen": "test",
}
PAPER = Path("data/paper")
"""Where `skillopt materialise` puts the data of published benchmarks, a folder each."""
_LISTED = 5


class Splits(msgspec.Struct, frozen=True, kw_only=True):
    """The items of each split, and where they come from."""

    train: list[Item]
    val: list[Item]
    test: list[Item]
    sources: dict[str, str]

    def named(self, name: str) -> list[Item]:
        """Return a split by its name or an old name of it; raises ConfigError for others."""
        found: list[Item] = getattr(self, canonical_split(name))
        return found

    def source(self, name: str) -> str:
        """Return where a split comes from."""
        return self.sources[canonical_split(name)]


class _Read(msgspec.Struct, frozen=True, kw_only=True):
    """Items as they lie in one file or folder."""

    path: Path
    items: list[Item]

    def file(self) -> Path:
        """Return the file to name in a message; the folder when its benchmark reads several."""
        return (only_data_file(self.path) if self.path.is_dir() else None) or self.path

    def place(self, index: int) -> str:
        return f"{self.file()}, entry {index + 1} (id {self.items[index].id!r})"


def canonical_split(name: str) -> SplitName:
    """Return `train`, `val` or `test` for a split's name or old name; raises ConfigError for others."""
    try:
        return ALIASES[name]
    except KeyError:
        raise ConfigError(f"expected a split out of {', '.join(ALIASES)}; found {name!r}") from None


def used(items: list[Item], limit: int) -> list[Item]:
    """Return the first `limit` items in file order; 0 means all."""
    return items[:limit] if limit else items


def used_items(splits: Splits, name: str, settings: Evaluation) -> list[Item]:
    """Return the items of a split that a run uses: all to train on, up to `evaluation.*_env_num` to score."""
    limits = {"train": 0, "val": settings.sel_env_num, "test": settings.test_env_num}
    return used(splits.named(name), limits[canonical_split(name)])


def content_digest(items: Sequence[Item]) -> str:
    """Return the SHA-256 over the canonical contents of items, in order; where they lie plays no part."""
    digest = hashlib.sha256()
    for item in items:
        content = {"id": item.id, "data": item.data, "task_type": item.task_type}
        if item.files:
            content["files"] = item.files
        digest.update(canonical(content).encode("utf-8") + b"\n")
    return digest.hexdigest()


def batches_digest(batches: Sequence[Batch], items: Sequence[Item]) -> str:
    """Return a hash of the batches of a step: ids, seeds and the contents of their items."""
    return hashlib.sha256((canonical(batches) + content_digest(items)).encode("utf-8")).hexdigest()


def with_file_digests(items: Sequence[Item], environment: Environment, settings: Any) -> list[Item]:
    """Return items with hashes of their files, so that a changed file counts like a changed item.

    Raises DataError for a file that cannot be read.
    """
    if not isinstance(environment, WithFiles):
        return list(items)
    known: dict[Path, str] = {}

    def digest(path: Path) -> str:
        if path not in known:
            try:
                known[path] = hashlib.sha256(read_given(path)).hexdigest()
            except OSError as error:
                raise DataError(
                    f"{path}: expected a file that an item uses, found: {error.strerror}"
                ) from error
        return known[path]

    def one(item: Item) -> Item:
        files = environment.files(item, settings)
        hashes = canonical({name: digest(path) for name, path in files.items()})
        return msgspec.structs.replace(item, files=hashlib.sha256(hashes.encode("utf-8")).hexdigest())

    return [one(item) for item in items]


def train_items(splits: Splits, ids: Sequence[str]) -> list[Item]:
    """Return train items by id; raises DataError when one is no longer there."""
    train = {item.id: item for item in splits.train}
    if missing := [id_ for id_ in ids if id_ not in train]:
        raise DataError(
            f"{splits.source('train')}: expected an item {missing[0]!r}, found none. {changed('data')}"
        )
    return [train[id_] for id_ in ids]


def read_items(path: Path) -> list[Item]:
    """Read one data file, or the one data file of a folder, as it is.

    The `id` is text or a whole number (which becomes text); `task_type` is the field of that name
    when it is text. Raises DataError naming the file and the entry.
    """
    return [_item(place, entry) for place, entry in read_entries(path)]


def _item(place: str, entry: dict[str, Any]) -> Item:
    id_ = id_text(place, entry.get("id"))
    task_type = entry.get("task_type")
    return Item(id=id_, data=entry, task_type=task_type if isinstance(task_type, str) else "")


def load_splits(resolved: Resolved, environment: Environment) -> Splits:
    """Read and check the three splits of a run.

    Raises DataError, before anything is paid for, when a split is missing or empty, an id occurs
    twice, or the benchmark cannot use an item.
    """
    settings = resolved.settings.env
    read = _read_folders if settings.split_mode == "split_dir" else _read_and_draw
    splits = read(settings, environment)
    return Splits(
        train=used(splits.train, settings.limit),
        val=used(splits.val, settings.limit),
        test=used(splits.test, settings.limit),
        sources=splits.sources,
    )


def require_data(settings: Env) -> None:
    """Raise DataError when there is nothing where the data should be; no item is read."""
    _require_folders(settings) if settings.split_mode == "split_dir" else _require_file(settings)


def _require_folders(settings: Env) -> Path:
    folder = Path(settings.split_dir)
    if not settings.split_dir or not folder.is_dir():
        raise DataError(
            f"env.split_dir: expected a folder with {', '.join(SPLITS)}, found none at "
            f"{settings.split_dir!r}.{_how_to_fetch(folder)}"
        )
    missing = [name for name in SPLITS if not (folder / name).is_dir()]
    if missing:
        raise DataError(
            f"{folder}: expected the folders {', '.join(SPLITS)}; {', '.join(missing)} missing."
            f"{_how_to_fetch(folder)}"
        )
    return folder


def _read_folders(settings: Env, environment: Environment) -> Splits:
    folder = _require_folders(settings)
    reads = {name: _read(folder / name, environment) for name in SPLITS}
    for name, found in reads.items():
        if not found.items:
            raise DataError(f"{found.file()}: expected items, found none; the {name} split must not be empty")
    _check_unique(list(reads.values()))
    return Splits(
        train=reads["train"].items,
        val=reads["val"].items,
        test=reads["test"].items,
        sources={name: str(found.path) for name, found in reads.items()},
    )


def _how_to_fetch(folder: Path) -> str:
    if folder.parent != PAPER:
        return ""
    return f" It is fetched, once and with a network, by: skillopt materialise {folder.name}"


def _require_file(settings: Env) -> Path:
    path = Path(settings.data_path)
    if not settings.data_path or not path.exists():
        raise DataError(
            f"env.data_path: expected a data file (env.split_mode is ratio), found none at "
            f"{settings.data_path!r}. For finished splits set env.split_mode: split_dir and env.split_dir."
        )
    if any((path / name).is_dir() for name in SPLIT_FOLDERS):
        raise DataError(
            f"{path}: expected a data file, found the folders of finished splits. "
            "Set env.split_mode: split_dir and env.split_dir to this folder."
        )
    return path


def _read_and_draw(settings: Env, environment: Environment) -> Splits:
    path = _require_file(settings)
    found = _read(path, environment)
    if not found.items:
        raise DataError(f"{path}: expected items, found none")
    _check_unique([found])
    counts = split_counts(len(found.items), parse_ratio(settings.split_ratio))
    if 0 in counts:
        sizes = ", ".join(f"{name} {count}" for name, count in zip(SPLITS, counts, strict=True))
        raise DataError(
            f"{path}: {len(found.items)} items at env.split_ratio {settings.split_ratio} give {sizes}; "
            "no split may be empty. Use more items or another ratio."
        )
    train, val, test = draw(found.items, counts, settings.split_seed)
    source = f"{path} (ratio {settings.split_ratio}, seed {settings.split_seed})"
    return Splits(train=train, val=val, test=test, sources=dict.fromkeys(SPLITS, source))


def parse_ratio(ratio: str) -> tuple[int, int, int]:
    """Read `train:val:test`, three positive whole numbers; raises ConfigError."""
    parts = [part.strip() for part in ratio.split(":")]
    if len(parts) != 3 or not all(part.isascii() and part.isdigit() and int(part) for part in parts):
        raise ConfigError(
            f"env.split_ratio: expected three positive whole numbers like 2:1:7, found {ratio!r}"
        )
    return int(parts[0]), int(parts[1]), int(parts[2])


def split_counts(total: int, weights: tuple[int, int, int]) -> tuple[int, int, int]:
    """Share `total` items by largest remainder; equal remainders go to the larger weight first.

    Remainders are floating-point numbers: that decides near-ties (2 items at 2:1:7 are 1, 0, 1),
    and published splits were made so.
    """
    shares = [total * weight / sum(weights) for weight in weights]
    counts = [int(share) for share in shares]
    order = sorted(range(3), key=lambda i: (shares[i] - counts[i], weights[i]), reverse=True)
    for i in order[: total - sum(counts)]:
        counts[i] += 1
    return counts[0], counts[1], counts[2]


def draw(items: list[Item], counts: tuple[int, int, int], seed: int) -> tuple[list[Item], ...]:
    """Shuffle a copy by the seed and cut it: train first, then val, then test."""
    order = list(items)
    random.Random(seed).shuffle(order)
    first, second = counts[0], counts[0] + counts[1]
    return order[:first], order[first:second], order[second : second + counts[2]]


def _read(path: Path, environment: Environment) -> _Read:
    found = _Read(path=path, items=environment.read(path))
    problems = [(i, problem) for i, item in enumerate(found.items) if (problem := environment.check(item))]
    if problems:
        told = [f"{found.place(index)}: {problem}" for index, problem in problems[:_LISTED]]
        more = [f"{len(problems) - _LISTED} more of this file"] if len(problems) > _LISTED else []
        raise DataError("\n".join([*told, *more]))
    return found


def require_usable(path: Path, environment: Environment) -> None:
    """Raise DataError when the benchmark cannot use an item of a data file or split folder."""
    _read(path, environment)


def _check_unique(reads: list[_Read]) -> None:
    counts = Counter(item.id for found in reads for item in found.items)
    twice = [id_ for id_, count in counts.items() if count > 1]
    if not twice:
        return
    more = f" and {len(twice) - _LISTED} more" if len(twice) > _LISTED else ""
    where = "; ".join(f"{id_!r} in {_places(reads, id_)}" for id_ in twice[:_LISTED])
    raise DataError(
        f"every item needs an id of its own, in one split only; found more than once: {where}{more}. "
        "Remove the repeated items."
    )


def _places(reads: list[_Read], id_: str) -> str:
    found = [
        f"{read.file()} (entry {i + 1})"
        for read in reads
        for i, item in enumerate(read.items)
        if item.id == id_
    ]
    return " and ".join(found[:2])
