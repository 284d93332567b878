"""kill -9, Ctrl-C, a full disk, damaged files: the same command goes on and repeats no paid call."""

import shutil
import signal

import psutil
import pytest
from endpoint import Answer
from killing import same_result, until_kept
from loop import ROOT, TRAIN, Hold, Project, kind_of, model


def start_and_hold(project, server, kind):
    """Start, and return when a call of this kind has arrived that will get no answer."""
    hold = Hold(server, lambda call, _: kind_of(call) == kind)
    server.rule = hold
    running = project.start()
    hold.wait()
    until_kept(project, server)
    return running, hold


def test_killed_inside_phases(finished, project, server):
    kill_the_engine_alone(project, server)
    for kind in ("failure_summary", "merge", "slow_update_content"):
        running, _ = start_and_hold(project, server, kind)
        running.kill()
        assert server.repeated == 0
    server.rule = model
    same_result(project, finished, server)


def kill_the_engine_alone(project, server):
    """The phases end by themselves, and make no further call meanwhile."""
    running, _ = start_and_hold(project, server, "target")
    engine, *_ = psutil.Process(running.process.pid).children()
    phases = [process for process in engine.children(recursive=True) if "skillopt" in process.cmdline()[1]]
    assert phases
    engine.kill()
    running.wait()
    psutil.wait_procs(phases, timeout=60)
    assert not any(process.is_running() for process in phases)
    assert len(server.calls) <= 2 + 3 * 3  # preflight, and three phases with three calls at once
    assert not (project.results / "steps/step_0001/rollouts.jsonl").exists()


def test_ctrl_c_stops_in_order_and_a_damaged_file_can_be_deleted(finished, project, server):
    running, hold = start_and_hold(project, server, "merge")
    running.signal_all(signal.SIGINT)
    hold.release()
    running.wait()
    assert running.code == 130, running.text
    assert "Traceback" not in running.text
    assert project.status() in (12, 130)
    assert not list((project.folder / ".snakemake/locks").glob("*"))
    until_kept(project, server)
    server.rule = model
    path = project.results / "steps/step_0001/reflections.json"
    path.write_text(path.read_text()[:-50])
    running = project.train()
    assert running.code == 5, running.text
    assert "steps/step_0001/reflections.json" in running.text
    path.unlink()
    same_result(project, finished, server)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_the_command_alone_stops_the_run_too(finished, project, server, number):
    """As a supervisor sends it, or `kill`; by itself the engine waits for a phase, whose call never ends."""
    running, _ = start_and_hold(project, server, "target")
    running.process.send_signal(number)
    assert running.wait().code == 130, running.text
    assert "interrupted: run the same command again to go on" in running.text
    assert "Traceback" not in running.text
    assert not list((project.folder / ".snakemake/locks").glob("*"))
    assert project.status() in (12, 130)
    server.rule = model
    same_result(project, finished, server)


def test_a_locked_folder_is_not_entered(project, server):
    server.rule = hold = Hold(server, lambda call, _: kind_of(call) == "target")
    first = project.start()
    hold.wait()
    second = project.train()
    assert second.code == 2, second.text
    assert "locked by a running workflow" in second.text
    first.kill()


@pytest.fixture
def copy(finished, server, tmp_path):
    """A copy of the finished run, the store left behind on request."""
    server.reset(model)
    project = Project(tmp_path, server.url)
    shutil.copytree(finished.folder, tmp_path, dirs_exist_ok=True)
    project.commands_of = finished.commands_of
    return project


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


@pytest.mark.parametrize(
    ("change", "kind", "resume"),
    [
        ({"model__target": "another"}, "target", "train"),
        ({"model__target": "another"}, "target", "snakemake"),
        ({"gradient__minibatch_size": 2}, "failure_summary", "train"),
    ],
)
def test_an_outage_while_a_run_is_done_again_leaves_nothing_of_before(
    project, server, tmp_path_factory, change, kind, resume
):
    """The engine removed the files of the job that failed, and would take what was made of them for done."""
    fresh = Project(tmp_path_factory.mktemp("fresh"), server.url)
    fresh.configure(**change)
    assert fresh.train().code == 0
    server.reset(model)
    assert project.train().code == 0
    project.configure(**change)
    server.rule = lambda call: Answer(status=503) if kind_of(call) == kind else model(call)
    assert project.train().code == 3
    server.rule = model
    if resume == "snakemake":
        engine = ("snakemake", "--snakefile", str(ROOT / "Snakefile"), "--cores", "2")
        running = project.start(*engine, "results/loop/best_skill.md").wait()
        assert running.code == 0, running.text
        for name in ("best_skill.md", "best_skill.json"):
            assert (project.results / name).read_bytes() == (fresh.results / name).read_bytes()
    running = project.train()
    assert running.code == 0, running.text
    assert project.files() == fresh.files()
    assert server.repeated == 0


def test_a_job_by_hand_that_was_killed_is_forgotten_by_the_next_command(copy, server):
    hold = Hold(server, lambda call, _: kind_of(call) == "target")
    server.rule = hold
    running = copy.start("bash", "-c", f"exec skillopt {copy.commands_of['rollout']} --store elsewhere")
    hold.wait()
    running.kill()
    assert "loop  dead" in copy.start("skillopt", "watch", "loop", "--once").wait().text
    server.rule = model
    assert copy.train().code == 0
    assert copy.start("skillopt", "watch", "loop", "--once").wait().text.startswith("loop  finished")
