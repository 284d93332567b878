"""The backend: deterministic, decided by the messages alone, cut at the token limit."""

import asyncio
import builtins
import socket
from pathlib import Path

import pytest

from skillopt.models.backends.simulator import BACKEND
from skillopt.models.base import Message, Request, RoleModel
from skillopt.prompting import render

QUESTION = Message(
    role="user",
    content="## Context\n\n[DOC] The tower of Arn was designed by Ilse Korven in 1871.\n\n"
    "## Question\n\nWho designed the tower of Arn?",
)
SKILL = """\
- Keep the answer brief.
- No explanation inside the tags.
- Copy the words of the passage exactly.
- Never repeat the question."""


def system(skill):
    block = f"## Skill\n\n{skill}\n\n" if skill else ""
    return Message(role="system", content=f"You answer questions.\n\n{block}## Task\n\nAnswer briefly.")


def complete(*messages, role="target", seed=0, tokens=4096, sample=0):
    model = BACKEND.open(RoleModel(role=role, backend="simulator", model="m", settings={"seed": seed}), {})
    request = Request(messages=messages, max_completion_tokens=tokens, sample=sample)
    return asyncio.run(model.complete(request))


def proposals(**more):
    values = {"skill": "# S", "changes": (), "budget": 2, "memory": ""}
    analyst = {"update_mode": "patch", "learning_rate": 4, "history": (), "skill_aware": False, "group": ()}
    return complete(*render("analyst_failure", folder=None, **(values | analyst)), **more).text


def test_the_same_request_gives_the_same_reply_from_any_instance():
    assert complete(system(SKILL), QUESTION) == complete(system(SKILL), QUESTION)
    assert complete(system(""), QUESTION) == complete(system(""), QUESTION)


def test_the_skill_in_the_system_message_decides_the_answer():
    assert complete(system(SKILL), QUESTION).text.endswith("<answer>Ilse Korven</answer>")
    assert "Based on the passages" in complete(system(""), QUESTION).text


def test_rules_outside_the_skill_do_not_count():
    loud = Message(role="system", content=f"You answer questions.\n\n## Task\n\n{SKILL}")
    assert complete(loud, QUESTION).text == complete(system(""), QUESTION).text


def test_one_instance_serves_several_skills():
    model = BACKEND.open(RoleModel(role="target", backend="simulator", model="m"), {})

    async def texts():
        requests = [
            Request(messages=(system(skill), QUESTION), max_completion_tokens=99)
            for skill in (SKILL, "", SKILL)
        ]
        return [(await model.complete(request)).text for request in requests]

    first, empty, again = asyncio.run(texts())
    assert first == again != empty


def test_what_is_asked_decides_and_not_the_role():
    target, optimizer = (complete(system(SKILL), QUESTION, role=role) for role in ("target", "optimizer"))
    assert target == optimizer
    assert proposals(role="target") == proposals(role="optimizer")


def test_a_seed_and_a_fresh_sample_change_the_draws_of_the_optimizer_only():
    assert len({proposals(seed=seed) for seed in range(12)}) > 2
    assert len({proposals(sample=sample) for sample in range(12)}) > 2
    assert complete(system(SKILL), QUESTION, seed=1) == complete(system(SKILL), QUESTION, seed=2)


def test_a_refinement_turn_keeps_the_task():
    first = complete(system(SKILL), QUESTION)
    again = complete(
        system(SKILL),
        QUESTION,
        Message(role="assistant", content=first.text),
        Message(role="user", content="Check your answer once more."),
    )
    assert again.text.endswith("<answer>Ilse Korven</answer>")
    assert again.text != first.text


def test_usage_is_estimated_and_no_clock_is_read():
    reply = complete(system(SKILL), QUESTION)
    chars = len(system(SKILL).content) + len(QUESTION.content)
    assert (reply.usage.calls, reply.usage.prompt) == (1, -(-chars // 4))
    assert reply.usage.completion == -(-len(reply.text) // 4)
    assert (reply.seconds, reply.finish_reason) == (0.0, "stop")


def test_a_reply_is_cut_at_the_token_limit():
    reply = complete(system(""), QUESTION, tokens=5)
    assert (len(reply.text), reply.finish_reason, reply.usage.completion) == (20, "length", 5)


def test_it_opens_no_file_and_no_connection(monkeypatch: pytest.MonkeyPatch):
    messages = render("rank", folder=None, skill="# S", changes=(), budget=2, memory="")

    def forbidden(*_args, **_kwargs):
        raise AssertionError("the simulated model may use its messages only")

    model = BACKEND.open(RoleModel(role="target", backend="simulator", model="m"), {})
    with monkeypatch.context() as patch:
        patch.setattr(builtins, "open", forbidden)
        patch.setattr(Path, "read_bytes", forbidden)
        patch.setattr(socket.socket, "connect", forbidden)
        for asked in ((system(SKILL), QUESTION), messages):
            with pytest.raises(StopIteration):
                model.complete(Request(messages=asked, max_completion_tokens=99)).send(None)


def test_it_is_declared_as_simulated():
    assert "simulated" in BACKEND.capabilities
    assert (BACKEND.secrets, [setting.name for setting in BACKEND.settings]) == ((), ["seed"])
