"""The settings as a page of the documentation."""

from collections.abc import Callable, Iterable

from skillopt.config.as_yaml import scalar
from skillopt.config.keys import (
    Catalog,
    Key,
    common_keys,
    environment_keys,
    sections,
    setting_key,
)
from skillopt.config.reruns import reruns, reruns_backend, reruns_benchmark
from skillopt.config.values import expected
from skillopt.models.base import BackendSpec

_HEAD = """\
# Configuration

<!-- Made by `python -m skillopt.config.generate` from the settings in skillopt/. -->

A run is a file in `config/`: `config/searchqa.yaml` writes `results/searchqa/`. It sets what differs
from the defaults, which are the published protocol (arXiv 2605.23904).

## Where values come from

Later layers win, key by key:

1. the defaults on this page;
2. `config.yaml` beside the run file, for all runs of a folder;
3. the file that the run file names with `_base_: other.yaml` (a path relative to itself), and its bases;
4. the run file;
5. the environment: `OPTIMIZER_BACKEND`, `TARGET_BACKEND`, `OPTIMIZER_MODEL`, `TARGET_MODEL` (or
   `..._DEPLOYMENT`), and for each setting of a backend in use `<ROLE>_<BACKEND>_<SETTING>` or
   `<BACKEND>_<ROLE>_<SETTING>`, then `<BACKEND>_<SETTING>` (`TARGET_OPENAI_COMPATIBLE_BASE_URL`,
   `OPENAI_COMPATIBLE_BASE_URL`); a blank variable is not set;
6. the command line: `snakemake --config set="train.num_epochs=2 optimizer.learning_rate=8"` (all in one
   `set`: of two the engine keeps the last), or `skillopt train <run> --set train.num_epochs=2`.

`results/<run>/config.json` holds what came out, and for each value that is not the default where it came
from.

Values are read by the type of their key: `true` and `false` are the only truth values on the command line,
`0042` is no number, `2:1:7` is text. Keys that do not exist, values of another type, combinations that
cannot be meant and settings without effect are refused before anything is paid for, all at once, each with
the file it stands in. (A setting may stand in a file whose switch a higher layer has turned off.)

**Keys are secrets** and are never written into a configuration: they are read from environment variables
(see each backend below).

**Roles.** `model.backend` names the backend of both roles; `model.optimizer_backend` and
`model.target_backend` name one, and win in the same layer or a higher one. A model name belongs to the
backend it was given for: when a higher layer names another backend, that one's default model is used unless
the layer names a model too.

Nothing re-buys a reply: what a change re-runs is answered from the call store as far as the requests are
the same. The last column says where re-running starts; what follows from it re-runs with it.
"""


def markdown(catalog: Catalog) -> str:
    """Return docs/configuration.md."""
    lines = [_HEAD]
    for section, kind in sections().items():
        keys = [key for key in common_keys().values() if key.section == section]
        lines += [f"## {section}", "", (kind.__doc__ or "").strip(), ""]
        lines += [*_table(keys, lambda key: reruns(key.dotted)), ""]
    lines += ["## Settings of one benchmark", "", "They stand in the section `env`.", ""]
    for name, settings in sorted(catalog.environments.items()):
        own = list(environment_keys(settings()).values())
        lines += [f"### {name}", "", *(_table(own, reruns_benchmark) if own else ["None of its own."]), ""]
    lines += [
        "## Settings of one backend",
        "",
        "They stand in the section `model`, for both roles as below, or for one role with `optimizer_` or",
        "`target_` before the key. Blank means not set.",
        "",
    ]
    for _, load in sorted(catalog.backends.items()):
        lines += _backend(load())
    return "\n".join(lines).rstrip() + "\n"


def _backend(spec: BackendSpec) -> list[str]:
    facts = [f"Roles: {', '.join(spec.roles)}.", f"Default model: `{spec.default_model}`."]
    if spec.aliases:
        facts.append(f"Also called: {', '.join(map(_code, spec.aliases))}.")
    if spec.secrets:
        names = [name.replace("{ROLE}", "<ROLE>") for name in spec.secrets]
        facts.append(f"Its key is read from the environment variable {' or '.join(map(_code, names))}.")
    keys = [setting_key(spec, setting, None) for setting in spec.settings]
    table = _table(keys, reruns_backend) if keys else ["No settings."]
    return [f"### {spec.name}", "", spec.description, " ".join(facts), "", *table, ""]


def _table(keys: Iterable[Key], rerun: Callable[[Key], str]) -> list[str]:
    rows = [
        (f"`{key.name}`", expected(key.type), f"`{scalar(key.default)}`", key.description, rerun(key))
        for key in keys
    ]
    head = ("key", "type", "default", "meaning", "re-runs")
    return [_row(head), _row(["---"] * len(head)), *map(_row, rows)]


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _code(name: str) -> str:
    return f"`{name}`"
