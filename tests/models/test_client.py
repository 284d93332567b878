import asyncio
import base64
import json
import os
import signal
import subprocess
import sys
import textwrap

import pytest
from clients import KEY, POLICY, Waits, ask, client_at, role_at, serving
from endpoint import Answer, Endpoint

from skillopt.errors import ConfigError, ProviderDead
from skillopt.models.base import CallError, File, Reply, ToolCall
from skillopt.models.client import CallPolicy
from skillopt.models.incoming import masked, objects_of
from skillopt.models.ledger import read_ledger
from skillopt.models.store import Store, StoreError, call_key
from skillopt.records import Usage

WORKER = textwrap.dedent("""
    import asyncio, sys
    from pathlib import Path
    from clients import ask, client_at
    from skillopt.models.base import CallError

    async def main(root, url, count, width):
        async with client_at(Path(root), url, width=width) as client:
            replies = await asyncio.gather(*(client.call(ask(f"q{i}.")) for i in range(count)))
        print("|".join(reply.text for reply in replies))

    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
""")


def echo(call):
    return Answer(text=f"re: {call.prompt}")


def run_worker(tmp_path, url, count, width=4, script=WORKER):
    return asyncio.create_subprocess_exec(
        sys.executable,
        *("-c", script, str(tmp_path), url, str(count), str(width)),
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def claims_in(root):
    return [path.name for path in root.rglob("*") if ".claim" in path.name]


def old_claim(root, key):
    path = root / "replies" / key[:2] / f"{key}.claim"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('{"host": "elsewhere", "pid": 1, "mark": "", "made": 1.0, "attempt": 90.0}')
    os.utime(path, (1, 1))


def test_a_reply_is_paid_for_once_and_the_same_ever_after(tmp_path):
    async def main():
        async with Endpoint(lambda call: Answer(text=f"draw {call.number}")) as endpoint:
            async with client_at(tmp_path, endpoint.url) as client:
                first = await client.call(ask("q"))
                again = await client.call(ask("q"))
            async with client_at(tmp_path, endpoint.url) as client:
                later = await client.call(ask("q"))
                fresh = await client.call(ask("q", sample=1))
        assert first.text == "draw 1"
        assert first == again == later
        assert fresh.text == "draw 2"
        assert len(endpoint.calls) == 2

    asyncio.run(main())


def test_a_full_replay_needs_no_key_no_endpoint_and_no_http_package(tmp_path):
    async def buy():
        async with serving(tmp_path, echo) as (endpoint, client):
            await client.call(ask("q0."))
        return endpoint.url

    script = WORKER + "\nassert not any(name.startswith(('httpx', 'h11')) for name in sys.modules)"

    async def replay(url):
        worker = await run_worker(tmp_path, url, 1, script=script)
        out, err = await worker.communicate()
        assert (worker.returncode, out) == (0, b"re: q0.\n"), err

    asyncio.run(replay(asyncio.run(buy())))


def test_identical_requests_in_flight_are_made_once(tmp_path):
    async def main():
        async with serving(tmp_path, echo) as (endpoint, client):
            replies = await asyncio.gather(*(client.call(ask(f"q{i % 2}")) for i in range(6)))
        assert [reply.text for reply in replies] == ["re: q0", "re: q1"] * 3
        assert sorted(endpoint.prompts) == ["q0", "q1"]
        (total,) = read_ledger(tmp_path, "demo").totals
        assert (total.made, total.replayed, total.failed, total.keys) == (2, 4, 0, 2)

    asyncio.run(main())


def test_calls_in_flight_are_as_many_as_the_width(tmp_path):
    async def main():
        full = asyncio.Event()

        async def rule(call):
            if endpoint.live == 3:
                full.set()
            await full.wait()
            return echo(call)

        async with serving(tmp_path, rule, width=3) as (endpoint, client):
            await asyncio.gather(*(client.call(ask(f"q{i}")) for i in range(10)))
        assert endpoint.peak == 3

    asyncio.run(main())


def test_a_width_below_one_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="at least 1, found 0"):
        client_at(tmp_path, "http://localhost:1", width=0)


def test_results_do_not_depend_on_the_order_of_completion(tmp_path):
    async def main():
        gates = [asyncio.Event() for _ in range(4)]
        gates[3].set()

        async def rule(call):
            number = int(call.prompt)
            await gates[number].wait()
            if number:
                gates[number - 1].set()
            return echo(call)

        async with serving(tmp_path, rule) as (_, client):
            replies = await asyncio.gather(*(client.call(ask(str(i))) for i in range(4)))
        assert [reply.text for reply in replies] == [f"re: {i}" for i in range(4)]

    asyncio.run(main())


@pytest.mark.parametrize(
    "fault",
    [
        *(Answer(status=status, error="busy") for status in (408, 409, 429, 500, 502, 503, 504, 529)),
        Answer(drop=True),
        Answer(raw="<html>gateway</html>"),
        Answer(raw='{"choices": []}'),
        Answer(text=""),
        Answer(text=None),
        Answer(raw='{"error": {"message": "upstream", "code": 502}}'),
        Answer(finish_reason="error"),
    ],
)
def test_transient_failures_are_tried_again_and_never_kept(tmp_path, fault):
    async def main():
        async with serving(
            tmp_path, lambda call: fault if call.number < 3 else echo(call), sleep=(waits := Waits())
        ) as (endpoint, client):
            reply = await client.call(ask("q"))
        assert reply.text == "re: q"
        assert len(endpoint.calls) == 3
        assert waits.seconds == ([2.0, 4.0] if fault.status == 429 else [0.5, 1.0])
        assert len(list(tmp_path.glob("replies/*/*.json"))) == 1
        (total,) = read_ledger(tmp_path, "demo").totals
        assert (total.made, total.failed, sum(total.errors.values())) == (1, 2, 2)

    asyncio.run(main())


def test_attempts_are_bounded_and_the_last_failure_is_the_error(tmp_path):
    async def main():
        async with serving(
            tmp_path, lambda call: Answer(status=500, error=f"oops {call.number}"), sleep=(waits := Waits())
        ) as (_, client):
            with pytest.raises(CallError, match=r"HTTP 500: oops 3 \(after 3 attempts\)") as caught:
                await client.call(ask("q"))
        assert (caught.value.kind, caught.value.code) == ("provider_error", "http_500")
        assert len(waits.seconds) == 2  # none after the last
        assert not list(tmp_path.glob("replies/*/*.json"))

    asyncio.run(main())


@pytest.mark.parametrize("attempts", [1, 2, 5])
def test_the_number_of_attempts_is_the_one_asked_for(tmp_path, attempts):
    async def main():
        policy = CallPolicy(max_attempts=attempts)
        async with serving(tmp_path, lambda call: Answer(drop=True), policy=policy) as (endpoint, client):
            with pytest.raises(CallError):
                await client.call(ask("q"))
        assert len(endpoint.calls) == attempts

    asyncio.run(main())


@pytest.mark.parametrize("status", [300, 400, 401, 403, 404, 413, 422])
def test_other_failures_are_not_tried_again(tmp_path, status):
    async def main():
        async with serving(tmp_path, lambda call: Answer(status=status, error="no")) as (endpoint, client):
            with pytest.raises(CallError, match=f"HTTP {status}: no$") as caught:
                await client.call(ask("q"))
        assert caught.value.code == f"http_{status}"
        assert len(endpoint.calls) == 1

    asyncio.run(main())


def test_retry_after_is_honoured(tmp_path):
    async def main():
        wait = Answer(status=429, error="slow down", headers={"Retry-After": "20"})
        async with serving(
            tmp_path, lambda call: wait if call.number == 1 else echo(call), sleep=(waits := Waits())
        ) as (_, client):
            await client.call(ask("q"))
        assert waits.seconds == [20.5]

    asyncio.run(main())


def test_a_wait_longer_than_allowed_ends_the_call_at_once(tmp_path):
    async def main():
        tomorrow = Answer(status=429, error="quota", headers={"Retry-After": "86400"})
        async with serving(tmp_path, lambda call: tomorrow, sleep=(waits := Waits())) as (endpoint, client):
            with pytest.raises(CallError, match=r"asks to wait 86400 s, longer than calls\.max_wait = 60 s"):
                await client.call(ask("q"))
        assert (len(endpoint.calls), waits.seconds) == (1, [])

    asyncio.run(main())


@pytest.mark.parametrize(
    ("name", "setting"), [("target", "env.exec_timeout"), ("optimizer", "calls.timeout")]
)
def test_a_call_without_a_reply_in_time_is_a_timeout_and_names_its_setting(tmp_path, name, setting):
    async def main():
        async with Endpoint(lambda call: asyncio.Event().wait()) as endpoint:
            policy = CallPolicy(max_attempts=2, timeout=0.05)
            role = role_at(endpoint.url, name)
            async with client_at(tmp_path, "", role=role, policy=policy) as client:
                with pytest.raises(CallError) as caught:
                    await client.call(ask("q"))
        assert str(caught.value) == f"no reply within 0.05 s ({setting}) (after 2 attempts)"
        assert caught.value.kind == "timeout"
        assert len(endpoint.calls) == 2

    asyncio.run(main())


def test_a_silent_endpoint_is_a_timeout(tmp_path):
    async def main():
        async with Endpoint(lambda call: asyncio.Event().wait()) as endpoint:
            role = role_at(endpoint.url, timeout_seconds=0.05)
            async with client_at(tmp_path, "", role=role) as client:
                with pytest.raises(CallError, match=r"within 0\.05 s \(timeout_seconds") as caught:
                    await client.call(ask("q"))
        assert caught.value.kind == "timeout"

    asyncio.run(main())


async def outcomes(client, count):
    return await asyncio.gather(*(client.call(ask(f"q{i}")) for i in range(count)), return_exceptions=True)


def test_a_provider_that_refuses_everything_is_dead_after_a_few_calls(tmp_path):
    async def main():
        async with serving(
            tmp_path, lambda call: Answer(status=401, error=f"no such key (request {call.number})"), width=2
        ) as (endpoint, client):
            found = await outcomes(client, 100)
            assert len(endpoint.calls) <= POLICY.systemic_failures + 2
            with pytest.raises(ProviderDead, match=r"4 times\): HTTP 401: no such key"):
                await client.call(ask("one more"))
        kinds = [type(error) for error in found]
        assert kinds.count(CallError) == POLICY.systemic_failures - 1
        assert kinds.count(ProviderDead) == 100 - 3

    asyncio.run(main())


def test_a_provider_that_cannot_be_reached_is_dead(tmp_path):
    async def main():
        async with Endpoint() as endpoint:
            pass
        async with client_at(tmp_path, endpoint.url, width=2) as client:
            found = await outcomes(client, 30)
        assert isinstance(found[-1], ProviderDead)
        assert "no connection" in str(found[-1])
        (total,) = read_ledger(tmp_path, "demo").totals
        assert total.failed <= (POLICY.systemic_failures + 1) * POLICY.max_attempts

    asyncio.run(main())


def test_failures_between_successes_do_not_make_a_dead_provider(tmp_path):
    async def main():
        def rule(call):
            return Answer(status=400, error="bad item") if call.number % 3 else echo(call)

        async with serving(tmp_path, rule, width=1) as (endpoint, client):
            found = await outcomes(client, 30)
        assert sum(isinstance(error, CallError) for error in found) == 20
        assert len(endpoint.calls) == 30

    asyncio.run(main())


def test_a_fault_of_our_own_is_no_provider_failure(tmp_path):
    async def main():
        async with client_at(tmp_path, "ftp://nowhere/v1") as client:
            with pytest.raises(ConfigError, match="base_url: expected an address"):
                await client.call(ask("q"))

    asyncio.run(main())


def test_the_reply_to_a_cancelled_call_on_the_wire_is_kept(tmp_path):
    async def main():
        arrived, go = asyncio.Event(), asyncio.Event()

        async def rule(call):
            arrived.set()
            await go.wait()
            return echo(call)

        async with Endpoint(rule) as endpoint:
            async with client_at(tmp_path, endpoint.url, width=1) as client:
                callers = [asyncio.create_task(client.call(ask(f"q{i}"))) for i in range(3)]
                await arrived.wait()
                for caller in callers:
                    caller.cancel()
                await asyncio.wait(callers)
                go.set()
            assert endpoint.prompts == ["q0"]  # those that waited for a slot were never made
            async with client_at(tmp_path, endpoint.url) as client:
                assert (await client.call(ask("q0"))).text == "re: q0"
            assert len(endpoint.calls) == 1

    asyncio.run(main())


def test_a_cancelled_call_that_fails_is_not_tried_again(tmp_path):
    async def main():
        arrived, go = asyncio.Event(), asyncio.Event()

        async def rule(call):
            arrived.set()
            await go.wait()
            return Answer(status=500)

        async with Endpoint(rule) as endpoint:
            async with client_at(tmp_path, endpoint.url) as client:
                caller = asyncio.create_task(client.call(ask("q")))
                await arrived.wait()
                caller.cancel()
                await asyncio.wait([caller])
                go.set()
            assert len(endpoint.calls) == 1

    asyncio.run(main())


def test_a_call_that_does_not_come_back_is_dropped_after_the_grace(tmp_path):
    async def main():
        arrived = asyncio.Event()

        async def rule(call):
            arrived.set()
            await asyncio.Event().wait()

        async with serving(tmp_path, rule, grace=0.01) as (_, client):
            caller = asyncio.create_task(client.call(ask("q")))
            await arrived.wait()
            caller.cancel()
            await asyncio.wait([caller])
        assert not list(tmp_path.glob("replies/*/*.json"))

    asyncio.run(main())


def test_another_caller_keeps_a_shared_call_alive(tmp_path):
    async def main():
        async with serving(tmp_path, echo) as (_, client):
            first = asyncio.create_task(client.call(ask("q")))
            second = asyncio.create_task(client.call(ask("q")))
            await asyncio.sleep(0)
            first.cancel()
            assert (await second).text == "re: q"
            assert first.cancelled()

    asyncio.run(main())


@pytest.mark.parametrize("left", ["nothing", "claims of a machine that is gone"])
def test_processes_that_ask_the_same_at_once_pay_once(tmp_path, left):
    """Each has 4 calls in flight: 8 are only seen when one does not stand still for what the other makes."""

    async def main():
        both = asyncio.Event()

        async def rule(call):
            if endpoint.live == 8:
                both.set()
            await both.wait()
            return Answer(text=f"{call.prompt} draw {call.number}")

        async with Endpoint(rule) as endpoint:
            if left != "nothing":
                for number in range(20):
                    old_claim(tmp_path, call_key(role_at(endpoint.url), ask(f"q{number}.")))
            workers = [await run_worker(tmp_path, endpoint.url, 20) for _ in range(2)]
            said = await asyncio.gather(*(worker.communicate() for worker in workers))
            assert [worker.returncode for worker in workers] == [0, 0], said
            assert len(endpoint.calls) == 20
            worker = await run_worker(tmp_path, endpoint.url, 20)
            replayed, _ = await worker.communicate()
            assert len(endpoint.calls) == 20
        assert said[0][0] == said[1][0] == replayed
        (total,) = read_ledger(tmp_path, "demo").totals
        assert (total.made, total.replayed, total.keys) == (20, 40, 20)
        assert claims_in(tmp_path) == []

    asyncio.run(main())


def test_a_killed_process_claims_nothing(tmp_path):
    async def main():
        arrived, never = asyncio.Event(), asyncio.Event()

        async def rule(call):
            if call.number == 1:
                arrived.set()
                await never.wait()
            return echo(call)

        async with Endpoint(rule) as endpoint:
            worker = await run_worker(tmp_path, endpoint.url, 1)
            await asyncio.wait_for(arrived.wait(), 60)
            worker.send_signal(signal.SIGKILL)
            await worker.communicate()
            assert len(claims_in(tmp_path)) == 1
            async with client_at(tmp_path, endpoint.url) as client, asyncio.timeout(60):
                assert (await client.call(ask("q0."))).text == "re: q0."
            assert len(endpoint.calls) == 2
        assert claims_in(tmp_path) == []

    asyncio.run(main())


def test_a_process_whose_call_fails_hands_it_over(tmp_path):
    """While the first call is waited for, its slot is free for another, and that one lets the first end."""

    async def main():
        arrived, other = asyncio.Event(), asyncio.Event()

        async def rule(call):
            if call.number == 1:
                arrived.set()
                await other.wait()
                return Answer(status=400, error="no")
            if call.prompt == "other":
                other.set()
            return echo(call)

        async with Endpoint(rule) as endpoint:
            worker = await run_worker(tmp_path, endpoint.url, 1)
            await asyncio.wait_for(arrived.wait(), 60)
            async with client_at(tmp_path, endpoint.url, width=1) as client, asyncio.timeout(60):
                replies = await asyncio.gather(client.call(ask("q0.")), client.call(ask("other")))
            _, err = await worker.communicate()
        assert b"HTTP 400: no" in err
        assert [reply.text for reply in replies] == ["re: q0.", "re: other"]
        assert endpoint.prompts == ["q0.", "other", "q0."]
        assert claims_in(tmp_path) == []

    asyncio.run(main())


def test_a_call_that_ends_without_a_reply_is_claimed_no_more(tmp_path):
    async def main():
        arrived = asyncio.Event()

        async def rule(call):
            if call.prompt != "bad":
                arrived.set()
                await asyncio.Event().wait()
            return Answer(status=400, error="no")

        async with serving(tmp_path, rule, grace=0.01) as (_, client):
            with pytest.raises(CallError):
                await client.call(ask("bad"))
            assert claims_in(tmp_path) == []
            caller = asyncio.create_task(client.call(ask("q")))
            await arrived.wait()
            assert len(claims_in(tmp_path)) == 1
            caller.cancel()
            await asyncio.wait([caller])
        assert claims_in(tmp_path) == []

    asyncio.run(main())


def test_kill_9_loses_no_reply_that_came_back(tmp_path):
    async def main():
        reached = asyncio.Event()

        async def rule(call):
            if len(endpoint.calls) == 8 and not reached.is_set():
                reached.set()
                await asyncio.Event().wait()
            return echo(call)

        async with Endpoint(rule) as endpoint:
            worker = await run_worker(tmp_path, endpoint.url, 12, width=1)
            await reached.wait()
            worker.send_signal(signal.SIGKILL)
            await worker.communicate()
            accounts = read_ledger(tmp_path, "demo")
            assert (accounts.totals[0].made, accounts.torn) == (7, 0)
            worker = await run_worker(tmp_path, endpoint.url, 12, width=1)
            out, err = await worker.communicate()
        assert out.decode().strip() == "|".join(f"re: q{i}." for i in range(12)), err
        answered = [f"q{i}." for i in range(12)]
        assert sorted(endpoint.prompts) == sorted([*answered, "q7."])  # q7 was never answered

    asyncio.run(main())


def test_a_corrupt_entry_is_put_aside_and_the_call_made_again(tmp_path, caplog):
    async def main():
        async with Endpoint(echo) as endpoint:
            async with client_at(tmp_path, endpoint.url) as client:
                await client.call(ask("q"))
                key = call_key(client.role, ask("q"))
            path = tmp_path / "replies" / key[:2] / f"{key}.json"
            path.write_bytes(path.read_bytes()[:40])
            async with client_at(tmp_path, endpoint.url) as client:
                assert (await client.call(ask("q"))).text == "re: q"
            assert len(endpoint.calls) == 2
        assert path.with_name(f"{path.name}.corrupt").stat().st_size == 40
        assert Store(tmp_path).get(key).text == "re: q"
        assert "the call is made again" in caplog.text

    asyncio.run(main())


def test_a_disk_that_is_full_stops_the_buying(tmp_path):
    script = textwrap.dedent("""
        import asyncio, resource, sys
        from pathlib import Path
        from clients import ask, client_at

        async def main(root, url):
            async with client_at(Path(root), url, width=2) as client:
                calls = [client.call(ask(f"q{i}")) for i in range(50)]
                found = await asyncio.gather(*calls, return_exceptions=True)
            for error in found:
                print(type(error).__name__, error)

        resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
        asyncio.run(main(sys.argv[1], sys.argv[2]))
    """)

    async def main():
        async with Endpoint(lambda call: Answer(text="x" * 20000)) as endpoint:
            worker = await run_worker(tmp_path, endpoint.url, 0, script=script)
            out, err = await worker.communicate()
        said = out.decode().splitlines()
        assert len(endpoint.calls) <= 2, err
        assert len(said) == 50
        assert all(line.startswith("StoreError call store: cannot keep a reply") for line in said)
        assert all("repeats this call and, at most, those that were on their way" in line for line in said)
        assert not list(tmp_path.glob("replies/*/*"))  # and nothing half written

    asyncio.run(main())


def test_where_nothing_can_be_kept_nothing_is_bought(tmp_path):
    (tmp_path / "file").write_text("")

    async def main():
        async with Endpoint() as endpoint, client_at(tmp_path / "file", endpoint.url) as client:
            with pytest.raises(StoreError, match="cannot"):
                await client.call(ask("q"))
        assert not endpoint.calls

    asyncio.run(main())


def test_a_key_reaches_neither_files_nor_messages(tmp_path, caplog):
    def rule(call):
        assert call.headers["authorization"] == f"Bearer {KEY}"
        said = f"header Authorization: Bearer {KEY} of key {KEY} is wrong"
        return (Answer(status=500, error=said), Answer(raw=said), echo(call), Answer(status=401, error=said))[
            min(call.number, 4) - 1
        ]

    async def main():
        env = {"TARGET_OPENAI_COMPATIBLE_API_KEY": KEY}
        async with serving(tmp_path, rule, env=env) as (endpoint, client):
            await client.call(ask("q"))
            with pytest.raises(CallError) as caught:
                await client.call(ask("other"))
        assert len(endpoint.calls) == 4
        return str(caught.value)

    message = asyncio.run(main())
    assert "is wrong" in message
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) == 2
    for text in (message, caplog.text, *(path.read_text() for path in files)):
        assert KEY not in text


@pytest.mark.parametrize("form", [KEY, base64.b64encode(KEY.encode()).decode()])
def test_a_key_in_any_field_of_a_reply_is_not_kept(tmp_path, form):
    call = {"id": f"i-{form}", "function": {"name": f"n-{form}", "arguments": form}}
    message = {"content": f"t-{form}", "refusal": form, "tool_calls": [call]}
    choice = {"message": message, "finish_reason": form}
    body = {"model": f"m-{form}", "id": form, "choices": [choice], "usage": {form: form}}

    async def main():
        env = {"TARGET_OPENAI_COMPATIBLE_API_KEY": KEY}
        async with serving(tmp_path, lambda _: Answer(raw=json.dumps(body)), env=env) as (_, client):
            return await client.call(ask("q"))

    reply = asyncio.run(main())
    assert (reply.text, reply.model) == ("t-[redacted]", "m-[redacted]")
    assert reply.tool_calls == (ToolCall(id="i-[redacted]", name="n-[redacted]", arguments="[redacted]"),)
    kept = [path.read_text() for path in tmp_path.rglob("*") if path.is_file()]
    assert len(kept) == 2
    assert not [text for text in kept if form in text]


def test_every_text_of_a_reply_is_masked():
    """Also those that are added later: all fields of the record are gone through."""
    filled = {
        "tool_calls": (ToolCall(id=KEY, name=KEY, arguments=KEY),),
        "files": (File(path=KEY, data="eA=="),),
        "finish_reason": "length",
        "usage": Usage(calls=1, prompt=3),
        "seconds": 1.5,
    }
    reply = Reply(**{name: filled.get(name, KEY) for name in Reply.__struct_fields__})
    shown = masked(reply, (KEY, "length"))
    assert KEY not in repr(shown)
    assert repr(shown).count("[redacted]") == repr(reply).count(KEY)
    assert (shown.finish_reason, shown.usage, shown.seconds) == ("length", reply.usage, 1.5)


def test_a_call_that_nobody_waits_for_any_more_is_never_made(tmp_path):
    async def main():
        arrived, go = asyncio.Event(), asyncio.Event()

        async def rule(call):
            arrived.set()
            await go.wait()
            return echo(call)

        async with serving(tmp_path, rule, width=1) as (endpoint, client):
            first, second = (asyncio.create_task(client.call(ask(text))) for text in ("first", "second"))
            await arrived.wait()
            second.cancel()
            await asyncio.wait([second])
            third = asyncio.create_task(client.call(ask("third")))
            go.set()
            await asyncio.gather(first, third)
        assert endpoint.prompts == ["first", "third"]

    asyncio.run(main())


def test_a_reply_is_one_call_and_counts_that_cannot_be_are_unknown(tmp_path):
    usage = {"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 9}, "completion_tokens": 2}

    async def main():
        async with serving(tmp_path, lambda call: Answer(usage=usage)) as (_, client):
            return [(await client.call(ask("q"))).usage for _ in range(2)]

    first, replayed = asyncio.run(main())
    assert (first.calls, first.prompt, first.cached, first.completion) == (1, None, None, 2)
    assert replayed == first


def test_only_the_objects_of_a_list_are_read():
    assert objects_of({"a": [{"b": 1}, "c", None, [{}]]}, "a") == [{"b": 1}]
    assert objects_of({"a": {"b": 1}}, "a") == []


def test_a_call_that_failed_is_made_again_when_it_is_asked_for_again(tmp_path):
    answers = iter([Answer(status=400, error="not now"), Answer(text="now")])

    async def main():
        async with serving(tmp_path, lambda call: next(answers)) as (endpoint, client):
            with pytest.raises(CallError, match="not now"):
                await client.call(ask("q"))
            return (await client.call(ask("q"))).text, len(endpoint.calls)

    assert asyncio.run(main()) == ("now", 2)


def test_a_count_of_nothing_is_told(tmp_path):
    usage = {"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 0}, "completion_tokens": 0}

    async def main():
        async with serving(tmp_path, lambda call: Answer(usage=usage)) as (_, client):
            return (await client.call(ask("q"))).usage

    found = asyncio.run(main())
    assert (found.prompt, found.cached, found.completion) == (5, 0, 0)
