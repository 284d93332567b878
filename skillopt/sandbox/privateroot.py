"""A root of its own for a program: system and interpreter read-only, one scratch folder, no network.

Nothing else of the machine is there: no home, no data, no socket, no other process.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from skillopt.sandbox import kernel

SCRATCH = "/scratch"
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_FILES = ("/etc/ld.so.cache", "/etc/localtime", "/etc/alternatives")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")
_KEPT = {os.ST_NOEXEC: kernel.NO_EXEC, os.ST_NOATIME: 1024, os.ST_NODIRATIME: 2048, os.ST_RELATIME: 1 << 21}
"""Properties of a mount that an ordinary user must not take away when it is made read-only."""


def separate() -> None:
    """Leave mounts, network, processes and the rest of the machine; raises OSError.

    Root keeps its rights over the new namespaces; an ordinary user gains them, over these alone.
    """
    user, group = os.getuid(), os.getgid()
    flags = (
        kernel.NEW_MOUNTS | kernel.NEW_NETWORK | kernel.NEW_PROCESSES | kernel.NEW_IPC | kernel.NEW_HOST_NAME
    )
    kernel.unshare(flags if user == 0 else flags | kernel.NEW_USER)
    if user:
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{user} {user} 1")
        _write("/proc/self/gid_map", f"{group} {group} 1")
    kernel.mount("none", "/", "", kernel.PRIVATE | kernel.RECURSIVE)


def build(root: str, readable: Sequence[str], owner: tuple[int, int], disk: int) -> str:
    """Build the new root at the empty folder `root`; return where the scratch folder is for now.

    `readable` are further folders that are there read-only; `owner` are user and group of the
    scratch folder, `disk` the bytes that all files in it may take.
    """
    plain = kernel.NO_SUID | kernel.NO_DEVICES
    kernel.mount("none", root, "tmpfs", plain, "mode=755,size=1m")
    for path in _SYSTEM:
        if Path(path).is_symlink():
            Path(root + path).symlink_to(Path(path).readlink())
        elif Path(path).is_dir():
            _show(root, path)
    for path in readable:
        if not any(Path(path).is_relative_to(known) for known in _SYSTEM):
            _show(root, path)
    for path in (*_FILES, *_DEVICES):
        if Path(path).exists():
            _show(root, path)
    scratch, proc = root + SCRATCH, Path(root + "/proc")
    Path(scratch).mkdir()
    proc.mkdir()
    limits = f"size={disk},nr_inodes={_files_for(disk)}"
    user, group = owner
    kernel.mount("none", scratch, "tmpfs", plain, f"mode=700,uid={user},gid={group},{limits}")
    return scratch


def enter(root: str) -> None:
    """Enter the new root, see the own processes only, and make it read-only; raises OSError."""
    kernel.mount("none", root + "/proc", "proc", kernel.NO_SUID | kernel.NO_DEVICES | kernel.NO_EXEC)
    kernel.enter_root(root)
    kernel.mount(
        "none", "/", "", kernel.REMOUNT | kernel.BIND | kernel.READ_ONLY | kernel.NO_SUID | kernel.NO_DEVICES
    )


def _files_for(disk: int) -> int:
    return 64 + disk // 4096


def _show(root: str, path: str) -> None:
    """Show a file or folder of the machine at its own place below `root`, read-only."""
    target = Path(root + path)
    target.parent.mkdir(parents=True, exist_ok=True)
    if Path(path).is_dir():
        target.mkdir(exist_ok=True)
    else:
        target.touch()
    kernel.mount(path, str(target), "", kernel.BIND | kernel.RECURSIVE)
    if not path.startswith("/dev/"):
        for place in _mounts_below(str(target)):
            _make_read_only(place)


def _make_read_only(place: str) -> None:
    now = os.statvfs(place).f_flag
    kept = sum(flag for seen, flag in _KEPT.items() if now & seen)
    changed = kernel.REMOUNT | kernel.BIND | kernel.READ_ONLY | kernel.NO_SUID | kernel.NO_DEVICES
    kernel.mount("none", place, "", changed | kept)


def _mounts_below(place: str) -> list[str]:
    """Return the mounts at and below a place, which the kernel lists with octal escapes."""
    lines = Path("/proc/self/mountinfo").read_bytes().splitlines()
    paths = [os.fsdecode(line.split()[4].decode("unicode_escape").encode("latin-1")) for line in lines]
    return [path for path in dict.fromkeys(paths) if Path(path).is_relative_to(place)]


def _write(path: str, text: str) -> None:
    Path(path).write_text(text, encoding="ascii")
