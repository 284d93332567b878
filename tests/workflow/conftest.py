import shutil

import pytest
from loop import Project, model, serving

EPOCH = "results/loop/slow_update/epoch_02"
META_SKILL = (
    "meta_skill --config results/loop/config.json --epoch 02 --label epoch_02"
    " --previous-skill results/loop/skills/skill_v0001.md --skill results/loop/skills/skill_v0002.md"
    f" --pairs {EPOCH}/pairs.json --previous {EPOCH}/previous.jsonl --current {EPOCH}/current.jsonl"
    " --out results/loop/meta_skill/epoch_02/meta_skill.json --log results/loop/logs/epoch_02/meta_skill.log"
)
"""What a run of three epochs would do; one of two has no use for the memory."""


@pytest.fixture(scope="session")
def server():
    with serving() as server:
        yield server


@pytest.fixture(scope="session")
def finished(server, tmp_path_factory):
    """A run that nothing disturbed: its project, how it ended, and its files."""
    project = Project(tmp_path_factory.mktemp("finished"), server.url)
    server.reset(model)
    running = project.train()
    assert running.code == 0, running.text
    assert server.repeated == 0
    project.call_count = len(server.calls)
    project.calls_of = list(server.calls)
    project.answered = server.answered.copy()
    project.output = running.text
    project.commands_of = project.commands(running) | {"meta_skill": META_SKILL}
    return project


@pytest.fixture
def project(server, tmp_path):
    server.reset(model)
    return Project(tmp_path, server.url)


@pytest.fixture
def copy(finished, server, tmp_path):
    """A copy of the finished run; the server knows what that run paid for, so that a repeated call counts."""
    server.reset(model)
    server.answered.update(finished.answered)
    project = Project(tmp_path, server.url)
    shutil.copytree(finished.folder, tmp_path, dirs_exist_ok=True)
    project.commands_of = finished.commands_of
    return project
