"""Reading YAML as people mean it: `2:1:7` and `0042` stay text, a key given twice is an error."""

import copy
import re
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from skillopt.config.values import FLOAT, INT, MOST_DIGITS
from skillopt.errors import ConfigError
from skillopt.files import read_given

LARGEST = 1024 * 1024
"""Bytes of one file: a larger one would take minutes to read."""
KEPT = 64 * 1024
"""Bytes of a file whose values are kept until it changes: a dashboard reads the same ones again and again."""
MOST_VALUES = 100_000
"""Values of one file, those that an alias repeats counted again: more than any settings or prices have."""


def read_yaml(path: Path) -> Any:
    """Read one document; raises ConfigError naming the file, and line and column where they can be told.

    The message holds nothing of the file's content, which may be a secret.
    """
    try:
        found = path.stat()
    except OSError as error:
        raise ConfigError(f"{path}: expected a readable file, found: {error.strerror}") from None
    if found.st_size > LARGEST:
        raise ConfigError(
            f"{path}: expected at most {LARGEST // 1024} kB of YAML, found {found.st_size // 1024:,} kB: is "
            "it a configuration or a price table?"
        )
    if found.st_size > KEPT:
        return _parsed(path)
    state = found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size
    kept = _kept(path, Path.cwd(), state)
    if isinstance(kept, ConfigError):
        raise ConfigError(str(kept))
    return copy.deepcopy(kept)


@lru_cache(maxsize=1024)
def _kept(path: Path, folder: Path, state: tuple[int, ...]) -> Any:
    """Return what a file holds, or what is wrong with it, as long as it is the same file, seen from there."""
    try:
        return _parsed(path)
    except ConfigError as error:
        return error


def _parsed(path: Path) -> Any:
    import yaml

    try:
        loader = _loader()(read_given(path).decode())
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: expected UTF-8 text, found byte {error.start} that is not") from None
    except OSError as error:
        raise ConfigError(f"{path}: expected a readable file, found: {error.strerror}") from None
    except yaml.YAMLError:
        raise ConfigError(f"{path}: expected YAML, found characters that are not allowed in it") from None
    try:
        return loader.get_single_data()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark or loader.get_mark()
        problem = _without_content(error.problem)
    except yaml.YAMLError:
        mark, problem = loader.get_mark(), "characters that are not allowed in it"
    except RecursionError:
        mark, problem = loader.get_mark(), "values nested too deeply"
    except (ValueError, TypeError, LookupError, ArithmeticError):  # the parser, on what it does not foresee
        mark, problem = loader.get_mark(), "a mistake"
    raise ConfigError(
        f"{path}, line {mark.line + 1}, column {mark.column + 1}: expected YAML, found: {problem}"
    )


def _without_content(problem: str | None) -> str:
    """Return what the parser says, without the words of the file that it quotes."""
    return re.sub(r"'(?!<)[^']{3,}'", "...", problem or "a mistake")


@cache
def _loader() -> Any:
    """Return a safe loader with the scalars of YAML 1.2: no base 60, no octal, no dates."""
    import yaml

    class Loader(yaml.SafeLoader):
        yaml_implicit_resolvers = {
            first: [
                (tag, pattern)
                for tag, pattern in resolvers
                if tag.rpartition(":")[2] not in ("int", "float", "timestamp")
            ]
            for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
        }

        def compose_node(self, parent: Any, index: Any) -> Any:
            event = self.peek_event()  # type: ignore[no-untyped-call]
            if getattr(event, "tag", None) is not None:
                raise _mistake("a tag (!); write the value alone, text in quotes", event)
            return super().compose_node(parent, index)

        def construct_document(self, node: Any) -> Any:
            _count(node, {})
            return super().construct_document(node)

        def construct_yaml_int(self, node: Any) -> int:
            if len(node.value) > MOST_DIGITS:
                raise _mistake(f"a whole number of more than {MOST_DIGITS} digits", node)
            return int(node.value)

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
            _refuse_repeated(node)
            found: dict[Any, Any] = super().construct_mapping(node, deep)
            return found

    Loader.add_constructor("tag:yaml.org,2002:int", Loader.construct_yaml_int)
    for tag, pattern in (("int", INT), ("float", FLOAT)):
        exact = re.compile(f"^(?:{pattern.pattern})$")
        Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", exact, list("-+.0123456789"))
    return Loader


def _mistake(problem: str, place: Any) -> Exception:
    import yaml

    return yaml.constructor.ConstructorError(None, None, problem, place.start_mark)


def _count(node: Any, counts: dict[Any, int]) -> int:
    """Return how many values a node stands for, aliases followed; refuses too many, and a node within itself.

    `counts` holds what is known, 0 for a node that is being counted.
    """
    if node in counts:
        if not counts[node]:
            raise _mistake("an alias (*) within what it stands for", node)
        return counts[node]
    counts[node] = 0
    total = 1
    if not isinstance(node.value, str):
        for part in node.value:
            total += sum(_count(one, counts) for one in (part if isinstance(part, tuple) else (part,)))
            if total > MOST_VALUES:
                raise _mistake(
                    f"more than {MOST_VALUES} values, aliases (*) counted as what they stand for", node
                )
    counts[node] = total
    return total


def _refuse_repeated(node: Any) -> None:
    seen: set[str] = set()
    for key, _ in node.value:
        if not isinstance(key.value, str):
            raise _mistake("a list or a group of keys in the place of a key", key)
        if key.value in seen and key.tag != "tag:yaml.org,2002:merge":
            raise _mistake(f"the key {key.value} for the second time", key)
        seen.add(key.value)
