"""What is not the target's failure has no score, in every benchmark."""

import asyncio
from pathlib import Path

import pytest
from clients import client_at
from endpoint import Answer, Endpoint

from skillopt.envs.base import CommonSettings
from skillopt.envs.registry import environment, environment_names
from skillopt.models.client import CallPolicy
from skillopt.phases.rollout import Bench, roll_out

DATA = Path(__file__).parents[2] / "data"
OWN = {
    "alfworld": {"engine": "household"},
    "officeqa": {"data_dirs": (str(DATA / "officeqa/documents"),)},
}
RULES = {
    "timeout": lambda call: asyncio.Event().wait(),
    "provider_error": lambda call: Answer(status=500, text="broken"),
}


@pytest.mark.parametrize("status", RULES)
@pytest.mark.parametrize("name", environment_names())
def test_a_call_that_fails_is_a_row_without_a_score(tmp_path, name, status):
    env = environment(name)
    bench = Bench(
        environment=env,
        common=CommonSettings(max_turns=4, max_completion_tokens=64),
        settings=env.settings(**OWN.get(name, {})),
        item_timeout=600.0,
    )
    limit = 0.05 if status == "timeout" else 30.0

    async def main():
        policy = CallPolicy(max_attempts=1, timeout=limit)
        async with (
            Endpoint(RULES[status]) as endpoint,
            client_at(tmp_path, endpoint.url, policy=policy) as client,
        ):
            items = env.read(DATA / name / "val")[:2]
            return await roll_out(items, "- A rule.", bench, client, width=2, seed=1, what="rollout")

    rows = asyncio.run(main())
    assert [(row.status, row.hard, row.soft) for row in rows] == [(status, None, None)] * 2
    assert all(row.error and row.error.message for row in rows)
