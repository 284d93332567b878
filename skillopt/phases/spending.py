"""What a run may spend: its caps as the settings give them, and whether they can be kept."""

from collections.abc import Iterator
from pathlib import Path

from skillopt.config.resolved import Resolved
from skillopt.errors import ConfigError
from skillopt.models.base import Role, RoleModel
from skillopt.models.caps import Allowance, CappedAllowance, Caps
from skillopt.models.prices import Price, Prices, read_prices
from skillopt.models.registry import backend_spec
from skillopt.naming import known_ones

FREE = Price(prompt=0.0, completion=0.0)
"""What a simulated model costs, unless the price table says otherwise."""


def prices_of(resolved: Resolved) -> Prices:
    """Return the run's price table, and simulated models for free.

    Raises ConfigError when the table cannot be read.
    """
    table = resolved.settings.calls.prices
    return {**free_models(resolved), **(read_prices(Path(table)) if table else {})}


def unpriced_models(resolved: Resolved, prices: Prices) -> dict[str, str]:
    """Return the models that the run's price table lacks, each with the nearest name in it, and all."""
    if not resolved.settings.calls.prices:
        return {}
    there = sorted(prices.keys() - free_models(resolved).keys())
    models = {role.model for role in resolved.roles.values()} - prices.keys()
    return {model: known_ones(model, there, "models in it") for model in sorted(models)}


def free_models(resolved: Resolved) -> Prices:
    """Return the prices of simulated models."""
    return {role.model: FREE for role in resolved.roles.values() if is_simulated(role)}


def is_simulated(role: RoleModel) -> bool:
    """Whether no real model plays the role."""
    return "simulated" in backend_spec(role.backend).capabilities


def require_countable(resolved: Resolved) -> None:
    """Raise ConfigError when a cap could not be kept, because a price or the tokens would be unknown.

    A price table that is named must be readable in any case.
    """
    problems = list(_problems(resolved))
    if problems:
        raise ConfigError("\n".join(problems))


def _problems(resolved: Resolved) -> Iterator[str]:
    settings = resolved.settings
    unpriced = unpriced_models(resolved, prices_of(resolved))
    if settings.budget.max_cost and not settings.calls.prices:
        yield "budget.max_cost: expected a price table in calls.prices, found none"
    for name, role in sorted(resolved.roles.items()):
        counts = bool(settings.budget.max_cost or settings.budget.max_tokens)
        if counts and "usage" not in backend_spec(role.backend).capabilities:
            yield (
                f"budget.max_{'cost' if settings.budget.max_cost else 'tokens'}: the backend of the {name}, "
                f"{role.backend}, does not tell what a call uses; set budget.max_calls instead"
            )
        if settings.budget.max_cost and role.model in unpriced:
            yield (
                f"budget.max_cost: expected a price for the {name}'s model {role.model!r} in "
                f"{settings.calls.prices}, found none{unpriced[role.model]}"
            )


def caps_of(resolved: Resolved) -> Caps:
    """Return the caps that the settings ask for."""
    budget = resolved.settings.budget
    return Caps(cost=budget.max_cost, tokens=budget.max_tokens, calls=budget.max_calls)


def allowance(
    resolved: Resolved, role: Role, *, root: Path, run: str, phase: str, patience: float
) -> Allowance:
    """Return what one client of a run may spend; see `models.caps.CappedAllowance`."""
    caps = caps_of(resolved)
    if not caps.any:
        return Allowance()
    return CappedAllowance(
        caps,
        root=root,
        run=run,
        role=resolved.roles[role],
        phase=phase,
        prices=prices_of(resolved),
        patience=patience,
    )
