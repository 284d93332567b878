"""What `skillopt watch` and the other views show of whole runs: running, dead, finished, running again."""

import json
import os
import subprocess
import sys

from loop import ROOT, Hold, kind_of, model, rules_in, until

from skillopt.dashboard.launch import Launcher
from skillopt.dashboard.runs import Runs
from skillopt.files import read_json
from skillopt.progress import Running
from skillopt.report.page import state_of
from skillopt.report.record import RunRecord


def watch(project):
    running = project.start("skillopt", "watch", "loop", "--once").wait()
    assert running.code == 0, running.text
    return running.text


def test_a_run_is_seen_to_run_to_be_dead_and_to_go_on(project, server):
    server.rule = hold = Hold(server, lambda call, seen: kind_of(call) == "target" and seen > 5)
    running = project.start()
    hold.wait()
    sign = project.results / "logs/step_0001/rollout.progress.json"
    until(lambda: sign.exists() and read_json(sign, Running).parts)
    seen = shell(project, "watch", "loop", "--once")
    assert seen.startswith("loop  running  epoch 1 of 2, step 0 of 2, for ")
    assert "step_0001/rollout" in seen
    assert "/6" in seen
    running.kill()
    seen = watch(project)
    assert seen.startswith("loop  dead  ")
    assert "no sign of life since" in " ".join(seen.split())
    assert "was at work" in seen
    assert sign.exists()
    killed = read_json(sign, Running)
    server.rule = model
    assert project.train().code == 0
    assert watch(project).startswith("loop  finished  ")
    assert not list(project.results.glob("logs/**/*.progress.json"))
    times = project.read("calls.json")["times"]
    phases = {found["phase"]: found for found in times["phases"]}
    assert phases["rollout"]["jobs"] == 3, "two steps, and the one that was killed"
    assert phases["gate"]["jobs"] == 5, "the initial skill, two steps, two ends of epochs"
    assert phases["rollout"]["seconds"] > killed.beat - killed.started
    assert times["seconds"] >= max(found["seconds"] for found in phases.values())


def views(project):
    """What each view says of steps done, steps, steps of before, and the scores of the best skill so far."""
    status = json.loads(shell(project, "status", "results/loop", "--format", "json"))
    runs = json.loads(shell(project, "runs", "loop", "--format", "json"))["rows"][0]
    seen = shell(project, "watch", "loop", "--once")
    record = RunRecord(project.results)
    listed = Runs(project.results.parent, Launcher(project.results.parent)).listed("loop")
    found = {
        "status": (status["steps_done"], status["steps"], status["again"]),
        "watch": next(
            (done, 2, again)
            for done in (0, 1, 2)
            for again in (0, 1, 2)
            if f"step {done} of 2" in seen
            and ("of before a change" in seen) == bool(again)
            and (not again or f"again from step {done + 1}: {again} step" in seen)
        ),
        "dashboard": (listed.view.status.steps_done, listed.view.status.steps, listed.view.status.again),
        "report": (record.steps_done, record.steps, record.standing.again),
        "runs": (*map(int, runs["steps"].split("/")), status["again"]),
    }
    decisions = [line for line in seen.splitlines() if line.startswith(("step ", "the end of epoch "))]
    assert len(set(found.values())) == 1, found
    assert len(decisions) == len(record.done) - (len(record.done) > 0)
    assert (runs["state"] == state_of(record)) and record.finished == (runs["state"] == "improved")
    return found["status"], len(decisions), runs["test_best"]


def shell(project, *command):
    """The run's own output goes on into the project's file, so these have their own."""
    done = subprocess.run(
        [sys.executable, "-m", "skillopt", *command],
        cwd=project.folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.stdout


def test_while_a_run_is_done_again_no_view_counts_what_is_of_before(copy, server):
    finished = views(copy)
    assert finished[:2] == ((2, 2, 0), 4)
    copy.configure(optimizer__learning_rate=3)
    server.rule = hold = Hold(server, lambda call, seen: kind_of(call) == "failure_summary")
    running = copy.start()
    hold.wait()
    assert (copy.results / "steps/step_0002/gate.json").exists()
    assert views(copy) == ((0, 2, 2), 0, None)
    shell(copy, "report", "results/loop", "--out", "now.html")
    shown = (copy.folder / "now.html").read_text(encoding="utf-8")
    assert "2 steps of before a change, which will be made anew" in shown
    assert 'id="step-2"' not in shown
    hold.release()
    assert running.wait().code == 0, running.text
    assert views(copy) == finished


def test_a_run_that_was_killed_while_it_was_done_again(copy, server):
    copy.configure(optimizer__learning_rate=3)
    server.rule = hold = Hold(
        server, lambda call, seen: kind_of(call) == "failure_summary" and rules_in(call.prompt) > 0
    )
    running = copy.start()
    hold.wait()
    assert views(copy)[:2] == ((1, 2, 1), 2), "step 1 and the end of its epoch are done again"
    running.kill()
    assert views(copy)[:2] == ((1, 2, 1), 2)
    server.rule = model
    assert copy.train().code == 0
    assert views(copy)[:2] == ((2, 2, 0), 4)


def test_a_step_that_was_done_again_in_part_with_the_same_result_is_done(copy):
    """The engine compares the content of inputs, so it does not do again what follows."""
    copy.configure(gradient__failure_only=True)
    reflections = copy.results / "steps/step_0001/reflections.json"
    before = reflections.read_bytes()
    engine = ("snakemake", "--snakefile", str(ROOT / "Snakefile"), "--cores", "2")
    running = copy.start(*engine, reflections.relative_to(copy.folder).as_posix()).wait()
    assert running.code == 0, running.text
    assert reflections.read_bytes() == before
    planned = copy.start(*engine, "--dry-run", "results/loop/summary.json").wait().text
    assert "step=0002" in planned
    assert "step=0001" not in planned
    assert views(copy)[:2] == ((1, 2, 1), 2)


def test_a_finished_run_is_shown_with_its_scores_decisions_and_spending(finished):
    seen = watch(finished)
    lines = [" ".join(line.split()) for line in seen.splitlines()]
    assert lines[0] == "loop finished epoch 2 of 2, step 2 of 2"
    assert "improved" in lines
    best = finished.read("best_skill.json")
    assert f"best hard {best['score']['value']:.3f} 4 of 4 items {best['skill']}" in lines
    current = finished.read("slow_update/epoch_02/gate.json")["state"]["current"]
    assert f"current hard {current['score']['value']:.3f} 4 of 4 items {current['skill']}" in lines
    assert any(line.startswith("step 2: ") for line in lines)
    made = sum(total["made"] for total in finished.read("calls.json")["totals"])
    spent = [line.split() for line in lines if line.startswith(("optimizer ", "target "))]
    assert sum(int(cells[1]) for cells in spent) == made == finished.call_count
    assert {cells[5] for cells in spent} == {"unknown"}
    assert "failed attempts" not in seen


def test_a_run_that_is_none(project):
    running = project.start("skillopt", "watch", "nothing", "--once").wait()
    assert running.code == 2
    assert "expected the folder of a run" in running.text
