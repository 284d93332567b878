"""A filter of system calls: memory that belongs to no process would escape the limit on memory.

The watcher adds up what processes have mapped. Files in memory, and segments and queues of System V,
hold data that nobody maps, so a program does not get any.
"""

import ctypes
import errno
import os
from typing import NamedTuple

from skillopt.sandbox import kernel

_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE = 0, 4
"""Where the number of the call and the machine's kind stand in what a filter sees (`seccomp_data`)."""

_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM
_OTHER_NUMBERS = 0x40000000
"""From here on a 64-bit x86 kernel takes numbers of another table (x32)."""


class _Machine(NamedTuple):
    """The kernel's word for a kind of machine, and its numbers of the calls that are refused."""

    architecture: int
    memfd_create: int
    memfd_secret: int
    shmget: int
    msgget: int


_MACHINES = {
    "x86_64": _Machine(0xC000003E, 319, 447, 29, 68),
    "aarch64": _Machine(0xC00000B7, 279, 447, 194, 186),
}


class _Instruction(ctypes.Structure):
    _fields_ = [
        ("code", ctypes.c_ushort),
        ("then", ctypes.c_ubyte),
        ("otherwise", ctypes.c_ubyte),
        ("value", ctypes.c_uint32),
    ]


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.POINTER(_Instruction))]


def refuse_unowned_memory() -> None:
    """Refuse such calls to this process and all that it starts (EPERM), for good; raises OSError.

    The process must have given up gaining rights. On machines of other kinds nothing is refused.
    """
    machine = _MACHINES.get(os.uname().machine)
    if machine is None:
        return
    lines = _filter(machine)
    array = (_Instruction * len(lines))(*lines)
    kernel.filter_calls(_Program(len(lines), array))


def _filter(machine: _Machine) -> list[_Instruction]:
    """Return the instructions: each test jumps to the last one, which refuses, or goes on."""
    architecture, *numbers = machine
    tests = [(_AT_LEAST, _OTHER_NUMBERS), *((_EQUAL, number) for number in numbers)]
    jumps = [(code, len(tests) - place, 0, value) for place, (code, value) in enumerate(tests)]
    lines = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 0, len(tests) + 2, architecture),
        (_LOAD, 0, 0, _NUMBER),
        *jumps,
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _REFUSE),
    ]
    return [_Instruction(*line) for line in lines]
