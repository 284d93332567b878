"""The scripted model behind a Chat Completions endpoint on loopback, as a process of its own.

Each reply takes between half and one and a half times the latency of its role, by the request.
Commands on standard input, one a line: `reset`, `latency TARGET OPTIMIZER`, `stats`; each is answered by
one line of JSON on standard output. The first line it writes is its address.
"""

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from endpoint import Answer, Call, Endpoint  # noqa: E402

from benchmarks import model  # noqa: E402


class Scripted:
    """A rule for the endpoint, and what it counts."""

    def __init__(self) -> None:
        self.latency = {"target": 0.0, "optimizer": 0.0}
        self.calls = {"target": 0, "optimizer": 0}
        self.first = 0.0

    def __call__(self, call: Call) -> Answer:
        self.first = self.first or time.time()
        system, *others = (str(message["content"]) for message in call.body["messages"])
        user = "\n".join(others)
        role = "optimizer" if model.kind_of(system) else "target"
        self.calls[role] += 1
        delay = self.latency[role] * (0.5 + model.share("latency", system, user))
        return Answer(text=model.reply(system, user), delay=delay)


async def serve() -> None:
    """Answer requests until standard input ends."""
    rule = Scripted()
    loop = asyncio.get_running_loop()
    async with Endpoint(rule) as endpoint:
        print(endpoint.url, flush=True)
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            print(json.dumps(command(line.split(), rule, endpoint)), flush=True)


def command(words: list[str], rule: Scripted, endpoint: Endpoint) -> dict[str, Any]:
    """Do one command and return what there is to say."""
    if words[0] == "reset":
        endpoint.calls.clear()
        endpoint.peak = 0
        rule.calls = dict.fromkeys(rule.calls, 0)
        rule.first = 0.0
    elif words[0] == "latency":
        rule.latency = {"target": float(words[1]), "optimizer": float(words[2])}
    repeated = len(endpoint.calls) - len({call.raw for call in endpoint.calls})
    return {**rule.calls, "repeated": repeated, "peak": endpoint.peak, "first": rule.first}


if __name__ == "__main__":
    asyncio.run(serve())
