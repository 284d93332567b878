"""Every backend in every role, in the phases of a run: what it is sent, and what becomes of its replies."""

import argparse
import importlib
import json
from collections import Counter
from pathlib import Path

import pytest
from loop import model, serving, write_items
from programs import OTHERS
from rigs import CANARY, open_rig, rigs

RUN = "results/loop"
SKILL = "# Guidance\n\n- RULE 1: look at the passage.\n"
RIGS = rigs()


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
def project(rig, tmp_path, monkeypatch):
    """A run in which the rig's backend plays its role, and a plain endpoint the other one."""
    folder = tmp_path / "project"
    write_items(folder / "data")
    (folder / "config").mkdir()
    with serving() as partner:
        partner.rule = model
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
        phase("plan", "--config", f"{RUN}/config.json", "--out", f"{RUN}/plan.json")
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


def test_a_replay_sends_nothing(rig, project):
    step("rollout", "rollouts.jsonl")
    step("reflect", "reflections.json", "--rollouts", f"{RUN}/rollouts.jsonl")
    before = len(rig.sent)
    first = (project / RUN / "reflections.json").read_bytes()
    step("rollout", "rollouts.jsonl")
    step("reflect", "reflections.json", "--rollouts", f"{RUN}/rollouts.jsonl")
    assert len(rig.sent) == before
    assert (project / RUN / "reflections.json").read_bytes() == first
