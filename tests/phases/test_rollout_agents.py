"""Agents as targets: the skill goes into their folder, and what they did into the row."""

import asyncio

import pytest
from programs import AGENTS, CANARY, Bench

from skillopt.envs.base import CommonSettings
from skillopt.envs.registry import environment
from skillopt.models.client import CallPolicy, Client
from skillopt.models.ledger import Ledger
from skillopt.models.store import Store
from skillopt.phases.rollout import Bench as Benchmark
from skillopt.phases.rollout import roll_out
from skillopt.records import Item

SKILL = "Always look twice, says the skill."
QUESTION = {"id": "q1", "question": "What is 2+2?", "context": "[DOC] 2+2 is four.", "answers": ["four"]}


def rows(agent, folder, count=1, max_turns=1):
    searchqa = environment("searchqa")
    bench = Benchmark(
        environment=searchqa,
        common=CommonSettings(max_turns=max_turns, max_completion_tokens=512),
        settings=searchqa.settings(),
        item_timeout=600.0,
    )
    items = [Item(id=f"q{n}", data={**QUESTION, "id": f"q{n}"}) for n in range(count)]

    async def main():
        client = Client(
            agent.role,
            policy=CallPolicy(max_attempts=2),
            width=2,
            store=Store(folder),
            ledger=Ledger(folder, run="demo", phase="rollout", label="x"),
            env=agent.env,
            draw=lambda: 0.0,
        )
        async with client:
            return await roll_out(items, SKILL, bench, client, width=2, seed=1, what="rollout")

    return asyncio.run(main())


@pytest.fixture(params=AGENTS, ids=[case.name for case in AGENTS])
def agent(request, tmp_path):
    return Bench(request.param, tmp_path)


def test_an_agent_is_scored_like_any_target(agent, tmp_path):
    agent.answers("I looked.\n<answer>four</answer>")
    (row,) = rows(agent, tmp_path / "calls")
    assert (row.status, row.hard, row.answer) == ("scored", 1.0, "four")
    call = agent.program.call
    assert SKILL in call.files[".agents/skills/skillopt-target/SKILL.md"].decode()
    assert SKILL not in call.files["task.md"].decode()
    assert "What is 2+2?" in call.files["task.md"].decode()


def test_the_row_tells_what_the_agent_did(agent, tmp_path):
    agent.answers("<answer>four</answer>")
    (row,) = rows(agent, tmp_path / "calls")
    last = row.trajectory[-1]
    assert last.role == "note"
    assert last.content.startswith("what the agent did\n[1] said: Let me see.\n[2] used ")
    assert SKILL not in str(row.trajectory)
    assert agent.program.call.root not in str(row)


def test_each_turn_is_a_run_of_its_own(agent, tmp_path):
    agent.answers("<answer>four</answer>")
    (row,) = rows(agent, tmp_path / "calls", max_turns=2)
    assert row.turns == 2
    assert [turn.content.splitlines()[1] for turn in row.trajectory[-2:]] == ["run 1:", "run 2:"]
    assert "<answer>four</answer>" in agent.program.calls[1].files["task.md"].decode()


def test_an_outage_is_no_score(agent, tmp_path):
    agent.program.does(agent.case.fails("503 Service Unavailable {env:PATH}"))
    (row,) = rows(agent, tmp_path / "calls")
    assert (row.status, row.hard, row.soft) == ("provider_error", None, None)
    assert row.error.kind == "overloaded"
    assert len(agent.program.calls) == 2


def test_no_transcript_is_taken_for_an_answer(agent, tmp_path):
    agent.answers("")
    (row,) = rows(agent, tmp_path / "calls")
    assert (row.status, row.answer) == ("provider_error", "")


def test_a_key_that_the_agent_prints_is_in_no_row(agent, tmp_path):
    agent.answers(f"<answer>{{env:{agent.case.key}}}</answer>")
    (row,) = rows(agent, tmp_path / "calls")
    assert row.answer == "[redacted]"
    assert CANARY not in str(row)
