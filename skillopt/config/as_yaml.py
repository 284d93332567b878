"""The settings as a commented YAML file: all defaults, section by section."""

import json
import re
from collections.abc import Iterator
from typing import Any

from skillopt.config.keys import (
    Catalog,
    Key,
    common_keys,
    environment_keys,
    sections,
    setting_key,
)
from skillopt.config.values import expected

_HEAD = """\
# Every setting of a run with its default: the published protocol (arXiv 2605.23904).
# A run has a file of its own in this folder that sets what differs (see searchqa.yaml).
#
# Made by `python -m skillopt.config.generate`; docs/configuration.md explains the layers.
"""
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")
_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})


def yaml_text(catalog: Catalog) -> str:
    """Return config.yaml; settings of benchmarks and backends are shown as comments."""
    lines = [_HEAD]
    for section, kind in sections().items():
        lines += [f"# {(kind.__doc__ or '').strip()}", f"{section}:"]
        lines += [line for key in common_keys().values() if key.section == section for line in _lines(key)]
        if section == "env":
            lines += _benchmarks(catalog)
        if section == "model":
            lines += _backends(catalog)
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _lines(key: Key) -> list[str]:
    return [f"  # {key.description} [{expected(key.type)}]", f"  {key.name}: {scalar(key.default)}"]


def _commented(key: Key) -> str:
    return f"  # {key.name}: {scalar(key.default)}  # {key.description}"


def _benchmarks(catalog: Catalog) -> Iterator[str]:
    for name, settings in sorted(catalog.environments.items()):
        keys = environment_keys(settings())
        if keys:
            yield from ("", f"  # With name: {name}", *map(_commented, keys.values()))


def _backends(catalog: Catalog) -> Iterator[str]:
    yield ""
    yield "  # Settings of one backend; for one role: optimizer_<key> or target_<key>."
    for name, load in sorted(catalog.backends.items()):
        spec = load()
        yield from ("", f"  # {name}: {spec.description}")
        yield from (_commented(setting_key(spec, setting, None)) for setting in spec.settings)


def scalar(value: Any) -> str:
    """Return a default as YAML that every YAML reader understands in the same way."""
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(scalar, value))}]"
    return json.dumps(value, ensure_ascii=False)
