"""Optimizer calls of one phase against a scripted endpoint: real HTTP, with the call store and the client."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from clients import serving
from endpoint import Answer, Call

from skillopt.config.resolve import load_run
from skillopt.config.settings import Settings

RUN = Path(__file__).parents[1] / "config" / "searchqa.yaml"


def settings(*overrides: str) -> Settings:
    """Return the settings of the run that ships, with overrides."""
    return load_run(RUN, list(overrides), {}).settings


def answer(content: Any) -> Answer:
    """Return an object as the JSON text of a reply; text and Answers as they are."""
    if isinstance(content, Answer):
        return content
    return Answer(text=content if isinstance(content, str) else json.dumps(content))


def in_turn(*contents: Any) -> Callable[[Call], Answer]:
    """Return a rule that gives these answers one after the other, and fails when more are asked for."""
    left = list(contents)

    def rule(call: Call) -> Answer:
        assert left, "one call too many"
        return answer(left.pop(0))

    return rule


def ask(root: Path, rule: Callable[[Call], Answer], work: Callable[[Any], Awaitable[Any]]) -> Any:
    """Run `work(client)`; return what it returned, and the calls that were made."""

    async def main() -> Any:
        async with serving(root / "calls", rule) as (endpoint, client):
            return await work(client), endpoint.calls

    return asyncio.run(main())


def system_of(call: Call) -> str:
    """Return the system message of a call."""
    return str(call.body["messages"][0]["content"])


def user_of(call: Call) -> str:
    """Return the first user message of a call."""
    return str(call.body["messages"][1]["content"])
