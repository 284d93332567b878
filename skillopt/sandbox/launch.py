"""The process that starts a program, watches it, and brings back what it left. Standard library only.

In full isolation: this process leaves the machine's namespaces and builds a root; its child is the
first process of the new ones and watches; its grandchild becomes the program. When this process is
killed, so are they.
"""

import contextlib
import os
import resource
import signal
import sys
from pathlib import Path

from skillopt.sandbox import kernel, privateroot, syscalls, transfer, watch
from skillopt.sandbox.spec import Report, Spec, as_json, read_spec


def main() -> None:
    """Run what the file named by the first argument says; exit code 0 when there is a report."""
    spec = read_spec(sys.argv[1])
    if sys.platform == "linux":
        kernel.die_with_parent(signal.SIGKILL)
    if spec.isolated:
        _isolated(spec)
    else:
        _limited(spec)


def _isolated(spec: Spec) -> None:
    out, report = _open_folder(spec.out), _create(spec.report)
    privateroot.separate()
    owner = (
        os.getuid() if spec.user is None else spec.user,
        os.getgid() if spec.group is None else spec.group,
    )
    scratch = privateroot.build(spec.root, spec.readable, owner, spec.disk)
    transfer.put(spec.files, scratch, owner)
    first = os.fork()
    if first:
        sys.exit(_code(first))
    kernel.die_with_parent(signal.SIGKILL)
    privateroot.enter(spec.root)
    ended = _run(spec, watch.everybody_else, privateroot.SCRATCH)
    left = transfer.take(privateroot.SCRATCH, out, spec.collected)
    os.write(report, as_json(ended._replace(left=left)).encode())


def _limited(spec: Spec) -> None:
    out, report = _open_folder(spec.out), _create(spec.report)
    if spec.user is not None and spec.group is not None:
        transfer.own(spec.files, (spec.user, spec.group))
    if sys.platform == "linux":
        kernel.adopt_orphans()
    ended = _run(spec, watch.descendants, spec.files)
    left = transfer.take(spec.files, out, spec.collected)
    os.write(report, as_json(ended._replace(left=left)).encode())


def _run(spec: Spec, members: watch.Members, folder: str) -> Report:
    program = os.fork()
    if not program:
        _become(spec, folder)
    if spec.isolated:  # after the fork: the program itself need not hide
        kernel.hide_from_equals()
    code, limit = watch.wait(
        program, members, seconds=spec.seconds, processes=spec.processes, memory=spec.memory
    )
    watch.end_all(members)
    return Report(code=code, limit=limit, left=[])


def _become(spec: Spec, folder: str) -> None:
    """Turn this process into the program; a failure is told on standard error and ends it."""
    try:
        errors = os.dup(2)
        os.set_inheritable(errors, False)
        os.dup2(1, 2)
        if sys.platform == "linux":  # elsewhere it stays in the group that its caller ends
            os.setsid()
        os.chdir(folder)
        _drop(spec)
        _limit(spec)
        os.execve(spec.argv[0], spec.argv, spec.env)
    except BaseException as error:  # whatever it is, this copy of the launcher must not go on
        os.write(errors, f"cannot start the program: {error}\n".encode())
        os._exit(127)


def _drop(spec: Spec) -> None:
    if spec.user is not None and spec.group is not None:
        os.setgroups([])
        os.setgid(spec.group)
        os.setuid(spec.user)
        if spec.isolated:  # so that the limit on processes counts those of this program only
            kernel.unshare(kernel.NEW_USER)
    if spec.isolated:  # namespaces of its own would give it folders without a limit
        Path("/proc/sys/user/max_user_namespaces").write_text("0", encoding="ascii")
    if sys.platform == "linux":
        kernel.give_up_rights()
        kernel.die_with_parent(signal.SIGKILL)
        syscalls.refuse_unowned_memory()


def _limit(spec: Spec) -> None:
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: spec.file_size,
        resource.RLIMIT_NOFILE: 256,
        resource.RLIMIT_CPU: int(spec.seconds * spec.processes) + 1,
    }
    if sys.platform == "linux":
        limits[resource.RLIMIT_AS] = spec.memory
        limits[resource.RLIMIT_MSGQUEUE] = 0
        others = 0 if spec.isolated else _tasks_of(os.getuid())
        limits[resource.RLIMIT_NPROC] = spec.processes + others
    for kind, most in limits.items():
        hard = resource.getrlimit(kind)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most))


def _tasks_of(user: int) -> int:
    """Count the threads of a user, all of which the limit on processes counts."""
    count = 0
    for pid in watch.all_processes():
        folder = Path(f"/proc/{pid}")
        with contextlib.suppress(OSError):
            count += len(list((folder / "task").iterdir())) if folder.stat().st_uid == user else 0
    return count


def _open_folder(path: str) -> int:
    return os.open(path, os.O_DIRECTORY)


def _create(path: str) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)


def _code(pid: int) -> int:
    return abs(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
