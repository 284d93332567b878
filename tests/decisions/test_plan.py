import pytest

from skillopt.decisions.plan import epoch_batches, make_plan, shuffled, steps_per_epoch
from skillopt.errors import ConfigError
from skillopt.files import canonical
from skillopt.records import SplitInfo

TEN = [f"i{n:02d}" for n in range(10)]


def plan(ids, **changes):
    values = {
        "splits": {},
        "num_epochs": 2,
        "train_size": 0,
        "batch_size": 4,
        "accumulation": 1,
        "seed": 42,
        "learning_rate": 4,
        "min_learning_rate": 2,
        "lr_scheduler": "cosine",
        "slow_update_samples": 20,
    }
    return make_plan("run", train_ids=ids, **{**values, **changes})


@pytest.mark.parametrize(
    ("seed", "order"),
    [
        (42, "i07 i03 i02 i08 i05 i06 i09 i04 i00 i01"),
        (1042, "i06 i04 i01 i09 i07 i08 i00 i05 i02 i03"),
        (2042, "i01 i04 i06 i09 i08 i00 i07 i02 i03 i05"),
        (43, "i08 i01 i05 i06 i09 i07 i03 i02 i04 i00"),
    ],
)
def test_shuffles(seed, order):
    assert shuffled(TEN, seed) == order.split()
    assert sorted(TEN) == TEN


def test_batches_cut_the_epochs_shuffle_and_the_last_may_be_short():
    found = plan(TEN)
    assert found.steps_per_epoch == 3
    assert [step.batches[0].ids for step in found.steps[:3]] == [
        ("i06", "i04", "i01", "i09"),
        ("i07", "i08", "i00", "i05"),
        ("i02", "i03"),
    ]
    assert found.steps[3].batches[0].ids == ("i01", "i04", "i06", "i09")
    assert [step.batches[0].seed for step in found.steps] == [1043, 1044, 1045, 2043, 2044, 2045]
    assert [(step.step, step.epoch) for step in found.steps] == [
        (1, 1),
        (2, 1),
        (3, 1),
        (4, 2),
        (5, 2),
        (6, 2),
    ]


def test_accumulation_refills_when_the_items_run_out():
    found = plan(["i07", "i03"], accumulation=3, batch_size=1)
    assert found.steps_per_epoch == 1
    batches = [[(batch.ids, batch.seed) for batch in step.batches] for step in found.steps]
    assert batches == [
        [(("i03",), 1043), (("i07",), 1044), (("i07",), 1045)],
        [(("i07",), 2043), (("i03",), 2044), (("i03",), 2045)],
    ]


def test_a_refill_is_never_longer_than_the_split():
    batches = epoch_batches(["a", "b", "c"], 42, 1, 5, 2)
    assert [sorted(batch.ids) for batch in batches] == [["a", "b", "c"]] * 2


def test_every_item_is_seen_once_per_epoch():
    ids = [str(n) for n in range(177)]
    found = plan(ids, batch_size=40, accumulation=2)
    assert found.steps_per_epoch == 3
    for epoch in found.epochs:
        steps = found.steps[epoch.first_step - 1 : epoch.last_step]
        seen = [id_ for step in steps for batch in step.batches for id_ in batch.ids]
        assert sorted(seen[:177]) == sorted(ids)
        assert [len(batch.ids) for step in steps for batch in step.batches] == [40, 40, 40, 40, 17, 40]


@pytest.mark.parametrize(
    ("size", "batch", "accumulation", "steps"),
    [(400, 40, 1, 10), (401, 40, 1, 11), (80, 40, 2, 1), (1, 40, 4, 1)],
)
def test_steps_per_epoch(size, batch, accumulation, steps):
    assert steps_per_epoch(size, batch, accumulation) == steps


def test_the_comparison_holds_the_whole_drawing_order():
    found = plan(TEN, slow_update_samples=3)
    assert [epoch.sample for epoch in found.epochs] == [3, 3]
    assert [epoch.comparison for epoch in found.epochs] == [
        tuple(shuffled(TEN, 2042)),
        tuple(shuffled(TEN, 4042)),
    ]
    assert plan(TEN).epochs[0].sample == 10


def test_budgets_run_over_all_epochs():
    found = plan([str(n) for n in range(400)], num_epochs=4, batch_size=40)
    assert [step.edit_budget for step in found.steps] == [4] * 13 + [3] * 13 + [2] * 14
    unlimited = plan(TEN, lr_scheduler="autonomous")
    assert {step.edit_budget for step in unlimited.steps} == {None}


def test_an_added_epoch_leaves_the_earlier_ones_alone():
    short, long = (plan(TEN, num_epochs=n, lr_scheduler="constant") for n in (2, 3))
    assert (long.epochs[:2], long.steps[:6]) == (short.epochs, short.steps)


def test_a_thousand_steps_of_forty():
    found = plan([str(n) for n in range(800)], num_epochs=50, batch_size=40)
    assert len(found.steps) == 1000
    assert (found.steps[-1].step, found.steps[-1].epoch, found.steps[-1].batches[0].seed) == (
        1000,
        50,
        50062,
    )


def test_the_plan_is_the_same_each_time_and_names_its_splits():
    splits = {"val": SplitInfo(source="v", size=3, used=2, sha256="0")}
    found = plan(TEN, splits=splits)
    assert (found.run, found.splits) == ("run", splits)
    assert canonical(found) == canonical(plan(TEN, splits=splits))


def test_train_size_must_be_that_of_the_split():
    assert plan(TEN, train_size=10) == plan(TEN)
    with pytest.raises(ConfigError, match=r"train\.train_size: expected .*\(10.*\) or 0, found 400"):
        plan(TEN, train_size=400)


@pytest.mark.parametrize("name", ["num_epochs", "batch_size", "accumulation"])
def test_counts_below_one_are_refused(name):
    with pytest.raises(ConfigError, match=rf"train\.{name}: expected at least 1, found 0"):
        plan(TEN, **{name: 0})


def test_no_items_no_plan():
    with pytest.raises(ConfigError, match="no items"):
        plan([])


@pytest.mark.parametrize(
    ("items", "changes", "words"),
    [
        (10, {"num_epochs": 100}, "train.num_epochs: expected at most 99, found 100"),
        (10, {"num_epochs": 2_000_000}, "train.num_epochs: expected at most 99"),
        (10, {"accumulation": 10**9}, "train.accumulation: expected at most 1000, found 1000000000"),
        (102, {"num_epochs": 99, "batch_size": 1}, "at most 9999 steps in all, found 99 epochs of 102 steps"),
        (10_000, {"num_epochs": 1, "batch_size": 1}, "at most 9999 steps in all, found 1 epochs of 10000"),
    ],
)
def test_more_than_the_names_of_folders_hold_is_refused(items, changes, words):
    with pytest.raises(ConfigError, match=words):
        plan([str(n) for n in range(items)], **changes)


def test_the_most_steps_that_can_be_planned():
    found = plan([str(n) for n in range(101)], num_epochs=99, batch_size=1)
    assert (found.steps[-1].step, found.epochs[-1].epoch) == (9999, 99)
