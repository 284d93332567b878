"""kill -9, Ctrl-C, an outage in a second run: the same command goes on and repeats no paid call."""

import signal
from functools import cache

import psutil
import pytest
from endpoint import Answer
from killing import same_result, until_kept
from loop import ROOT, Hold, Project, kind_of, model


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


def test_a_signal_to_the_command_alone_stops_the_run_too(finished, project, server):
    """As a supervisor sends it, or `kill`; by itself the engine waits for a phase, whose call never ends."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        running, _ = start_and_hold(project, server, "target")
        running.process.send_signal(number)
        assert running.wait().code == 130, (number, running.text)
        assert "interrupted: run the same command again to go on" in running.text, number
        assert "Traceback" not in running.text, number
        assert not list((project.folder / ".snakemake/locks").glob("*")), number
        assert project.status() in (12, 130), number
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


@pytest.fixture(scope="module")
def fresh(server, tmp_path_factory):
    """The files of a run that had these settings from its start, made once for all that compare with them."""

    @cache
    def made(**change):
        project = Project(tmp_path_factory.mktemp("fresh"), server.url)
        project.configure(**change)
        before = server.answered.copy()
        assert project.train().code == 0
        server.reset(model)
        server.answered.update(before)
        return project.files()

    return lambda change: made(**change)


@pytest.mark.parametrize(
    ("change", "kind", "resume"),
    [
        ({"model__target": "another"}, "target", "train"),
        ({"model__target": "another"}, "target", "snakemake"),
        ({"gradient__minibatch_size": 2}, "failure_summary", "train"),
    ],
)
def test_an_outage_while_a_run_is_done_again_leaves_nothing_of_before(
    fresh, copy, server, change, kind, resume
):
    """The engine removed the files of the job that failed, and would take what was made of them for done."""
    project, expected = copy, fresh(change)
    project.configure(**change)
    server.rule = lambda call: Answer(status=503) if kind_of(call) == kind else model(call)
    assert project.train().code == 3
    server.rule = model
    if resume == "snakemake":
        engine = ("snakemake", "--snakefile", str(ROOT / "Snakefile"), "--cores", "2")
        running = project.start(*engine, "results/loop/best_skill.md").wait()
        assert running.code == 0, running.text
        for name in ("best_skill.md", "best_skill.json"):
            assert (project.results / name).read_bytes() == expected[name]
    running = project.train()
    assert running.code == 0, running.text
    assert project.files() == expected
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
