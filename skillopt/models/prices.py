"""What calls cost: a price table, and tokens turned into money."""

import math
from collections.abc import Mapping
from pathlib import Path

import msgspec

from skillopt.errors import ConfigError, CorruptFile
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
    try:
        price = msgspec.convert(fields, Price)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{path}: {model}: expected {_EXPECTED}, found: {error}") from error
    for name, value in msgspec.structs.asdict(price).items():
        if value is not None and not (math.isfinite(value) and value >= 0):
            raise ConfigError(f"{path}: {model}: {name}: expected a price from 0 on, found {value}")
    return price


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
