import pytest

from skillopt.errors import ConfigError
from skillopt.models.base import Reply, RoleModel
from skillopt.models.ledger import Ledger, per_phase, read_ledger
from skillopt.models.prices import Price, cost_of, dollars, read_prices
from skillopt.records import Usage

PRICE = Price(prompt=1.25, cached=0.125, completion=10.0)


def test_cost_in_dollars():
    usage = Usage(calls=1, prompt=1_000_000, cached=400_000, completion=100_000)
    assert cost_of(usage, PRICE) == pytest.approx(0.6 * 1.25 + 0.4 * 0.125 + 0.1 * 10)


def test_unknown_is_never_zero_and_unknown_cached_never_too_low():
    assert cost_of(Usage(calls=1, prompt=None, completion=5), PRICE) is None
    assert cost_of(Usage(calls=1, prompt=5, completion=None), PRICE) is None
    assert cost_of(Usage(calls=1, prompt=5, completion=5), None) is None
    assert cost_of(Usage(calls=1, prompt=1_000_000, completion=0), PRICE) == pytest.approx(1.25)


@pytest.mark.parametrize(("prompt", "cached", "completion"), [(-1, 0, 5), (5, -1, 5), (5, 6, 5), (5, 0, -1)])
def test_counts_that_cannot_be_have_no_cost(prompt, cached, completion):
    assert cost_of(Usage(calls=1, prompt=prompt, cached=cached, completion=completion), PRICE) is None


def test_only_calls_that_were_made_cost(tmp_path):
    role = RoleModel(role="target", backend="x", model="m")
    reply = Reply(text="", usage=Usage(calls=1, prompt=1_000_000, cached=0, completion=0))
    ledger = Ledger(tmp_path, run="r", phase="rollout", label="0001")
    ledger.replied("made", "a", role, reply)
    ledger.replied("replayed", "a", role, reply)
    ledger.close()
    priced = per_phase(read_ledger(tmp_path, "r", {"m": PRICE}))
    assert [(part.made, part.replayed, part.cost) for part in priced] == [(1, 1, 1.25)]
    assert read_ledger(tmp_path, "r", {"other": PRICE}).totals[0].cost is None


def test_a_price_table_is_read_and_refused_with_its_file(tmp_path):
    table = tmp_path / "prices.yaml"
    table.write_text(
        "gpt-5.5: {prompt: 1.25, cached: 0.125, completion: 10}\nlocal: {prompt: 0, completion: 0}\n"
    )
    assert read_prices(table) == {"gpt-5.5": PRICE, "local": Price(prompt=0, completion=0)}
    table.write_text("gpt-5.5: {promt: 1.25, completion: 10}\n")
    with pytest.raises(ConfigError, match=r"prices\.yaml.*promt"):
        read_prices(table)
    with pytest.raises(ConfigError, match="missing"):
        read_prices(tmp_path / "missing.yaml")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("m: {prompt: .nan, completion: 1}", r"m: prompt: expected a price, .*found \"\.nan\""),
        ("m: {prompt: 1, completion: .inf}", r"m: completion: expected a price"),
        ("m: {prompt: $1.25, completion: 1}", r"m: prompt: expected a price, .*found \"\$1\.25\""),
        ("m: {promt: 1, completion: 1}", r"m: promt: .*unknown key; did you mean prompt\?"),
        ("m: {input: 1, output: 1}", r"m: input: .*unknown key \(keys: prompt, completion, cached\)"),
        ("m: {4: 1}", r"m: 4: .*unknown key"),
        ("m: {prompt: 1}", r"m: .*found no completion"),
        ("m: {cached: 1}", r"m: .*found no prompt and no completion"),
        ("m:", r"m: .*found nothing"),
        ("m: {prompt: !!float .nan, completion: 1}", r"line 1, column 13: .*a tag"),
        ("m: {prompt: 1, completion: 1, cached: -0.1}", r"m: cached: .*from 0 on, found -0\.1"),
        ("m: {prompt: 1e999, completion: 1}", r"m: prompt: "),
        ("m: {prompt: 1, completion: 1}\nm: {prompt: 2, completion: 1}", r"line 2.*second time"),
        ("m: {prompt: 1, prompt: 2, completion: 1}", r"second time"),
        ('m: {prompt: !!int "x", completion: 1}', r"line 1, column 13: .*a tag"),
        ("m: {prompt: yes, completion: 1}", r"m: prompt: expected a price, .*found true"),
        ("m: 3", r"m: expected prices such as"),
        ("4: {prompt: 1, completion: 1}", r"name of a model, found 4"),
        ("", r"found no models"),
        ("[m]", r"found no models"),
        ("m: {", r"expected YAML"),
    ],
)
def test_prices_that_cannot_be_are_refused_with_file_model_and_field(tmp_path, content, said):
    table = tmp_path / "prices.yaml"
    table.write_text(content)
    with pytest.raises(ConfigError, match=rf"prices\.yaml.*{said}"):
        read_prices(table)


@pytest.mark.parametrize(
    ("cost", "text"),
    [(None, "unknown"), (0.0, "$0.00"), (0.0049, "<$0.01"), (0.0051, "$0.01"), (1234.5, "$1,234.50")],
)
def test_a_small_cost_is_not_written_as_nothing(cost, text):
    assert dollars(cost) == text
