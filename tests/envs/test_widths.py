"""Rows of a batch are the same whatever the number of calls in flight."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from skillopt.envs.base import CommonSettings
from skillopt.envs.registry import environment
from skillopt.models.base import RoleModel
from skillopt.models.client import CallPolicy, Client
from skillopt.models.ledger import Ledger
from skillopt.models.simulator.wordings import RULES
from skillopt.models.store import Store
from skillopt.phases.rollout import Bench, roll_out

DATA = Path(__file__).parents[2] / "data"
SETTINGS = {
    "alfworld": {"engine": "household", "history": 8},
    "docvqa": {},
    "livemathematicianbench": {},
    "officeqa": {"data_dirs": (str(DATA / "officeqa/documents"),), "document_scope": "corpus"},
    "searchqa": {},
}
ITEMS = 16


def rows(name, folder, width):
    env = environment(name)
    bench = Bench(
        environment=env,
        common=CommonSettings(max_turns=8, max_completion_tokens=512),
        settings=env.settings(**SETTINGS[name]),
        item_timeout=600.0,
    )
    rules = (
        *("short", "bare", "exact", "rare", "unique", "search_again", "table"),
        *("as_listed", "look_inside", "new_places"),
    )
    skill = "\n".join(f"- {RULES[rule][0]}" for rule in rules)

    async def main():
        client = Client(
            RoleModel(role="target", backend="simulator", model="m"),
            policy=CallPolicy(),
            width=width,
            store=Store(folder),
            ledger=Ledger(folder, run="demo", phase="rollout", label="x"),
            env={},
        )
        async with client:
            items = env.read(DATA / name / "train")[:ITEMS]
            return await roll_out(items, skill, bench, client, width=width, seed=1, what="rollout")

    made = asyncio.run(main())
    return [msgspec.json.encode(msgspec.structs.replace(row, seconds=0.0)) for row in made]


@pytest.mark.parametrize("name", SETTINGS)
def test_two_calls_in_flight_or_twenty(tmp_path, name):
    few = rows(name, tmp_path / "few", 2)
    assert rows(name, tmp_path / "many", 20) == few
    assert len(few) == ITEMS
    assert 0 < sum(b'"hard":1' in row for row in few) < ITEMS
