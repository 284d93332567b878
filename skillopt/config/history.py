"""What the layers say about each key, typed and checked: the last word, and what came before it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from skillopt.addresses import address_problem, variable_problem
from skillopt.config import legacy
from skillopt.config.keys import (
    ROLES,
    Catalog,
    Key,
    backend_keys,
    common_keys,
    environment_keys,
    find_backend_key,
    sections,
    setting_key,
)
from skillopt.config.layers import Layer, nearest
from skillopt.config.values import check_value, parse_text
from skillopt.texts import utf8_problem

SECRET = re.compile(
    r"(?:^|_)(?:api_?key|access_?key|auth_?key|auth_?token|token|secret|password|credentials?)$"
)
_LOGIN = re.compile(r"://[^/@\s]*@")


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """What one layer says. Layers are ranked from 1; 0 is the built-in default."""

    value: Any
    origin: str
    rank: int


class History:
    """Entries by dotted key, in the order of the layers. Problems are collected, not raised."""

    def __init__(self, catalog: Catalog, benchmark: str) -> None:
        self.catalog = catalog
        self.benchmark = benchmark
        self.problems: list[str] = []
        self.benchmark_keys: dict[str, Key] = {}
        if benchmark in catalog.environments:
            self.benchmark_keys = environment_keys(catalog.environments[benchmark]())
        self.keys = {**common_keys(), **self.benchmark_keys}
        self._entries: dict[str, list[Entry]] = {}

    def last(self, dotted: str) -> Entry:
        """Return what holds for a key; the built-in default has no origin."""
        entries = self._entries.get(dotted)
        return entries[-1] if entries else Entry(value=self.keys[dotted].default, origin="", rank=0)

    def entries(self, dotted: str) -> Sequence[Entry]:
        """Return what the layers say about a key, the lowest first."""
        return self._entries.get(dotted, ())

    def backend_entries(self) -> Iterator[tuple[str, Entry]]:
        """Yield the keys of backends that have a value, with the entry that holds."""
        for dotted, entries in self._entries.items():
            if entries and _is_of_backend(self.keys[dotted]):
                yield dotted, entries[-1]

    def add_layer(self, added: Layer, rank: int, *, text: bool) -> None:
        """Take over a layer; `text` tells that its values are still to be read by type."""
        values = self._without_secrets(added)
        source = next(iter(added.origins.values()), "")
        values = legacy.translated(values, source, self.problems)
        for dotted, value in values.items():
            origin = added.origins.get(dotted, source)
            key = self._find(dotted, value, origin)
            if key is not None:
                self.add(key, value, origin, rank, text=text)

    def add(self, key: Key, value: Any, origin: str, rank: int, *, text: bool) -> None:
        """Take over one value of a key."""
        self.keys.setdefault(key.dotted, key)
        if self._unsets(key, value):
            self._entries.pop(key.dotted, None)
            return
        if isinstance(value, str) and (text or _is_of_backend(key)):
            value = parse_text(value, key.type)
        checked, problem = check_value("" if value is None and key.default == "" else value, key.type)
        problem = problem or _form_problem(key, checked)
        if problem:
            self.problems.append(f"{origin}: {key.dotted}: {problem}")
            return
        entries = self._entries.setdefault(key.dotted, [])
        entries.append(Entry(value=checked, origin=origin, rank=rank))
        entries.sort(key=lambda entry: entry.rank)

    def _unsets(self, key: Key, value: Any) -> bool:
        """Whether a blank takes back what lower layers say (backends, models)."""
        return (_is_of_backend(key) or key.dotted in _NAMES) and legacy.is_blank(value)

    def _without_secrets(self, added: Layer) -> dict[str, Any]:
        kept = {}
        for dotted, value in added.values.items():
            name = dotted.rpartition(".")[2]
            secret = SECRET.search(name) is not None and dotted not in self.keys
            if secret and not legacy.is_blank(value):
                self.problems.append(f"{added.origins[dotted]}: {self._secret_advice(dotted)}")
            elif isinstance(value, str) and _LOGIN.search(value):
                self.problems.append(
                    f"{added.origins[dotted]}: {dotted}: expected an address without a login, found "
                    "one with it. Addresses are written to files: give the key in an environment variable."
                )
            elif not secret:
                kept[dotted] = value
        return kept

    def _secret_advice(self, dotted: str) -> str:
        name = dotted.rpartition(".")[2]
        wanted = {name.upper() if SECRET.sub("", name) else f"<BACKEND>_{name.upper()}"}
        for role in ("optimizer", "target", ""):
            rest = name.removeprefix(f"{role}_") if role else name
            spec = self.catalog.backend(SECRET.sub("", rest)) if rest != name or not role else None
            if spec and spec.secrets:
                per_role = [secret for secret in spec.secrets if ("{ROLE}" in secret) == bool(role)]
                wanted = {secret.replace("{ROLE}", role.upper()) for secret in per_role or spec.secrets}
        return (
            f"{dotted} holds a secret, and configurations are written to files. Remove it and set the "
            f"environment variable {' or '.join(sorted(wanted))} instead."
        )

    def _find(self, dotted: str, value: Any, origin: str) -> Key | None:
        if dotted in self.keys:
            return self.keys[dotted]
        section, _, name = dotted.partition(".")
        if section == "model" and name:
            found = find_backend_key(name, self.catalog)
            if found is not None and (found.role is None or found.role in found.spec.roles):
                return setting_key(found.spec, found.setting, found.role)
            former = legacy.known_backend(name)
            if former and (legacy.is_blank(value) or legacy.is_shipped(name, value)):
                return None
            if former and former not in self.catalog.backends:
                self.problems.append(f"{origin}: {dotted}: {unavailable(former, self.catalog)}")
                return None
        if section != "env" or self.benchmark in self.catalog.environments:
            self.problems.append(f"{origin}: {self._unknown(section, name)}")
        return None

    def _unknown(self, section: str, name: str) -> str:
        names = {key.dotted: key.name for key in self.keys.values()}
        if section not in sections():
            wanted = name or section
            home = next((dotted for dotted, known in names.items() if known == wanted), "")
            home = legacy.FLAT_NAMES.get(wanted, home)
            hint = f"; did you mean {home}?" if home else nearest(section, sections())
            return f"{section}: unknown, expected one of the sections {', '.join(sections())}{hint}"
        if not name:
            return f"{section}: expected a key of this section ({section}.<key>), found none"
        if section == "model":
            for load in self.catalog.backends.values():
                names.update({key.dotted: key.name for key in backend_keys(load()).values()})
        here = [known for dotted, known in names.items() if dotted.startswith(f"{section}.")]
        hint = nearest(name, here).replace("did you mean ", f"did you mean {section}.")
        if not hint:
            home = next((dotted for dotted, known in names.items() if known == name), "")
            choices = "" if section == "model" else f", expected one of {', '.join(here)}"
            hint = f"; did you mean {home}?" if home else choices
        of = f" of the benchmark {self.benchmark}" if section == "env" and self.benchmark else ""
        return f"{section}.{name}: unknown setting{of}{hint}"


_NAMES = frozenset(
    {"model.backend", *(f"model.{role}" for role in ROLES), *(f"model.{role}_backend" for role in ROLES)}
)


def _form_problem(key: Key, value: Any) -> str:
    """Say what is wrong with a text, an address or the name of a variable, never showing it."""
    if problem := utf8_problem(value):
        return problem
    check = {"address": address_problem, "variable": variable_problem}.get(key.form)
    return check(value) if check and value else ""


def _is_of_backend(key: Key) -> bool:
    """Whether a key is a backend's own: there, files may give numbers as text, and blank is "not set"."""
    return key.section == "model" and key.dotted not in common_keys()


def canonical_backend(catalog: Catalog, name: str) -> str:
    """Return the backend that a name or alias stands for, whether it is available or not."""
    spec = catalog.backend(name)
    wanted = name.strip().lower()
    return spec.name if spec else legacy.BACKEND_NAMES.get(wanted, wanted)


def unavailable(name: str, catalog: Catalog) -> str:
    """Say that a backend is not there, and which are."""
    choices = sorted(catalog.backends)
    return f"backend {name} is not available, expected one of {', '.join(choices)}{nearest(name, choices)}"


def benchmark_of(layers: Sequence[Layer]) -> str:
    """Return the last benchmark that the layers name, "" for none."""
    named: list[Mapping[str, Any]] = [layer.values for layer in layers if layer.values.get("env.name")]
    return str(named[-1]["env.name"]) if named else ""
