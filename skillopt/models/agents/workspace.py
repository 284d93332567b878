"""What an agent finds in its folder."""

import base64
import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from skillopt.models.agents.dialogue import task_text
from skillopt.models.base import Image, Request, Workspace

SKILL_PATH = ".agents/skills/skillopt-target/SKILL.md"
TASK_PATH = "task.md"
ATTACHMENTS_PATH = "ATTACHMENTS.md"

OWN = (TASK_PATH, ATTACHMENTS_PATH, ".agents", "attachments")
"""What `fill` writes itself, at the top of the folder."""

_FRONT_MATTER = """\
---
name: "skillopt-target"
description: "How to do the task in task.md. Read it before you start."
---

# Guidance for this task

"""


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
    if pure.parts[0] in OWN:
        raise ValueError(f"workspace file: {path!r} takes the place of a file of the workspace itself")
    return pure.as_posix()


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
