"""Items done by the simulated target, without a run around them."""

import asyncio
from collections.abc import Sequence
from typing import Any

from skillopt.concurrent import gather
from skillopt.envs.base import Attempt, CommonSettings, Environment
from skillopt.models.backends.simulator import BACKEND
from skillopt.models.base import Message, Reply, Request, RoleModel
from skillopt.records import Item

TOKENS = 4096


def attempts(
    environment: Environment, items: Sequence[Item], skill: str, *, settings: Any = None, max_turns: int = 1
) -> list[Attempt]:
    """Do items side by side; `settings` are those of the benchmark, its defaults for None."""
    model = BACKEND.open(RoleModel(role="target", backend="simulator", model="m"), {})
    common = CommonSettings(max_turns=max_turns, max_completion_tokens=TOKENS)
    own = settings or environment.settings()

    async def chat(messages: tuple[Message, ...], **tools: Any) -> Reply:
        return await model.complete(Request(messages=messages, max_completion_tokens=TOKENS, **tools))

    async def every() -> list[Attempt]:
        return await gather(environment.attempt(item, skill, chat, common, own, 0) for item in items)

    return asyncio.run(every())


def mean_hard(found: Sequence[Attempt]) -> float:
    return sum(attempt.hard for attempt in found) / len(found)
