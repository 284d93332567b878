"""A backend that runs a program per call: the part that all of them share."""

import hashlib
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

import msgspec

from skillopt.models.agents import failures, process, trace
from skillopt.models.agents.collecting import collect
from skillopt.models.agents.failures import Advice
from skillopt.models.agents.outcome import Outcome
from skillopt.models.agents.place import Place, environment, make_place
from skillopt.models.base import Reply, Request
from skillopt.models.incoming import masked
from skillopt.redact import one_line

_OUT_LIMIT = 64 * 1024 * 1024
"""Bytes of a program's standard output; a program that prints more is stopped."""

_LAST_LINES = 6


class Invocation(msgspec.Struct, frozen=True, kw_only=True):
    """How a program is called: its arguments, its standard input, and variables it gets besides."""

    arguments: tuple[str, ...]
    stdin: str
    env: dict[str, str] = {}


class Login(msgspec.Struct, frozen=True, kw_only=True):
    """What a program needs to be logged in: variables (their values are secret), and files.

    `furnish` is called with the folders of each call, to put there what the login needs.
    """

    env: dict[str, str] = {}
    furnish: Callable[[Place], Mapping[str, str]] = lambda place: {}

    @property
    def secrets(self) -> tuple[str, ...]:
        """The values that must not be shown or kept."""
        return tuple(self.env.values())


class Kind(Protocol):
    """One kind of program: how it is called, and how its output is read."""

    def prepare(self, request: Request, place: Place, *, again: bool) -> Invocation:
        """Write what the call needs into its folders, and return how to call the program.

        `again` tells that the same request ended without a final message before.
        """
        ...

    def read(self, out: bytes) -> Outcome:
        """Return what a run came to."""
        ...


class ProgramBackend:
    """Runs the program of one kind once per call, each in folders of its own."""

    def __init__(
        self,
        kind: Kind,
        advice: Advice,
        *,
        binary: str,
        timeout: float,
        login: Login,
        env: Mapping[str, str],
        passed: Mapping[str, str],
    ) -> None:
        self._kind = kind
        self._advice = advice
        self._binary = binary
        self._timeout = timeout or None
        self._login = login
        self._env = env
        self._passed = passed
        self._was_empty: set[bytes] = set()

    async def complete(self, request: Request) -> Reply:
        """Make one call, without retries; raises CallError."""
        program = find(self._binary, self._env)
        if program is None:
            raise failures.binary_missing(self._advice, self._binary)
        try:
            return await self._in_folders(program, request)
        except OSError as error:
            raise failures.no_folder(self._advice, error) from error

    async def _in_folders(self, program: str, request: Request) -> Reply:
        with make_place() as place:
            digest = hashlib.sha256(msgspec.json.encode(request)).digest()
            again = digest in self._was_empty
            finished = await self._run(program, request, place, again=again)
            outcome = self._judged(finished, place)
            cut = outcome.finish_reason in ("length", "content_filter")
            if not outcome.text.strip() and not outcome.tool_calls and not cut:
                self._was_empty.add(digest)
                raise failures.empty(self._advice, again=again)
            return self._reply(request, outcome, place)

    async def close(self) -> None:
        """Nothing stays open between calls."""

    async def _run(self, program: str, request: Request, place: Place, *, again: bool) -> process.Finished:
        call = self._kind.prepare(request, place, again=again)
        furnished = self._login.furnish(place)
        extra = {**self._passed, **furnished, **call.env, **self._login.env}
        try:
            return await process.run(
                (program, *call.arguments),
                stdin=call.stdin.encode("utf-8", "replace"),
                cwd=place.work,
                env=environment(place, self._env, program, extra),
                timeout=self._timeout,
                out_limit=_OUT_LIMIT,
            )
        except process.NotStarted as error:
            raise failures.not_started(self._advice, self._shown(str(error), place), self._secrets) from error
        except process.TookTooLong as error:
            raise failures.too_long(self._advice, self._timeout or 0, self._last(error.out, place)) from error
        except process.SaidTooMuch as error:
            raise failures.too_much(self._advice, str(error)) from error

    def _judged(self, finished: process.Finished, place: Place) -> Outcome:
        """Return the outcome of a run that went well; raises CallError for one that did not."""
        outcome = self._kind.read(finished.out)
        cut_off = outcome.complete and outcome.finish_reason == "length"  # programs call that a failure
        if not outcome.error and (finished.code == 0 or cut_off):
            return outcome
        said = outcome.error or _last_lines(finished.err) or _last_lines(_no_events(finished.out))
        raise failures.failed(self._advice, self._shown(said, place), finished.code, self._secrets)

    def _reply(self, request: Request, outcome: Outcome, place: Place) -> Reply:
        patterns = request.workspace.collect if request.workspace else ()
        collected = collect(place.work, patterns, self._secrets)
        entries = [*trace.without_known(outcome.trace), *(f"left behind: {path}" for path in collected.left)]
        folders = (str(place.work), str(place.root))
        reply = Reply(
            text=outcome.text,
            finish_reason=outcome.finish_reason,
            tool_calls=outcome.tool_calls,
            usage=outcome.usage,
            model=outcome.model,
            trace=trace.render(entries, folders=folders, secrets=self._secrets),
            files=collected.files,
        )
        return masked(reply, self._secrets)

    @property
    def _secrets(self) -> tuple[str, ...]:
        return self._login.secrets

    def _shown(self, text: str, place: Place) -> str:
        return text.replace(str(place.work), ".").replace(str(place.root), "...")

    def _last(self, out: bytes, place: Place) -> str:
        """Return the last thing that a program did, by what it printed until it was ended."""
        done = self._kind.read(out).trace
        return one_line(self._shown(done[-1], place), 200, self._secrets) if done else ""


def find(binary: str, env: Mapping[str, str]) -> str | None:
    """Return the absolute path of a program, None when there is none; `~` and PATH are looked at."""
    found = shutil.which(str(Path(binary).expanduser()), path=env.get("PATH"))
    return str(Path(found).absolute()) if found else None


def _no_events(output: bytes) -> bytes:
    """Return the lines that are no JSON: what the agent says is not what its program says of a failure."""
    return b"\n".join(line for line in output.split(b"\n") if not line.lstrip().startswith((b"{", b"[{")))


def _last_lines(output: bytes) -> str:
    lines = [line for line in output.decode("utf-8", "replace").splitlines() if line.strip()]
    return "\n".join(lines[-_LAST_LINES:])
