"""How many model calls a run makes: exact where the loop fixes it, lowest and highest where outcomes decide.

`asks` counts the requests of the phases, those that are answered from the call store included; `paid`
counts what goes to the provider when the store is empty: equal requests are paid for once. Both hold as
long as no call fails and every answer of the optimizer can be used.
"""

from collections.abc import Iterator, Mapping
from itertools import accumulate, product
from typing import Literal

import msgspec

from skillopt.config.settings import Settings
from skillopt.decisions.schedule import edit_budget
from skillopt.models.base import Role
from skillopt.records import EpochPlan, Plan, StepPlan
from skillopt.runs import compared, may_end_unscored, remembered

_JOBS_OF_ALL = 8
"""initial_skill, preflight, evaluate_initial, gate_initial, best_skill, history, summary, report."""
_JOBS_OF_STEP = 7
"""rollout, reflect, aggregate, select, update, evaluate, gate."""
_JOBS_OF_COMPARISON = 2
"""sample, compare."""
_JOBS_OF_GUIDANCE = 3
"""slow_update with its own evaluate and gate."""

Size = Literal[
    "train", "val", "test", "probe", "reflect", "merge", "choose", "update", "slow_update", "meta_skill"
]
"""What sort of prompt a call has: an item of a split, or one of the optimizer's."""


class Range(msgspec.Struct, frozen=True, kw_only=True):
    """A number between `low` and `high`, both included."""

    low: int
    high: int

    def __add__(self, other: "Range") -> "Range":
        return Range(low=self.low + other.low, high=self.high + other.high)

    @property
    def exact(self) -> bool:
        """Whether the number is known."""
        return self.low == self.high


def up_to(high: int) -> Range:
    """Return a range from 0."""
    return Range(low=0, high=high)


def exactly(number: int) -> Range:
    """Return a range of one number."""
    return Range(low=number, high=number)


class Count(msgspec.Struct, frozen=True, kw_only=True):
    """The calls of one part of a phase. `label` is that of the accounts.

    With `initial` all of them are made with the initial skill, so their requests are known.
    """

    role: Role
    phase: str
    label: str
    size: Size
    asks: Range
    paid: Range
    initial: bool = False


class Requests(msgspec.Struct, frozen=True, kw_only=True):
    """What tells apart the requests of a split's items under one skill: a key per item id."""

    train: Mapping[str, str]
    val: Mapping[str, str]
    test: Mapping[str, str]


def count_calls(settings: Settings, plan: Plan, requests: Requests) -> list[Count]:
    """Return the calls of a whole run, phase by phase, without those of preflight."""
    return [
        *_rollouts(settings, plan, requests),
        *_evaluations(settings, plan, requests),
        *_repeats(settings, requests),
        *_comparisons(settings, plan, requests),
        *_steps(settings, plan, requests),
        *_epochs(settings, plan),
    ]


def count_jobs(settings: Settings, plan: Plan) -> int:
    """Return how many jobs the whole run is, up to its report."""
    ends = _JOBS_OF_GUIDANCE * len(plan.epochs) if settings.optimizer.use_slow_update else 0
    ends += _JOBS_OF_COMPARISON * len(compared(plan, settings.optimizer)) + len(
        remembered(plan, settings.optimizer)
    )
    passes = 2 if settings.evaluation.repeats > 1 else 1
    evaluations = (3 * passes if settings.evaluation.eval_test else 0) + may_end_unscored(settings.optimizer)
    return _JOBS_OF_ALL + _JOBS_OF_STEP * len(plan.steps) + ends + evaluations


# the target


def _rollouts(settings: Settings, plan: Plan, requests: Requests) -> Iterator[Count]:
    """At least one rollout of each different item is new, whatever becomes of the skill."""
    seen = {*requests.val.values(), *requests.test.values()}
    for step in plan.steps:
        ids = ids_of(step)
        keys = {requests.train[id_] for id_ in ids}
        yield _target(
            settings,
            "rollout",
            f"{step.step:04d}",
            "train",
            asks=exactly(len(ids)),
            paid=Range(low=len(keys - seen), high=len(keys)),
            initial=step.step == 1,
        )
        seen |= keys


def _evaluations(settings: Settings, plan: Plan, requests: Requests) -> Iterator[Count]:
    train, optimizer = set(requests.train.values()), settings.optimizer
    val, test = set(requests.val.values()), set(requests.test.values())

    def one(label: str, split: Literal["val", "test"], ids: int, keys: set[str], known: int | None) -> Count:
        paid = Range(low=known or 0, high=len(keys))
        asks = up_to(ids) if known is None else exactly(ids)
        return _target(settings, "evaluate", label, split, asks=asks, paid=paid, initial=known is not None)

    yield one("val/initial", "val", len(requests.val), val, len(val - train - test))
    for step in plan.steps:
        yield one(f"{step.step:04d}", "val", len(requests.val), val, None)
    if optimizer.use_slow_update and optimizer.slow_update_gate_with_selection:
        for epoch in plan.epochs[1:]:
            yield one(f"epoch_{epoch.epoch:02d}", "val", len(requests.val), val, None)
    if may_end_unscored(settings.optimizer):
        yield one("val/last", "val", len(requests.val), val, None)
    if settings.evaluation.eval_test:
        yield one("test/initial", "test", len(requests.test), test, len(test - train - val))
        for skill in ("best", "last"):
            yield one(f"test/{skill}", "test", len(requests.test), test, None)


def _repeats(settings: Settings, requests: Requests) -> Iterator[Count]:
    """Each further pass draws fresh samples, so nothing is held before."""
    times = settings.evaluation.repeats - 1
    if not times or not settings.evaluation.eval_test:
        return
    ids, keys = len(requests.test) * times, len(set(requests.test.values())) * times
    asks, paid = exactly(ids), exactly(keys)
    yield _target(settings, "repeat", "test/initial", "test", asks=asks, paid=paid)
    for skill in ("best", "last"):
        yield _target(settings, "repeat", f"test/{skill}", "test", asks=up_to(ids), paid=up_to(keys))


def _comparisons(settings: Settings, plan: Plan, requests: Requests) -> Iterator[Count]:
    for epoch in compared(plan, settings.optimizer):
        whole = settings.optimizer.longitudinal_pair_policy == "changed"
        sample, others = epoch.comparison[: epoch.sample], epoch.comparison[epoch.sample :] if whole else ()
        keys = {requests.train[id_] for id_ in sample}
        more = {requests.train[id_] for id_ in others}
        label, most = f"epoch_{epoch.epoch:02d}", len(sample) + 2 * len(others)
        asks = exactly(len(sample))
        yield _target(settings, "sample", label, "train", asks=asks, paid=up_to(len(keys)))
        asks = Range(low=len(sample), high=most)
        paid = up_to(len(keys) + 2 * len(more))
        yield _target(settings, "compare", label, "train", asks=asks, paid=paid)


def _target(
    settings: Settings, phase: str, label: str, size: Size, *, asks: Range, paid: Range, initial: bool = False
) -> Count:
    """Return a count from numbers of items: each takes 1 to `env.max_turns` calls."""
    turns = settings.env.max_turns
    return Count(
        role="target",
        phase=phase,
        label=label,
        size=size,
        asks=Range(low=asks.low, high=asks.high * turns),
        paid=Range(low=paid.low, high=paid.high * turns),
        initial=initial,
    )


# the optimizer


def _steps(settings: Settings, plan: Plan, requests: Requests) -> Iterator[Count]:
    seen: set[str] = set()
    for step in plan.steps:
        splits = groups_of(step, settings)
        groups = [failed + succeeded for failed, succeeded in splits]
        ids = ids_of(step)
        keys = {requests.train[id_] for id_ in ids}
        new = step.epoch == 1 and len(keys) == len(ids) and not keys & seen
        seen |= keys
        asks = Range(low=min(groups), high=max(groups))
        yield _optimizer("reflect", step, "reflect", asks, asks if new else up_to(asks.high))
        size = settings.gradient.merge_batch_size
        merges = max(most_merges(failed, succeeded, size) for failed, succeeded in splits)
        yield _optimizer("aggregate", step, "merge", up_to(merges))
        yield _optimizer("select", step, "choose", up_to(_choices(settings, plan, step)))
        yield _optimizer("update", step, "update", up_to(_updates(settings)))


def ids_of(step: StepPlan) -> list[str]:
    """Return the items of a step, micro-batch by micro-batch."""
    return [id_ for batch in step.batches for id_ in batch.ids]


def groups_of(step: StepPlan, settings: Settings) -> set[tuple[int, int]]:
    """Return every possible number of groups of failures and of successes of a step."""
    size, failures_only = settings.gradient.minibatch_size, settings.gradient.failure_only
    found = {(0, 0)}
    for batch in step.batches:
        rows = len(batch.ids)
        mine = {
            (_groups(failed, size), 0 if failures_only else _groups(rows - failed, size))
            for failed in range(rows + 1)
        }
        found = {(one[0] + other[0], one[1] + other[1]) for one, other in product(found, mine)}
    return found


def _groups(rows: int, size: int) -> int:
    return -(-rows // size)


def merges_of(patches: int, size: int) -> int:
    """Return how many calls it takes to merge patches of one side into one, level after level."""
    calls = 0
    while patches > 1:
        whole, rest = divmod(patches, size)
        calls += whole + (rest > 1)
        patches = whole + (rest > 0)
    return calls


def most_merges(failed: int, succeeded: int, size: int) -> int:
    """Return the most merge calls when up to so many groups of each side propose something."""
    most = list(accumulate((merges_of(n, size) for n in range(max(failed, succeeded) + 1)), max))
    return most[failed] + most[succeeded] + (1 if failed and succeeded else 0)


def _choices(settings: Settings, plan: Plan, step: StepPlan) -> int:
    """Return the most calls of select: the number of edits (autonomous), and their ranking."""
    optimizer = settings.optimizer
    if optimizer.skill_update_mode == "full_rewrite_minibatch" or optimizer.lr_control_mode == "none":
        return 0
    if optimizer.lr_control_mode == "autonomous":
        return 2
    scheduled = edit_budget(
        optimizer.lr_scheduler,
        step.step,
        len(plan.steps),
        optimizer.learning_rate,
        optimizer.min_learning_rate,
    )
    return 0 if scheduled is None else 1


def _updates(settings: Settings) -> int:
    """Return the most calls of update: a rewrite, or making the reminders shorter."""
    optimizer = settings.optimizer
    shortens = optimizer.use_skill_aware_reflection and optimizer.skill_aware_consolidate_threshold > 0
    return int(shortens or optimizer.skill_update_mode == "rewrite_from_suggestions")


def _epochs(settings: Settings, plan: Plan) -> Iterator[Count]:
    asks = exactly(1) if settings.optimizer.longitudinal_pair_policy == "mixed" else up_to(1)
    for epoch in plan.epochs[1:] if settings.optimizer.use_slow_update else ():
        yield _at_end("slow_update", epoch, asks)
    for epoch in remembered(plan, settings.optimizer):
        yield _at_end("meta_skill", epoch, exactly(1))


def _at_end(phase: Literal["slow_update", "meta_skill"], epoch: EpochPlan, asks: Range) -> Count:
    paid = asks if epoch.epoch == 2 else up_to(asks.high)
    label = f"epoch_{epoch.epoch:02d}"
    return Count(role="optimizer", phase=phase, label=label, size=phase, asks=asks, paid=paid)


def _optimizer(phase: str, step: StepPlan, size: Size, asks: Range, paid: Range | None = None) -> Count:
    return Count(
        role="optimizer", phase=phase, label=f"{step.step:04d}", size=size, asks=asks, paid=paid or asks
    )
