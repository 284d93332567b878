"""The form of a new run: made from the settings' descriptions; what is sent becomes a validated file."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args, get_origin

import msgspec

from skillopt.config.as_yaml import scalar
from skillopt.config.history import SECRET
from skillopt.config.keys import (
    Catalog,
    Key,
    common_keys,
    environment_keys,
    find_backend_key,
    sections,
    setting_key,
)
from skillopt.config.layers import file_layers
from skillopt.config.legacy import RENAMED
from skillopt.config.values import choices_of, expected, parse_text
from skillopt.dashboard.allowed import is_by_hand, refusals
from skillopt.errors import ConfigError
from skillopt.redact import redact
from skillopt.report.options import shown

COMMON = (
    "env.name",
    "env.split_mode",
    "env.split_dir",
    "env.data_path",
    "model.backend",
    "model.optimizer",
    "model.target",
    "train.num_epochs",
    "train.batch_size",
    "optimizer.learning_rate",
    "optimizer.lr_scheduler",
    "evaluation.gate_metric",
    "evaluation.eval_test",
    "calls.prices",
    "budget.max_cost",
    "budget.max_calls",
)
"""What most runs set, in the order in which people think of it."""
_BACKENDS = ("model.backend", "model.optimizer_backend", "model.target_backend")
_LINE = re.compile(r"\s*([A-Za-z]\w*\.\w+)\s*[=:]\s*(.*?)\s*")
_DOTTED = re.compile(r"\b([a-z]+\.[A-Za-z_]\w*)")
EXTRA = "extra"


@dataclass
class Draft:
    """What somebody filled in: texts by dotted key, further lines, and problems by their place.

    The places of problems are dotted keys, `name`, `extra` for the further lines, "" for all others.
    `owner` tells that whoever fills it in owns this machine. `like` is the run that it is a copy of, `kept`
    what that run's files say, as texts: written by hand or checked, it may stay.
    """

    owner: bool
    name: str = ""
    like: str = ""
    kept: dict[str, str] = field(default_factory=dict, repr=False)
    texts: dict[str, str] = field(default_factory=dict)
    extra: str = ""
    problems: dict[str, list[str]] = field(default_factory=dict)

    def refuse(self, place: str, problem: str) -> None:
        """Note a problem."""
        known = self.problems.setdefault(place, [])
        if problem not in known:
            known.append(problem)


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """One setting on the page; `value` is a text, "" for the default, which is that of the folder."""

    key: str
    description: str
    expected: str
    default: str
    choices: tuple[str, ...]
    value: str
    problems: tuple[str, ...]


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a section; `open` when one of them is set or wrong."""

    title: str
    about: str
    fields: tuple[Field, ...]
    open: bool


def offered(draft: Draft, catalog: Catalog) -> dict[str, Key]:
    """Return the settings that the form has: of all runs, of the benchmark and the backends in use."""
    benchmark = draft.texts.get("env.name", "")
    own = environment_keys(catalog.environments[benchmark]()) if benchmark in catalog.environments else {}
    names = [draft.texts.get(key) or "" for key in _BACKENDS]
    names[0] = names[0] or str(common_keys()["model.backend"].default)
    specs = {spec.name: spec for name in names if name and (spec := catalog.backend(name))}
    backends = [setting_key(spec, setting, None) for spec in specs.values() for setting in spec.settings]
    keys = {**common_keys(), **own, **{key.dotted: key for key in backends}}
    return {dotted: key for dotted, key in keys.items() if not is_by_hand(dotted, key, draft.owner)}


def groups(draft: Draft, catalog: Catalog) -> list[Group]:
    """Return the form's settings: the common ones, then the others by section."""
    keys, defaults = offered(draft, catalog), _defaults()
    first = [_field(keys[dotted], draft, catalog, defaults) for dotted in COMMON]
    found = [Group(title="Common settings", about="", fields=tuple(first), open=True)]
    for section, kind in sections().items():
        rest = [key for key in keys.values() if key.section == section and key.dotted not in COMMON]
        fields = tuple(_field(key, draft, catalog, defaults) for key in rest)
        if fields:
            about = (kind.__doc__ or "").strip()
            is_open = any(one.value or one.problems for one in fields)
            found.append(Group(title=section, about=about, fields=fields, open=is_open))
    return found


def _defaults() -> dict[str, Any]:
    """Return what the folder's config.yaml sets for all its runs; what is wrong with it a check tells."""
    shared = Path("config", "config.yaml")
    try:
        layers = file_layers(shared, []) if shared.is_file() else []
    except ConfigError:
        return {}
    return {key: value for layer in layers for key, value in layer.values.items()}


def _field(key: Key, draft: Draft, catalog: Catalog, defaults: Mapping[str, Any]) -> Field:
    value = draft.texts.get(key.dotted, "")
    choices = _choices(key, catalog)
    if choices and value and value not in choices:
        choices = (*choices, value)
    return Field(
        key=key.dotted,
        description=key.description,
        expected=expected(key.type),
        default=scalar(defaults.get(key.dotted, key.default)),
        choices=choices,
        value=value,
        problems=tuple(draft.problems.get(key.dotted, ())),
    )


def _choices(key: Key, catalog: Catalog) -> tuple[str, ...]:
    if key.dotted == "env.name":
        return tuple(sorted(catalog.environments))
    if key.dotted in _BACKENDS:
        return tuple(sorted(catalog.backends))
    if key.type is bool or (get_origin(key.type) is not None and get_args(key.type)[0] is bool):
        return ("true", "false")
    return tuple(str(choice) for choice in choices_of(key.type) if choice not in ("", None))


def kept_of(run_file: Path) -> dict[str, str]:
    """Return what a run's files set, as texts; raises ConfigError when they are none."""
    return {key: shown(value) for layer in file_layers(run_file, []) for key, value in layer.values.items()}


def draft_of(run_file: Path, catalog: Catalog, secrets: list[str], *, owner: bool) -> Draft:
    """Return a form filled in with what a run's files set; raises ConfigError when they are none.

    What looks like a secret is left out: such a run is refused, and a secret is never shown.
    """
    layers = file_layers(run_file, [])
    values: dict[str, Any] = {key: value for layer in layers for key, value in layer.values.items()}
    draft = Draft(owner=owner, like=run_file.stem)
    first = {key: shown(values[key]) for key in ("env.name", *_BACKENDS) if values.get(key)}
    draft.texts = {key: text for key, text in first.items() if not _is_secret(text, secrets)}
    keys = offered(draft, catalog)
    extra = []
    for dotted, value in values.items():
        text = shown(value)
        said = [layer.values[dotted] for layer in layers if dotted in layer.values]
        secret = dotted not in keys and SECRET.search(dotted)
        if secret or value is None or _is_secret(f"{dotted}={text}", secrets):
            continue
        if dotted in keys and all(_is_default(one, keys[dotted]) for one in said):
            continue
        if dotted in keys:
            draft.texts[dotted] = text
        elif is_by_hand(dotted, None, owner) or find_key(dotted, keys, catalog) is not None:
            extra.append(f"{dotted}={text}")
    draft.extra = "\n".join(extra)
    return draft


def _is_default(value: Any, key: Key) -> bool:
    """Compare as values (120 and 120.0) and as texts (a list and a tuple)."""
    return bool(value == key.default) or shown(value) == shown(key.default)


def find_key(dotted: str, keys: Mapping[str, Key], catalog: Catalog) -> Key | None:
    """Return the setting of a dotted key, also one of a backend for one role."""
    if dotted in keys:
        return keys[dotted]
    section, _, name = dotted.partition(".")
    known = find_backend_key(name, catalog) if section == "model" and name else None
    if known is None or (known.role and known.role not in known.spec.roles):
        return None
    return setting_key(known.spec, known.setting, known.role)


def read_draft(
    sent: Mapping[str, str], catalog: Catalog, secrets: list[str], *, owner: bool, kept: dict[str, str]
) -> Draft:
    """Read a form that was sent; a text that looks like a secret is refused, and dropped."""
    like = sent.get("like", "") if kept else ""
    draft = Draft(owner=owner, name=sent.get("name", "").strip(), like=like, kept=kept)
    if _is_secret(draft.name, secrets):
        draft.name = ""
        draft.refuse("name", _ADVICE)
    draft.texts = {name: text.strip() for name, text in sent.items() if "." in name and text.strip()}
    keys = offered(draft, catalog)
    draft.texts = {name: text for name, text in draft.texts.items() if name in keys}
    for name, text in list(draft.texts.items()):
        if _is_secret(text, secrets):
            draft.refuse(name, _ADVICE)
            del draft.texts[name]
    lines = []
    for line in sent.get(EXTRA, "").splitlines():
        found = _LINE.fullmatch(line)
        secret = found is not None and SECRET.search(found[1]) and _text_of(found[1], catalog) is None
        if secret or _is_secret(line, secrets):
            draft.refuse(EXTRA, f"{found[1] if found else 'a line'}: {_ADVICE}")
        elif line.strip():
            lines.append(line.strip())
    draft.extra = "\n".join(lines)
    return draft


_ADVICE = (
    "this looks like a secret, and configurations are written to files. "
    "Set the environment variable of its backend before you start the dashboard."
)


def _is_secret(text: str, secrets: list[str]) -> bool:
    return redact(text, secrets) != text


def _text_of(dotted: str, catalog: Catalog) -> Key | None:
    return find_key(dotted, common_keys(), catalog)


def values_of(draft: Draft, catalog: Catalog) -> dict[str, Any]:
    """Return the values of a form by dotted key, read by type; notes what only a form refuses."""
    keys = offered(draft, catalog)
    texts = dict(draft.texts)
    for line in draft.extra.splitlines():
        found = _LINE.fullmatch(line)
        if found is None:
            draft.refuse(EXTRA, f"expected section.key=value, found {line[:60]!r}")
        elif found[1] in texts:
            draft.refuse(EXTRA, f"{found[1]} is given twice")
        else:
            texts[found[1]] = found[2]
    values = {}
    for dotted, text in texts.items():
        key = find_key(dotted, keys, catalog)
        values[dotted] = parse_text(text, key.type) if key else text
        if draft.kept.get(dotted) == text:
            continue
        now = RENAMED.get(dotted, dotted)
        meant = key or find_key(now, keys, catalog)
        for problem in refusals(now, values[dotted], meant, draft.owner):
            draft.refuse(dotted if dotted in draft.texts else EXTRA, problem)
    return values


def as_file(values: Mapping[str, Any]) -> str:
    """Return a run file with these values, section by section."""
    lines: list[str] = []
    for section in dict.fromkeys([*sections(), *(dotted.partition(".")[0] for dotted in values)]):
        inside = {key: value for key, value in values.items() if key.startswith(f"{section}.")}
        if inside:
            lines.append(f"{section}:")
            lines += [f"  {key.partition('.')[2]}: {_scalar(value)}" for key, value in inside.items()]
    return "\n".join(lines) + "\n"


def _scalar(value: Any) -> str:
    text = repr(value) if isinstance(value, float) else scalar(value)
    # In YAML some of these are line ends, others are not allowed; all stand between quotes.
    return "".join(char if char.isprintable() else f"\\U{ord(char):08x}" for char in text)


def place_problems(draft: Draft, message: str, file: str) -> None:
    """Put each problem of a message beside its field, without the name of the `file` that is yet to be."""
    lines = message.splitlines()
    if len(lines) > 1 and lines[0].endswith(" problems"):
        lines = lines[1:]
    for line in lines:
        problem = line.strip().removeprefix(f"config/{file}: ")
        first = next((k for k in _DOTTED.findall(problem) if k.partition(".")[0] in sections()), "")
        in_extra = first and re.search(rf"^{re.escape(first)}\s*[=:]", draft.extra, re.MULTILINE)
        if in_extra or first not in {**common_keys(), **draft.texts}:
            draft.refuse(EXTRA if in_extra else "", problem)
        else:
            draft.refuse(first, problem.removeprefix(f"{first}: "))
