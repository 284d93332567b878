"""Every job of a run can be done by hand, with the line that `-p` prints."""

import re
import shlex

from skillopt.cli import main


def test_the_printed_lines_one_after_the_other_make_the_same_run(finished, project, server, monkeypatch):
    monkeypatch.chdir(project.folder)
    for name, value in project.env.items():
        monkeypatch.setenv(name, value)
    records = [
        "config --run-file config/loop.yaml --out results/loop/config.json",
        "plan loop --out results/loop/plan.json",
    ]
    jobs = re.findall(r"^Shell command: skillopt (.*)$", finished.output, re.MULTILINE)
    assert len(jobs) > 25
    for line in [*records, *jobs]:
        assert main(shlex.split(line)) == 0, line
    made = finished.files()
    del made["basis.json"]  # for views alone: the engine writes it when it starts
    assert project.files() == made
    assert server.repeated == 0
