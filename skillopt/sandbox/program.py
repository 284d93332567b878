"""Running a program that a model wrote: what goes in, what comes out, what it was kept from."""

import asyncio
import contextlib
import os
import sys
import weakref
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from skillopt.models.agents.place import Place, make_place
from skillopt.models.agents.process import NotStarted, SaidTooMuch, TookTooLong, run
from skillopt.sandbox.paths import inside
from skillopt.sandbox.privateroot import SCRATCH
from skillopt.sandbox.spec import Spec, as_json, read_report

MIB = 1024 * 1024
Isolation = Literal["full", "limits"]
FULL = ("no network", "own file system", "own processes", "limits on time, memory, processes and disk")
LIMITS = ("limits on time, memory, processes and file size",)
_NOBODY = 65534
_GRACE = 60.0
"""Seconds that start, copying and clean-up may take beyond the program's own time."""

_KEPT = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""What an interpreter may need to start; nothing else of the caller's environment is handed over."""


def in_force(isolation: Isolation) -> tuple[str, ...]:
    """Return what programs are kept from, in words."""
    return FULL if isolation == "full" else LIMITS


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What a program may use: seconds of wall time, bytes, processes (threads count).

    `memory` is of all its processes together, `disk` of all its files, `file_size` of one,
    `output` of what it prints, `collected` of the files that are brought back.
    """

    seconds: float = 120.0
    memory: int = 2048 * MIB
    processes: int = 64
    file_size: int = 64 * MIB
    disk: int = 256 * MIB
    output: int = MIB
    collected: int = 128 * MIB


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """How a program ended. `code` is negative for a signal; `problem` says what limit ended it ("" for none).

    `output` is what it printed on both streams, `files` what it left in its folder, `left` what
    was not brought back and why, `in_force` what the program was kept from.
    """

    code: int
    problem: str
    output: str
    files: dict[str, bytes]
    left: tuple[str, ...]
    in_force: tuple[str, ...]


class SandboxError(Exception):
    """The sandbox itself failed: the machine's fault, not the program's."""


class Sandbox:
    """Runs Python programs, at most `width` at once in one event loop (0: one for each processor)."""

    def __init__(self, width: int = 0) -> None:
        self._width = width or os.cpu_count() or 1
        self._slots: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = (
            weakref.WeakKeyDictionary()
        )

    async def run(
        self,
        arguments: Sequence[str],
        files: Mapping[str, bytes],
        *,
        limits: Limits,
        isolation: Isolation = "full",
    ) -> Done:
        """Run the Python interpreter with `arguments` in a folder that holds `files`.

        More programs at once than processors would make time limits a matter of luck: the others
        wait. Raises SandboxError, and ValueError for a file whose path leaves the folder.
        """
        async with self._slot():
            with make_place() as place:
                return await _run(place, arguments, files, limits, isolation)

    async def problem(self, isolation: Isolation) -> str:
        """Say why programs cannot be run in this isolation on this machine ("" when they can)."""
        try:
            done = await self.run(["-c", "print(6 * 7)"], {}, limits=Limits(), isolation=isolation)
        except SandboxError as error:
            return str(error)
        return "" if done.output == "42\n" else f"a first program ended with {done.problem or done.output!r}"

    @contextlib.asynccontextmanager
    async def _slot(self) -> AsyncIterator[None]:
        slots = self._slots.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(self._width))
        async with slots:
            yield


async def _run(
    place: Place, arguments: Sequence[str], files: Mapping[str, bytes], limits: Limits, isolation: Isolation
) -> Done:
    for name, content in files.items():
        target = place.work / inside(name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    spec = _spec(place, arguments, limits, isolation)
    command = place.private / "run.json"
    command.write_text(as_json(spec), encoding="utf-8")
    force = in_force(isolation)
    try:
        finished = await run(
            [sys.executable, "-I", "-S", "-c", _LAUNCH, str(command)],
            stdin=b"",
            cwd=place.private,
            env={"PATH": os.defpath, "TMPDIR": str(place.tmp)},
            timeout=limits.seconds + _GRACE,
            out_limit=limits.output,
            kept=False,
        )
    except SaidTooMuch as error:
        problem = f"printed more than {limits.output} bytes"
        return Done(code=-9, problem=problem, output=_text(error.out), files={}, left=(), in_force=force)
    except NotStarted as error:
        raise SandboxError(str(error)) from error
    except TookTooLong as error:
        raise SandboxError(f"the sandbox did not end: {error}; {_text(error.err)}") from error
    if finished.code or finished.err:
        raise SandboxError(_text(finished.err).strip() or f"the launcher ended with code {finished.code}")
    report = read_report(place.private / "report.json")
    return Done(
        code=report.code,
        problem=_problem(report.limit, limits),
        output=_text(finished.out),
        files=_read(Path(spec.out)),
        left=tuple(report.left),
        in_force=force,
    )


_LAUNCH = (
    f"import sys; sys.path.insert(0, {str(Path(__file__).parents[2])!r}); "
    "from skillopt.sandbox.launch import main; main()"
)


def _spec(place: Place, arguments: Sequence[str], limits: Limits, isolation: Isolation) -> Spec:
    isolated = isolation == "full"
    out, root = place.private / "out", place.private / "root"
    out.mkdir()
    root.mkdir()
    is_root = os.getuid() == 0
    if is_root and not isolated:  # the unprivileged user must be able to reach its folder
        place.root.chmod(0o711)
    folder = SCRATCH if isolated else str(place.work)
    return Spec(
        argv=[sys.executable, "-B", *arguments],
        env=_environment(folder),
        files=str(place.work),
        out=str(out),
        report=str(place.private / "report.json"),
        root=str(root),
        readable=_interpreter(),
        isolated=isolated,
        user=_NOBODY if is_root else None,
        group=_NOBODY if is_root else None,
        seconds=limits.seconds,
        memory=limits.memory,
        processes=limits.processes,
        file_size=limits.file_size,
        disk=limits.disk,
        collected=limits.collected,
    )


def _environment(folder: str) -> dict[str, str]:
    """Return a program's whole environment: nothing of the caller's but where libraries are."""
    packages = os.pathsep.join(_packages())
    one_thread = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
    return {
        **{name: os.environ[name] for name in _KEPT if name in os.environ},
        **dict.fromkeys(one_thread, "1"),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.defpath}",
        "HOME": folder,
        "TMPDIR": folder,
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONPATH": packages,
        "PYTHONUTF8": "1",
        "PYTHONHASHSEED": "0",
    }


def _interpreter() -> list[str]:
    """Return the folders that hold the interpreter and its packages, outermost only."""
    wanted = {sys.prefix, sys.base_prefix, *_packages()}
    found = sorted(wanted | {str(Path(path).resolve()) for path in wanted})
    return [path for path in found if not any(str(above) in found for above in Path(path).parents)]


def _packages() -> list[str]:
    return [path for path in sys.path if Path(path).name in {"site-packages", "dist-packages"}]


def _problem(limit: str, limits: Limits) -> str:
    return {
        "": "",
        "time": f"did not end within {limits.seconds:g} s",
        "processes": f"had more than {limits.processes} processes",
        "memory": f"used more than {limits.memory // MIB} MiB of memory",
    }[limit]


def _read(folder: Path) -> dict[str, bytes]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def _text(data: bytes) -> str:
    return data.decode("utf-8", errors="replace").replace("\0", "�")
