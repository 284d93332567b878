"""Every backend in every role, in the phases of a run: what it is sent, and what becomes of its replies."""

import argparse
import importlib
import json
from collections import Counter
from pathlib import Path

import pytest
from loop import model, serving, write_items
from programs import OTHERS
from rigs import CANARY, SILENT_ABOUT_CUTS, Play, open_rig, rigs

from skillopt.config.resolved import read_resolved
from skillopt.files import write_json
from skillopt.models.registry import backend_spec
from skillopt.phases.plan import plan_run

RUN = "results/loop"
SKILL = "# Guidance\n\n- RULE 1: look at the passage.\n"
RIGS = rigs()
TELLING = [entry for entry in RIGS if entry[1] == "target" and entry[0] not in SILENT_ABOUT_CUTS]
AGENTS = [
    entry for entry in RIGS if entry[1] == "target" and "workspace" in backend_spec(entry[0]).capabilities
]


def phase(name, *arguments):
    """Run a phase as its command does, in this process."""
    module = importlib.import_module(f"skillopt.phases.{name}")
    parser = argparse.ArgumentParser()
    module.add_arguments(parser)
    module.main(parser.parse_args(arguments))


def call(name, out, *arguments, store="results/.calls"):
    """Run a phase that may call models."""
    phase(name, "--config", f"{RUN}/config.json", "--store", store, "--out", f"{RUN}/{out}", *arguments)


@pytest.fixture(params=RIGS, ids=[" ".join(entry) for entry in RIGS])
def rig(request, tmp_path):
    made = open_rig(*request.param, tmp_path)
    yield made
    made.close()
    assert made.problems == []


@pytest.fixture
def partner():
    """The endpoint behind the other role."""
    with serving() as server:
        server.rule = model
        yield server


@pytest.fixture
def project(rig, partner, tmp_path, monkeypatch):
    """A run in which the rig's backend plays its role, and a plain endpoint the other one."""
    folder = tmp_path / "project"
    write_items(folder / "data")
    (folder / "config").mkdir()
    role, other = rig.model(), "optimizer" if rig.role == "target" else "target"
    chosen = {
        f"{other}_backend": "openai_compatible",
        f"{other}_openai_compatible_base_url": partner.url,
        f"{rig.role}_backend": rig.name,
        rig.role: role.model,
        **{f"{rig.role}_{rig.name}_{name}": value for name, value in role.settings.items()},
    }
    run = {
        "train": {"num_epochs": 1, "batch_size": 6},
        "gradient": {"minibatch_size": 3},
        "env": {"name": "searchqa", "split_mode": "split_dir", "split_dir": "data", "workers": 3},
        "model": chosen,
    }
    (folder / "config" / "loop.yaml").write_text(json.dumps(run))
    for name, value in {**OTHERS, **rig.env()}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(folder)
    rig.play_by(model)
    phase("config", "--run-file", "config/loop.yaml", "--out", f"{RUN}/config.json")
    write_json(Path(RUN, "plan.json"), plan_run("loop", read_resolved(Path(RUN, "config.json")))[0])
    (folder / "skill.md").write_text(SKILL)
    call("preflight", "preflight.json")
    yield folder
    for path in folder.rglob("*"):
        assert not path.is_file() or CANARY.encode() not in path.read_bytes(), path


def rows_of(path):
    lines = Path(RUN, path).read_text().splitlines()
    return {row["id"]: row for row in map(json.loads, lines)}


def step(name, out, *arguments):
    call(name, out, "--plan", f"{RUN}/plan.json", "--step", "1", "--skill", "skill.md", *arguments)


@pytest.mark.parametrize("rig", TELLING, ids=[" ".join(entry) for entry in TELLING], indirect=True)
def test_a_reply_that_was_cut_off_is_a_truncated_row(rig, project):
    rig.play(Play(text="It is <answer>gol", cut=True))
    step("rollout", "rollouts.jsonl")
    rows = rows_of("rollouts.jsonl").values()
    assert {(row["status"], row["hard"]) for row in rows} == {("truncated", 0.0)}


@pytest.mark.parametrize("rig", AGENTS, ids=[" ".join(entry) for entry in AGENTS], indirect=True)
def test_what_an_agent_did_is_shown_to_the_optimizer(rig, project, partner):
    step("rollout", "rollouts.jsonl")
    step("reflect", "reflections.json", "--rollouts", f"{RUN}/rollouts.jsonl")
    prompts = [call.prompt for call in partner.calls if "what the agent did" in call.prompt]
    assert prompts
    assert all("used " in prompt and "Let me see." in prompt for prompt in prompts)
    assert not any(CANARY in prompt or "/skillopt-" in prompt for prompt in prompts)


def test_it_plays_its_part_in_a_step(rig, project):
    step("rollout", "rollouts.jsonl")
    rows = rows_of("rollouts.jsonl")
    assert {row["status"] for row in rows.values()} == {"scored"}
    assert sorted(row["hard"] for row in rows.values()) == [0.0] * 4 + [1.0] * 2  # those of level 1
    step("reflect", "reflections.json", "--rollouts", f"{RUN}/rollouts.jsonl")
    groups = json.loads((project / RUN / "reflections.json").read_text())["groups"]
    assert len(groups) == 3  # 4 failures in minibatches of 3, and the successes
    arguments = ("--reflections", f"{RUN}/reflections.json", "--skill", "skill.md")
    call("aggregate", "merged.json", *arguments)
    merged = json.loads((project / RUN / "merged.json").read_text())
    assert [edit["content"] for edit in merged["patch"]["edits"]] == ["- RULE 2: look closer."]
    assert len(rig.sent) >= 4
    assert {sent.key for sent in rig.sent} == {CANARY}
    recorded = json.loads((project / RUN / "config.json").read_text())["roles"][rig.role]
    assert (recorded["backend"], recorded["model"]) == (rig.name, "m-1")
    assert all("m-1" in sent.wire for sent in rig.sent)
    reflections = (project / RUN / "reflections.json").read_bytes()
    made = len(rig.sent)
    step("rollout", "rollouts.jsonl")
    step("reflect", "reflections.json", "--rollouts", f"{RUN}/rollouts.jsonl")
    assert len(rig.sent) == made, "a replay calls nobody"
    assert (project / RUN / "reflections.json").read_bytes() == reflections


def test_training_and_evaluation_send_the_same_bytes(rig, project):
    """The same items with the same skill: once as a batch of a step, once as a split."""
    before = len(rig.sent)
    if rig.role == "optimizer":
        step("rollout", "rollouts.jsonl")
        for out in ("one", "two"):
            reflect = ("--plan", f"{RUN}/plan.json", "--step", "1", "--skill", "skill.md")
            rollouts = ("--rollouts", f"{RUN}/rollouts.jsonl")
            call("reflect", out, *reflect, *rollouts, store=f"results/{out}")
    else:
        step("rollout", "rollouts.jsonl")
        arguments = ("--skill", "skill.md", "--split", "train")
        call("evaluate", "evaluated.jsonl", *arguments, store="results/another")
        trained, evaluated = rows_of("rollouts.jsonl"), rows_of("evaluated.jsonl")
        assert {id_: row["hard"] for id_, row in trained.items()} == {
            id_: row["hard"] for id_, row in evaluated.items()
        }
    sent = [call.wire for call in rig.sent[before:]]
    half = len(sent) // 2
    assert half >= 3
    assert Counter(sent[:half]) == Counter(sent[half:])
    assert max(Counter(sent[:half]).values()) == 1
