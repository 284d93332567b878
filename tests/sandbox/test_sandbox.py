"""Programs that misbehave, run for real: what each of them comes to, and that nothing of it stays."""

import asyncio
import itertools
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from loop import until
from sheets import ROOT, needs_isolation

from skillopt.sandbox.program import FULL, LIMITS, MIB, Limits, Sandbox, SandboxError

CANARY = "sk-canary-of-the-sandbox-0123456789"


def run(code, files=None, *, isolation="full", **limits):
    given = {"solution.py": code.encode(), **(files or {})}
    limits = Limits(**{"seconds": 20, **limits})
    return asyncio.run(Sandbox().run(["solution.py"], given, limits=limits, isolation=isolation))


def last_line(done):
    return done.output.strip().splitlines()[-1]


pytestmark = needs_isolation


def test_files_go_in_and_come_out():
    done = run(
        "import os; os.mkdir('made'); print('é')\n"
        "open('made/ü.bin', 'wb').write(open('in/x', 'rb').read() * 2)",
        {"in/x": b"\0\xff"},
    )
    assert (done.code, done.problem, done.output, done.left, done.in_force) == (0, "", "é\n", (), FULL)
    assert done.files["made/ü.bin"] == b"\0\xff\0\xff"
    assert set(done.files) == {"solution.py", "in/x", "made/ü.bin"}


def test_exit_codes_signals_and_both_streams():
    done = run("import sys; print('out', flush=True); print('err', file=sys.stderr); sys.exit(3)")
    assert (done.code, done.problem, done.output) == (3, "", "out\nerr\n")
    assert run("import os; os.kill(os.getpid(), 11)").code == -11


def test_a_sleeper_and_a_busy_one_are_ended():
    for code in ("import time; time.sleep(600)", "while True: pass"):
        done = run(code, seconds=0.5)
        assert (done.code, done.problem) == (-9, "did not end within 0.5 s")


def test_a_fork_bomb_is_bounded():
    done = run("import os, time\nwhile True:\n    os.fork()", seconds=5, processes=16)
    assert done.code
    assert "BlockingIOError" in done.output or done.problem == "had more than 16 processes"


def test_threads_count_as_processes():
    start = "threading.Thread(target=time.sleep, args=(9,), daemon=True).start()"
    code = f"import threading, time\nfor n in range(99): {start}"
    assert "can't start new thread" in run(code, processes=8).output


def test_memory_of_one_process_and_of_all():
    assert last_line(run("bytearray(10**10)")) == "MemoryError"
    code = (
        "import os, time\nfor n in range(6):\n"
        "    if not os.fork(): x = b'x' * (64 << 20); time.sleep(9)\ntime.sleep(9)"
    )
    assert run(code, memory=192 * MIB).problem == "used more than 192 MiB of memory"


def test_no_memory_beside_that_of_processes():
    """Files in memory, and segments and queues of System V, are counted for no process."""
    code = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
for name, call in {
    "file": lambda: os.memfd_create("x"),
    "segment": lambda: libc.shmget(0, ctypes.c_size_t(1 << 20), 0o1600),
    "queue": lambda: libc.msgget(0, 0o1600),
}.items():
    try: print(name, call(), ctypes.get_errno())
    except OSError as error: print(name, error)
import subprocess, sys
child = [sys.executable, "-c", "import os; os.memfd_create('x')"]
print("child", subprocess.run(child, stderr=subprocess.DEVNULL).returncode)
"""
    assert run(code).output.splitlines() == [
        "file [Errno 1] Operation not permitted",
        *("segment -1 1", "queue -1 1", "child 1"),
    ]


def test_the_disk_is_bounded_by_file_and_in_all():
    done = run("open('f', 'wb').write(b'x' * (9 << 20))", file_size=8 * MIB)
    assert last_line(done) == "OSError: [Errno 27] File too large"
    code = "for n in range(99): open(f'f{n}', 'wb').write(b'x' * (1 << 20))"
    assert last_line(run(code, disk=8 * MIB)) == "OSError: [Errno 28] No space left on device"
    done = run("for n in range(10**6): open(f'f{n}', 'w')", disk=MIB)
    assert last_line(done).startswith("OSError: [Errno 28] No space left on device")


def test_too_much_output_ends_it():
    done = run("while True: print('x' * 1000)", output=10_000)
    assert (done.code, done.problem, len(done.output)) == (-9, "printed more than 10000 bytes", 10_000)


def test_output_in_no_encoding():
    assert run("import os; os.write(1, b'\\xff\\x00ok')").output == "��ok"


def test_too_much_to_bring_back_is_left():
    done = run("for n in 'abc': open(n, 'wb').write(b'x' * 600)", collected=1000)
    assert "a" in done.files
    assert {"b", "c"} & set(done.files) == set()
    assert done.left == ("b (600 bytes)", "c (600 bytes)")


def test_the_environment_holds_no_secret(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    code = """
import glob, os
print(dict(os.environ))
for path in glob.glob("/proc/*/environ") + glob.glob("/proc/*/cmdline"):
    try: print(path, open(path, "rb").read())
    except OSError as error: print(path, error)
"""
    done = run(code)
    assert done.code == 0
    assert "/proc/" in done.output
    assert CANARY not in done.output
    assert "OPENAI" not in done.output


def test_nothing_outside_can_be_written_or_seen(tmp_path):
    (tmp_path / "gold.txt").write_text("the answer")
    tmp_path.chmod(0o777)
    places = [
        str(tmp_path),
        "/",
        "/tmp",
        "/usr",
        "/etc",
        "/dev/shm",
        "/var/tmp",
        sys.prefix,
        "/root",
        "/home",
    ]
    code = f"""
import os, shutil
for place in {places!r}:
    try: open(place + "/written-by-sandbox", "w").write("x"); print("WROTE", place)
    except OSError: pass
for path in ({str(tmp_path / "gold.txt")!r}, "/etc/passwd", "/etc/shadow"):
    try: print("READ", path, open(path).read())
    except OSError: pass
for path in ({sys.prefix!r}, "/usr/bin"):
    shutil.rmtree(path, ignore_errors=True)
"""
    assert run(code).output == ""
    assert [path.name for path in tmp_path.iterdir()] == ["gold.txt"]
    assert not any(os.path.lexists(f"{place}/written-by-sandbox") for place in places)
    assert Path(sys.executable).exists()


def test_no_socket_leaves():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        done = run(f"import socket; socket.create_connection(('127.0.0.1', {port}), 3)")
        assert last_line(done) == "OSError: [Errno 101] Network is unreachable"
    assert last_line(run("import socket; socket.create_connection(('192.0.2.1', 53), 3)")).startswith(
        "OSError"
    )


def test_links_and_odd_files_stay_behind():
    code = """
import os
os.symlink("/etc/passwd", "link"); os.symlink("/", "folder"); os.symlink("../..", "up")
os.mkfifo("pipe"); open("one", "w").write("1"); os.link("one", "two")
open("bad\\nname", "w"); open(b"\\xff", "w"); open("back\\\\slash", "w")
open("fine", "w").write("yes"); os.chmod("fine", 0o4755)
os.symlink("/", b"\\xfe")
for _ in range(60):
    os.mkdir("d" * 90); os.chdir("d" * 90)
open("deep", "w")
"""
    done = run(code)
    assert done.code == 0, done.output
    assert set(done.files) == {"solution.py", "fine"}
    assert len(done.left) == 10
    assert "'\\udcfe' (not a regular file)" in done.left
    assert all(line.isascii() for line in done.left)
    assert "link (not a regular file)" in done.left
    assert "two (another name of a file)" in done.left


def test_a_child_does_not_outlive_its_program():
    marker = f"outlive-{os.getpid()}"
    code = f"""
import os, subprocess, sys
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", "{marker}"], start_new_session=True,
                 env={{}}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print("started")
"""
    assert run(code).output == "started\n"
    assert not running(marker)


def running(marker):
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                found.append(marker.encode() in (entry / "cmdline").read_bytes())
            except OSError:
                continue
    return any(found)


def test_a_cancelled_run_leaves_nothing():
    marker = f"cancelled-{os.getpid()}"

    async def main():
        arguments = ["-c", "import time; time.sleep(600)", marker]
        task = asyncio.create_task(Sandbox().run(arguments, {}, limits=Limits()))
        while not running(marker):
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert not running(marker)


def test_a_killed_caller_leaves_nothing():
    marker = f"orphaned-{os.getpid()}"
    code = f"""
import asyncio
from skillopt.sandbox.program import Limits, Sandbox
asyncio.run(Sandbox().run(["-c", "import time; time.sleep(600)", "{marker}"], {{}}, limits=Limits()))
"""
    caller = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT)
    until(lambda: runs_python(marker))
    caller.kill()
    caller.wait()
    until(lambda: not running(marker))


def runs_python(marker):
    """Whether the program itself runs: not the caller, which has the marker in its command too."""
    lines = [entry / "cmdline" for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return any(words[-2:-1] == [marker] for words in map(words_of, lines))


def words_of(path):
    try:
        return path.read_text(errors="replace").split("\0")
    except OSError:
        return []


def test_it_has_no_rights_and_gets_none():
    code = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
status = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
print(os.getuid() == 0, status["CapEff"].strip(), status["NoNewPrivs"].strip())
print(libc.unshare(0x10000000), libc.mount(b"none", b"/scratch", b"tmpfs", 0, None))
for action in (lambda: os.chroot("."), lambda: os.listdir("/proc/1/fd")):
    try: print("DID", action())
    except OSError: pass
try: os.kill(1, 9)
except OSError: pass
"""
    assert run(code).output == "False 0000000000000000 1\n-1 -1\n"


@pytest.mark.parametrize(
    "path", ["../up", "/etc/x", "", ".", "a/../../b", "a\\b", "a\0b", "a\nb", "x" * 300], ids=repr
)
def test_paths_that_leave_the_folder_are_refused(path):
    with pytest.raises(ValueError, match="below the working folder"):
        run("pass", {path: b""})


def test_programs_wait_for_a_free_processor(tmp_path):
    """Three runs of a width of one do not overlap, whatever the machine."""
    code = "import time; print(time.monotonic(), flush=True); time.sleep(0.05); print(time.monotonic())"

    async def main():
        sandbox = Sandbox(width=1)
        return await asyncio.gather(*(sandbox.run(["-c", code], {}, limits=Limits()) for _ in range(3)))

    spans = sorted(tuple(map(float, done.output.split())) for done in asyncio.run(main()))
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(spans))


def readable_by_everybody():
    """Whether an unprivileged user could start this interpreter."""
    paths = {Path(sys.executable).resolve(), Path(sys.executable)}
    above = {parent for path in paths for parent in path.parents}
    return all(folder.stat().st_mode & stat.S_IXOTH for folder in above)


def test_limits_alone_where_isolation_is_not_wanted():
    if os.getuid() == 0 and not readable_by_everybody():
        with pytest.raises(SandboxError, match="cannot start the program"):
            run("pass", isolation="limits")
        return
    done = run("print(open('in/x').read())", {"in/x": b"hi"}, isolation="limits")
    assert (done.code, done.output, done.in_force) == (0, "hi\n", LIMITS)
    assert run("import time; time.sleep(60)", isolation="limits", seconds=0.5).problem
