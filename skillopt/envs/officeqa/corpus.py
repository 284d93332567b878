"""The documents: text files below some folders, found once, known by name, read when asked for.

A name that a model gives is looked up and never made into a path, so no call can leave the corpus.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path, PurePosixPath

from skillopt.errors import DataError

SUFFIXES = frozenset({".txt", ".md"})
_KEPT = 64


class Corpus:
    """Documents by their name, which is their path below the folder that they lie in."""

    def __init__(self, documents: Mapping[str, Path]) -> None:
        self._documents = dict(sorted(documents.items()))
        self.lines = lru_cache(maxsize=_KEPT)(self._lines)

    @property
    def names(self) -> tuple[str, ...]:
        """Return all names, sorted."""
        return tuple(self._documents)

    def file(self, name: str) -> Path:
        """Return where a document lies."""
        return self._documents[name]

    def named(self, wanted: Iterable[str]) -> tuple[str, ...]:
        """Return the documents with these file names or names; raises DataError for one that is missing."""
        found: dict[str, None] = {}
        for entry in wanted:
            hits = [name for name in self._documents if _answers_to(name, entry)]
            if not hits:
                raise DataError(
                    f"expected the document {entry!r} in the folders of env.data_dirs, found none of that "
                    f"name among {len(self._documents)}. Put it there, or set env.document_scope: corpus."
                )
            found |= dict.fromkeys(hits)
        return tuple(sorted(found))

    def _lines(self, name: str) -> tuple[str, ...]:
        """Return the lines of a document; bytes that are no UTF-8 are shown as such, not refused."""
        text = self._documents[name].read_bytes().decode("utf-8", errors="replace")
        return tuple(text.splitlines())


def _answers_to(name: str, wanted: str) -> bool:
    return wanted in (name, PurePosixPath(name).name)


@cache
def open_corpus(folders: tuple[str, ...]) -> Corpus:
    """Find the documents below these folders; a subfolder `transformed` stands for its parent.

    Raises DataError for a folder that is missing or empty, and for a name that occurs twice.
    """
    documents: dict[str, Path] = {}
    for folder in dict.fromkeys(_root(Path(entry)) for entry in folders):
        found = _documents(folder)
        if not found:
            kinds = " or ".join(sorted(SUFFIXES))
            raise DataError(f"env.data_dirs: expected documents ({kinds}) below {folder}, found none")
        twice = sorted(found.keys() & documents.keys())
        if twice:
            raise DataError(
                f"env.data_dirs: expected each document once, found {twice[0]!r} below {folder} and at "
                f"{documents[twice[0]]}. Rename one, or name one folder only."
            )
        documents |= found
    return Corpus(documents)


def missing_folders(folders: Sequence[str]) -> list[str]:
    """Return the folders that are not there."""
    return [folder for folder in folders if not Path(folder).is_dir()]


def _root(folder: Path) -> Path:
    inner = folder / "transformed"
    return (inner if inner.is_dir() else folder).resolve()


def _documents(folder: Path) -> dict[str, Path]:
    """List the text files below a folder; a link that leads out of it is left out."""
    found = {}
    for path in folder.rglob("*"):
        inside = path.resolve().is_relative_to(folder)
        if inside and path.suffix.lower() in SUFFIXES and path.is_file():
            found[path.relative_to(folder).as_posix()] = path
    return found
