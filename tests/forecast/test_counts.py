import asyncio
from itertools import product

import pytest

from skillopt.config.settings import Gradient, Settings
from skillopt.forecast.counts import groups_of, merges_of, most_merges
from skillopt.phases.aggregate import Merger
from skillopt.records import Batch, Patch, StepPlan


class CountingMerger(Merger, frozen=True, kw_only=True):
    """The phase's own tree of merges, with calls that are counted and not made."""

    made: list

    async def merge(self, group, side, level):
        self.made.append(len(group))
        return Patch(), None


@pytest.mark.parametrize("size", [2, 3, 8])
def test_merges_are_those_of_the_phase(size):
    settings = Settings(gradient=Gradient(merge_batch_size=size))
    for patches in range(70):
        merger = CountingMerger(client=None, settings=settings, prompts=None, skill="", memory="", made=[])
        asyncio.run(merger.tree([Patch()] * patches, "failure"))
        assert merges_of(patches, size) == len(merger.made)


def test_most_merges():
    assert [most_merges(n, 0, 8) for n in (0, 1, 2, 8, 9, 17)] == [0, 0, 1, 1, 2, 3]
    assert most_merges(1, 1, 8) == 1  # one proposal of each side: the last merge alone
    assert most_merges(2, 1, 8) == 2
    assert most_merges(9, 9, 8) == 5


def step_of(*sizes):
    batches = tuple(Batch(ids=tuple(f"{k}.{n}" for n in range(size)), seed=1) for k, size in enumerate(sizes))
    return StepPlan(step=1, epoch=1, batches=batches, edit_budget=4)


def groups(size, failure_only=False):
    return Settings(gradient=Gradient(minibatch_size=size, failure_only=failure_only))


def test_groups_of_a_batch():
    assert groups_of(step_of(6), groups(3)) == {(0, 2), (1, 1), (1, 2), (2, 1), (2, 0)}
    assert groups_of(step_of(3), groups(8)) == {(0, 1), (1, 1), (1, 0)}
    assert groups_of(step_of(3), groups(8, failure_only=True)) == {(0, 0), (1, 0)}


def test_groups_of_several_batches_add_up():
    one = groups_of(step_of(5), groups(2))
    both = groups_of(step_of(5, 5), groups(2))
    assert both == {(a + c, b + d) for (a, b), (c, d) in product(one, one)}
    assert (max(map(sum, one)), max(map(sum, both))) == (3, 6)
