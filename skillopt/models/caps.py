"""The caps of a run (section `budget`): what a call will use is set aside before it is made.

All processes of a run share one small file, `budget/<run>.json` in the call store, under a lock: what is
spent, and what each process has set aside for its calls in flight. What is spent is counted from the
ledger when a process makes its first call, so nothing is lost by a crash, and kept up to date from then
on. A cap can be passed only by calls in flight that use more than was expected of them.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Literal

import msgspec

from skillopt.errors import CapReached
from skillopt.models.base import Reply, Request, RoleModel
from skillopt.models.estimates import ASSUMED_COMPLETION, estimated_usage, prompt_tokens
from skillopt.models.incoming import believable
from skillopt.models.ledger import LedgerLine, ledger_lines
from skillopt.models.prices import Price, Prices, cost_of
from skillopt.models.tally import Spend, Tally, locked, process_name
from skillopt.records import Usage

log = logging.getLogger(__name__)

_WAITS = 0.05, 0.5
"""Seconds between two looks while the calls in flight decide whether there is room: first, and most."""
_ROUNDING = 1e-9
"""Relative: costs are sums of floating-point numbers, and ten calls of a cent are not over a dime."""
_SLACK = 60.0
"""Seconds beyond its time limit after which a call of another process is taken for lost."""


class Caps(msgspec.Struct, frozen=True, kw_only=True):
    """The most that a run may spend: USD, tokens, calls; 0 is no limit."""

    cost: float = 0.0
    tokens: int = 0
    calls: int = 0

    @property
    def any(self) -> bool:
        """Whether there is a limit."""
        return bool(self.cost or self.tokens or self.calls)


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """What a call is expected to use; `guessed` when no such call has been seen yet."""

    amount: Spend
    guessed: bool


Kind = Literal["cost", "tokens", "calls"]
_KINDS: tuple[Kind, ...] = ("calls", "tokens", "cost")


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a call may be made now, when calls in flight have come back, or not at all; by which cap."""

    do: Literal["go", "wait", "stop"]
    kind: Kind = "calls"


def admit(caps: Caps, spent: Spend, held: Spend, call: Expected) -> Verdict:
    """Decide on one call. A mere guess makes a call wait for those in flight, and stops none."""
    verdict = Verdict(do="go")
    for kind in _KINDS:
        cap = getattr(caps, kind)
        if not cap:
            continue
        room = cap * (1 + _ROUNDING)
        used, aside, own = (getattr(part, kind) for part in (spent, held, call.amount))
        certain = 0 if call.guessed and kind != "calls" else own
        if used >= cap or used + certain > room:
            return Verdict(do="stop", kind=kind)
        if aside and used + aside + own > room:
            verdict = Verdict(do="wait", kind=kind)
    return verdict


class Hold:
    """What is set aside for one call; this one is of a run without caps."""

    @contextlib.contextmanager
    def paid(self, reply: Reply) -> Iterator[Usage | None]:
        """Count the call, with the line of the ledger that is written inside.

        Yields the usage that is counted where the provider does not tell it.
        """
        yield None


class Allowance:
    """What one client may spend: as much as it likes."""

    @contextlib.asynccontextmanager
    async def hold(self, request: Request) -> AsyncIterator[Hold]:
        """Set aside what the call is expected to use, for as long as it lasts; raises CapReached."""
        yield Hold()


class CappedAllowance(Allowance):
    """What one client may still spend of what its run has left.

    `patience` is the time limit of a call in seconds, `root` the call store.
    """

    def __init__(
        self,
        caps: Caps,
        *,
        root: Path,
        run: str,
        role: RoleModel,
        phase: str,
        prices: Prices,
        patience: float,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._caps = caps
        self._root = root
        self._run = run
        self._role = role
        self._phase = phase
        self._prices = prices
        self._patience = patience
        self._sleep = sleep
        self._owner = process_name()
        self._seen: Spend | None = None
        self._unknown_said = False

    @contextlib.asynccontextmanager
    async def hold(self, request: Request) -> AsyncIterator[Hold]:
        """Wait while the calls in flight may leave too little; raise CapReached when nothing will be left."""
        amount = await self._reserve(request)
        hold = _Reserved(self, request, amount)
        try:
            yield hold
        finally:
            if not hold.closed:
                with self._locked() as tally:
                    tally.give_back(self._owner, amount)

    async def _reserve(self, request: Request) -> Spend:
        wait, most = _WAITS
        while True:
            with self._locked() as tally:
                tally.forget_the_dead()
                call = self._expected(request)
                verdict = admit(self._caps, tally.spent, tally.aside(), call)
                if verdict.do == "go":
                    tally.set_aside(self._owner, call.amount, time.time() + self._patience + _SLACK)
            if verdict.do == "go":
                return call.amount
            if verdict.do == "stop":
                raise CapReached(self._message(verdict.kind, tally.spent, call))
            await self._sleep(wait)
            wait = min(wait * 2, most)

    def _expected(self, request: Request) -> Expected:
        """Return the mean of the phase's calls so far, else a guess from the length of the text."""
        seen = self._seen or Spend()
        if seen.calls:
            amount = Spend(calls=1, tokens=round(seen.tokens / seen.calls), cost=seen.cost / seen.calls)
            return Expected(amount=amount, guessed=False)
        usage = Usage(calls=1, prompt=prompt_tokens(request), completion=ASSUMED_COMPLETION[self._role.role])
        return Expected(amount=self._spend(usage), guessed=True)

    def _spend(self, usage: Usage) -> Spend:
        return spend_of(usage, self._prices.get(self._role.model))

    @contextlib.contextmanager
    def paid(self, request: Request, reply: Reply, aside: Spend) -> Iterator[Usage | None]:
        """Count a call and give back what was set aside for it; see `Hold.paid`."""
        told = reply.usage.prompt is not None and reply.usage.completion is not None
        estimate = None if told else estimated_usage(request, reply)
        if estimate and not self._unknown_said and (self._caps.tokens or self._caps.cost):
            self._unknown_said = True
            log.warning("a reply came without its tokens: the caps count them by the length of the text")
        used = self._spend(estimate or reply.usage)
        with self._locked() as tally:
            yield estimate
            tally.give_back(self._owner, aside)
            tally.spent += used
            self._seen = (self._seen or Spend()) + used

    @contextlib.contextmanager
    def _locked(self) -> Iterator[Tally]:
        """Yield the tally of the run, counted from the ledger at first."""
        with locked(self._root / "budget" / f"{self._run}.json") as (tally, found):
            if self._seen is None or not found:
                self._count(tally)
            yield tally

    def _count(self, tally: Tally) -> None:
        """Count what is spent from the ledger, whose lines are written under the same lock."""
        seen, total, unknown = Spend(), Spend(), 0
        mine = (self._role.role, self._phase, self._role.model)
        for line in ledger_lines(self._root, self._run):
            if line.event != "made":
                continue
            spend = _spend_of_line(line, self._prices, priced=bool(self._caps.cost))
            unknown += spend is None
            total += spend or Spend(calls=1)
            if spend and (line.role, line.phase, line.model) == mine:
                seen += spend
        if unknown and (self._caps.tokens or self._caps.cost):
            log.warning(
                "%d earlier calls of this run have no known tokens or no price: they count for nothing in "
                "budget.max_tokens and budget.max_cost",
                unknown,
            )
        tally.spent, self._seen = total, seen

    def _message(self, kind: Kind, spent: Spend, call: Expected) -> str:
        cap, used = getattr(self._caps, kind), getattr(spent, kind)
        key = f"budget.max_{kind}"
        needs = ""
        if kind != "calls" and used < cap:
            needs = f", and a call of {self._phase} needs about {_amount(kind, getattr(call.amount, kind))}"
        return (
            f"{key} is reached: {_amount(kind, used)} of {_amount(kind, cap)} {_UNITS[kind]} are spent"
            f"{needs}. No further call is made; every reply that came back is kept. To go on, raise {key} "
            f"in the run's file or with `skillopt train {self._run} --set {key}=...` (0: no limit) and run "
            "the same command again: nothing is paid for twice."
        )


class _Reserved(Hold):
    """What is set aside for one call of a run with caps."""

    def __init__(self, allowance: CappedAllowance, request: Request, amount: Spend) -> None:
        self._allowance = allowance
        self._request = request
        self._amount = amount
        self.closed = False

    @contextlib.contextmanager
    def paid(self, reply: Reply) -> Iterator[Usage | None]:
        with self._allowance.paid(self._request, reply, self._amount) as estimate:
            yield estimate
        self.closed = True


_UNITS = {"calls": "calls", "tokens": "tokens", "cost": "USD"}


def _amount(kind: Kind, value: float) -> str:
    return f"{value:.4f}" if kind == "cost" else f"{value:,.0f}"


def spend_of(usage: Usage, price: Price | None) -> Spend:
    """Return one call's spend; what is unknown, or cannot be, counts for nothing."""
    usage = believable(usage)
    return Spend(
        calls=1,
        tokens=(usage.prompt or 0) + (usage.completion or 0),
        cost=cost_of(usage, price) or 0.0,
    )


def _spend_of_line(line: LedgerLine, prices: Prices, *, priced: bool) -> Spend | None:
    """Return what a line counts, None when its tokens, or if wanted its cost, are unknown."""
    usage = believable(line.estimated or line.usage)
    unpriced = priced and cost_of(usage, prices.get(line.model)) is None
    if usage.prompt is None or usage.completion is None or unpriced:
        return None
    return spend_of(usage, prices.get(line.model))
