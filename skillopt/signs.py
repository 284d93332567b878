"""The signs of life of a run's commands: who is at work."""

import socket
from pathlib import Path

from skillopt.process import is_running
from skillopt.progress import SUFFIX, Running, read_sign

SILENCE = 60.0
"""Seconds without a sign of life after which a process counts as gone; signs come every two seconds."""


def read_signs(folder: Path) -> dict[str, Running]:
    """Read the signs of life below a run's folder by the place of their log."""
    found = {}
    for path in sorted(folder.glob(f"logs/**/*{SUFFIX}")):
        sign = read_sign(path)
        if sign:
            found[path.relative_to(folder / "logs").as_posix().removesuffix(SUFFIX)] = sign
    return found


def lives(sign: Running, now: float) -> bool:
    """Tell whether the process that gave a sign is still there, as far as this machine can know."""
    if now - sign.beat > SILENCE:
        return False
    return sign.host != socket.gethostname() or is_running(sign.pid)
