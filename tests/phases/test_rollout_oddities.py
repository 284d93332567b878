"""What no row can hold costs the item that has it, and says so; the other items are as they were."""

import asyncio

import pytest
from clients import client_at
from endpoint import Endpoint

from skillopt.envs.base import Attempt, CommonSettings
from skillopt.files import read_jsonl, write_jsonl
from skillopt.models.base import Message
from skillopt.phases.rollout import Bench, roll_out
from skillopt.records import Item, Row, Turn

BAD = "half \ud800 a pair"
EXPECTED = "expected text that can be written as UTF-8, found half a surrogate pair or other bytes"
NO_SCORE = "what the benchmark scored: expected numbers from 0 to 1"


class Odd:
    """A benchmark whose item `bad` holds such text where it is told to have it, or has such a score."""

    name = "odd"

    def __init__(self, where):
        self.where = where

    async def attempt(self, item, skill, chat, *_):
        def text(where):
            return BAD if (item.id, where) == ("bad", self.where) else "plain"

        reply = await chat((Message(role="user", content=f"{item.id} {text('prompt')}"),))
        said = (Turn(role="assistant", content=text("trajectory")),)
        extra = {"seen": [text("extra")]}
        hard = self.where if isinstance(self.where, float) and item.id == "bad" else 1.0
        return Attempt(
            status="scored", hard=hard, soft=1.0, answer=reply.text, turns=1, trajectory=said, extra=extra
        )


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("prompt", f"the prompt for the target: {EXPECTED}"),
        ("trajectory", f"what the benchmark recorded: {EXPECTED}"),
        ("extra", f"what the benchmark recorded: {EXPECTED}"),
        (1.5, f"{NO_SCORE}, found hard 1.5, soft 1.0"),
        (-0.1, f"{NO_SCORE}, found hard -0.1, soft 1.0"),
        (float("nan"), f"{NO_SCORE}, found hard nan, soft 1.0"),
    ],
)
def test_the_item_alone_has_no_score(tmp_path, where, message):
    common = CommonSettings(max_turns=1, max_completion_tokens=64)
    bench = Bench(environment=Odd(where), common=common, settings=None, item_timeout=600.0)
    items = [Item(id=name, data={}) for name in ("good", "bad")]

    async def main():
        async with Endpoint() as endpoint, client_at(tmp_path, endpoint.url) as client:
            rows = await roll_out(items, "", bench, client, width=2, seed=1, what="rollout")
            return rows, endpoint.calls

    (good, bad), calls = asyncio.run(main())
    assert (good.status, good.hard, good.answer) == ("scored", 1.0, "ok")
    assert (bad.status, bad.hard, bad.error.message) == ("harness_error", None, message)
    assert len(calls) == (1 if where == "prompt" else 2)
    write_jsonl(tmp_path / "rows.jsonl", (good, bad))
    assert read_jsonl(tmp_path / "rows.jsonl", Row) == [good, bad]
