import pytest
from loop import Project, model, serving


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
    project.output = running.text
    project.commands_of = project.commands(running)
    return project


@pytest.fixture
def project(server, tmp_path):
    server.reset(model)
    return Project(tmp_path, server.url)
