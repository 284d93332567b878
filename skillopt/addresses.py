"""What an address and the name of a variable look like in a setting; messages never show what was found."""

import re
from urllib.parse import urlsplit

from skillopt.redact import looks_like_key

_PRINTABLE = re.compile(r"[!-~]+")
_HOST = re.compile(r"[\w.:%-]+")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_UNBROKEN = re.compile(r"(?=[A-Za-z]*[0-9])[A-Za-z0-9]{24,}")
"""Letters and digits in one run: in the place of a name it is a key. Addresses have such account numbers."""


def address_problem(url: str) -> str:
    """Say what is wrong with an address, "" for nothing.

    The address is not repeated: where a key was put into it cannot be told from a broken one.
    """
    expected = "expected an address such as https://host/path"
    advice = "Addresses are written to files: give the key in an environment variable."
    if not _PRINTABLE.fullmatch(url):
        return f"{expected}, found one that is not printable ASCII without blanks"
    if "@" in url:
        return f"{expected}, without a login (user or password), found one with an @. {advice}"
    if "?" in url or "#" in url:
        return f"{expected}, found one with a query (?) or a fragment (#). {advice}"
    if looks_like_key(url):
        return f"{expected}, found one with what looks like a key in it. {advice}"
    try:
        parts = urlsplit(url)
        named = _HOST.fullmatch(parts.hostname or "") is not None
        usable = parts.scheme in ("http", "https") and named and parts.port != 0
    except ValueError:
        usable = False
    return "" if usable else f"{expected}, found one whose scheme, host or port cannot be used"


def variable_problem(name: str) -> str:
    """Say what is wrong with the name of an environment variable, "" for nothing."""
    if _VARIABLE.fullmatch(name) and not (looks_like_key(name) or _UNBROKEN.search(name)):
        return ""
    return (
        "expected the name of an environment variable (letters, digits and _), found something else. "
        "If it is the key itself, take it out of here and set it in a variable."
    )
