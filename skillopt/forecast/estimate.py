"""The forecast of a run: calls, tokens and cost per role and phase, and what the call store holds of them."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from skillopt.config.resolved import Resolved
from skillopt.config.settings import Budget
from skillopt.data import Splits, used_items
from skillopt.files import read_text
from skillopt.forecast.counts import (
    Count,
    Range,
    Requests,
    Size,
    count_calls,
    count_jobs,
    exactly,
    groups_of,
    ids_of,
)
from skillopt.forecast.rehearsal import Seen, Stage, look, rehearse
from skillopt.models.base import Role
from skillopt.models.estimates import ASSUMED_COMPLETION, CHARS_PER_TOKEN, prompt_tokens
from skillopt.models.ledger import Totals, per_phase, read_ledger
from skillopt.models.prices import Price, Prices, cost_of
from skillopt.models.store import Store, call_key
from skillopt.phases.initial_skill import initial_skill_path
from skillopt.phases.preflight import probes
from skillopt.phases.rollout import Bench, bench_of
from skillopt.phases.spending import is_simulated, prices_of, unpriced_models
from skillopt.records import Plan, Usage
from skillopt.runs import Run

GROWN = 2000
"""Tokens that a skill may gain while it is trained (arXiv 2605.23904: deployed skills hold 300 to 2,000)."""


class Amount(msgspec.Struct, frozen=True, kw_only=True):
    """Calls with what they use.

    `asks` and `paid` as in `forecast.counts`; `most_paid` with every answer of the optimizer asked for
    as often as is allowed. `known` of the calls have known requests, `held` of them are in the call
    store; of the others it cannot be known. Tokens and cost (USD; None without a price) are those of
    `paid`; `measured` tells that replies of this run gave the length of replies.
    """

    asks: Range
    paid: Range
    most_paid: int
    known: int
    held: int
    prompt: Range
    completion: Range
    cost: tuple[float, float] | None
    measured: bool


class Line(Amount, frozen=True, kw_only=True):
    """The calls of one role in one phase."""

    role: Role
    phase: str


class Forecast(msgspec.Struct, frozen=True, kw_only=True):
    """What a run will take.

    `made` is how many calls it has paid for so far, `prices` the price table, "" for none, `unpriced` the
    models that it lacks, each with those that may be meant; `caps` says which limits of the section `budget`
    it reaches, or may.
    """

    run: str
    models: dict[Role, str]
    simulated: tuple[Role, ...]
    epochs: int
    steps: int
    jobs: int
    lines: tuple[Line, ...]
    total: Amount
    made: int
    prices: str
    unpriced: dict[str, str]
    caps: tuple[str, ...]


class Sizes(msgspec.Struct, frozen=True, kw_only=True):
    """Prompt tokens per call with the initial skill, and when it has grown by GROWN tokens."""

    initial: Mapping[Size, float]
    grown: Mapping[Size, float]


async def forecast(run: Run, store: Path, *, most: int = 0) -> Forecast:
    """Forecast a planned run; reads the call store at `store`, writes nothing, makes no call.

    With `most`, only so many items of a split are looked at: less is known, in less time.
    """
    resolved, plan, splits = run.resolved, run.plan, run.splits
    bench = bench_of(resolved)
    skill = read_text(initial_skill_path(resolved.settings.env.name, resolved.settings.env.skill_init))
    seen = await _look(run, bench, skill, Store(store), most)
    requests = Requests(**{name: {id_: one.key for id_, one in of.items()} for name, of in seen.items()})
    counts = count_calls(resolved.settings, plan, requests)
    sizes = await _sizes(resolved, plan, splits, bench, skill, seen)
    probing, held_probes = _probes(resolved, Store(store))
    totals = per_phase(read_ledger(store, plan.run))
    means = _measured(totals)
    prices = prices_of(resolved)
    lines = [
        _line(resolved, part, sizes, _held(part, plan, seen, held_probes), means, prices)
        for part in _by_phase([*probing, *counts])
    ]
    total = _sum(lines)
    return Forecast(
        run=plan.run,
        models={role: f"{model.backend}/{model.model}" for role, model in sorted(resolved.roles.items())},
        simulated=tuple(role for role, model in sorted(resolved.roles.items()) if is_simulated(model)),
        epochs=plan.num_epochs,
        steps=len(plan.steps),
        jobs=count_jobs(resolved.settings, plan),
        lines=tuple(lines),
        total=total,
        made=sum(total.made for total in totals),
        prices=resolved.settings.calls.prices,
        unpriced=unpriced_models(resolved, prices),
        caps=tuple(caps_reached(total, resolved.settings.budget)),
    )


def caps_reached(total: Amount, budget: Budget) -> Iterator[str]:
    """Say of each cap whether a run that finds nothing in the call store reaches it, or may."""
    tokens = total.prompt + total.completion
    needs: list[tuple[str, float, tuple[float, float]]] = [
        ("max_calls", budget.max_calls, (total.paid.low, total.paid.high)),
        ("max_tokens", budget.max_tokens, (tokens.low, tokens.high)),
        ("max_cost", budget.max_cost, total.cost or (0.0, 0.0)),
    ]
    for key, cap, (low, high) in needs:
        if cap and high > cap:
            how = "will be reached, unless the call store holds replies" if low > cap else "may be reached"
            yield f"cap: budget.{key} = {cap:g} {how}; the run then stops, and goes on when it is raised."


async def _look(run: Run, bench: Bench, skill: str, store: Store, most: int) -> dict[str, dict[str, Seen]]:
    settings, splits = run.resolved.settings, run.splits
    first = set(ids_of(run.plan.steps[0]))
    wanted = {
        "train": sorted(splits.train, key=lambda item: item.id not in first),
        "val": used_items(splits, "val", settings.evaluation),
        "test": used_items(splits, "test", settings.evaluation) if settings.evaluation.eval_test else [],
    }
    role, seed = run.resolved.roles["target"], settings.train.seed
    return {
        name: await look(items, skill, bench, role, store, seed=seed, most=most)
        for name, items in wanted.items()
    }


async def _sizes(
    resolved: Resolved,
    plan: Plan,
    splits: Splits,
    bench: Bench,
    skill: str,
    seen: Mapping[str, Mapping[str, Seen]],
) -> Sizes:
    settings = resolved.settings
    most = max(max(pair) for pair in groups_of(plan.steps[0], settings))
    stage = Stage(
        settings=settings,
        bench=bench,
        roles=resolved.roles,
        plan=plan,
        splits=splits,
        patches=max(min(most, settings.gradient.merge_batch_size), 2),
    )
    # In front: at the end there may be a protected region.
    longer = f"{'A rule. '.ljust(8) * (GROWN * CHARS_PER_TOKEN // 8)}\n{skill}\n"
    initial = await rehearse(stage, skill, "stable_success")
    grown = await rehearse(stage, longer, "persistent_fail")
    # Every further turn of the target repeats what was said before it.
    repeated = (settings.env.max_turns - 1) * ASSUMED_COMPLETION["target"] / 2
    means = {name: _mean([one.prompt for one in of.values()]) for name, of in seen.items()}
    for split in ("train", "val", "test"):
        initial[split], grown[split] = round(means[split]), round(means[split] + GROWN + repeated)
    initial["probe"] = grown["probe"] = prompt_tokens(probes(resolved, os.environ)[0].request)
    return Sizes(initial=initial, grown=grown)


def _mean(numbers: Sequence[int]) -> float:
    return sum(numbers) / len(numbers) if numbers else 0.0


def _probes(resolved: Resolved, store: Store) -> tuple[list[Count], dict[Role, int]]:
    """Return the calls of preflight, and how many of each role the store holds."""
    if not resolved.settings.calls.preflight_call:
        return [], {}
    found, held = [], dict[Role, int]()
    for probe in probes(resolved, os.environ):
        role = probe.roles[0]
        if is_simulated(role):
            continue
        one = exactly(1)
        found.append(
            Count(role=role.role, phase="preflight", label="start", size="probe", asks=one, paid=one)
        )
        held[role.role] = held.get(role.role, 0) + (store.get(call_key(role, probe.request)) is not None)
    return found, held


def _by_phase(counts: Sequence[Count]) -> list[list[Count]]:
    groups: dict[tuple[Role, str], list[Count]] = {}
    for count in counts:
        groups.setdefault((count.role, count.phase), []).append(count)
    return list(groups.values())


def _held(
    part: Sequence[Count], plan: Plan, seen: Mapping[str, Mapping[str, Seen]], probed: Mapping[Role, int]
) -> tuple[int, int]:
    """Return of how many calls the requests are known, and how many of those are held."""
    if part[0].phase == "preflight":
        return len(part), probed.get(part[0].role, 0)
    known = held = 0
    for count in part:
        if count.initial:
            ids = ids_of(plan.steps[0]) if count.size == "train" else list(seen[count.size])
            items = {one.key: one for one in (seen[count.size][id_] for id_ in ids) if one.looked}
            known += len(items)
            held += sum(one.held for one in items.values())
    return known, held


def _measured(totals: Sequence[Totals]) -> dict[tuple[Role, str], float]:
    """Return the mean length of the replies of each phase that the run has had, in tokens."""
    return {
        (total.role, total.phase): total.usage.completion / total.made
        for total in totals
        if total.made and total.usage.completion is not None
    }


def _line(
    resolved: Resolved,
    part: Sequence[Count],
    sizes: Sizes,
    held: tuple[int, int],
    means: Mapping[tuple[Role, str], float],
    prices: Prices,
) -> Line:
    first = part[0]
    asks = sum((count.asks for count in part), exactly(0))
    paid = sum((count.paid for count in part), exactly(0))
    length = means.get((first.role, first.phase), ASSUMED_COMPLETION[first.role])
    prompt = Range(
        low=round(sum(count.paid.low * sizes.initial[count.size] for count in part)),
        high=round(sum(count.paid.high * _largest(count, sizes, resolved) for count in part)),
    )
    completion = Range(low=round(paid.low * length), high=round(paid.high * length))
    attempts = resolved.settings.calls.answer_attempts if first.role == "optimizer" else 1
    again = 1 if first.phase == "preflight" else attempts
    return Line(
        role=first.role,
        phase=first.phase,
        asks=asks,
        paid=paid,
        most_paid=paid.high * again,
        known=held[0],
        held=held[1],
        prompt=prompt,
        completion=completion,
        cost=_cost(prompt, completion, prices.get(resolved.roles[first.role].model)),
        measured=(first.role, first.phase) in means,
    )


def _largest(count: Count, sizes: Sizes, resolved: Resolved) -> float:
    """Return the prompt tokens of a call at most: the skill does not grow where it is the initial one."""
    if not count.initial or resolved.settings.env.max_turns > 1:
        return sizes.grown[count.size] - (GROWN if count.initial else 0)
    return sizes.initial[count.size]


def _cost(prompt: Range, completion: Range, price: Price | None) -> tuple[float, float] | None:
    low, high = (
        cost_of(Usage(calls=1, prompt=sent, completion=said), price)
        for sent, said in ((prompt.low, completion.low), (prompt.high, completion.high))
    )
    return None if low is None or high is None else (low, high)


def _sum(lines: Sequence[Line]) -> Amount:
    costs = [line.cost for line in lines if line.cost is not None]
    whole = (sum(low for low, _ in costs), sum(high for _, high in costs))
    return Amount(
        asks=sum((line.asks for line in lines), exactly(0)),
        paid=sum((line.paid for line in lines), exactly(0)),
        most_paid=sum(line.most_paid for line in lines),
        known=sum(line.known for line in lines),
        held=sum(line.held for line in lines),
        prompt=sum((line.prompt for line in lines), exactly(0)),
        completion=sum((line.completion for line in lines), exactly(0)),
        cost=whole if len(costs) == len(lines) else None,
        measured=all(line.measured for line in lines),
    )
