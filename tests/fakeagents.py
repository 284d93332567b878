"""Programs that behave as command-line agents are documented to: each does what its script says.

`FakeProgram(folder, "claude")` installs an executable. Its script is a list of steps:
{"out": text} {"raw": base64} {"err": text} {"write": path, "text": ...} {"link": path, "to": ...}
{"child": "group" | "session"} (starts a process that ends only when killed) {"hang": true}
{"ignore_term": true} {"exit": code}. `{cwd}` and `{env:NAME}` in texts are filled in.
{"ask": url, "refused": text} sends what the program was told to a Chat Completions endpoint and puts its
answer in for `{answer}`: so a scripted model can be behind any program. An error is told with `refused`
behind it.
Every call is recorded: arguments, standard input, environment, files of the working folder.

With `watch=port` the program and its children hold a connection to that port, which ends when
the last of them is gone: tests wait for connections and their ends, never for time.
"""

import asyncio
import base64
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_RUNNER = r"""
import base64, json, os, signal, socket, subprocess, sys, time

base = os.path.splitext(os.path.realpath(__file__))[0] + ".fake"
with open(os.path.join(base, "script.json")) as file:
    script = json.load(file)
done = len([name for name in os.listdir(base) if name != "script.json"])
turns = script["turns"]
steps = turns[min(done, len(turns) - 1)]
if sys.argv[1:] == ["--version"]:
    print(script["version"])
    sys.exit(0)


def files(root):
    found = {}
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, root)] = base64.b64encode(file.read()).decode()
    return found


stdin = sys.stdin.buffer.read() if script["read"] else b""
call = {
    "argv": sys.argv[1:],
    "stdin": stdin.decode("utf-8", "surrogateescape"),
    "env": dict(os.environ),
    "cwd": os.getcwd(),
    "files": files("."),
    "home": files(os.environ["HOME"]),
    "private": files(os.path.join(os.getcwd(), "..", "private")),
}
part = os.path.join(base, "%d.%d" % (time.time_ns(), os.getpid()))
with open(part, "w") as file:
    json.dump(call, file)
os.rename(part, part + ".json")

held = None
if script["watch"]:
    held = socket.create_connection(("127.0.0.1", script["watch"]))
    held.set_inheritable(True)


answer = "{answer}"


def read(path):
    if not os.path.isfile(path):
        return ""
    with open(path, encoding="utf-8") as file:
        return file.read()


def ask(step):  # who takes no system text gets all as one: the system text first, then a line
    import urllib.error, urllib.request

    told = stdin.decode()
    system = read("../private/system.md") + read("task.md") + read(".agents/skills/skillopt-target/SKILL.md")
    if not system:
        system, _, told = told.partition("\n\n---\n\n")
    messages = [{"role": "system", "content": system}, {"role": "user", "content": told}]
    body = json.dumps({"model": "m", "messages": messages}).encode()
    url = step["ask"] + "/chat/completions"
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    try:
        response = urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request)
    except urllib.error.HTTPError as error:
        sys.stderr.write("unexpected status %d: %s" % (error.code, fill(step.get("refused", ""))))
        sys.exit(1)
    return json.load(response)["choices"][0]["message"]["content"]


def fill(text):
    text = text.replace("{answer}", json.dumps(answer)[1:-1])
    text = text.replace("{cwd}", os.getcwd())
    for name, value in os.environ.items():
        text = text.replace("{env:%s}" % name, value)
    return text


for step in steps:
    if "ask" in step:
        answer = ask(step)
    elif "out" in step:
        for character in fill(step["out"]) if step.get("pieces") else [fill(step["out"])]:
            sys.stdout.buffer.write(character.encode())
            sys.stdout.buffer.flush()
    elif "raw" in step:
        sys.stdout.buffer.write(base64.b64decode(step["raw"]))
        sys.stdout.buffer.flush()
    elif "err" in step:
        sys.stderr.write(fill(step["err"]))
        sys.stderr.flush()
    elif "write" in step:
        os.makedirs(os.path.dirname(step["write"]) or ".", exist_ok=True)
        with open(step["write"], "w") as file:
            file.write(fill(step["text"]))
    elif "link" in step:
        os.symlink(step["to"], step["link"])
    elif "child" in step:
        subprocess.Popen(
            [sys.executable, "-IS", "-c", "import signal\nwhile True: signal.pause()"],
            start_new_session=step["child"] == "session",
            close_fds=False,
        )
    elif "ignore_term" in step:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    elif "hang" in step:
        if held:
            held.sendall(b"!")
        while True:
            signal.pause()
    elif "exit" in step:
        sys.stdout.flush()
        os._exit(step["exit"])
"""

Step = dict[str, Any]


@dataclass(frozen=True)
class ProgramCall:
    """One call as the program saw it; files as text by path."""

    argv: list[str]
    stdin: str
    env: dict[str, str]
    cwd: str
    files: dict[str, bytes]
    home: dict[str, bytes]
    private: dict[str, bytes]

    def after(self, flag: str) -> str:
        """The argument that follows a flag."""
        return self.argv[self.argv.index(flag) + 1]

    @property
    def root(self) -> str:
        """The folder that holds all folders of the call."""
        return os.path.dirname(self.cwd)  # noqa: PTH120


class FakeProgram:
    """An executable in `folder` that does what its script says."""

    def __init__(self, folder: Path, name: str) -> None:
        self.path = folder / name
        self._base = folder / f"{name}.fake"
        self._base.mkdir(parents=True)
        self.path.write_text(f"#!{sys.executable} -IS\n{_RUNNER}")
        self.path.chmod(0o755)
        self.does([])

    def does(self, steps: list[Step], *, read: bool = True, watch: int = 0, version: str = "1.2.3") -> None:
        """Set what the next calls do; with `read` off it does not read its standard input."""
        self._write({"turns": [steps], "read": read, "watch": watch, "version": version})

    def does_in_turn(self, turns: list[list[Step]]) -> None:
        """Set what the calls do from the first on, one after the other; the last is for all further ones."""
        self._write({"turns": turns, "read": True, "watch": 0, "version": "1.2.3"})

    def _write(self, script: dict[str, Any]) -> None:
        (self._base / "script.json").write_text(json.dumps(script))

    @property
    def calls(self) -> list[ProgramCall]:
        """All calls so far, in order."""
        found = []
        for path in sorted(self._base.glob("*.*.json")):
            raw = json.loads(path.read_text())
            for name in ("files", "home", "private"):
                raw[name] = {key: base64.b64decode(value) for key, value in raw[name].items()}
            found.append(ProgramCall(**raw))
        return found

    @property
    def call(self) -> ProgramCall:
        """The only call."""
        (found,) = self.calls
        return found


class Watch:
    """Knows when a program hangs, and when it and all its children are gone."""

    def __init__(self) -> None:
        self.hangs = asyncio.Event()
        self.gone = asyncio.Event()
        self.port = 0

    async def __aenter__(self) -> "Watch":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            try:
                byte = await reader.read(1)
            except ConnectionError:
                byte = b""
            if not byte:
                break
            self.hangs.set()
        self.gone.set()
        writer.close()


def line(event: Any) -> Step:
    """One event of a stream."""
    return {"out": json.dumps(event) + "\n"}


def raw(content: bytes) -> Step:
    """Bytes as they are."""
    return {"raw": base64.b64encode(content).decode()}
