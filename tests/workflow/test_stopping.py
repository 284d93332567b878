"""Whatever stops a run, whichever of its processes it meets: it ends in order, the same command goes on."""

import signal

import psutil
import pytest
from killing import same_result, until_kept
from loop import ROOT, Hold, kind_of, model, until


def start_and_hold(project, server, kind):
    """Start, and return when a call of this kind has arrived that will get no answer until released."""
    server.rule = hold = Hold(server, lambda call, _: kind_of(call) == kind)
    running = project.start()
    hold.wait()
    until_kept(project, server)
    return running, hold


def engine_of(running):
    engine, *_ = psutil.Process(running.process.pid).children()
    return engine


def in_order(project, running):
    """It said how to go on, kept what was paid for, and opened the engine's lock."""
    assert running.code == 130, running.text
    assert "un the same command again to go on" in running.text
    assert "Traceback" not in running.text
    assert not list((project.folder / ".snakemake/locks").glob("*"))
    assert project.status() in (12, 130)


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGQUIT])
def test_a_request_to_the_whole_group_keeps_the_replies_on_their_way(finished, project, server, number):
    """A terminal that closes, Ctrl-\\: the engine knows neither, and would leave its lock."""
    running, hold = start_and_hold(project, server, "merge")
    running.signal_all(number)
    hold.release()
    running.wait()
    in_order(project, running)
    until_kept(project, server)
    server.rule = model
    if number is signal.SIGHUP:
        same_result(project, finished, server)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_the_engine_alone_stops_its_jobs(project, server, number):
    running, _ = start_and_hold(project, server, "merge")
    engine_of(running).send_signal(number)
    running.wait()
    in_order(project, running)


def test_a_second_ctrl_c_ends_the_waiting_without_a_traceback(project, server):
    running, _ = start_and_hold(project, server, "target")
    running.signal_all(signal.SIGINT)
    until(lambda: "Terminating processes on user request" in running.text)
    running.signal_all(signal.SIGINT)
    running.wait()
    in_order(project, running)


def test_ctrl_c_before_the_first_job_ends_the_engine_without_a_traceback(project, server):
    running = project.start()
    command = psutil.Process(running.process.pid)
    until(lambda: any("skillopt.snakemake" in child.cmdline() for child in command.children()))
    running.signal_all(signal.SIGINT)
    running.wait()
    assert running.code == 130, running.text
    assert "Traceback" not in running.text
    assert server.calls == []


def test_what_a_killed_command_started_ends_too(project, server):
    """By itself the engine would go on, and its phases with it, and pay for calls."""
    running, _ = start_and_hold(project, server, "target")
    started = psutil.Process(running.process.pid).children(recursive=True)
    running.process.kill()
    _, left = psutil.wait_procs(started, timeout=60)
    assert left == []
    assert len(server.calls) <= 2 + 3 * 3  # preflight, and three phases with three calls at once
    assert "stopped: the process" in running.text


def test_a_killed_phase_is_said(project, server):
    running, _ = start_and_hold(project, server, "merge")
    (phase,) = [child for child in engine_of(running).children() if "aggregate" in child.cmdline()]
    phase.kill()
    running.wait()
    assert running.code == 1
    assert "the run has not ended: see above for the reason" in running.text
    assert "Traceback" not in running.text


PLACES = [".calls", ".calls/replies", "loop/steps", "loop/logs/step_0001", "loop/slow_update/epoch_02"]


@pytest.mark.parametrize("place", PLACES)
def test_a_file_in_place_of_a_folder_is_named_before_anything_begins(project, server, place):
    path = project.folder / "results" / place
    path.parent.mkdir(parents=True)
    path.write_text("a file")
    running = project.train()
    assert running.code == 1, running.text
    assert f"results/{place}: expected a folder, found a file. Move it away" in running.text
    assert "Traceback" not in running.text
    assert server.calls == []


def test_the_engine_says_the_same_of_a_file_in_place_of_a_folder(project, server):
    (project.results / "steps").mkdir(parents=True)
    (project.results / "steps/step_0001").write_text("a file")
    snakefile = ("--snakefile", str(ROOT / "Snakefile"))
    running = project.start("snakemake", *snakefile, "--cores", "1", "results/loop/best_skill.md").wait()
    assert running.code == 1
    assert "run loop: results/loop/steps/step_0001: expected a folder, found a file" in running.text
