import asyncio
import os
import signal
import subprocess
import sys
import textwrap

import pytest
from endpoint import Answer, Endpoint

from skillopt.errors import ConfigError
from skillopt.process import WATCH_PID, is_running, run_async

SCRIPT = textwrap.dedent("""
    import asyncio, sys
    from skillopt.errors import SkillOptError
    from skillopt.process import run_async

    async def work():
        print("started", flush=True)
        try:
            await asyncio.Event().wait()
        finally:
            print("cleaned up", flush=True)

    try:
        run_async(work())
    except SkillOptError as error:
        print(error)
        sys.exit(error.exit_code)
""")


def start(env=None, script=SCRIPT):
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | (env or {}),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "started\n"
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_the_work_in_order(number):
    process = start()
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert out.startswith(f"cleaned up\nstopped: received {number.name}.")


LANDING = SCRIPT.replace(
    'print("cleaned up", flush=True)',
    """landed = asyncio.Event()
        asyncio.get_running_loop().add_reader(sys.stdin, landed.set)
        print("on the way", flush=True)
        await landed.wait()
        for _ in range(9):
            await asyncio.sleep(0)  # a signal that came before the line has its turn
        print("landed", flush=True)""",
)
"""Waits for a line on being stopped, as a phase does for the replies that are on their way."""


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (signal.SIGHUP, signal.SIGHUP),  # a terminal that closes: from its shell, and when that has ended
        (signal.SIGTERM, signal.SIGTERM),  # `timeout`: to its child, and to the group
        (signal.SIGINT, signal.SIGTERM),
        (signal.SIGTERM, signal.SIGINT),
    ],
)
def test_what_follows_a_request_to_end_is_the_same_request(first, then):
    process = start(script=LANDING)
    process.send_signal(first)
    assert process.stdout.readline() == "on the way\n"
    process.send_signal(then)
    out, err = process.communicate("landed\n", timeout=60)
    assert process.returncode == 130, err
    assert out.startswith(f"landed\nstopped: received {first.name}.")


def test_a_signal_after_the_end_of_the_watched_process_is_the_same_request():
    parent = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    process = start({WATCH_PID: str(parent.pid)}, LANDING)
    parent.kill()
    assert process.stdout.readline() == "on the way\n"
    process.send_signal(signal.SIGHUP)
    out, err = process.communicate("landed\n", timeout=60)
    parent.communicate()
    assert process.returncode == 130, err
    assert out.startswith("landed\nstopped: the process")


def test_a_second_ctrl_c_ends_the_waiting():
    process = start(script=LANDING)
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "on the way\n"
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline().startswith("stopped: received SIGINT.")
    process.communicate("\n", timeout=60)


def test_the_end_of_the_watched_process_stops_the_work():
    parent = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    process = start({WATCH_PID: str(parent.pid)})
    parent.send_signal(signal.SIGKILL)  # and not waited for: it stays as a zombie
    out, err = process.communicate(timeout=60)
    parent.communicate()
    assert process.returncode == 130, err
    assert f"the process {parent.pid} that started this one is gone" in out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_signal_that_was_ignored_from_the_start_stays_ignored(number):
    script = f"import signal\nsignal.signal({number.value}, signal.SIG_IGN)\n" + SCRIPT
    process = start(script=script)
    process.send_signal(number)
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=60)
    assert "received SIGTERM" in out


def test_results_and_errors_come_through():
    async def give(value):
        if isinstance(value, Exception):
            raise value
        return value

    assert run_async(give(3), {}) == 3
    assert run_async(give(4), {WATCH_PID: str(os.getpid())}) == 4
    with pytest.raises(KeyError):
        run_async(give(KeyError("k")), {})
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_the_watched_process_must_be_a_number():
    with pytest.raises(ConfigError, match="expected the number of a process, found 'x'"):
        run_async(None, {WATCH_PID: "x"})


def test_a_process_that_ended_does_not_run():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    assert not is_running(process.pid)
    assert is_running(os.getpid())


@pytest.mark.parametrize("numbers", [[signal.SIGTERM], [signal.SIGINT, signal.SIGTERM]])
def test_stopping_keeps_the_reply_on_the_wire(tmp_path, numbers):
    """Also when `train` passes on what the phases got already."""
    script = textwrap.dedent("""
        import asyncio, sys
        from pathlib import Path
        from clients import ask, client_at
        from skillopt.errors import Interrupted
        from skillopt.process import run_async

        async def work():
            async with client_at(Path(sys.argv[1]), sys.argv[2], width=1) as client:
                await asyncio.gather(*(client.call(ask(f"q{i}")) for i in range(5)))

        try:
            run_async(work())
        except Interrupted as error:
            sys.exit(error.exit_code)
    """)

    async def main():
        arrived, go = asyncio.Event(), asyncio.Event()

        async def rule(call):
            arrived.set()
            await go.wait()
            return Answer(text=f"re: {call.prompt}")

        async with Endpoint(rule) as endpoint:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-c", script, str(tmp_path), endpoint.url),
                env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            )
            await arrived.wait()
            for number in numbers:
                process.send_signal(number)
            go.set()
            assert await process.wait() == 130
            kept = len(list(tmp_path.glob("replies/*/*.json")))
            assert kept == len(endpoint.calls) < 5

    asyncio.run(main())
