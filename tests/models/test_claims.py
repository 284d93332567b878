import json
import os
import socket
import subprocess
import sys
import time

import pytest

from skillopt.models.claims import Claims
from skillopt.models.store import StoreError
from skillopt.process import mark_of

KEY = "ab" + "0" * 62
ATTEMPT = 100.0
HERE = socket.gethostname()


@pytest.fixture
def claims(tmp_path):
    return Claims(tmp_path, attempt=ATTEMPT)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "replies" / "ab" / f"{KEY}.claim"
    path.parent.mkdir(parents=True)
    return path


def written(host, pid, mark="of another start", made=1.0):
    return json.dumps({"host": host, "pid": pid, "mark": mark, "made": made, "attempt": ATTEMPT})


def ended():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_a_claim_is_there_for_as_long_as_its_block(claims, path):
    with claims.claim(KEY) as mine:
        assert mine
        assert not claims.is_free(KEY)
        assert json.loads(path.read_text())["pid"] == os.getpid()
        with claims.claim(KEY) as again:
            assert not again
        assert path.exists()
    assert claims.is_free(KEY)
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize(
    ("owner", "age", "dead"),
    [
        ("this process", 0, False),
        ("this process", ATTEMPT + 200, False),
        ("this process", ATTEMPT + 400, True),
        ("an ended process", 0, True),
        ("a process with its number", 0, True),
        ("this process, before the clock was set", 0, False),
        ("elsewhere", 0, False),
        ("elsewhere", ATTEMPT + 200, False),
        ("elsewhere", ATTEMPT + 400, True),
        ("nothing", 0, False),
        ("nothing", 70, True),
    ],
)
def test_a_claim_is_dead_when_its_owner_is_gone_or_its_time_is_over(claims, path, owner, age, dead):
    mark = mark_of(os.getpid())
    path.write_text(
        {
            "this process": lambda: written(HERE, os.getpid(), mark, time.time()),
            "an ended process": lambda: written(HERE, ended(), mark, time.time()),
            "a process with its number": lambda: written(HERE, os.getpid(), made=time.time()),
            "this process, before the clock was set": lambda: written(HERE, os.getpid(), mark),
            "elsewhere": lambda: written("elsewhere", ended()),
            "nothing": lambda: "",
        }[owner]()
    )
    os.utime(path, (time.time() - age,) * 2)
    assert claims.is_free(KEY) == dead
    with claims.claim(KEY) as mine:
        assert mine == dead
    assert path.exists() != dead


def test_a_claim_that_is_renewed_goes_on(claims, path):
    path.write_text(written("elsewhere", 1))
    os.utime(path, (1, 1))
    assert claims.is_free(KEY)
    claims.renew(KEY)
    assert not claims.is_free(KEY)


def test_whoever_was_taken_for_dead_leaves_the_claim_of_another(claims, path):
    with claims.claim(KEY):
        path.unlink()
        claims.renew(KEY)
        path.write_text(written("elsewhere", 1))
    assert json.loads(path.read_text())["host"] == "elsewhere"
    assert len(list(path.parent.iterdir())) == 1


def test_a_claim_that_cannot_be_used_stops_the_calls(claims, path):
    path.mkdir()
    with (
        pytest.raises(StoreError, match=r"cannot claim a call in .*ab: .*No further call"),
        claims.claim(KEY),
    ):
        pass
    with pytest.raises(StoreError, match="cannot claim"):
        claims.is_free(KEY)
