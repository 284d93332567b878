"""Arguments of a tool call that are no JSON object are the target's failure, wherever there are tools."""

import asyncio
import json
from pathlib import Path

import pytest
from clients import client_at
from endpoint import Answer, Endpoint

from skillopt.envs.base import CommonSettings
from skillopt.envs.registry import environment
from skillopt.phases.rollout import Bench, roll_out

DATA = Path(__file__).parents[2] / "data"
OWN = {
    "officeqa": ("read", {"data_dirs": (str(DATA / "officeqa/documents"),)}),
    "spreadsheetbench": ("bash", {"mode": "react"}),
}


def strict(name, arguments):
    """Return a rule that calls a tool first, and refuses a dialogue with other arguments than an object."""
    broken = {"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}}

    def rule(call):
        asked = [one for message in call.body["messages"] for one in message.get("tool_calls") or ()]
        if not asked:
            message = {"tool_calls": [broken]}
            return Answer(text=None, message=message, finish_reason="tool_calls")
        try:
            usable = all(isinstance(json.loads(one["function"]["arguments"]), dict) for one in asked)
        except ValueError:
            usable = False
        return Answer(text="<answer>1</answer>") if usable else Answer(status=400, error="bad arguments")

    return rule


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ('{"path": "b_19', "they are no JSON (Input data was truncated)"),
        ("[" * 5000, "they are no JSON ("),
        ('{"path": NaN}', "they are no JSON ("),
        ("[1]", "they are JSON, but no object"),
        ('"ls"', "they are JSON, but no object"),
    ],
    ids=["cut", "deep", "NaN", "list", "text"],
)
@pytest.mark.parametrize("benchmark", OWN)
def test_an_endpoint_that_takes_objects_only_goes_on(tmp_path, benchmark, arguments, why):
    tool, own = OWN[benchmark]
    env = environment(benchmark)
    bench = Bench(
        environment=env,
        common=CommonSettings(max_turns=4, max_completion_tokens=64),
        settings=env.settings(**own),
        item_timeout=600.0,
    )

    async def main():
        async with Endpoint(strict(tool, arguments)) as endpoint:
            rows = []
            for _ in range(2):
                async with client_at(tmp_path, endpoint.url) as client:
                    items = env.read(DATA / benchmark / "val")[:1]
                    rows += await roll_out(items, "", bench, client, width=1, seed=1, what="rollout")
            return rows, endpoint.calls

    (row, again), calls = asyncio.run(main())
    assert (row.error, row.hard, row.turns) == (None, 0.0, 2)
    assert again == row
    assert len(calls) == 2, "a replay calls nobody"
    [asked, result] = calls[1].body["messages"][-2:]
    assert asked["tool_calls"][0]["function"] == {"name": tool, "arguments": "{}"}
    assert f"he arguments of {tool} cannot be used: {why}" in result["content"]
    assert any(arguments[:1000] in turn.content for turn in row.trajectory), "a person sees what was said"
