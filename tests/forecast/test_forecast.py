"""The forecast of small runs, without a workflow."""

import asyncio
import json

import pytest

from skillopt.config.resolve import load_run
from skillopt.envs.registry import environment
from skillopt.envs.searchqa.prompt import system_message, user_message
from skillopt.files import read_text
from skillopt.forecast.estimate import GROWN, forecast
from skillopt.models.base import Reply, Request
from skillopt.models.estimates import prompt_tokens
from skillopt.models.store import About, Store, call_key
from skillopt.phases.plan import plan_run
from skillopt.records import Usage
from skillopt.runs import Run
from skillopt.skill import with_appendix, with_slow_update
from skillopt.tools.plan import headline, text

RUN = """
train: {num_epochs: 1, batch_size: 4}
env: {name: searchqa, split_mode: split_dir, split_dir: data}
model: {backend: openai_compatible, optimizer: strong, target: small}
calls: {prices: prices.yaml, preflight_call: false}
evaluation: {eval_test: false}
"""


@pytest.fixture
def made(tmp_path, monkeypatch):
    """A project; returns its forecast under overrides."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config").mkdir()
    (tmp_path / "config/run.yaml").write_text(RUN)
    (tmp_path / "prices.yaml").write_text(
        "strong: {prompt: 10, completion: 100}\nsmall: {prompt: 1, completion: 10}\n"
    )
    for split, count in (("train", 8), ("val", 3), ("test", 2)):
        (tmp_path / "data" / split).mkdir(parents=True)
        entries = [item(f"{split}{n}", n) for n in range(count)]
        (tmp_path / "data" / split / "items.json").write_text(json.dumps(entries))

    def look(*overrides, most=0):
        resolved = load_run(tmp_path / "config/run.yaml", overrides, {})
        run = Run(resolved, *plan_run("run", resolved))
        return run, asyncio.run(forecast(run, tmp_path / "calls", most=most))

    return look


def item(id_, number):
    context = f"[DOC] {id_} is {number:04}"
    return {"id": id_, "question": f"What is {id_}?", "context": context, "answers": [str(number)]}


def line(found, phase):
    (one,) = [line for line in found.lines if line.phase == phase]
    return one


def request(entry):
    skill = read_text(environment("searchqa").initial_skill)
    messages = (system_message(skill), user_message(entry["context"], entry["question"]))
    return Request(messages=messages, max_completion_tokens=16384)


def test_tokens_are_those_of_the_real_prompts(made):
    _, found = made()
    sent = sum(prompt_tokens(request(item(f"train{n}", n))) for n in range(8))
    rollout = line(found, "rollout")
    assert rollout.paid.low == rollout.paid.high == 8
    assert rollout.prompt.low == pytest.approx(sent, abs=8)
    assert rollout.prompt.high == pytest.approx(sent + 4 * GROWN, abs=8)  # the second step's skill may grow
    assert (rollout.completion.low, rollout.completion.high) == (8 * 300, 8 * 300)
    assert rollout.cost == pytest.approx(
        tuple((prompt + 10 * 2400) / 1e6 for prompt in (rollout.prompt.low, rollout.prompt.high))
    )
    assert line(found, "evaluate").known == 3


def test_a_run_that_starts_from_a_trained_skill(made, tmp_path):
    """Its guidance and notes lie at the end, and nothing may follow them."""
    plain = with_slow_update("# Skill\n\n- Be brief.\n", "Check it.")
    (tmp_path / "trained.md").write_text(with_appendix(plain, ["Never guess."]))
    _, found = made("env.skill_init=trained.md")
    reflect = line(found, "reflect")
    assert reflect.prompt.high - reflect.prompt.low > GROWN


def test_equal_items_are_paid_for_once(made, tmp_path):
    path = tmp_path / "data/train/items.json"
    entries = json.loads(path.read_text())
    path.write_text(json.dumps([{**entries[0], "id": entry["id"]} for entry in entries]))
    _, found = made()
    rollout = line(found, "rollout")
    assert (rollout.asks.low, rollout.paid.low, rollout.paid.high) == (8, 1, 2)


def test_what_the_store_holds_is_seen(made, tmp_path):
    run, found = made()
    assert found.total.known == 4 + 3
    assert found.total.held == 0
    role = run.resolved.roles["target"]
    reply = Reply(text="<answer>1</answer>", usage=Usage(calls=1))
    about = About(backend="x", model="small", run="other", role="target", phase="p", label="l")
    for id_ in ("val0", "val1", min(run.plan.steps[0].batches[0].ids)):
        entry = item(id_, int(id_.lstrip("trainvl")))
        Store(tmp_path / "calls").put(call_key(role, request(entry)), reply, about)
    _, found = made()
    assert (line(found, "evaluate").held, line(found, "rollout").held) == (2, 1)
    assert "of the 7 that are known now, the call store holds 3" in headline(found)
    _, part = made(most=1)
    assert (part.total.known, part.total.held, part.total.asks) == (2, 2, found.total.asks)
    _, other = made("model.target=another")
    assert other.total.held == 0


def test_more_turns_cost_more(made):
    _, one = made()
    _, three = made("env.max_turns=3")
    assert (line(three, "rollout").paid.low, line(three, "rollout").paid.high) == (8, 24)
    assert line(three, "rollout").prompt.high > 3 * line(one, "rollout").prompt.low


@pytest.mark.parametrize("mode", ["patch", "rewrite_from_suggestions", "full_rewrite_minibatch"])
def test_every_prompt_of_the_optimizer_is_measured(made, mode):
    overrides = ["train.num_epochs=3", f"optimizer.skill_update_mode={mode}"]
    if mode == "patch":
        overrides += [
            "optimizer.use_skill_aware_reflection=true",
            "optimizer.skill_aware_consolidate_threshold=3",
        ]
    _, found = made(*overrides)
    for one in found.lines:
        assert (one.prompt.high > 0) == (one.paid.high > 0), one
        assert one.prompt.high >= one.prompt.low
    asked = {one.phase for one in found.lines if one.asks.high}
    expected = {
        "rollout",
        "evaluate",
        "sample",
        "compare",
        "reflect",
        "aggregate",
        "slow_update",
        "meta_skill",
    }
    expected |= {"select"} if mode != "full_rewrite_minibatch" else set()
    expected |= {"update"} if mode != "full_rewrite_minibatch" else set()
    assert asked == expected


def test_in_words(made):
    _, found = made()
    shown = text(found)
    assert shown.startswith("run in all: 1 epoch, 2 steps, ")
    assert "optimizer openai_compatible/strong, target openai_compatible/small" in shown
    assert "USD by prices.yaml" in shown
    assert "0 of 4" in shown
    _, unpriced = made("calls.prices=")
    assert unpriced.total.cost is None
    assert "cost: unknown without a price table" in text(unpriced)
    _, misspelt = made("model.target=smal")
    assert misspelt.total.cost is None
    shown = text(misspelt)
    assert (
        "cost: unknown, since prices.yaml has no price for 'smal'; did you mean small? (models in it: "
        in shown
    )
    assert "without a price table" not in shown


def test_caps_that_are_reached_are_said(made):
    _, found = made()
    low, high = found.total.paid.low, found.total.paid.high
    _, certain = made(f"budget.max_calls={low - 1}", f"budget.max_cost={found.total.cost[1] + 1}")
    assert certain.caps == (
        f"cap: budget.max_calls = {low - 1} will be reached, unless the call store holds replies; "
        "the run then stops, and goes on when it is raised.",
    )
    assert certain.caps[0] in text(certain)
    _, open_ = made(f"budget.max_calls={low}", "budget.max_tokens=1")
    assert [cap.partition(" = ")[0] for cap in open_.caps] == [
        "cap: budget.max_calls",
        "cap: budget.max_tokens",
    ]
    assert "may be reached" in open_.caps[0] and "will be reached" in open_.caps[1]
    _, enough = made(f"budget.max_calls={high}")
    assert enough.caps == found.caps == ()
