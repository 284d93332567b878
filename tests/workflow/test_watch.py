"""What `skillopt watch` shows of whole runs: running, dead, finished."""

import os
import subprocess
import sys

from loop import ROOT, Hold, kind_of, model, until

from skillopt.files import read_json
from skillopt.progress import Running


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
    seen = watch_from_another_shell(project)
    assert seen.startswith("loop  running  epoch 1 of 2, step 0 of 2, for ")
    assert "step_0001/rollout" in seen
    assert "/6" in seen
    running.kill()
    seen = watch(project)
    assert seen.startswith("loop  dead  ")
    assert "no sign of life since" in " ".join(seen.split())
    assert "was at work" in seen
    assert sign.exists()
    server.rule = model
    assert project.train().code == 0
    assert watch(project).startswith("loop  finished  ")
    assert not list(project.results.glob("logs/**/*.progress.json"))


def watch_from_another_shell(project):
    """The run's own output goes on into the same file, so this one has its own."""
    done = subprocess.run(
        [sys.executable, "-m", "skillopt", "watch", "loop", "--once"],
        cwd=project.folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_finished_run_is_shown_with_its_scores_decisions_and_spending(finished):
    seen = watch(finished)
    lines = [" ".join(line.split()) for line in seen.splitlines()]
    assert lines[0] == "loop finished epoch 2 of 2, step 2 of 2"
    assert "improved" in lines
    best = finished.read("best_skill.json")
    assert f"best {best['score']['value']:.3f} 4 of 4 items {best['skill']}" in lines
    current = finished.read("slow_update/epoch_02/gate.json")["state"]["current"]
    assert f"current {current['score']['value']:.3f} 4 of 4 items {current['skill']}" in lines
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
