#!/usr/bin/env python3
"""A scripted Chat Completions endpoint on loopback: real HTTP, replies by rule, every request recorded.

In a test, in its event loop:

    async with Endpoint(lambda call: Answer(text="4")) as endpoint:
        ...  # endpoint.url, endpoint.calls, endpoint.peak

A rule gets a Call and returns an Answer, or a coroutine of one (to wait for an event first).

As a process: `python tests/endpoint.py --port 0 --script rules.json` prints its URL, answers until it
is ended, and serves `GET /stats` (calls, peak, bodies) and `POST /reset`. The script is a JSON list of
rules {"when": text in the request, "times": how often it holds, and fields of Answer}; the first
that holds counts, and without one the answer is "ok".
"""

import argparse
import asyncio
import inspect
import json
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Call:
    """One request as it arrived; `number` counts from 1."""

    number: int
    path: str
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> dict[str, Any]:
        return json.loads(self.raw)

    @property
    def prompt(self) -> str:
        """All text of the messages."""
        return "\n".join(_flat(message.get("content")) for message in self.body["messages"])


@dataclass
class Answer:
    """What to send. `raw` is a body, `wire` a whole response to send as it is; `drop` closes instead."""

    text: str | None = "ok"
    status: int = 200
    finish_reason: str | None = "stop"
    usage: dict[str, Any] | None = field(default_factory=lambda: {"prompt_tokens": 7, "completion_tokens": 3})
    message: dict[str, Any] = field(default_factory=dict)
    error: str | dict[str, Any] | None = None
    headers: dict[str, str] = field(default_factory=dict)
    raw: str | None = None
    wire: str | None = None
    drop: bool = False
    close: bool = False
    delay: float = 0.0

    def content(self, model: str) -> bytes:
        if self.raw is not None:
            return self.raw.encode()
        if self.error is not None:
            error = {"message": self.error} if isinstance(self.error, str) else self.error
            return json.dumps({"error": error}).encode()
        message = {"role": "assistant", "content": self.text, **self.message}
        body: dict[str, Any] = {
            "id": "c",
            "object": "chat.completion",
            "model": model,
            "choices": [{"index": 0, "message": message, "finish_reason": self.finish_reason}],
        }
        if self.usage is not None:
            body["usage"] = self.usage
        return json.dumps(body).encode()


Rule = Callable[[Call], Answer | Awaitable[Answer]]


class Endpoint:
    """The server. `calls` are all requests in the order they arrived, `peak` the most at once."""

    def __init__(
        self, rule: Rule = lambda call: Answer(), port: int = 0, tls: ssl.SSLContext | None = None
    ) -> None:
        self.rule = rule
        self.connections = 0
        self._tls = tls
        self.calls: list[Call] = []
        self.live = 0
        self.peak = 0
        self._port = port
        self._connections: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        return f"http{'s' if self._tls else ''}://127.0.0.1:{self._port}/v1"

    @property
    def prompts(self) -> list[str]:
        return [call.prompt for call in self.calls]

    async def __aenter__(self) -> "Endpoint":
        self._server = await asyncio.start_server(
            self._serve, "127.0.0.1", self._port, limit=2**26, ssl=self._tls
        )
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        connections = list(self._connections)
        for task in connections:
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._connections.add(task)
        self.connections += 1
        try:
            while await self._exchange(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._connections.discard(task)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin1").split("\r\n")
        method, path, _ = head[0].split(" ", 2)
        headers = {key.lower(): value.strip() for key, _, value in (line.partition(":") for line in head[1:])}
        raw = await reader.readexactly(int(headers.get("content-length", 0)))
        if method == "POST" and path.partition("?")[0].endswith(("/chat/completions", "/responses")):
            answer = await self._answer(Call(len(self.calls) + 1, path, headers, raw))
        else:
            answer = self._service(method, path)
        if answer.drop:
            return False
        if answer.wire is not None:
            writer.write(answer.wire.encode())
            await writer.drain()
            return not answer.close
        content = answer.content(json.loads(raw).get("model", "") if raw else "")
        lines = [
            f"HTTP/1.1 {answer.status} X",
            "Content-Type: application/json",
            f"Content-Length: {len(content)}",
        ]
        lines += [f"{name}: {value}" for name, value in answer.headers.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode() + content)
        await writer.drain()
        return not answer.close

    async def _answer(self, call: Call) -> Answer:
        self.calls.append(call)
        self.live += 1
        self.peak = max(self.peak, self.live)
        try:
            answer = self.rule(call)
            if inspect.isawaitable(answer):
                answer = await answer
            if answer.delay:
                await asyncio.sleep(answer.delay)
            return answer
        finally:
            self.live -= 1

    def _service(self, method: str, path: str) -> Answer:
        if path == "/stats":
            bodies = [call.body for call in self.calls]
            return Answer(raw=json.dumps({"calls": len(bodies), "peak": self.peak, "bodies": bodies}))
        if path == "/reset" and method == "POST":
            self.calls.clear()
            self.peak = 0
            return Answer(raw="{}")
        return Answer(status=404, error=f"no such path {path}")


def scripted(rules: list[dict[str, Any]]) -> Rule:
    """Return the rule that a script describes."""
    left = [rule.get("times", float("inf")) for rule in rules]

    def rule(call: Call) -> Answer:
        text = call.raw.decode()
        for number, entry in enumerate(rules):
            if left[number] > 0 and entry.get("when", "") in text:
                left[number] -= 1
                return Answer(
                    **{name: value for name, value in entry.items() if name not in ("when", "times")}
                )
        return Answer()

    return rule


def _flat(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(part.get("text", "") for part in content)
    return content or ""


async def _main(port: int, rules: list[dict[str, Any]]) -> None:
    async with Endpoint(scripted(rules), port) as endpoint:
        print(endpoint.url, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", type=Path)
    args = parser.parse_args()
    asyncio.run(_main(args.port, json.loads(args.script.read_text()) if args.script else []))
