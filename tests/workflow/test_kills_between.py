"""kill -9 at every boundary of phases: the same command goes on and repeats no paid call."""

from killing import same_result, until_kept, until_written
from loop import model

BOUNDARIES = (
    "preflight.json",
    *(
        f"steps/step_0001/{name}"
        for name in ("rollouts.jsonl", "reflections.json", "merged.json", "patch.json")
    ),
    *(f"steps/step_0001/{name}" for name in ("update.json", "selection.jsonl", "gate.json")),
    *(f"slow_update/epoch_01/{name}" for name in ("slow_update.json", "skill.md")),
    *(f"slow_update/epoch_02/{name}" for name in ("sample.jsonl", "pairs.json", "slow_update.json")),
    *(f"slow_update/epoch_02/{name}" for name in ("selection.jsonl", "gate.json")),
    "best_skill.md",
)


def test_killed_between_phases(finished, project, server):
    for name in BOUNDARIES:
        server.rule = model
        running = project.start()
        until_written(running, project, name)
        server.freeze()
        until_kept(project, server)
        running.kill()
        assert server.repeated == 0, name
    server.rule = model
    same_result(project, finished, server)
    assert len(server.answered) == finished.call_count
