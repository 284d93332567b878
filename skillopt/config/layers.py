"""The layers of a configuration: files with `_base_`, the environment, the command line.

A layer maps dotted keys to values. Later layers win, key by key.
"""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from skillopt.config import legacy
from skillopt.config.keys import common_keys, sections
from skillopt.config.yamlfile import read_yaml
from skillopt.errors import ConfigError

BASE = "_base_"
COMMAND_LINE = "command line"
_SHOWN_PATH = 300
"""Characters of a path that names no file, in a message."""


class Layer(msgspec.Struct, frozen=True, kw_only=True):
    """Values by dotted key, each with the text that says where it came from."""

    values: dict[str, Any]
    origins: dict[str, str]


def layer(values: Mapping[str, Any], origin: str) -> Layer:
    """Return a layer all of whose values have one origin."""
    return Layer(values=dict(values), origins=dict.fromkeys(values, origin))


def file_layers(run_file: Path, problems: list[str]) -> list[Layer]:
    """Return the layers of `config.yaml` beside the run file, of the run file's bases, and of itself."""
    chain = _chain(run_file, ())
    defaults = run_file.with_name("config.yaml")
    seen = {path.resolve() for path, _ in chain}
    if defaults.is_file() and defaults.resolve() not in seen:
        chain = [*_chain(defaults, ()), *chain]
    return [layer(_flatten(values, shown(path), problems), shown(path)) for path, values in chain]


def shown(path: Path) -> str:
    """Return a path as messages and records show it: relative when it lies below the working directory."""
    full = path.resolve()
    return full.relative_to(Path.cwd()).as_posix() if full.is_relative_to(Path.cwd()) else str(path)


def override_layer(overrides: Sequence[str], problems: list[str]) -> Layer:
    """Return the command line's `section.key=value` as a layer of texts."""
    values = {}
    for text in overrides:
        key, equals, value = text.partition("=")
        if not equals:
            problems.append(f"{COMMAND_LINE}: expected section.key=value, found an argument without '='")
        elif key.strip() in values:
            problems.append(f"{COMMAND_LINE}: {key.strip()} is given twice")
        else:
            values[key.strip()] = value.strip()
    return layer(values, COMMAND_LINE)


def nearest(word: str, choices: Iterable[str]) -> str:
    """Return `; did you mean ...?` for the choice that is most like the word, "" when none is."""
    close = difflib.get_close_matches(word, list(choices), 1, 0.7)
    return f"; did you mean {close[0]}?" if close else ""


def _chain(path: Path, children: tuple[Path, ...]) -> list[tuple[Path, dict[str, Any]]]:
    """Return a file with its bases, the deepest base first."""
    if not _is_file(path):
        named = f" (named by {BASE} in {shown(children[-1])})" if children else ""
        raise ConfigError(f"{_printable(path)}{named}: expected a configuration file, found none")
    if path.resolve() in {child.resolve() for child in children}:
        circle = " -> ".join(shown(file) for file in (*children, path))
        raise ConfigError(f"{shown(path)}: expected {BASE} to end somewhere, found a circle: {circle}")
    values = read_yaml(path)
    if values is None:
        values = {}
    if not isinstance(values, dict):
        raise ConfigError(f"{shown(path)}: expected sections ({', '.join(sections())}), found something else")
    base = values.pop(BASE, None)
    legacy.refuse_flat(values, {key.name: key.dotted for key in common_keys().values()}, shown(path))
    if base is None:
        return [(path, values)]
    if not isinstance(base, str):
        raise ConfigError(f"{shown(path)}: {BASE}: expected the path of one file as text")
    return [*_chain(path.parent / base, (*children, path)), (path, values)]


def _is_file(path: Path) -> bool:
    """Whether there is a file; a path that cannot be one (too long, with a NUL) names none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _printable(path: Path) -> str:
    """Return a path that may be none as a message shows it."""
    text = str(path)
    return repr(text[:_SHOWN_PATH]) if not text.isprintable() or len(text) > _SHOWN_PATH else shown(path)


def _flatten(values: Mapping[Any, Any], origin: str, problems: list[str]) -> dict[str, Any]:
    """Return a file's values by dotted key; a section that is empty has none."""
    flat = {}
    known = {*sections(), *(key.partition(".")[0] for key in legacy.WITHOUT_EFFECT)}
    for section, content in values.items():
        if section in known and (content is None or isinstance(content, dict)):
            flat.update({f"{section}.{key}": value for key, value in (content or {}).items()})
        elif section in known:
            problems.append(f"{origin}: {section}: expected a section with keys, found a single value")
        else:
            flat[str(section)] = content
    return flat
