"""The one place that every model call goes through: store, retries, limits, accounts."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Self

import msgspec

from skillopt.errors import CapReached, ConfigError, SkillOptError
from skillopt.models.base import Backend, CallError, Reply, Request, RoleModel
from skillopt.models.caps import Allowance, Hold
from skillopt.models.claims import Claims
from skillopt.models.incoming import believable
from skillopt.models.ledger import Ledger
from skillopt.models.registry import backend_spec
from skillopt.models.retries import CallPolicy, FailureRun, Pace, given_up, wait_before_next
from skillopt.models.store import About, Store, key_maker, with_effort
from skillopt.progress import Board
from skillopt.texts import NOT_UTF8

__all__ = ["CallPolicy", "Client"]

_LOOKS = 0.02, 0.5
"""Seconds between two looks whether another process has the reply: first, and most."""


class _Flight:
    """A call on its way: its task, how many callers wait for it, and whether it is being paid for."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.task: asyncio.Task[Reply]
        self.callers = 0
        self.on_wire = False


class Client:
    """The model of one role, for one phase: at most `width` calls at once. Use as `async with`.

    Nothing is opened before the first call that the store does not hold: a full replay needs no key and no
    network. `env` is read for secrets then.

    A call that is on its way when its caller is cancelled, or when the phase ends early, has
    `grace` seconds to come back and be kept; when a cap was reached, it has all its time. `board` is where
    whoever makes the calls shows how far it is.
    """

    def __init__(
        self,
        role: RoleModel,
        *,
        policy: CallPolicy,
        width: int,
        store: Store,
        ledger: Ledger,
        env: Mapping[str, str],
        allowance: Allowance | None = None,
        board: Board | None = None,
        grace: float = 5.0,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        draw: Callable[[], float] = random.random,
    ) -> None:
        if width < 1:
            raise ConfigError(f"calls in flight: expected a width of at least 1, found {width}")
        self.role = role
        self.board = board or Board()
        self._policy = policy
        self._slots = asyncio.Semaphore(width)
        self._store = store
        self._claims = Claims(store.root, attempt=policy.timeout + policy.max_wait)
        self._ledger = ledger
        self._allowance = allowance or Allowance()
        self._env = env
        self._grace = grace
        self._sleep = sleep
        self._draw = draw
        self._key = key_maker(role)
        self._backend: Backend | None = None
        self._simulated = "simulated" in backend_spec(role.backend).capabilities
        self._flights: dict[str, _Flight] = {}
        self._pace = Pace()
        self._failures = FailureRun(policy.systemic_failures)
        self._dead: SkillOptError | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._land()
        finally:
            if self._backend is not None:
                await self._backend.close()
            self._ledger.close()

    async def call(self, request: Request) -> Reply:
        """Return the reply to `request`, from the store when it was ever paid for.

        Raises CallError when this call failed for good, ProviderDead when all do, CapReached when
        the run may spend no more, and StoreError when replies cannot be kept; after the last three
        no further call is made. Raises ValueError for a prompt that cannot be written as UTF-8.
        """
        request = with_effort(self.role, request)
        try:
            key = self._key(request)
        except UnicodeEncodeError:
            raise ValueError(f"the prompt for the {self.role.role}: {NOT_UTF8}") from None
        flight = self._flights.get(key)
        if flight is None:
            reply = self._store.get(key)
            if reply is not None:
                return await self._replay(key, reply)
            return await self._wait_for(self._depart(key, request))
        reply = await self._wait_for(flight)
        return await self._replay(key, reply)

    async def _replay(self, key: str, reply: Reply) -> Reply:
        self._failures.replayed()
        self._ledger.replied("replayed", key, self.role, reply)
        await asyncio.sleep(0)  # lets a stop, or another call, have its turn
        return reply

    def _depart(self, key: str, request: Request) -> _Flight:
        flight = _Flight(key)
        self._flights[key] = flight
        flight.task = asyncio.create_task(self._make(request, flight))
        flight.task.add_done_callback(lambda _: self._landed(flight))
        return flight

    def _landed(self, flight: _Flight) -> None:
        self._forget(flight)
        if not flight.task.cancelled():
            flight.task.exception()  # the callers may be gone: then nobody else looks at it

    async def _wait_for(self, flight: _Flight) -> Reply:
        flight.callers += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.callers -= 1
            if not flight.callers and not flight.on_wire:
                flight.task.cancel()  # not paid for yet, and nobody wants it any more
                self._forget(flight)

    def _forget(self, flight: _Flight) -> None:
        if self._flights.get(flight.key) is flight:
            del self._flights[flight.key]

    async def _land(self) -> None:
        """Wait a little for the calls on the wire, which are paid for; drop the others."""
        flights = list(self._flights.values())
        for flight in flights:
            if not flight.on_wire:
                flight.task.cancel()
        if flights:
            capped = isinstance(self._dead, CapReached)
            patience = max(self._grace, self._policy.timeout) if capped else self._grace
            _, late = await asyncio.wait([flight.task for flight in flights], timeout=patience)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def _make(self, request: Request, flight: _Flight) -> Reply:
        """Make the call, or have its reply from the process that makes it: that wait keeps no slot."""
        try:
            while True:
                # No deadlock: who has a claim has a slot too, and waits for no other claim.
                async with self._slots:
                    with self._claims.claim(flight.key) as claimed:
                        reply = self._store.get(flight.key)  # another process may have just kept it
                        if claimed and reply is None:
                            return await self._attempts(request, flight)
                reply = reply or await self._elsewhere(flight.key)
                if reply is not None:
                    return await self._replay(flight.key, reply)
        except SkillOptError as error:
            self._dead = self._dead or error
            raise

    async def _elsewhere(self, key: str) -> Reply | None:
        """Wait while another process makes a call; return its reply, None when it made none."""
        wait, most = _LOOKS
        while not self._claims.is_free(key):
            await asyncio.sleep(wait)
            wait = min(wait * 2, most)
        return self._store.get(key)

    async def _attempts(self, request: Request, flight: _Flight) -> Reply:
        """Try until there is a reply, or no hope; a call that waits keeps its slot."""
        attempt = 0
        while True:
            attempt += 1
            if pause := self._pace.wait():
                await self._sleep(pause)
            try:
                async with self._allowance.hold(request) as hold:
                    backend = self._alive()
                    started = time.monotonic()
                    reply = await self._attempt(backend, request, flight)
                    return self._keep(flight.key, reply, time.monotonic() - started, hold)
            except CallError as error:
                self._ledger.failed(flight.key, self.role, error, time.monotonic() - started)
                self._pace.failed(error, attempt)
                wait = wait_before_next(error, attempt, self._policy, self._draw())
                if wait is None or not flight.callers:
                    raise self._final(given_up(error, attempt, self._policy)) from error
                self._claims.renew(flight.key)
                await self._sleep(wait)

    async def _attempt(self, backend: Backend, request: Request, flight: _Flight) -> Reply:
        flight.on_wire = True
        try:
            async with asyncio.timeout(self._policy.timeout) as limit:
                return await backend.complete(request)
        except TimeoutError as error:
            if not limit.expired():
                raise
            limit_key = "env.exec_timeout" if self.role.role == "target" else "calls.timeout"
            message = f"no reply within {self._policy.timeout:g} s ({limit_key})"
            raise CallError(message, kind="timeout", transient=True, code="timeout") from error
        finally:
            flight.on_wire = False

    def _alive(self) -> Backend:
        """Return the backend, opened when this is the first call; raises what ended the phase."""
        if self._dead is not None:
            raise type(self._dead)(str(self._dead))
        if self._backend is None:
            self._store.require_writable()
            self._backend = backend_spec(self.role.backend).open(self.role, self._env)
        return self._backend

    def _keep(self, key: str, reply: Reply, seconds: float, hold: Hold) -> Reply:
        usage = msgspec.structs.replace(believable(reply.usage), calls=1)
        seconds = reply.seconds if self._simulated else round(seconds, 3)
        reply = msgspec.structs.replace(reply, seconds=seconds, usage=usage)
        about = About(
            backend=self.role.backend,
            model=self.role.model,
            run=self._ledger.run,
            role=self.role.role,
            phase=self._ledger.phase,
            label=self._ledger.label,
        )
        self._failures.success()
        self._pace.answered()
        kept = self._store.put(key, reply, about)
        with hold.paid(reply) as estimated:
            self._ledger.replied("made", key, self.role, reply, estimated)
        return kept

    def _final(self, error: CallError) -> CallError | SkillOptError:
        return self._failures.failure(error) or error
