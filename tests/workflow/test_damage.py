"""Damaged and lost files, a full disk: what is wrong is named with what to do, and nothing is paid for."""

import shutil

import pytest
from endpoint import Answer
from killing import same_result
from loop import TRAIN, Project, model


def test_a_decision_that_a_finished_run_lost_is_made_again(finished, copy, server):
    """All that comes of it is still there: the engine would take the run for done, for ever."""
    folder = copy.results / "steps/step_0001"
    rows = folder / "selection.jsonl"
    rows.write_bytes(b"".join(rows.read_bytes().splitlines(keepends=True)[:-1]))
    running = copy.train()
    assert running.code == 5, running.text
    assert "step_0001/candidate.md" in running.text and "Delete both and run the same command" in running.text
    assert not (folder / "gate.json").exists()
    rows.unlink()
    (folder / "candidate.md").unlink()
    same_result(copy, finished, server)
    assert server.calls == []


def limited(project, phase, kilobytes, store="elsewhere"):
    """Run a phase by hand, none of whose files may grow past a size: what a full disk is like."""
    command = project.commands_of[phase]
    return project.start(
        "bash", "-c", f"ulimit -f {kilobytes}; exec skillopt {command} --store {store}"
    ).wait()


def test_no_room_for_results(copy, server):
    out = copy.results / "steps/step_0002/rollouts.jsonl"
    before = out.read_bytes()
    running = limited(copy, "rollout", 5)
    assert running.code == 1, running.text
    assert "step_0002/rollouts.jsonl: cannot be written: File too large" in running.text
    assert "Traceback" not in running.text
    assert out.read_bytes() == before
    assert not list(out.parent.glob(".*"))
    calls = len(server.calls)
    assert limited(copy, "rollout", "unlimited").code == 0
    assert len(server.calls) == calls == 6


def test_no_room_in_the_store_is_said_before_the_first_call(copy, server):
    running = limited(copy, "rollout", 1)
    assert running.code == 1, running.text
    assert "cannot write in elsewhere/replies" in running.text
    assert "No call was made" in running.text
    assert server.calls == []


def test_no_room_for_a_reply_stops_the_phase(copy, server):
    server.rule = lambda call: Answer(text=f"{'long ' * 4000}<answer>{len(call.raw)}</answer>")
    running = limited(copy, "rollout", 8)
    assert running.code == 1, running.text
    assert "cannot keep a reply that was paid for" in running.text
    assert len(server.calls) <= 3  # those in flight
    assert "Traceback" not in running.text


DAMAGES = [
    ("steps/step_0002/rollouts.jsonl", "reflect", lambda text: text[:-40]),
    ("steps/step_0002/rollouts.jsonl", "reflect", lambda text: text[: text.index("\n") + 1]),
    ("steps/step_0002/reflections.json", "aggregate", lambda text: text[:-40]),
    ("steps/step_0002/merged.json", "select", lambda text: "{}"),
    ("steps/step_0002/patch.json", "update", lambda text: ""),
    ("steps/step_0002/update.json", "evaluate_step", lambda text: text.replace('"candidate"', "5", 1)),
    ("steps/step_0002/candidate.md", "evaluate_step", lambda text: text + "- by hand\n"),
    ("steps/step_0002/candidate.md", "gate_step", lambda text: text + "- by hand\n"),
    ("steps/step_0002/selection.jsonl", "gate_step", lambda text: text[: text.index("\n") + 1]),
    ("slow_update/epoch_01/skill.md", "gate_step", lambda text: text + "- by hand\n"),
    ("steps/step_0002/candidate.md", "best_skill", lambda text: text + "- by hand\n"),
    ("best_skill.json", "summary", lambda text: "null"),
    ("plan.json", "rollout", lambda text: text[:100]),
    ("config.json", "select", lambda text: text[:100]),
]


@pytest.mark.parametrize(("name", "phase", "damage"), DAMAGES)
def test_a_damaged_file_is_named_with_what_to_do(damaged, server, name, phase, damage):
    path = damaged.results / name
    before = path.read_text()
    path.write_text(damage(before))
    command = damaged.commands_of[phase]
    running = damaged.start("bash", "-c", f"skillopt {command}").wait()
    path.write_text(before)
    assert running.code == 5, running.text
    assert f"results/loop/{name}" in running.text
    assert "elete" in running.text
    assert "Traceback" not in running.text
    assert server.calls == []


FOLDERS = [
    ("steps/step_0002/rollouts.jsonl", "reflect"),
    ("steps/step_0002/reflections.json", "aggregate"),
    ("steps/step_0002/candidate.md", "gate_step"),
    ("skills/skill_v0001.md", "meta_skill"),
    ("plan.json", "rollout"),
]


@pytest.mark.parametrize(("name", "phase"), FOLDERS)
def test_a_folder_in_place_of_a_file_is_named_with_what_to_do(damaged, server, name, phase):
    path = damaged.results / name
    before = path.read_bytes()
    path.unlink()
    path.mkdir()
    running = damaged.start("bash", "-c", f"skillopt {damaged.commands_of[phase]}").wait()
    path.rmdir()
    path.write_bytes(before)
    assert running.code == 5, running.text
    assert f"results/loop/{name}: expected a file, found a folder. Delete it and run" in running.text
    assert server.calls == []


def test_a_folder_in_place_of_what_the_engine_writes_first_is_named(damaged, server):
    path = damaged.results / "config.json"
    before = path.read_bytes()
    path.unlink()
    path.mkdir()
    training = damaged.start(*TRAIN, "--forcerun", "gate_initial").wait()
    path.rmdir()
    path.write_bytes(before)
    assert training.code == 5, training.text
    assert "run loop: results/loop/config.json: expected a file, found a folder" in training.text
    assert server.calls == []


@pytest.fixture(scope="module")
def damaged(finished, server, tmp_path_factory):
    server.reset(model)
    project = Project(tmp_path_factory.mktemp("damaged"), server.url)
    shutil.copytree(finished.folder, project.folder, dirs_exist_ok=True)
    project.commands_of = finished.commands_of
    return project
