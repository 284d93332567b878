"""Templates and skills that change while a run works: results are of those that the engine knows."""

import re
import shlex
import shutil

import pytest
from killing import same_result
from loop import Hold, Project, kind_of, model
from project import PARTS, ROOT

from skillopt.cli import main
from skillopt.config.templates import PROMPTS

ASKED = sorted(set(PROMPTS) - {"update", "repeat"})
"""Phases of the finished run that ask a model; its update mode applies edits without one."""


@pytest.fixture
def copied(server, tmp_path):
    """A project with a package and rules of its own, whose templates a test may edit."""

    def make(name):
        package = tmp_path / name / "package"
        package.mkdir(parents=True)
        for part in PARTS:
            source = ROOT / part
            copy = shutil.copytree if source.is_dir() else shutil.copy2
            copy(source, package / part)
        return Project(tmp_path / name, server.url, {"PYTHONPATH": str(package)})

    server.reset(model)
    return make


def edit(project, template):
    path = project.folder / "package" / template
    path.write_bytes(path.read_bytes() + b"{# an edit #}\n")


def test_templates_that_change_while_a_run_works_are_in_no_result(copied, server):
    """The engine knows a job by the templates it had at the start: what others ask would stay, for ever."""
    project, fresh = copied("loop"), copied("fresh")
    server.rule = hold = Hold(server, lambda call, _: kind_of(call) == "failure_summary")
    running = project.start()
    hold.wait()
    edit(project, "skillopt/prompts/parts.md.j2")
    hold.release()
    assert running.wait().code == 2, running.text
    assert "expected the templates that the job was planned with, found others" in running.text
    assert "Run the same command again" in running.text
    assert not (project.results / "steps/step_0001/merged.json").exists()
    edit(fresh, "skillopt/prompts/parts.md.j2")
    server.reset(model)
    assert fresh.train().code == 0
    server.reset(model)
    same_result(project, fresh, server)


def test_each_job_is_told_which_templates_it_was_planned_with(finished):
    lines = finished.commands_of
    asking = set(PROMPTS) - {"repeat", "meta_skill"}  # neither is a job of this run
    assert not [lines[phase] for phase in asking if not re.search(r" --prompts [0-9a-f]{64} ", lines[phase])]


REFUSED = [
    *[(phase, "--prompts", "expected the templates that the job was planned with") for phase in ASKED],
    *[
        (phase, "--planned", "expected the items that the job was planned for, found others")
        for phase in ("rollout", "evaluate", "sample", "compare")
    ],
    ("initial_skill", "--planned", "expected the skill that the job was planned for, found another"),
]


@pytest.mark.parametrize(("phase", "option", "said"), REFUSED)
def test_each_phase_refuses_what_it_was_not_planned_for(
    finished, server, monkeypatch, capsys, phase, option, said
):
    monkeypatch.chdir(finished.folder)
    before = finished.files()
    server.reset(model)
    line = finished.commands_of.get(f"{phase}_step", finished.commands_of[phase])
    assert main([*shlex.split(line), option, "another"]) == 2
    assert said in capsys.readouterr().err
    assert server.calls == []
    assert finished.files() == before
