import pytest

from skillopt.config.resolve import load_run
from skillopt.errors import ConfigError
from skillopt.models.caps import Caps
from skillopt.models.prices import Price
from skillopt.phases.spending import caps_of, prices_of, require_countable

RUN = """
env: {name: searchqa, split_mode: split_dir, split_dir: data}
model: {backend: openai_compatible, optimizer: strong, target: small}
"""


@pytest.fixture
def resolve(tmp_path):
    (tmp_path / "config").mkdir()
    run = tmp_path / "config/run.yaml"
    run.write_text(RUN)
    table = tmp_path / "prices.yaml"
    table.write_text("strong: {prompt: 1, completion: 4}\n")
    return lambda *overrides: load_run(run, [part.format(table=table) for part in overrides], {})


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (("budget.max_cost=1",), "budget.max_cost: expected a price table in calls.prices, found none"),
        (("budget.max_cost=1", "calls.prices=none.yaml"), "expected a price table at none.yaml"),
        (("calls.prices=none.yaml",), "expected a price table at none.yaml"),
        (("budget.max_cost=1", "calls.prices={table}"), "a price for the target's model 'small' in"),
        (
            ("budget.max_cost=1", "calls.prices={table}", "model.target=strnog"),
            "found none; did you mean strong? (models in it: strong)",
        ),
        (
            ("budget.max_tokens=1", "model.target_backend=cursor_exec"),
            "budget.max_tokens: the backend of the",
        ),
        (
            ("budget.max_cost=1", "calls.prices={table}", "model.target_backend=cursor_exec"),
            "set budget.max_calls instead",
        ),
    ],
)
def test_a_cap_that_could_not_be_kept_is_refused(resolve, overrides, said):
    with pytest.raises(ConfigError) as refusal:
        require_countable(resolve(*overrides))
    assert said in str(refusal.value)


@pytest.mark.parametrize(
    "overrides",
    [
        (),
        ("budget.max_tokens=1", "budget.max_calls=1"),
        ("budget.max_calls=1", "model.target_backend=cursor_exec"),
        ("budget.max_cost=1", "calls.prices={table}", "model.target=strong"),
        ("budget.max_cost=1", "calls.prices={table}", "model.target_backend=simulator"),
        ("calls.prices={table}", "model.target=without-a-price"),
    ],
)
def test_a_cap_that_can_be_kept_is_not(resolve, overrides):
    require_countable(resolve(*overrides))


def test_a_simulated_model_is_free(resolve):
    prices = prices_of(resolve("calls.prices={table}", "model.target_backend=simulator"))
    assert prices == {
        "simulated": Price(prompt=0.0, completion=0.0),
        "strong": Price(prompt=1.0, completion=4.0),
    }
    assert prices_of(resolve()) == {}


@pytest.mark.parametrize("value", ["-1", "1.5", "many"])
def test_caps_are_whole_numbers_from_zero(resolve, value):
    with pytest.raises(ConfigError, match=r"budget\.max_calls"):
        resolve(f"budget.max_calls={value}")


def test_each_cap_is_that_of_its_setting(resolve):
    found = caps_of(resolve("budget.max_cost=1.5", "budget.max_tokens=20", "budget.max_calls=3"))
    assert found == Caps(cost=1.5, tokens=20, calls=3)
    assert caps_of(resolve()) == Caps()
