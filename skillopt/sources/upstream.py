"""Reading a public data set: from the Hugging Face hub, or from its files in a folder."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from skillopt.errors import DataError

if TYPE_CHECKING:
    from datasets import Dataset

_FORMATS = {".parquet": "parquet", ".jsonl": "json", ".json": "json", ".csv": "csv"}


class Upstream(msgspec.Struct, frozen=True, kw_only=True):
    """A data set at a revision. With `local`, its files are taken from that folder and nothing is fetched.

    Downloads are kept, and continued after a stop, by the cache of `datasets` (HF_HOME).
    """

    benchmark: str
    repo: str
    revision: str
    scratch: Path
    local: Path | None = None

    @property
    def place(self) -> str:
        """Return where the data come from, for messages and records."""
        return str(self.local) if self.local else f"{self.repo} (revision {self.revision})"

    def rows(
        self, key: str, wanted: Collection[str], *, config: str = "", split: str = ""
    ) -> Iterator[dict[str, Any]]:
        """Yield the rows whose `key` is wanted, of one split or of all; images come as bytes.

        Raises DataError when the data set cannot be read or has no such column.
        """
        with self._reached():
            parts = self._tables(config, split)
            for part in parts:
                if key not in part.column_names:
                    raise DataError(
                        f"{self.place}: expected a column {key!r}, found {', '.join(part.column_names)}"
                    )
                places = [place for place, value in enumerate(part[key]) if str(value) in wanted]
                for place in places:
                    yield dict(part[place])

    def file(self, path: str) -> Path:
        """Return a file of the data set; raises DataError when it cannot be had."""
        if self.local:
            found = [place for place in (self.local / path, self.local / Path(path).name) if place.is_file()]
            if not found:
                raise DataError(f"{self.local}: expected the file {path} of {self.repo}, found none")
            return found[0]
        with self._reached():
            from datasets import DownloadManager

            return Path(DownloadManager().download(f"hf://datasets/{self.repo}@{self.revision}/{path}"))

    def _tables(self, config: str, split: str) -> "list[Dataset]":
        import datasets

        if self.local:
            loaded = [self._local_table(suffix) for suffix in _FORMATS if self._files(suffix)]
            if not loaded:
                raise DataError(
                    f"{self.local}: expected files of {self.repo} ({', '.join(_FORMATS)}), found none"
                )
        else:
            given = datasets.load_dataset(
                self.repo, config or None, split=split or None, revision=self.revision
            )
            loaded = [given] if split else list(given.values())
        return [_undecoded(table) for table in loaded]

    def _files(self, suffix: str) -> list[str]:
        assert self.local is not None
        return sorted(str(path) for path in self.local.rglob(f"*{suffix}"))

    def _local_table(self, suffix: str) -> "Dataset":
        import datasets

        cache = str(self.scratch / "cache")
        return datasets.load_dataset(
            _FORMATS[suffix], data_files=self._files(suffix), split="train", cache_dir=cache
        )

    @contextmanager
    def _reached(self) -> Iterator[None]:
        try:
            yield
        except DataError:
            raise
        except Exception as error:  # of a library and a network: any kind
            raise DataError(
                f"{self.benchmark}: its data cannot be read from {self.place}: "
                f"{type(error).__name__}: {error}\n"
                f"Missing: the items that the split manifest names. With a network, run\n"
                f"  skillopt materialise {self.benchmark}\n"
                "(a gated data set also needs that you accept its terms, and HF_TOKEN); from files that you "
                f"have, run\n  skillopt materialise {self.benchmark} --source FOLDER"
            ) from error


def _undecoded(table: "Dataset") -> "Dataset":
    """Leave images as they are: bytes to be written to files."""
    import datasets

    for name, feature in table.features.items():
        if isinstance(feature, datasets.Image):
            table = table.cast_column(name, datasets.Image(decode=False))
    return table
