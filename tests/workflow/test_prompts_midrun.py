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
    before = path.read_bytes()
    path.write_bytes(before.replace(b"\n", b"\n\n", 1) + b"{# an edit #}\n")
    return lambda: path.write_bytes(before)


CHANGES = [
    ("skillopt/prompts/parts.md.j2", "steps/step_0001/merged.json"),
    ("skillopt/envs/searchqa/prompts/target_user.md", "steps/step_0001/selection.jsonl"),
]


@pytest.mark.parametrize(("template", "missing"), CHANGES)
def test_templates_that_change_while_a_run_works_are_in_no_result(
    finished, copied, server, template, missing
):
    """The engine knows a job by the templates it had at the start: what others ask would stay, for ever."""
    project = copied("loop")
    server.rule = hold = Hold(server, lambda call, _: kind_of(call) == "failure_summary")
    running = project.start()
    hold.wait()
    undo = edit(project, template)
    hold.release()
    assert running.wait().code == 2, running.text
    assert "expected the templates that the job was planned with, found others" in running.text
    assert "Run the same command again" in running.text
    assert not (project.results / missing).exists()
    undo()
    server.rule = model
    same_result(project, finished, server)


def test_the_next_command_goes_on_with_the_new_templates(copied, server):
    project, fresh = copied("loop"), copied("fresh")
    server.rule = hold = Hold(server, lambda call, _: kind_of(call) == "failure_summary")
    running = project.start()
    hold.wait()
    edit(project, "skillopt/prompts/merge.md.j2")
    hold.release()
    assert running.wait().code == 2, running.text
    server.rule = model
    edit(fresh, "skillopt/prompts/merge.md.j2")
    assert fresh.train().code == 0
    server.reset(model)
    same_result(project, fresh, server)


def test_each_job_is_told_which_templates_it_was_planned_with(finished):
    lines = finished.commands_of
    asking = set(PROMPTS) - {"repeat", "meta_skill"}  # neither is a job of this run
    assert not [lines[phase] for phase in asking if not re.search(r" --prompts [0-9a-f]{64} ", lines[phase])]


@pytest.mark.parametrize("phase", ASKED)
def test_each_phase_refuses_templates_of_which_it_was_not_planned(
    finished, server, monkeypatch, capsys, phase
):
    monkeypatch.chdir(finished.folder)
    before = finished.files()
    server.reset(model)
    line = finished.commands_of.get(f"{phase}_step", finished.commands_of[phase])
    assert main([*shlex.split(line), "--prompts", "another"]) == 2
    assert "expected the templates that the job was planned with" in capsys.readouterr().err
    assert server.calls == []
    assert finished.files() == before


def test_another_initial_skill_than_planned_is_refused(finished, monkeypatch, capsys):
    monkeypatch.chdir(finished.folder)
    before = finished.files()
    assert main([*shlex.split(finished.commands_of["initial_skill"]), "--planned", "another"]) == 2
    assert "expected the skill that the job was planned for, found another" in capsys.readouterr().err
    assert finished.files() == before
