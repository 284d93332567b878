"""One item ends within one bounded time, whatever its turns, attempts and waits add up to."""

import asyncio

import pytest
from clients import client_at
from endpoint import Answer, Endpoint

from skillopt.envs.base import CommonSettings
from skillopt.envs.registry import environment
from skillopt.models.client import CallPolicy
from skillopt.phases.rollout import Bench, roll_out
from skillopt.records import Item

PATIENT = CallPolicy(max_attempts=10**6, max_wait=10**6, timeout=10**6)


def attempt(rule, folder, *names, max_turns=2, seconds=1.0):
    searchqa = environment("searchqa")
    bench = Bench(
        environment=searchqa,
        common=CommonSettings(max_turns=max_turns, max_completion_tokens=512),
        settings=searchqa.settings(),
        item_timeout=seconds,
    )
    data = {"context": "[DOC] 2+2 is four.", "answers": ["four"]}
    items = [Item(id=name, data={**data, "id": name, "question": f"What about {name}?"}) for name in names]

    async def main():
        async with (
            Endpoint(rule) as endpoint,
            client_at(folder, endpoint.url, policy=PATIENT, grace=0.0) as client,
        ):
            rows = await roll_out(items, "", bench, client, width=4, seed=1, what="rollout")
            return rows, endpoint

    return asyncio.run(main())


def test_a_turn_that_never_ends_costs_its_item_alone(tmp_path):
    async def rule(call):
        if "hangs" in call.prompt and len(call.body["messages"]) > 2:
            await asyncio.Event().wait()
        return Answer(text="not yet" if len(call.body["messages"]) <= 2 else "<answer>four</answer>")

    (hung, done), _ = attempt(rule, tmp_path, "hangs", "ends")
    assert (hung.status, hung.hard, hung.soft, hung.answer) == ("timeout", None, None, "")
    assert hung.error.kind == "item_timeout"
    assert "env.item_timeout" in hung.error.message and "after 1 replies" in hung.error.message
    assert hung.usage.calls == 1  # the turn before was paid for
    assert (done.status, done.hard) == ("scored", 1.0)


@pytest.mark.parametrize(
    "failure",
    [
        Answer(status=503, error="busy"),
        Answer(status=429, error="slow down", headers={"Retry-After": "3600"}),
    ],
    ids=["busy", "asked to wait an hour"],
)
def test_attempts_and_waits_count(tmp_path, failure):
    (row,), endpoint = attempt(lambda call: failure, tmp_path, "q1", max_turns=1)
    assert (row.status, row.error.kind) == ("timeout", "item_timeout")
    assert len(endpoint.calls) >= 1


def test_a_time_out_of_the_benchmark_itself_is_its_fault(tmp_path):
    class Broken:
        name = "broken"

        async def attempt(self, *_):
            raise TimeoutError("its tool was too slow")

    common = CommonSettings(max_turns=1, max_completion_tokens=64)
    bench = Bench(environment=Broken(), common=common, settings=None, item_timeout=600.0)

    async def main():
        async with client_at(tmp_path, "http://127.0.0.1:9/v1") as client:
            return await roll_out([Item(id="q", data={})], "", bench, client, width=1, seed=1, what="rollout")

    (row,) = asyncio.run(main())
    assert (row.status, row.error.kind) == ("harness_error", "TimeoutError")
