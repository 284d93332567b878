"""Text of anybody's, models, providers and data sets among them, made fit to be shown: never obeyed."""

import unicodedata

MARK = "\N{REPLACEMENT CHARACTER}"
_UNSHOWN = frozenset({"Cc", "Cf", "Zl", "Zp"})
"""Unicode's categories of control, direction and line characters, such as those that move a cursor."""


def plain(text: str, *, kept: str = "\n\t", mark: str = MARK) -> str:
    """Replace each control or direction character that is not among `kept` by a mark."""
    if text.isprintable():
        return text
    return "".join(
        mark if unicodedata.category(char) in _UNSHOWN and char not in kept else char for char in text
    )


def single_line(text: str) -> str:
    """Join the words of a text with single spaces."""
    return " ".join(text.split())
