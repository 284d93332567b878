"""Text for a terminal: that of models and data sets is shown, never obeyed; time spans are in words."""

import unicodedata


def plain(text: str) -> str:
    """Replace control and direction characters, such as those that move a cursor, by a visible mark."""
    return "".join(_shown(char) for char in text)


def _shown(char: str) -> str:
    if char in "\n\t":
        return char
    return "\N{REPLACEMENT CHARACTER}" if unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp") else char


def span(seconds: float) -> str:
    """Return a time span in words, such as 2 h 05 min."""
    whole = max(round(seconds), 0)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"
