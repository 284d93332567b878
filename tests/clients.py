"""Clients for tests: real ones, on a scripted endpoint, that note their waits instead of waiting."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from endpoint import Endpoint, Rule

from skillopt.models.base import Message, Request, RoleModel
from skillopt.models.client import CallPolicy, Client
from skillopt.models.ledger import Ledger
from skillopt.models.store import Store

KEY = "canary-4f1d9"
POLICY = CallPolicy(max_attempts=3, max_wait=60.0, timeout=30.0, systemic_failures=4)


def role_at(url: str, role: Any = "target", **settings: Any) -> RoleModel:
    return RoleModel(
        role=role, backend="openai_compatible", model="m-1", settings={"base_url": url, **settings}
    )


def ask(text: str, **fields: Any) -> Request:
    defaults = {"messages": (Message(role="user", content=text),), "max_completion_tokens": 64}
    return Request(**(defaults | fields))


class Waits:
    """Stands in for asyncio.sleep: notes each wait, and ends it at once."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)
        await asyncio.sleep(0)


def client_at(root: Path, url: str, *, policy: CallPolicy = POLICY, width: int = 8, **options: Any) -> Client:
    return Client(
        options.pop("role", None) or role_at(url),
        policy=policy,
        width=width,
        store=Store(root),
        ledger=Ledger(root, run="demo", phase="rollout", label=options.pop("label", "step_0001")),
        env=options.pop("env", {}),
        **{"sleep": Waits(), "draw": lambda: 0.5, **options},
    )


@asynccontextmanager
async def serving(root: Path, rule: Rule, **options: Any) -> AsyncIterator[tuple[Endpoint, Client]]:
    async with Endpoint(rule) as endpoint, client_at(root, endpoint.url, **options) as client:
        yield endpoint, client
