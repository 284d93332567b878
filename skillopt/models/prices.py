"""What calls cost: a price table, and tokens turned into money."""

import math
from collections.abc import Mapping
from pathlib import Path

import msgspec

from skillopt.errors import ConfigError, CorruptFile
from skillopt.naming import known_ones
from skillopt.records import Usage


class Price(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Prices of one model in USD per million tokens; `cached` is that of cached prompt tokens.

    Reasoning tokens are part of the completion tokens, as providers bill them.
    """

    prompt: float
    completion: float
    cached: float | None = None


Prices = Mapping[str, Price]
"""Prices by the name of the model, as it is configured."""

_EXPECTED = "prices such as `gpt-5.5: {prompt: 1.25, completion: 10}` (USD per million tokens)"


def read_prices(path: Path) -> Prices:
    """Read a price table: `<model>: {prompt: 1.25, cached: 0.125, completion: 10}`, one model a key.

    Raises ConfigError naming the file, the model and what is wrong with its prices.
    """
    from skillopt.config.yamlfile import read_yaml

    try:
        found = read_yaml(path)
    except (ConfigError, CorruptFile) as error:
        raise ConfigError(f"calls.prices: expected a price table at {path}: {error}") from error
    if not isinstance(found, dict):
        raise ConfigError(f"{path}: expected {_EXPECTED}, found no models")
    return {_name(path, model): _price(path, model, fields) for model, fields in found.items()}


def _name(path: Path, model: object) -> str:
    if isinstance(model, str):
        return model
    raise ConfigError(f"{path}: expected the name of a model, found {model!r}: write it in quotes")


def _price(path: Path, model: str, fields: object) -> Price:
    problem = _problem(fields)
    if problem:
        raise ConfigError(f"{path}: {model}: {problem}")
    return msgspec.convert(fields, Price)


def _problem(fields: object) -> str:
    """Say what is wrong with the prices of a model, "" for nothing."""
    from skillopt.config.values import found

    if not isinstance(fields, dict):
        return f"expected {_EXPECTED}, found {found(fields)}"
    known = Price.__struct_fields__
    for name, value in fields.items():
        if name not in known:
            return f"{name}: expected {_EXPECTED}, found an unknown key{known_ones(str(name), known, 'keys')}"
        if not _is_price(value) and not (name == "cached" and value is None):
            return f"{name}: expected a price, a number of USD from 0 on, found {found(value)}"
    missing = [name for name in ("prompt", "completion") if name not in fields]
    return f"expected {_EXPECTED}, found no {' and no '.join(missing)}" if missing else ""


def _is_price(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf


def cost_of(usage: Usage, price: Price | None) -> float | None:
    """Return the cost in USD, None without a price or with tokens that are unknown or cannot be.

    Cached tokens that the provider does not tell are priced like the others: never too low.
    """
    if price is None or usage.prompt is None or usage.completion is None:
        return None
    cached = usage.cached or 0
    if not 0 <= cached <= usage.prompt or usage.completion < 0:
        return None
    cached_price = price.prompt if price.cached is None else price.cached
    prompt = (usage.prompt - cached) * price.prompt + cached * cached_price
    return (prompt + usage.completion * price.completion) / 1e6


def dollars(cost: float | None) -> str:
    """Write a cost in USD; None is unknown, and what is less than a cent is not written as nothing."""
    if cost is None:
        return "unknown"
    return "<$0.01" if 0 < cost < 0.005 else f"${cost:,.2f}"
