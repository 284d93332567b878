"""What the simulated target makes of an image: it cannot see, it reads the words that a PNG carries.

The sample of document pages is drawn by a script that also writes the words of each page into the
image, as a text chunk with the keyword Description. The target acts on those. An image without them
is blank to it.
"""

import base64
import binascii
from collections.abc import Iterator

from skillopt.models.base import Image

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_KEYWORD = b"Description"
_HEAD, _CHECKSUM = 8, 4


def words_on(image: Image) -> str:
    """Return the words that an image carries, "" for none or for a broken image."""
    try:
        content = base64.b64decode(image.data, validate=True)
    except binascii.Error:
        return ""
    for kind, data in _chunks(content):
        keyword, _, text = data.partition(b"\0")
        if kind == b"tEXt" and keyword == _KEYWORD:
            return text.decode("latin-1")
    return ""


def _chunks(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield kind and data of the chunks of a PNG (ISO/IEC 15948), up to the first that is cut off."""
    start = len(_SIGNATURE) if content.startswith(_SIGNATURE) else len(content)
    while start + _HEAD <= len(content):
        size = int.from_bytes(content[start : start + 4], "big")
        end = start + _HEAD + size
        if end > len(content):
            return
        yield content[start + 4 : start + _HEAD], content[start + _HEAD : end]
        start = end + _CHECKSUM
