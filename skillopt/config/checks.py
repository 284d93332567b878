"""Combinations of settings that cannot be meant: impossible ones, and settings without effect."""

import re
from collections.abc import Iterator
from typing import Any

from skillopt.config.activity import INERT, UPDATE_MODE, falls, rewrites
from skillopt.config.history import History, canonical_backend
from skillopt.config.keys import ROLES
from skillopt.config.layers import nearest
from skillopt.config.skillnames import problems_of
from skillopt.config.values import found

DEFAULT = "built-in default"


class View:
    """The values that hold, and where they came from."""

    def __init__(self, history: History) -> None:
        self._history = history

    def __getitem__(self, dotted: str) -> Any:
        return self._history.last(dotted).value

    def is_set(self, dotted: str) -> bool:
        """Whether the value differs from the built-in default."""
        return bool(self[dotted] != self._history.keys[dotted].default)

    def rank(self, dotted: str) -> int:
        """Return the layer of the value, 0 for the built-in default."""
        return self._history.last(dotted).rank

    def origin(self, dotted: str) -> str:
        """Return where the value came from."""
        return self._history.last(dotted).origin or DEFAULT

    def canonical(self, backend: str) -> str:
        """Return the name that a backend's alias stands for."""
        return canonical_backend(self._history.catalog, backend)


def combination_problems(history: History) -> list[str]:
    """Return what is wrong with the settings taken together."""
    view = View(history)
    return [
        *_inert(view),
        *_inert_of_benchmark(view, history),
        *_benchmark(view, history),
        *_splits(view),
        *_budget(view),
        *_updates(view),
        *_label(view),
        *_shared_effort(view),
        *_skills(view),
        *_times(view),
    ]


def _inert(view: View) -> Iterator[str]:
    """Yield settings without effect, except those that a higher layer has switched off."""
    for inert in INERT:
        if inert.acts(view):
            continue
        switched = max(view.rank(switch) for switch in inert.switches)
        for key in inert.keys:
            if view.is_set(key) and view.rank(key) >= switched:
                yield f"{view.origin(key)}: {key} has no effect: it needs {inert.needs}"


def _inert_of_benchmark(view: View, history: History) -> Iterator[str]:
    """Yield settings of the benchmark without effect, by the same rule."""
    for key in history.benchmark_keys.values():
        if key.beside is None or not view.is_set(key.dotted):
            continue
        switch, needed = f"{key.section}.{key.beside[0]}", key.beside[1]
        if view[switch] != needed and view.rank(key.dotted) >= view.rank(switch):
            yield f"{view.origin(key.dotted)}: {key.dotted} has no effect: it needs {switch}: {needed}"


def _benchmark(view: View, history: History) -> Iterator[str]:
    name, choices = view["env.name"], sorted(history.catalog.environments)
    if name not in choices:
        found = f"found {name!r}" if name else "found nothing"
        yield (
            f"{view.origin('env.name')}: env.name: expected one of {', '.join(choices)}, "
            f"{found}{nearest(name, choices)}"
        )


def _splits(view: View) -> Iterator[str]:
    mode = view["env.split_mode"]
    needed = "env.data_path" if mode == "ratio" else "env.split_dir"
    what = "a data file to split" if mode == "ratio" else "a folder with train/, val/ and test/"
    if not view[needed]:
        yield (
            f"{view.origin('env.split_mode')}: {needed}: expected {what}, since env.split_mode is {mode}; "
            "found nothing"
        )
    ratio = view["env.split_ratio"]
    if not re.fullmatch(r"[1-9][0-9]{0,8}(:[1-9][0-9]{0,8}){2}", ratio):
        yield (
            f"{view.origin('env.split_ratio')}: env.split_ratio: expected three whole numbers above 0 "
            f"such as 2:1:7 (9 digits each at most), found {found(ratio)}"
        )


def _budget(view: View) -> Iterator[str]:
    high, low = "optimizer.learning_rate", "optimizer.min_learning_rate"
    if falls(view) and view[low] > view[high]:
        yield (
            f"{view.origin(low)}: {low} ({view[low]}) is above {high} ({view[high]}, {view.origin(high)}): "
            "the edit budget can only fall; set both, or lr_scheduler: constant"
        )


def _updates(view: View) -> Iterator[str]:
    key = "optimizer.use_skill_aware_reflection"
    if view[key] and rewrites(view):
        yield (
            f"{view.origin(key)}: {key}: not with {UPDATE_MODE}: {view[UPDATE_MODE]} "
            f"({view.origin(UPDATE_MODE)}), "
            "since a rewrite leaves no edits apart from reminders; use skill_update_mode: patch"
        )
    for word in view["evaluation.leading_words"]:
        if not re.fullmatch(r"[\w']+", word):
            yield (
                f"{view.origin('evaluation.leading_words')}: evaluation.leading_words: expected single "
                f"words, found {word!r}"
            )


def _label(view: View) -> Iterator[str]:
    """Yield a label `model.backend` that stands beside the keys of both roles and agrees with neither."""
    own = ("model.optimizer_backend", "model.target_backend")
    label = "model.backend"
    if view.is_set(label) and all(view[key] and view.rank(key) == view.rank(label) for key in own):
        names = {view.canonical(view[key]) for key in own}
        if view.canonical(view[label]) not in names:
            yield (
                f"{view.origin(label)}: {label} has no effect: {own[0]} and {own[1]} are set beside it; "
                "remove it or them"
            )


def _shared_effort(view: View) -> Iterator[str]:
    """Yield a reasoning effort of both roles that stands beside those of each role."""
    shared, own = "model.reasoning_effort", [f"model.{role}_reasoning_effort" for role in ROLES]
    if view[shared] and all(view[key] and view.rank(key) == view.rank(shared) for key in own):
        yield (
            f"{view.origin(shared)}: {shared} has no effect: {own[0]} and {own[1]} are set beside it; "
            "remove it or them"
        )


def _skills(view: View) -> Iterator[str]:
    key = "evaluation.skills"
    yield from (f"{view.origin(key)}: {key}: {problem}" for problem in problems_of(view[key]))


def _times(view: View) -> Iterator[str]:
    call, item = "env.exec_timeout", "env.item_timeout"
    if view[item] < view[call]:
        yield (
            f"{view.origin(item)}: {item} ({view[item]:g} s) is below {call} ({view[call]:g} s, "
            f"{view.origin(call)}): an item would end before its first call may; raise the one or lower the "
            "other"
        )
