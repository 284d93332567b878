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


def span(seconds: float) -> str:
    """Return a time span in words, such as 2 h 05 min."""
    whole = max(round(seconds), 0)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"
