import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest
from fakeagents import Watch

from skillopt.models.agents import process

SECONDS = 30.0


def run(tmp_path, script, **options):
    return asyncio.run(start(tmp_path, script, **options))


async def start(tmp_path, script, *, stdin=b"", timeout=SECONDS, out_limit=10_000_000, env=None):
    return await process.run(
        (sys.executable, "-IS", "-c", script),
        stdin=stdin,
        cwd=tmp_path,
        env={"TMPDIR": str(tmp_path), **(env or {})},
        timeout=timeout,
        out_limit=out_limit,
    )


def test_output_errors_exit_code_and_input(tmp_path):
    script = "import sys; sys.stdout.write(sys.stdin.read().upper()); sys.stderr.write('e'); sys.exit(7)"
    finished = run(tmp_path, script, stdin=b"a" * 300_000)
    assert (finished.code, finished.out, finished.err) == (7, b"A" * 300_000, b"e")


def test_a_signal_is_a_negative_code(tmp_path):
    assert run(tmp_path, "import os; os.kill(os.getpid(), 9)").code == -signal.SIGKILL


def test_it_runs_where_it_is_told_with_nothing_but_the_given_environment(tmp_path):
    script = "import os, sys; print(os.getcwd()); print(sorted(k for k in os.environ if k != 'LC_CTYPE'))"
    finished = run(tmp_path, script, env={"A": "b"})
    assert finished.out.decode().splitlines() == [str(tmp_path), "['A', 'TMPDIR']"]


def test_it_has_a_session_of_its_own(tmp_path):
    out = run(tmp_path, "import os; print(os.getsid(0), os.getpid())").out.decode().split()
    assert out[0] == out[1]
    assert int(out[0]) != os.getsid(0)


def test_only_the_end_of_long_errors_is_kept(tmp_path):
    script = "import sys; sys.stderr.write('x' * 300_000 + 'the end')"
    err = run(tmp_path, script).err
    assert err.endswith(b"the end")
    assert len(err) == 64 * 1024


def test_too_much_output_ends_it(tmp_path):
    script = "import sys\nwhile True: sys.stdout.write('x' * 1000)"
    with pytest.raises(process.SaidTooMuch) as caught:
        run(tmp_path, script, out_limit=50_000)
    assert len(caught.value.out) == 50_000


def test_a_program_that_is_not_there(tmp_path):
    with pytest.raises(process.NotStarted, match="no-such-program"):
        asyncio.run(
            process.run(
                ("/no-such-program",),
                stdin=b"",
                cwd=tmp_path,
                env={"TMPDIR": "/x"},
                timeout=1,
                out_limit=1,
            )
        )


def test_no_descriptor_is_left_open(tmp_path):
    run(tmp_path, "pass")
    before = sum(1 for _ in Path("/proc/self/fd").iterdir())
    for _ in range(5):
        run(tmp_path, "print(1)", stdin=b"x")
        with pytest.raises(process.NotStarted):
            asyncio.run(
                process.run(("/none",), stdin=b"", cwd=tmp_path, env={"TMPDIR": ""}, timeout=1, out_limit=1)
            )
    assert sum(1 for _ in Path("/proc/self/fd").iterdir()) == before


HANGS = """
import signal, socket, sys
held = socket.create_connection(("127.0.0.1", {port}))
{more}
print("started", flush=True)
held.sendall(b"!")
while True:
    signal.pause()
"""


def test_who_does_not_end_when_asked_to_is_killed(tmp_path):
    async def main():
        async with Watch() as watch:
            ignores = "signal.signal(signal.SIGTERM, signal.SIG_IGN)"
            work = asyncio.create_task(start(tmp_path, HANGS.format(port=watch.port, more=ignores)))
            await asyncio.wait_for(watch.hangs.wait(), SECONDS)
            work.cancel()
            with pytest.raises(asyncio.CancelledError):
                await work
            await asyncio.wait_for(watch.gone.wait(), SECONDS)

    asyncio.run(main())


def test_who_ends_when_asked_to_has_the_time_for_it(tmp_path):
    more = """
def bye(*_):
    open("bye", "w").close()
    sys.exit(0)
signal.signal(signal.SIGTERM, bye)
"""

    async def main():
        async with Watch() as watch:
            work = asyncio.create_task(start(tmp_path, HANGS.format(port=watch.port, more=more)))
            await asyncio.wait_for(watch.hangs.wait(), SECONDS)
            work.cancel()
            await asyncio.wait({work})

    asyncio.run(main())
    assert (tmp_path / "bye").exists()


def test_a_second_cancellation_does_not_stop_the_ending(tmp_path):
    async def main():
        async with Watch() as watch:
            ignores = "signal.signal(signal.SIGTERM, signal.SIG_IGN)"
            work = asyncio.create_task(start(tmp_path, HANGS.format(port=watch.port, more=ignores)))
            await asyncio.wait_for(watch.hangs.wait(), SECONDS)
            work.cancel()
            await asyncio.sleep(0)
            work.cancel()
            with pytest.raises(asyncio.CancelledError):
                await work
            assert process.strays(f"TMPDIR={tmp_path}".encode()) == []

    asyncio.run(main())


def test_what_was_printed_before_the_time_was_up_is_kept(tmp_path):
    async def main():
        async with Watch() as watch:
            with pytest.raises(process.TookTooLong) as caught:
                await start(tmp_path, HANGS.format(port=watch.port, more=""), timeout=1.5)
            return caught.value.out

    assert asyncio.run(main()) == b"started\n"


def test_strays_are_found_by_a_whole_line_of_their_environment():
    own = Path("/proc/self/environ").read_bytes().split(b"\0")[0]
    assert os.getpid() in process.strays(own)
    assert os.getpid() not in process.strays(own[:-1])


DETACHED = """
import os, signal, socket, subprocess, sys, time
held = socket.create_connection(("127.0.0.1", {port}))
child = "import signal; signal.signal(15, signal.SIG_IGN); print(flush=True)\\nwhile True: signal.pause()"
started = subprocess.Popen(
    [sys.executable, "-IS", "-c", child],
    start_new_session=True,
    env={{}},
    cwd="/",
    pass_fds=[held.fileno()],
    stdout=subprocess.PIPE,
)
started.stdout.readline()
held.sendall(b"!")
{more}
"""


def test_a_child_that_left_group_session_folder_and_environment_is_ended_with_the_program(tmp_path):
    async def main():
        async with Watch() as watch:
            finished = await start(tmp_path, DETACHED.format(port=watch.port, more="sys.exit(3)"))
            await asyncio.wait_for(watch.gone.wait(), SECONDS)
            return finished.code

    assert asyncio.run(main()) == 3


def test_a_child_that_left_everything_is_ended_when_the_call_is(tmp_path):
    async def main():
        async with Watch() as watch:
            script = DETACHED.format(port=watch.port, more="while True: signal.pause()")
            work = asyncio.create_task(start(tmp_path, script))
            await asyncio.wait_for(watch.hangs.wait(), SECONDS)
            work.cancel()
            await asyncio.wait({work})
            await asyncio.wait_for(watch.gone.wait(), SECONDS)

    asyncio.run(main())


PHASE = """
import asyncio, sys
from pathlib import Path
from skillopt.models.agents import process

command = (sys.executable, "-IS", "-c", sys.argv[1])
folder = sys.argv[2]
env = {"TMPDIR": folder}
asyncio.run(process.run(command, stdin=b"", cwd=Path(folder), env=env, timeout=None, out_limit=1000))
"""


def test_nothing_outlives_a_phase_that_is_killed(tmp_path):
    async def main():
        async with Watch() as watch:
            script = DETACHED.format(port=watch.port, more="while True: signal.pause()")
            phase = await asyncio.create_subprocess_exec(sys.executable, "-c", PHASE, script, str(tmp_path))
            await asyncio.wait_for(watch.hangs.wait(), SECONDS)
            phase.kill()
            await phase.wait()
            await asyncio.wait_for(watch.gone.wait(), SECONDS)

    asyncio.run(main())


def test_who_ends_its_keeper_is_ended_too(tmp_path):
    async def main():
        async with Watch() as watch:
            more = f"import os\nif os.getppid() != {os.getpid()}: os.kill(os.getppid(), signal.SIGKILL)"
            script = HANGS.format(port=watch.port, more=more)
            finished = await start(tmp_path, script)
            await asyncio.wait_for(watch.gone.wait(), SECONDS)
            return finished.code

    assert asyncio.run(main()) == -signal.SIGKILL


def test_a_call_that_is_cancelled_while_its_program_starts_leaves_nothing(tmp_path):
    async def main():
        await start(tmp_path, "pass")
        before = sum(1 for _ in Path("/proc/self/fd").iterdir())
        for turns in range(12):
            work = asyncio.create_task(start(tmp_path, "import signal; signal.pause()"))
            for _ in range(turns):
                await asyncio.sleep(0)
            work.cancel()
            with pytest.raises(asyncio.CancelledError):
                await work
            assert process.strays(f"TMPDIR={tmp_path}".encode()) == []
        assert sum(1 for _ in Path("/proc/self/fd").iterdir()) == before

    asyncio.run(main())
