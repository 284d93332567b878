"""Text of models and data sets on a terminal: shown, never obeyed."""

import unicodedata


def plain(text: str) -> str:
    """Replace control and direction characters, such as those that move a cursor, by a visible mark."""
    return "".join(_shown(char) for char in text)


def _shown(char: str) -> str:
    if char in "\n\t":
        return char
    return "\N{REPLACEMENT CHARACTER}" if unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp") else char
