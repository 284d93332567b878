"""The few calls to the Linux kernel that Python has no function for (3.11)."""

import ctypes
import os

NEW_MOUNTS = 0x00020000
NEW_HOST_NAME = 0x04000000
NEW_IPC = 0x08000000
NEW_USER = 0x10000000
NEW_PROCESSES = 0x20000000
NEW_NETWORK = 0x40000000

READ_ONLY, NO_SUID, NO_DEVICES, NO_EXEC = 1, 2, 4, 8
REMOUNT, BIND, RECURSIVE, PRIVATE = 32, 4096, 16384, 1 << 18
_DETACH = 2

_DIE_WITH_PARENT, _DUMPABLE, _FILTER, _ADOPT_ORPHANS, _NO_NEW_RIGHTS = 1, 4, 22, 36, 38
_BY_PROGRAM = 2


def unshare(flags: int) -> None:
    """Leave the namespaces that `flags` name, for new ones; raises OSError."""
    _call("unshare", ctypes.c_int(flags))


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    """Mount a file system, or change a mount; raises OSError."""
    _call(
        "mount",
        os.fsencode(source),
        os.fsencode(target),
        kind.encode(),
        ctypes.c_ulong(flags),
        options.encode() or None,
    )


def enter_root(folder: str) -> None:
    """Make a mounted folder the root of this mount namespace, and give the old root up."""
    os.chdir(folder)
    _call("pivot_root", b".", b".")
    _call("umount2", b".", ctypes.c_int(_DETACH))
    os.chdir("/")


def die_with_parent(number: int) -> None:
    """Get this signal when the process that forked this one ends."""
    _prctl(_DIE_WITH_PARENT, number)


def hide_from_equals() -> None:
    """Keep other processes of the same user from looking into this one."""
    _prctl(_DUMPABLE, 0)


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ends."""
    _prctl(_ADOPT_ORPHANS, 1)


def give_up_rights() -> None:
    """Never gain rights by starting a program (set-user-ID files)."""
    _prctl(_NO_NEW_RIGHTS, 1)


def filter_calls(program: ctypes.Structure) -> None:
    """Put a filter (`sock_fprog`) before all further system calls."""
    _prctl(_FILTER, _BY_PROGRAM, ctypes.addressof(program))


def _prctl(option: int, value: int, more: int = 0) -> None:
    _call("prctl", ctypes.c_int(option), *(ctypes.c_ulong(v) for v in (value, more, 0, 0)))


def _call(name: str, *arguments: object) -> None:
    function = getattr(ctypes.CDLL(None, use_errno=True), name)
    if function(*arguments):
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
