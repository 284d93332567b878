"""Text of anybody's, models, providers and data sets among them, made fit to be shown: never obeyed."""

import unicodedata
from typing import Any

import msgspec

MARK = "\N{REPLACEMENT CHARACTER}"
NOT_UTF8 = "expected text that can be written as UTF-8, found half a surrogate pair or other bytes"
_UNSHOWN = frozenset({"Cc", "Cf", "Zl", "Zp"})
"""Unicode's categories of control, direction and line characters, such as those that move a cursor."""


def plain(text: str, *, kept: str = "\n\t", mark: str = MARK) -> str:
    """Replace each control or direction character that is not among `kept` by a mark."""
    if text.isprintable():
        return text
    return "".join(
        mark if unicodedata.category(char) in _UNSHOWN and char not in kept else char for char in text
    )


def utf8_problem(value: Any) -> str:
    """Say that a text, or one in a record, cannot be written as UTF-8 ("" when all can); it is not shown.

    Bytes that are no UTF-8 become such text where Python takes them from the environment or a file name.
    """
    try:
        msgspec.json.encode(value)
    except UnicodeEncodeError:
        return NOT_UTF8
    return ""


def single_line(text: str) -> str:
    """Join the words of a text with single spaces."""
    return " ".join(text.split())


def span(seconds: float) -> str:
    """Return a time span in words, such as 2 h 05 min."""
    whole = max(round(seconds), 0)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"
