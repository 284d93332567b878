"""What holds after a run was killed and went on."""

from loop import until


def same_result(project, finished, server):
    """Go on to the end: nothing was paid for twice, and the files are those of an undisturbed run."""
    running = project.train()
    assert running.code == 0, running.text
    assert server.repeated == 0
    assert project.files() == finished.files()
    assert not [path for path in project.results.rglob("*.partial") if ".calls" not in path.parts]


def until_written(running, project, name):
    until(lambda: (project.results / name).exists() or running.process.poll() is not None)
    assert running.process.poll() is None, running.text


def until_kept(project, server):
    """Replies that were sent are in the store: what is on its way to it is nobody's fault."""
    until(lambda: project.all_kept(server))
