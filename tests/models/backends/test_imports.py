"""Choosing one backend imports no other backend's packages."""

import json
import subprocess
import sys

import pytest
from wire import CASES

HEAVY = ("openai", "azure", "msal", "httpx2", "pydantic", "requests", "yaml", "jinja2")

DECLARE = """
import json, sys
from skillopt.models.registry import backend_spec
spec = backend_spec(sys.argv[1])
"""
OPEN = """
from skillopt.models.base import RoleModel
role = RoleModel(role="target", backend=spec.name, model="m", settings=json.loads(sys.argv[2]))
spec.open(role, json.loads(sys.argv[3]))
"""
PRINT = "print(json.dumps(sorted(sys.modules)))"


def loaded(code, *arguments):
    done = subprocess.run(
        [sys.executable, "-c", code + PRINT, *arguments], capture_output=True, text=True, check=True
    )
    names = {name.partition(".")[0] for name in json.loads(done.stdout)}
    backends = {
        name.rpartition(".")[2]
        for name in json.loads(done.stdout)
        if name.startswith("skillopt.models.backends.") and not name.rpartition(".")[2].startswith("_")
    }
    return names & set(HEAVY), backends


@pytest.mark.parametrize("backend", sorted({case.backend for case in CASES}))
def test_a_declaration_imports_no_package(backend):
    assert loaded(DECLARE, backend) == (set(), {backend})


@pytest.mark.parametrize(
    ("name", "packages"),
    [
        ("compatible", set()),
        ("qwen", set()),
        ("minimax", set()),
        ("openai", {"openai", "httpx2", "pydantic"}),
        ("azure", {"openai", "httpx2", "pydantic"}),
    ],
)
def test_an_open_backend_has_imported_its_own_packages_only(name, packages):
    case = next(case for case in CASES if case.name == name)
    role = case.role("http://127.0.0.1:9/v1")
    assert loaded(DECLARE + OPEN, case.backend, json.dumps(role.settings), json.dumps(case.env())) == (
        packages,
        {case.backend},
    )
