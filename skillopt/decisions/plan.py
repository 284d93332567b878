"""The plan of a run: which items each step sees, with which seeds and edit budget. Pure functions."""

import random
from collections.abc import Sequence

from skillopt.config.settings import MOST_BATCHES, MOST_EPOCHS
from skillopt.decisions.schedule import Scheduler, edit_budget
from skillopt.errors import ConfigError
from skillopt.records import Batch, EpochPlan, Plan, SplitInfo, StepPlan

EPOCH_STRIDE = 1000
"""Distance between the seeds of two epochs' batches."""
COMPARISON_STRIDE = 2000
"""Distance between the seeds of two epochs' samples for the longitudinal comparison."""
MOST_STEPS = 9999
"""Steps of a run: their folders and skills have numbers of four digits."""


def make_plan(
    run: str,
    *,
    train_ids: Sequence[str],
    splits: dict[str, SplitInfo],
    num_epochs: int,
    train_size: int,
    batch_size: int,
    accumulation: int,
    seed: int,
    learning_rate: int,
    min_learning_rate: int,
    lr_scheduler: Scheduler,
    slow_update_samples: int,
) -> Plan:
    """Plan a whole run from the train ids in file order.

    `train_size` 0 means the size of the split; raises ConfigError when it is another number.
    """
    _check(len(train_ids), train_size, num_epochs, batch_size, accumulation)
    per_epoch = steps_per_epoch(len(train_ids), batch_size, accumulation)
    total = num_epochs * per_epoch
    if total > MOST_STEPS:
        raise ConfigError(
            f"train.num_epochs: expected at most {MOST_STEPS} steps in all, found {num_epochs} epochs of "
            f"{per_epoch} steps ({len(train_ids)} train items). Lower it, or raise train.batch_size or "
            "train.accumulation."
        )
    epochs = [
        _plan_epoch(epoch, per_epoch, train_ids, seed, slow_update_samples)
        for epoch in range(1, num_epochs + 1)
    ]
    steps: list[StepPlan] = []
    for epoch in epochs:
        batches = epoch_batches(train_ids, seed, epoch.epoch, batch_size, per_epoch * accumulation)
        for step in range(epoch.first_step, epoch.last_step + 1):
            start = (step - epoch.first_step) * accumulation
            budget = edit_budget(lr_scheduler, step, total, learning_rate, min_learning_rate)
            mine = tuple(batches[start : start + accumulation])
            steps.append(StepPlan(step=step, epoch=epoch.epoch, batches=mine, edit_budget=budget))
    return Plan(
        run=run,
        num_epochs=num_epochs,
        steps_per_epoch=per_epoch,
        splits=splits,
        epochs=tuple(epochs),
        steps=tuple(steps),
    )


def steps_per_epoch(train_size: int, batch_size: int, accumulation: int) -> int:
    """Return how many steps it takes to see each train item once (rounded up)."""
    return -(-train_size // (batch_size * accumulation))


def epoch_batches(ids: Sequence[str], seed: int, epoch: int, size: int, count: int) -> list[Batch]:
    """Cut `count` micro-batches of at most `size` ids from the epoch's shuffle.

    When the ids run out, the rest are refilled from fresh shuffles of the shuffled list.
    """
    base = seed + epoch * EPOCH_STRIDE
    order = shuffled(ids, base)
    batches = []
    for k in range(count):
        own = base + k + 1
        cut = order[k * size : (k + 1) * size] or shuffled(order, own)[:size]
        batches.append(Batch(ids=tuple(cut), seed=own))
    return batches


def shuffled(ids: Sequence[str], seed: int) -> list[str]:
    """Return a copy in an order that depends on nothing but the seed and the given order."""
    order = list(ids)
    random.Random(seed).shuffle(order)
    return order


def _plan_epoch(epoch: int, per_epoch: int, ids: Sequence[str], seed: int, samples: int) -> EpochPlan:
    return EpochPlan(
        epoch=epoch,
        first_step=(epoch - 1) * per_epoch + 1,
        last_step=epoch * per_epoch,
        sample=min(samples, len(ids)),
        comparison=tuple(shuffled(ids, seed + epoch * COMPARISON_STRIDE)),
    )


def _check(found: int, train_size: int, num_epochs: int, batch_size: int, accumulation: int) -> None:
    if not found:
        raise ConfigError("the train split has no items; nothing can be planned")
    if train_size and train_size != found:
        raise ConfigError(
            f"train.train_size: expected the size of the train split ({found}, after env.limit) or 0, "
            f"found {train_size}. Set it to 0 to take the split as it is."
        )
    counts = {
        "num_epochs": (num_epochs, MOST_EPOCHS),
        "batch_size": (batch_size, None),
        "accumulation": (accumulation, MOST_BATCHES),
    }
    for name, (value, most) in counts.items():
        if value < 1:
            raise ConfigError(f"train.{name}: expected at least 1, found {value}")
        if most is not None and value > most:
            raise ConfigError(f"train.{name}: expected at most {most}, found {value}")
