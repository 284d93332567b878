"""What program backends cannot do with a request, and images in files."""

import base64
from pathlib import Path

from skillopt.models.agents.workspace import extension
from skillopt.models.base import CallError, Request


def refuse(request: Request, program: str, *, tools: bool = False, images: bool = False) -> None:
    """Raise a fatal CallError when the request has tools or images that are not to be had here."""
    if tools and request.tools:
        raise CallError(f"{program} takes no tools of the caller: use another backend", code="not_supported")
    if images and any(message.images for message in request.messages):
        raise CallError(f"{program} takes no images in a chat: use another backend", code="not_supported")


def write_images(folder: Path, request: Request) -> list[str]:
    """Write the images of all messages into `folder`; return their names, in their order."""
    names: list[str] = []
    for image in (image for message in request.messages for image in message.images):
        name = f"{len(names) + 1:02d}_image.{extension(image)}"
        (folder / name).write_bytes(base64.b64decode(image.data))
        names.append(name)
    return names
