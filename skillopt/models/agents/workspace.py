"""What an agent finds in its folder, and what is brought back from it."""

import base64
import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import msgspec

from skillopt.models.agents.dialogue import task_text
from skillopt.models.base import File, Image, Request, Workspace
from skillopt.redact import MASK, secret_forms

SKILL_PATH = ".agents/skills/skillopt-target/SKILL.md"
TASK_PATH = "task.md"
ATTACHMENTS_PATH = "ATTACHMENTS.md"

FILE_LIMIT = 16 * 1024 * 1024
"""Bytes of one file that is brought back; a larger one is left behind."""

TOTAL_LIMIT = 64 * 1024 * 1024
"""Bytes of all files that are brought back."""

_OWN = (TASK_PATH, ATTACHMENTS_PATH, ".agents", "attachments")

_FRONT_MATTER = """\
---
name: "skillopt-target"
description: "How to do the task in task.md. Read it before you start."
---

# Guidance for this task

"""


class Collected(msgspec.Struct, frozen=True, kw_only=True):
    """The files that were brought back, by path, and those that were too large or not regular."""

    files: tuple[File, ...]
    left: tuple[str, ...]


def fill(root: Path, request: Request) -> list[str]:
    """Write skill, task, files and attachments below `root`; return the paths of the images.

    Raises ValueError for a file whose path leaves the folder or takes the place of one of these.
    """
    workspace = request.workspace or Workspace()
    attached: list[str] = []
    for file in workspace.files:
        path = _checked(file.path)
        _write(root / path, base64.b64decode(file.data))
        attached.append(path)
    images = []
    for number, (name, image) in enumerate(_images(request), 1):
        path = f"attachments/{number:02d}_{name}"
        _write(root / path, base64.b64decode(image.data))
        images.append(path)
    _write(root / SKILL_PATH, skill_text(workspace.skill).encode())
    _write(root / TASK_PATH, task_text(request.messages, images).encode())
    if attached or images:
        _write(root / ATTACHMENTS_PATH, _listing([*attached, *images]).encode())
    return images


def wants_files(request: Request) -> bool:
    """Tell whether the agent is to make files, and so may write."""
    return bool(request.workspace and request.workspace.collect)


def has_attachments(request: Request) -> bool:
    """Tell whether `fill` makes a list of attachments."""
    files = request.workspace.files if request.workspace else ()
    return bool(files) or any(message.images for message in request.messages)


def skill_text(skill: str) -> str:
    """Return SKILL.md: front matter, then the skill, or a line that there is none."""
    return f"{_FRONT_MATTER}{skill.strip() or 'There is no extra guidance for this task.'}\n"


def collect(root: Path, patterns: Sequence[str], secrets: Sequence[str]) -> Collected:
    """Return the regular files below `root` that match one of `patterns`, sorted by path.

    Nothing is followed: links, and whatever lies behind one, are left behind. Patterns are
    relative; `**` stands for any folders. Secrets in the files are masked.
    """
    paths: set[str] = set()
    for pattern in patterns:
        if ".." in PurePosixPath(pattern).parts or PurePosixPath(pattern).is_absolute():
            raise ValueError(f"collect: expected a pattern below the workspace, found {pattern!r}")
        paths |= {found.relative_to(root).as_posix() for found in root.glob(pattern)}
    files, left, room = [], [], TOTAL_LIMIT
    for path in sorted(paths):
        source = root / path
        if path.split("/")[0] in _OWN or (source.is_dir() and not source.is_symlink()):
            continue
        if source.resolve() != root.resolve() / path or not source.is_file():
            left.append(f"{path} (not a regular file of the workspace)")
        elif (size := source.stat().st_size) > min(FILE_LIMIT, room):
            left.append(f"{path} ({size} bytes)")
        else:
            room -= size
            files.append(File(path=path, data=_encoded(source.read_bytes(), secrets)))
    return Collected(files=tuple(files), left=tuple(left))


def _encoded(content: bytes, secrets: Sequence[str]) -> str:
    for form in secret_forms(secrets):
        content = content.replace(form.encode(), MASK.encode())
    return base64.b64encode(content).decode()


def _images(request: Request) -> list[tuple[str, Image]]:
    found = [image for message in request.messages for image in message.images]
    return [(f"image.{extension(image)}", image) for image in found]


def extension(image: Image) -> str:
    """Return the ending of an image's file name."""
    name = image.media_type.partition("/")[2].partition("+")[0].lower()
    return {"jpeg": "jpg"}.get(name, re.sub(r"[^a-z0-9]", "", name) or "png")


def _listing(paths: Sequence[str]) -> str:
    lines = "\n".join(f"- `{path}`" for path in paths)
    return f"# Attachments\n\nThese files belong to the task. Look at those that you need.\n\n{lines}\n"


def _checked(path: str) -> str:
    pure = PurePosixPath(path)
    inside = (
        path and not pure.is_absolute() and ".." not in pure.parts and "\\" not in path and "\0" not in path
    )
    if not inside or not pure.parts:
        raise ValueError(f"workspace file: expected a path below the workspace, found {path!r}")
    if pure.parts[0] in _OWN:
        raise ValueError(f"workspace file: {path!r} takes the place of a file of the workspace itself")
    return pure.as_posix()


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
