"""Which files of a run belong to it as it is now, told from the notes of its jobs."""

import argparse
import json
import os
import socket
import time
from pathlib import Path

import msgspec
import pytest
from standing import STEP, standing

from skillopt.basis import write_basis
from skillopt.config.resolve import load_run
from skillopt.files import read_json, write_json, write_text
from skillopt.made import Made, MadeNote, read_basis, session_of, short
from skillopt.phases.plan import plan_run, write_records
from skillopt.progress import SIGN, Running
from skillopt.runs import Run
from skillopt.standing import lost_outputs

RUN = """
train: {num_epochs: 1, batch_size: 2}
optimizer: {use_slow_update: false, use_meta_skill: false}
env: {name: searchqa, split_mode: split_dir, split_dir: data}
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run of two steps that are done, each phase of which has read the file of the one before."""
    monkeypatch.chdir(tmp_path)
    write_text(Path("config/run.yaml"), RUN)
    for split in ("train", "val", "test"):
        entries = [
            {"id": f"{split}{n}", "question": "Q?", "context": "c", "answers": ["a"]} for n in range(4)
        ]
        write_text(Path(f"data/{split}/items.json"), json.dumps(entries))
    folder = tmp_path / "results/run"
    begin(folder)
    read = "skills/skill_v0000.md"
    done(folder, "step_0000/gate", (), ("steps/step_0000/gate.json",))
    done(folder, "initial_skill", (), (read,))
    for step in (1, 2):
        for phase, name in STEP.items():
            written = (f"steps/step_{step:04d}/{name}",)
            if phase == "gate":
                written = (f"skills/skill_v{step:04d}.md", *written)
            done(folder, f"step_{step:04d}/{phase}", (read,), written)
            read = written[0]
    return folder


def begin(folder, *overrides):
    """Write what a start of the engine writes."""
    resolved = load_run(Path("config/run.yaml"), list(overrides), {})
    plan, splits = plan_run("run", resolved)
    write_records(folder, resolved, plan)
    write_basis(folder, Run(resolved, plan, splits))


def test_a_torn_sign_of_the_engine_and_a_torn_basis_stop_no_job_and_no_view(run, caplog):
    log = run / "logs/step_0002/select.log"
    named = argparse.Namespace(out=run / "steps/step_0002/patch.json", log=log)
    write_text(run / SIGN, "")
    assert standing(run).complete
    note = MadeNote(named)
    note.begin()
    note.leave()
    assert read_json(log.with_suffix(".made.json"), Made).session == ""
    write_text(run / "basis.json", "[")
    note = MadeNote(named)
    note.begin()
    note.leave()
    assert "workflow.progress.json: expected a Running record" in caplog.text
    assert "basis.json: expected a list record" in caplog.text


def done(folder, place, read, written, session="", text=None):
    """Do a job: write its files, and the note of it."""
    for name in written:
        write_text(folder / name, text or f"of {name}")
    made = Made(
        basis=read_basis(folder)[place],
        session=session,
        read={name: short((folder / name).read_bytes()) for name in read},
        written={name: short((folder / name).read_bytes()) for name in written},
    )
    write_json(folder / f"logs/{place}.made.json", made)


def engine(folder):
    """Let this process be the engine that is at work; return its session."""
    now = time.time()
    sign = Running(command="workflow", host=socket.gethostname(), pid=os.getpid(), started=now, beat=now)
    write_json(folder / SIGN, sign)
    return session_of(sign)


def counts(folder):
    found = standing(folder)
    return found.steps_done, found.again, found.complete


def test_a_finished_run_is_complete(run):
    assert counts(run) == (2, 0, True)
    assert standing(run).files == standing(run).folders == frozenset()


def test_a_setting_makes_its_phase_and_all_that_follows_of_before(run):
    begin(run, "optimizer.learning_rate=2")
    assert counts(run) == (0, 2, False)
    found = standing(run)
    assert not found.is_of_before("steps/step_0001/rollouts.jsonl")
    assert found.is_of_before("steps/step_0001/reflections.json")
    assert found.is_of_before("steps/step_0002/rollouts.jsonl")
    assert found.is_of_before("skills/skill_v0001.md")
    assert not found.is_of_before("skills/skill_v0000.md")
    begin(run)
    assert counts(run) == (2, 0, True), "the change was taken back"


def test_a_job_that_was_begun_anew_counts_as_long_as_its_files_are_the_same(run):
    place, out = run / "logs/step_0002/select.made.json", run / "steps/step_0002/patch.json"
    before, content = read_json(place, Made), out.read_bytes()
    MadeNote(argparse.Namespace(out=out, log=run / "logs/step_0002/select.log")).begin()
    assert read_json(place, Made) == msgspec.structs.replace(before, begun=True)
    assert counts(run) == (2, 0, True), "it failed, or was killed, before it wrote"
    write_text(out, "other")
    assert counts(run) == (1, 1, False)
    write_text(out, content.decode())
    assert counts(run) == (2, 0, True)


def test_a_job_that_was_begun_by_the_engine_makes_what_follows_of_before(run):
    """The engine removes the files of a job before it starts it."""
    out = run / "steps/step_0002/patch.json"
    out.unlink()
    MadeNote(argparse.Namespace(out=out, log=run / "logs/step_0002/select.log")).begin()
    assert counts(run) == (1, 1, False)
    assert not standing(run).is_of_before("steps/step_0002/merged.json")
    assert standing(run).is_of_before("steps/step_0002/patch.json")


def test_other_content_makes_what_follows_of_before_and_the_same_does_not(run):
    read, written = ("steps/step_0001/merged.json",), ("steps/step_0001/patch.json",)
    done(run, "step_0001/select", read, written)
    assert counts(run) == (2, 0, True)
    done(run, "step_0001/select", read, written, text="other")
    assert counts(run) == (0, 2, False)


def test_what_follows_from_a_job_that_the_engine_did_again_is_of_before_while_it_works(run):
    session = engine(run)
    assert counts(run) == (2, 0, True), "a start alone changes nothing"
    done(run, "step_0002/rollout", ("skills/skill_v0001.md",), ("steps/step_0002/rollouts.jsonl",), session)
    assert counts(run) == (1, 1, False)
    (run / SIGN).unlink()
    assert counts(run) == (2, 0, True), "it was stopped: what has the same inputs is not done again"


def test_files_that_were_lost_by_hand_are_not_made_again(run):
    for name in ("steps/step_0001/patch.json", "steps/step_0001/gate.json"):
        (run / name).unlink()
    found = standing(run)
    assert found.gates == ("steps/step_0000/gate.json", "steps/step_0002/gate.json")
    assert (found.again, found.complete) == (0, True)


def test_files_that_an_attempt_which_failed_has_cost_are_lost_and_others_are_not(run):
    basis = read_basis(run)
    out = run / "steps/step_0002/patch.json"
    out.unlink()

    def none(names):
        return set()

    assert lost_outputs(run, basis, none) == [], "deleted by hand from a finished run"
    assert lost_outputs(run, basis, set) == ["steps/step_0002/patch.json"], "killed as it started"
    MadeNote(argparse.Namespace(out=out, log=run / "logs/step_0002/select.log")).begin()
    assert lost_outputs(run, basis, none) == ["steps/step_0002/patch.json"], "begun, and not ended"
    (run / "logs/step_0002/select.made.json").unlink()
    assert lost_outputs(run, basis, none) == [], "never done"
    rollouts = run / "steps/step_0001/rollouts.jsonl"
    rollouts.unlink()
    changed = basis | {"step_0001/rollout": "other"}
    assert lost_outputs(run, changed, none) == ["steps/step_0001/rollouts.jsonl"], (
        "to be done for another reason"
    )
    write_text(run / "summary.json", "{}")
    assert lost_outputs(run, basis, none) == ["history.json"]


def test_a_skill_that_was_changed_by_hand_and_read_since(run):
    write_text(run / "skills/skill_v0001.md", "by hand")
    rollouts = ("steps/step_0002/rollouts.jsonl",)
    done(run, "step_0002/rollout", ("skills/skill_v0001.md",), rollouts, text=f"of {rollouts[0]}")
    assert counts(run) == (2, 0, True)


def test_a_run_without_notes_counts_what_is_there(run):
    (run / "basis.json").unlink()
    found = standing(run)
    assert (found.steps_done, found.complete) == (2, True)


def test_a_torn_note_is_said_and_is_none(run, caplog):
    place = run / "logs/step_0002/select.made.json"
    place.unlink()
    without = standing(run)
    place.write_bytes(b"")
    assert standing(run) == without
    assert "select.made.json" in caplog.text


def test_the_note_of_a_job(run):
    """What its command line names of the run: read if it was there and is the same, else written."""
    out, log = run / "steps/step_0002/patch.json", run / "logs/step_0002/select.log"
    place = log.with_suffix(".made.json")
    place.unlink()
    out.unlink()
    named = argparse.Namespace(
        config=run / "config.json",
        merged=run / "steps/step_0002/merged.json",
        many=[run / "steps/step_0002/rollouts.jsonl", run / "missing"],
        store=Path("results/.calls"),
        out=out,
        log=log,
        step=2,
    )
    session = engine(run)
    note = MadeNote(named)
    note.begin()
    assert not place.exists()
    write_text(out, "new")
    note.leave()
    made = read_json(place, Made)
    assert (made.basis, made.session) == (read_basis(run)["step_0002/select"], session)
    assert list(made.read) == ["steps/step_0002/merged.json", "steps/step_0002/rollouts.jsonl"]
    assert made.written == {"steps/step_0002/patch.json": short(b"new")}
    again = MadeNote(named)
    again.begin()
    assert read_json(place, Made) == msgspec.structs.replace(made, begun=True)
    again.leave()
    assert read_json(place, Made) == made, "an output that was not removed before is still one"
