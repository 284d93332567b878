"""Records that decode, but whose parts do not fit together: told by name, never a traceback."""

import json

import pytest
from madeup import MadeUp

from skillopt.cli import main
from skillopt.errors import ExitCode

ROLES = ("optimizer", "target")
DAMAGE = [
    ("plan.json", {"steps": []}),
    ("plan.json", {"epochs": []}),
    ("plan.json", {"num_epochs": 10**9}),
    ("plan.json", {"steps_per_epoch": 10**12}),
    ("plan.json", {"num_epochs": 0, "epochs": [], "steps": []}),
    ("summary.json", {"skills": {}}),
    ("summary.json", {"models": {}}),
    ("config.json", {"roles": {}}),
    ("config.json", {"roles": {role: {"role": role, "backend": "gone", "model": "m"} for role in ROLES}}),
]


@pytest.fixture
def results(tmp_path, monkeypatch):
    """Two finished runs; the test damages `bad`."""
    monkeypatch.chdir(tmp_path)
    for name in ("bad", "good"):
        MadeUp(tmp_path / "results" / name).whole().called(2)
    return tmp_path / "results"


def damage(file, changes):
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))


@pytest.mark.parametrize(("name", "changes"), DAMAGE)
def test_status_and_watch_name_the_file(results, capsys, name, changes):
    damage(results / "bad" / name, changes)
    for command in (["status", "results/bad"], ["watch", "results/bad", "--once"]):
        assert main(command) == ExitCode.CORRUPT_FILE
        told = capsys.readouterr().err
        assert f"results/bad/{name}: expected " in told
        assert "Delete the file" in told
        assert "Traceback" not in told


@pytest.mark.parametrize(("name", "changes"), DAMAGE)
def test_the_others_are_shown_beside_a_damaged_run(results, capsys, name, changes):
    damage(results / "bad" / name, changes)
    for command in (["runs"], ["diff", "results/bad", "results/good"], ["blame", "results/bad"]):
        assert main(command) in (ExitCode.OK, ExitCode.CORRUPT_FILE, ExitCode.BAD_CONFIG)
        shown = capsys.readouterr()
        assert "Traceback" not in shown.err + shown.out
        if command == ["runs"]:
            assert "good" in shown.out
