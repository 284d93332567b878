"""A game of ALFWorld in a process of its own: its engine cannot be entered twice in one process.

The process is `player.py`; commands and scenes go through its pipes, one JSON object a line.
"""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import msgspec

from skillopt.envs.alfworld.engine import EngineFailure, Scene

PATIENCE = 300.0
"""Seconds until an answer of the engine is given up; on a busy machine it takes many to start."""
_LONGEST_LINE = 16 * 1024 * 1024
_PASSED_ON = frozenset(
    {"PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "PYTHONPATH", "LD_LIBRARY_PATH", "VIRTUAL_ENV"}
)
"""Variables of the environment that the engine gets: no key is among them."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What the process says: a scene, or what went wrong."""

    scene: Scene | None = None
    error: str = ""


class TextWorldGame:
    """One game file, played by a process that `reset` starts and `close` ends."""

    def __init__(self, file: Path, *, patience: float = PATIENCE) -> None:
        self._file = file
        self._patience = patience
        self._process: asyncio.subprocess.Process | None = None

    async def reset(self) -> Scene:
        """Start the process and the game; raises EngineFailure."""
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "skillopt.envs.alfworld.player",
            str(self._file),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            limit=_LONGEST_LINE,
            env={name: value for name, value in os.environ.items() if name in _PASSED_ON},
            start_new_session=True,
        )
        return await self._answer(self._process)

    async def step(self, command: str) -> Scene:
        """Carry out one command; raises EngineFailure."""
        process = self._process
        if process is None or process.stdin is None:
            raise EngineFailure("the game was not started")
        try:
            process.stdin.write(msgspec.json.encode(command) + b"\n")
            await process.stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            raise EngineFailure(await self._end_of(process)) from None
        return await self._answer(process)

    async def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            if process.returncode is None:
                process.kill()
            await process.wait()

    async def _answer(self, process: asyncio.subprocess.Process) -> Scene:
        reading: Any = process.stdout
        try:
            line = await asyncio.wait_for(reading.readline(), self._patience)
        except TimeoutError:
            raise EngineFailure(f"no answer within {self._patience:g} s") from None
        if not line:
            raise EngineFailure(await self._end_of(process))
        answer = msgspec.json.decode(line, type=Answer)
        if answer.scene is None:
            raise EngineFailure(answer.error)
        return answer.scene

    async def _end_of(self, process: asyncio.subprocess.Process) -> str:
        return f"the engine's process ended with code {await process.wait()}"
