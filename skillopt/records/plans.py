"""What will be done: `plan.json`."""

import msgspec


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """One micro-batch: the ids in order, and the seed of its rollout and its reflection."""

    ids: tuple[str, ...]
    seed: int


class StepPlan(msgspec.Struct, frozen=True, kw_only=True):
    """One step, counted from 1 over the whole run. `edit_budget` None means no limit."""

    step: int
    epoch: int
    batches: tuple[Batch, ...]
    edit_budget: int | None


class EpochPlan(msgspec.Struct, frozen=True, kw_only=True):
    """One epoch: its steps, and the train ids of the longitudinal comparison in drawing order.

    The first `sample` of `comparison` are compared; the rest is for topping up.
    """

    epoch: int
    first_step: int
    last_step: int
    sample: int
    comparison: tuple[str, ...]

    @property
    def sampled(self) -> tuple[str, ...]:
        """The ids that are compared whatever the policy."""
        return self.comparison[: self.sample]


class SplitInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One split: where it comes from, how many items, which of them are used, and their hash."""

    source: str
    size: int
    used: int
    sha256: str


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """`plan.json`: the whole run, known before anything is paid for."""

    run: str
    num_epochs: int
    steps_per_epoch: int
    splits: dict[str, SplitInfo]
    epochs: tuple[EpochPlan, ...]
    steps: tuple[StepPlan, ...]
