import asyncio
import json
import os
import signal
import subprocess
import sys
import textwrap

import pytest
from clients import POLICY, ask, client_at, role_at
from endpoint import Answer, Endpoint

from skillopt.errors import CapReached
from skillopt.models.caps import CappedAllowance, Caps, Expected, admit, spend_of
from skillopt.models.ledger import ledger_lines, read_ledger
from skillopt.models.prices import Price
from skillopt.models.store import StoreError
from skillopt.models.tally import Spend
from skillopt.records import Usage

PRICES = {"m-1": Price(prompt=1000.0, completion=1000.0)}
"""A call of the endpoint uses 7 + 3 tokens, and so costs a cent."""


def allowance(root, caps, *, phase="rollout", prices=PRICES, **options):
    return CappedAllowance(
        caps, root=root, run="demo", role=role_at("x"), phase=phase, prices=prices, patience=30.0, **options
    )


def capped(root, url, caps, *, phase="rollout", prices=PRICES, **options):
    return client_at(root, url, allowance=allowance(root, caps, phase=phase, prices=prices), **options)


async def outcomes(client, count, start=0):
    return await asyncio.gather(
        *(client.call(ask(f"q{i}.")) for i in range(start, start + count)), return_exceptions=True
    )


def replies(found):
    assert all(not isinstance(one, Exception) or isinstance(one, CapReached) for one in found), found
    return [one for one in found if not isinstance(one, Exception)]


def state(root):
    return json.loads((root / "budget/demo.json").read_text())


@pytest.mark.parametrize(
    ("caps", "spent", "held", "amount", "guessed", "verdict"),
    [
        (Caps(calls=3), 2, 0, 1, False, "go"),
        (Caps(calls=3), 2, 1, 1, False, "wait"),
        (Caps(calls=3), 3, 0, 1, False, "stop"),
        (Caps(calls=3), 3, 0, 1, True, "stop"),
        (Caps(tokens=30), 2, 0, 10, False, "go"),
        (Caps(tokens=30), 2, 1, 10, False, "wait"),
        (Caps(tokens=30), 2, 0, 11, False, "stop"),
        (Caps(tokens=30), 2, 0, 11, True, "go"),
        (Caps(tokens=30), 2, 1, 11, True, "wait"),
        (Caps(tokens=20), 2, 1, 11, True, "stop"),
        (Caps(cost=0.3), 2, 0, 10, False, "go"),
        (Caps(cost=0.29), 2, 0, 10, False, "stop"),
        (Caps(cost=9.0, tokens=99, calls=2), 2, 0, 10, False, "stop"),
    ],
)
def test_a_call_is_admitted_made_to_wait_or_refused(caps, spent, held, amount, guessed, verdict):
    """Each call so far used 10 tokens and 10 cents."""
    before, aside = (Spend(calls=n, tokens=10 * n, cost=n / 10) for n in (spent, held))
    call = Expected(amount=Spend(calls=1, tokens=amount, cost=amount / 100), guessed=guessed)
    assert admit(caps, before, aside, call).do == verdict


@pytest.mark.parametrize(
    ("caps", "allowed"),
    [
        (Caps(calls=5), (5, 5)),
        (Caps(tokens=50), (5, 5)),
        (Caps(cost=0.055), (5, 5)),
        (Caps(tokens=1), (1, 1)),
    ],
)
def test_a_cap_is_never_passed_by_more_than_a_call(tmp_path, caps, allowed):
    async def main():
        async with Endpoint() as endpoint:
            async with capped(tmp_path, endpoint.url, caps, width=4) as client:
                found = await outcomes(client, 12)
            least, most = allowed
            assert least <= len(endpoint.calls) <= most
            assert len(replies(found)) == len(endpoint.calls)
            (refusal,) = {str(one) for one in found if isinstance(one, CapReached)}
        kind = next(kind for kind in ("calls", "tokens", "cost") if getattr(caps, kind))
        assert refusal.startswith(f"budget.max_{kind} is reached: ")
        assert f"--set budget.max_{kind}=" in refusal
        assert state(tmp_path)["held"] == {}

    asyncio.run(main())


def test_raising_the_cap_goes_on_without_repeating_a_call(tmp_path):
    async def main():
        async with Endpoint() as endpoint:
            for cap, made in ((3, 3), (3, 3), (8, 8), (0, 12)):
                async with capped(tmp_path, endpoint.url, Caps(calls=cap, tokens=1000)) as client:
                    await outcomes(client, 12)
                assert len(endpoint.calls) == made
            async with capped(tmp_path, endpoint.url, Caps(calls=1)) as client:
                found = await outcomes(client, 12)  # replayed calls cost nothing
            assert len(replies(found)) == 12
            assert len(endpoint.calls) == len({call.prompt for call in endpoint.calls}) == 12

    asyncio.run(main())


WORKER = textwrap.dedent("""
    import asyncio, sys
    from pathlib import Path
    from models_test_caps import Caps, capped, outcomes, replies

    async def main(root, url, start):
        async with capped(Path(root), url, Caps(calls=20), width=4) as client:
            found = await outcomes(client, 15, start)
        print(len(replies(found)))

    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
""")


def worker(tmp_path, url, start):
    here = tmp_path / "models_test_caps.py"
    here.write_text(open(__file__).read())  # noqa: PTH123, SIM115
    return asyncio.create_subprocess_exec(
        sys.executable,
        *("-c", WORKER, str(tmp_path / "calls"), url, str(start)),
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_processes_of_one_run_share_a_cap(tmp_path):
    async def main():
        async with Endpoint() as endpoint:
            workers = [await worker(tmp_path, endpoint.url, 100 * n) for n in range(3)]
            ended = [await process.communicate() for process in workers]
            assert all(process.returncode == 0 for process in workers), ended
            assert sum(int(out) for out, _ in ended) == len(endpoint.calls) == 20
        assert state(tmp_path / "calls")["spent"]["calls"] == 20
        assert state(tmp_path / "calls")["held"] == {}

    asyncio.run(main())


def test_what_a_killed_process_had_set_aside_is_free_again(tmp_path):
    async def main():
        arrived, hold = asyncio.Event(), asyncio.Event()

        async def silent(call):
            if call.number == 4:
                arrived.set()
            await hold.wait()
            return Answer()

        async with Endpoint(silent) as endpoint:
            process = await worker(tmp_path, endpoint.url, 0)
            await asyncio.wait_for(arrived.wait(), 60)
            process.send_signal(signal.SIGKILL)
            await process.communicate()
            (held,) = state(tmp_path / "calls")["held"].values()
            assert held["amount"]["calls"] == 4
            hold.set()
            async with capped(tmp_path / "calls", endpoint.url, Caps(calls=3)) as client:
                found = await outcomes(client, 5)
            assert len(replies(found)) == 3

    asyncio.run(main())


def test_another_machine_s_calls_are_lost_when_their_time_is_over(tmp_path):
    path = tmp_path / "budget/demo.json"
    path.parent.mkdir(parents=True)
    gone = {"amount": {"calls": 9, "tokens": 90, "cost": 0.0}, "until": 1.0}
    path.write_text(json.dumps({"spent": {}, "held": {"elsewhere/1/1": gone}}))

    async def main():
        async with Endpoint() as endpoint, capped(tmp_path, endpoint.url, Caps(calls=2)) as client:
            assert len(replies(await outcomes(client, 2))) == 2

    asyncio.run(main())
    assert state(tmp_path)["held"] == {}


NO_PROCESS = '{"spent": {}, "held": {"somebody": {"amount": {}, "until": 9e9}}}'


@pytest.mark.parametrize("content", [None, "", '{"spent": {"calls": 1', NO_PROCESS, "[" * 100_000])
def test_what_is_spent_is_counted_anew_from_the_ledger(tmp_path, content):
    path = tmp_path / "budget/demo.json"

    async def main():
        async with Endpoint() as endpoint:
            async with client_at(tmp_path, endpoint.url) as client:
                await outcomes(client, 2)  # before there was a cap
            async with capped(tmp_path, endpoint.url, Caps(calls=6)) as client:
                await outcomes(client, 1, 10)
                path.unlink()
                if content is not None:
                    path.write_text(content)
                await outcomes(client, 9, 20)
            assert len(endpoint.calls) == 6

    asyncio.run(main())


def test_tokens_that_a_provider_does_not_tell_are_counted_by_length(tmp_path, caplog):
    """A prompt of 40 characters and a reply of 20 make 15 tokens."""

    async def main(caps):
        async with Endpoint(lambda call: Answer(text="r" * 20, usage=None)) as endpoint:
            async with capped(tmp_path, endpoint.url, caps, width=1) as client:
                found = [await one(client, n) for n in range(6)]
            return len(replies(found)), len(endpoint.calls)

    async def one(client, number):
        (found,) = await asyncio.gather(client.call(ask(f"{number:040}")), return_exceptions=True)
        return found

    assert asyncio.run(main(Caps(tokens=45))) == (3, 3)
    assert state(tmp_path)["spent"]["tokens"] == 45
    assert caplog.text.count("without its tokens") == 1
    (total,) = read_ledger(tmp_path, "demo").totals
    assert total.usage.prompt is None  # the accounts say what is known
    assert [line.estimated.completion for line in ledger_lines(tmp_path, "demo")] == [5, 5, 5]
    assert asyncio.run(main(Caps(tokens=61))) == (1, 1)  # another process counts the same
    assert state(tmp_path)["spent"]["cost"] == pytest.approx(0.06)


def told(prompt, completion, cached=0):
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "prompt_tokens_details": {"cached_tokens": cached},
    }


@pytest.mark.parametrize(
    "usage", [told(-(10**6), 5), told(5, -(10**6)), told(5, 10**9 + 1), told(10, 5, 11), told(10, 5.0)]
)
def test_counts_that_cannot_be_are_estimated_and_pass_no_cap(tmp_path, usage):
    async def main():
        async with Endpoint(lambda call: Answer(text="r" * 20, usage=usage)) as endpoint:
            async with capped(tmp_path, endpoint.url, Caps(tokens=45), width=1) as client:
                for number in range(6):
                    await asyncio.gather(client.call(ask(f"{number:040}")), return_exceptions=True)
            return len(endpoint.calls)

    assert asyncio.run(main()) == 3
    assert state(tmp_path)["spent"] == {"calls": 3, "tokens": 45, "cost": pytest.approx(0.045)}
    assert [line.estimated.prompt for line in ledger_lines(tmp_path, "demo")] == [10, 10, 10]


@pytest.mark.parametrize("number", [-5, 10**9 + 1])
def test_what_a_call_spends_is_never_below_nothing(number):
    price = Price(prompt=1.0, completion=1.0)
    for usage in (Usage(calls=1, prompt=number), Usage(calls=1, prompt=1, completion=1, cached=number)):
        spend = spend_of(usage, price)
        assert 0 <= spend.tokens <= 2
        assert 0 <= spend.cost <= 2e-6


def test_counts_that_cannot_be_in_the_accounts_of_before_count_for_nothing(tmp_path, caplog):
    async def main():
        async with Endpoint() as endpoint:
            async with client_at(tmp_path, endpoint.url) as client:
                await outcomes(client, 2)
            (account,) = (tmp_path / "ledger/demo").iterdir()
            account.write_text(account.read_text().replace('"prompt":7', '"prompt":-7000'))
            async with capped(tmp_path, endpoint.url, Caps(tokens=1000)) as client:
                await outcomes(client, 1, 10)

    asyncio.run(main())
    assert "2 earlier calls of this run have no known tokens" in caplog.text
    assert state(tmp_path)["spent"]["tokens"] == 10


def test_earlier_calls_of_unknown_cost_are_said(tmp_path, caplog):
    async def main():
        async with Endpoint(lambda call: Answer(usage=None)) as endpoint:
            async with client_at(tmp_path, endpoint.url) as client:
                await outcomes(client, 2)
            async with capped(tmp_path, endpoint.url, Caps(tokens=1000)) as client:
                await outcomes(client, 1, 10)

    asyncio.run(main())
    assert "2 earlier calls of this run have no known tokens" in caplog.text


def test_failed_attempts_give_back_what_was_set_aside(tmp_path):
    def rule(call):
        return Answer(status=500, error="x") if call.number <= 3 else Answer()

    async def main():
        async with Endpoint(rule) as endpoint:
            async with capped(tmp_path, endpoint.url, Caps(calls=2), width=1) as client:
                found = await asyncio.gather(client.call(ask("a")), return_exceptions=True)
                assert "HTTP 500" in str(found[0])
                found = await outcomes(client, 3)
            assert len(replies(found)) == 2
            assert len(endpoint.calls) == 5

    asyncio.run(main())
    assert state(tmp_path)["spent"]["calls"] == 2


def test_calls_on_the_wire_when_a_cap_is_reached_come_back_and_are_kept(tmp_path):
    async def main():
        hold, arrived = asyncio.Event(), asyncio.Event()

        async def rule(call):
            if "slow" in call.prompt:
                arrived.set()
                await hold.wait()
            return Answer()

        async with Endpoint(rule) as endpoint:
            client = capped(tmp_path, endpoint.url, Caps(tokens=30), grace=0.0, policy=POLICY)
            with pytest.raises(CapReached):
                async with client:
                    slow = asyncio.create_task(client.call(ask("slow")))
                    await arrived.wait()
                    asyncio.get_running_loop().call_later(0.2, hold.set)
                    for number in range(9):
                        await client.call(ask(f"q{number}"))
            slow.cancel()
        lines = [line.event for line in ledger_lines(tmp_path, "demo")]
        assert lines == ["made"] * 3
        assert len(list((tmp_path / "replies").glob("*/*.json"))) == 3

    asyncio.run(main())


def test_without_caps_nothing_is_written_about_them(tmp_path):
    async def main():
        async with Endpoint() as endpoint, client_at(tmp_path, endpoint.url) as client:
            await outcomes(client, 3)

    asyncio.run(main())
    assert not (tmp_path / "budget").exists()


def test_accounts_of_a_cap_that_cannot_be_opened_stop_the_calls(tmp_path):
    (tmp_path / "budget").write_text("no folder")

    async def main():
        async with (
            Endpoint(lambda call: Answer()) as endpoint,
            capped(tmp_path, endpoint.url, Caps(calls=3)) as client,
        ):
            with pytest.raises(StoreError, match=r"cannot open .*/budget/demo\.json: .*No call was made"):
                await client.call(ask("q"))
        assert endpoint.calls == []

    asyncio.run(main())
