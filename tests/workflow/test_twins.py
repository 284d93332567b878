"""Two runs of the same settings in one command: in step with each other they ask for the same replies."""

from collections import Counter

from loop import ROOT, Project, model

PROBES = 2
"""The tiny calls of preflight: one to each role's model."""
COMMAND = ("snakemake", "--snakefile", str(ROOT / "Snakefile"), "--cores", "4", "--config", "runs=loop twin")


def delayed(call):
    answer = model(call)
    answer.delay = 0.05
    return answer


def test_two_identical_runs_in_one_command_pay_once(server, tmp_path):
    project = Project(tmp_path, server.url, train__num_epochs=1)
    config = project.folder / "config"
    (config / "twin.yaml").write_bytes((config / "loop.yaml").read_bytes())
    server.reset(delayed)
    running = project.start(*COMMAND).wait()
    assert running.code == 0, running.text
    count = Counter()
    for run in ("loop", "twin"):
        for total in project.read(f"../{run}/calls.json")["totals"]:
            probe = total["phase"] == "preflight"  # a model that has answered already is not asked again
            count.update(made=total["made"], replayed=0 if probe else total["replayed"])
    assert server.repeated == 0
    assert count == {"made": project.kept(), "replayed": project.kept() - PROBES}
    best = [(project.results / name).read_bytes() for name in ("best_skill.md", "../twin/best_skill.md")]
    assert best[0] == best[1]
