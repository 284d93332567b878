"""For every backend a provider to play with: the harness of the contract that all backends keep to.

`rigs()` names one for each backend of the registry, role and way to call it; `open_rig` sets it up. An
HTTP backend meets a scripted server that refuses unknown fields, a program is replaced by one that
behaves as the real one is documented to and refuses unknown flags. A new backend needs an entry in
`wire.CASES` or `programs.CASES`: without one the contract fails.
"""

import dataclasses
import itertools
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import programs
import wire
from endpoint import Answer, Call
from fakeagents import FakeProgram, ProgramCall, Step, line
from loop import Server

from skillopt.models.base import Backend, Message, Request, RoleModel, Workspace
from skillopt.models.registry import backend_names, backend_spec

CANARY = "sk-canary-of-all-0123456789"
PLAYED_BY_US = "simulator"


@dataclasses.dataclass(frozen=True)
class Play:
    """What the provider does with one call: a reply, or a fault (an HTTP status, or `dropped`)."""

    text: str = "It is <answer>4</answer>."
    usage: bool = True
    cut: bool = False
    calls: tuple[tuple[str, str], ...] = ()
    fault: str = ""
    retry_after: str = ""
    says: str = "so it is"


@dataclasses.dataclass(frozen=True)
class Sent:
    """One call as it arrived: `text` in the order in which the model reads it, `wire` all of it.

    `wire` is the same for equal calls: paths of temporary folders are taken out. `files` are images and
    the like; `key` is the key that came with it.
    """

    text: str
    wire: str
    files: tuple[bytes, ...]
    key: str


class Rig(Protocol):
    """One backend in one role, with its provider."""

    name: str
    role: str
    cuts: bool
    """Whether the provider tells that a reply was cut off at its limit."""
    tells_retry_after: bool
    usage: tuple[int | None, ...]
    """Prompt, cached, completion and reasoning tokens of a reply."""

    def model(self, model: str = "m-1", **settings: Any) -> RoleModel: ...

    def distant(self) -> RoleModel:
        """Return the model where it needs a key."""

    def env(self, key: str = CANARY) -> dict[str, str]: ...

    def play(self, *plays: Play) -> None: ...

    def play_by(self, rule: Callable[[Call], Answer]) -> None:
        """Let a scripted model answer: its rule sees each call in the form of Chat Completions."""

    @property
    def sent(self) -> list[Sent]: ...

    @property
    def problems(self) -> list[str]: ...

    def close(self) -> None: ...


def real_backends() -> list[str]:
    """The backends that call somebody."""
    return [name for name in backend_names() if name != PLAYED_BY_US]


def rigs() -> list[tuple[str, str, str]]:
    """Backend, role and way to call it, for every backend of the registry."""
    return [
        (backend, role, way)
        for backend in real_backends()
        for role in backend_spec(backend).roles
        for way in _ways(backend) or ["has no rig"]
    ]


def _ways(backend: str) -> list[str]:
    if any(case.backend == backend for case in programs.CASES):
        return ["program"]
    return [case.name for case in wire.CASES if case.backend == backend]


def open_rig(backend: str, role: str, way: str, folder: Path) -> Rig:
    """Set up one rig; raises LookupError for a backend without one."""
    for case in programs.CASES:
        if case.backend == backend and (case.role == role or backend not in PER_ROLE):
            return ProgramRig(dataclasses.replace(case, role=role), folder)
    for http in wire.CASES:
        if (http.backend, http.name) == (backend, way):
            return HttpRig(http, role)
    raise LookupError(f"backend {backend} has no rig: add a case to tests/wire.py or tests/programs.py")


SILENT_ABOUT_CUTS = {"copilot_chat", "copilot_exec", "cursor_exec"}
"""Backends whose programs do not tell that a reply was cut off at its limit."""

PER_ROLE = {"codex_exec"}
"""Backends that are used in another way in each role."""


def question(rig: Rig, item: str = "What is it?", **changes: Any) -> Request:
    """A request as phases make it: what all have in common first, the item last."""
    works_in_folder = "workspace" in backend_spec(rig.name).capabilities and rig.role == "target"
    system = "Be brief." if works_in_folder else "Be brief.\n\nLook twice."
    messages = (Message(role="system", content=system), Message(role="user", content=item))
    workspace = Workspace(skill="Look twice.") if works_in_folder else None
    defaults = {"messages": messages, "max_completion_tokens": 512, "workspace": workspace}
    return Request(**(defaults | changes))


def opened(rig: Rig, model: str = "m-1", key: str = CANARY, **settings: Any) -> Backend:
    """Open the backend."""
    return backend_spec(rig.name).open(rig.model(model, **settings), rig.env(key))


class HttpRig:
    """A server in a thread that takes only what the case allows."""

    tells_retry_after = True
    cuts = True
    usage = (20, 16, 9, 4)

    def __init__(self, case: wire.Case, role: str) -> None:
        self.name = case.backend
        self.role = role
        # Azure has the model in the path: any is taken, the tests look at it
        self._case = case
        self._checks: dict[str, wire.Checked] = {}
        self._plays = [Play()]
        self._by: Callable[[Call], Answer] | None = None
        self._server = Server()
        self._server.rule = self._rule

    def model(self, model: str = "m-1", **settings: Any) -> RoleModel:
        return self._case.role(self._server.url, self.role, model, **settings)

    def distant(self) -> RoleModel:
        return self.model(**{self._case.address: f"https://models.azure.com{self._case.root}"})

    def env(self, key: str = CANARY) -> dict[str, str]:
        return self._case.env(key, self.role.upper())

    def play(self, *plays: Play) -> None:
        self._plays, self._by = list(plays), None

    def play_by(self, rule: Callable[[Call], Answer]) -> None:
        self._by = rule

    @property
    def sent(self) -> list[Sent]:
        return [self._sent(call) for call in self._server.calls]

    @property
    def problems(self) -> list[str]:
        return [problem for check in self._checks.values() for problem in check.problems]

    def close(self) -> None:
        self._server.close()

    def _rule(self, call: Call) -> Answer:
        model = str(call.body.get("model"))
        if model not in self._checks:
            case = dataclasses.replace(self._case, path=self._case.path.replace("/m-1/", f"/{model}/"))
            self._checks[model] = wire.Checked(case, self._answer)
        return self._checks[model](call)

    def _answer(self, call: Call) -> Answer:
        if self._by:
            return wire.answer(self._case, str(self._by(_as_chat(call)).text))
        play = self._plays.pop(0) if len(self._plays) > 1 else self._plays[0]
        if play.fault == "dropped":
            return Answer(drop=True)
        if play.fault:
            key = self._case.sent_key(call)
            headers = {"Retry-After": play.retry_after} if play.retry_after else {}
            said = play.says.replace("{key}", key)
            return Answer(status=int(play.fault), error=said, headers=headers)
        text = play.text.replace("{key}", self._case.sent_key(call))
        calls = tuple((f"c{number}", *called) for number, called in enumerate(play.calls))
        return wire.answer(
            self._case,
            "" if calls else text,
            cut="length" if play.cut else "",
            calls=calls,
            usage=self.usage if play.usage else None,
        )

    def _sent(self, call: Call) -> Sent:
        return Sent(
            text=call.raw.decode(),
            wire=f"{call.path}\n{call.raw.decode()}",
            files=(),
            key=self._case.sent_key(call),
        )


def _as_chat(call: Call) -> Call:
    """Return a call of the Responses API as one of Chat Completions."""
    if "input" not in call.body:
        return call
    system = {"role": "system", "content": call.body.get("instructions", "")}
    body = {"model": call.body["model"], "messages": [system, *call.body["input"]]}
    return dataclasses.replace(call, raw=json.dumps(body).encode())


FAULTS = {
    "400": "unexpected status 400 Bad Request",
    "401": "unexpected status 401 Unauthorized",
    "403": "unexpected status 403 Forbidden",
    "404": "unexpected status 404 Not Found",
    "408": "unexpected status 408 Request Timeout",
    "409": "unexpected status 409 Conflict",
    "429": "429 Too Many Requests",
    "500": "unexpected status 500 Internal Server Error",
    "503": "unexpected status 503 Service Unavailable",
    "529": 'API Error: 529 {"type":"error","error":{"type":"overloaded_error"}}',
    "dropped": "connection reset by peer (ECONNRESET)",
}
"""How programs word what their provider answered."""

FLAGS = {
    "claude": {
        *("-p", "--output-format", "--verbose", "--setting-sources", "--strict-mcp-config"),
        *("--disable-slash-commands", "--no-session-persistence", "--settings", "--permission-mode"),
        *("--tools", "--model", "--effort", "--system-prompt-file", "--append-system-prompt-file"),
        "--json-schema",
    },
    "codex": {
        *("exec", "--image", "--json", "--ephemeral", "--skip-git-repo-check", "--color", "--sandbox"),
        *("--cd", "-c", "--profile", "--model", "-"),
    },
    "cursor-agent": {
        *("-p", "--output-format", "--trust", "--workspace", "--sandbox", "--mode", "--force", "--model"),
    },
    "copilot": {
        *("--output-format", "--stream", "--no-color", "--log-level", "--disable-builtin-mcps"),
        *("--no-custom-instructions", "--no-ask-user", "--disallow-temp-dir", "--available-tools"),
        *("--allow-all-tools", "--model", "--effort", "--secret-env-vars", "--attachment"),
    },
}
"""The flags that each program is documented to have; another one ends it with an error."""


class ProgramRig:
    """A program in place of the real one."""

    tells_retry_after = False

    def __init__(self, case: programs.Case, folder: Path) -> None:
        self.name = case.backend
        self.role = case.role
        self.usage = case.usage
        self._case = case
        self._folder = folder
        self.program = FakeProgram(folder / "bin", case.binary)
        self.cuts = bool(self._cut())
        self._server: Server | None = None
        self.play(Play())

    def model(self, model: str = "m-1", **settings: Any) -> RoleModel:
        return self._case.role_model(model=model, settings=settings)

    def distant(self) -> RoleModel:
        return self.model()

    def env(self, key: str = CANARY) -> dict[str, str]:
        return {**self._case.env(self._folder), self._case.key: key}

    def play(self, *plays: Play) -> None:
        before = [[]] * len(self.program.calls)
        self.program.does_in_turn([*before, *(self._steps(play) for play in plays)])

    def play_by(self, rule: Callable[[Call], Answer]) -> None:
        self._server = Server()
        self._server.rule = rule
        self.program.does([{"ask": self._server.url}, *self._case.prints("{answer}")])

    @property
    def sent(self) -> list[Sent]:
        return [self._sent(call) for call in self.program.calls]

    @property
    def problems(self) -> list[str]:
        known = FLAGS[self._case.binary]
        flags = itertools.chain.from_iterable(_flags(call.argv) for call in self.program.calls)
        return [f"unknown flag {flag}" for flag in flags if flag not in known]

    def close(self) -> None:
        if self._server:
            self._server.close()

    def _steps(self, play: Play) -> list[Step]:
        if play.fault:
            said = f"{FAULTS[play.fault]}: {play.says}".replace("{key}", f"{{env:{self._case.key}}}")
            return self._case.fails(said)
        if play.cut:
            return self._cut()
        if play.calls:
            return self._tool_calls(play)
        steps = self._case.prints(play.text.replace("{key}", f"{{env:{self._case.key}}}"))
        return steps if play.usage else [_without_usage(step) for step in steps]

    def _cut(self) -> list[Step]:
        if self._case.binary == "claude":
            return self._case.fails("API Error: Claude's response exceeded the 512 output token maximum.")
        if self._case.binary == "codex":
            said = "stream disconnected before completion: Incomplete response returned, reason: "
            return self._case.fails(f"{said}max_output_tokens")
        return []

    def _tool_calls(self, play: Play) -> list[Step]:
        calls = [{"name": name, "arguments": arguments} for name, arguments in play.calls]
        output = {"content": "", "tool_calls": calls}
        return [line({"type": "result", "subtype": "success", "result": "", "structured_output": output})]

    def _sent(self, call: ProgramCall) -> Sent:
        files = {**{f"private/{name}": content for name, content in call.private.items()}, **call.files}
        readable = {name: content.decode() for name, content in files.items() if name.endswith(".md")}
        first = [readable.pop(name, "") for name in ("private/system.md", SKILL, "task.md")]
        env = {name: value for name, value in call.env.items() if name != self._case.key}
        told = json.dumps([call.argv, call.stdin, files, env, call.home], default=repr, sort_keys=True)
        return Sent(
            text="\n".join([*first, call.stdin]),
            wire=told.replace(call.root, "ROOT"),
            files=tuple(files.values()),
            key=call.env.get(self._case.key, ""),
        )


SKILL = ".agents/skills/skillopt-target/SKILL.md"


def _flags(argv: list[str]) -> Iterator[str]:
    for before, argument in zip(["", *argv], argv, strict=False):
        if argument.startswith("-") and before not in ("-c", "--tools"):
            yield re.split("=", argument)[0]


def _without_usage(step: Step) -> Step:
    if "out" not in step:
        return step
    return line(_without(json.loads(step["out"]), ("usage", "modelUsage", "outputTokens")))


def _without(value: Any, names: tuple[str, ...]) -> Any:
    if isinstance(value, dict):
        return {name: _without(entry, names) for name, entry in value.items() if name not in names}
    if isinstance(value, list):
        return [_without(entry, names) for entry in value]
    return value
