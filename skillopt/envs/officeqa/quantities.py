"""Numbers as people write them: signs, brackets, thousands, percent, scale words, lists."""

import re
from decimal import Decimal

import msgspec

_SCALES = {"thousand": 3, "million": 6, "billion": 9, "trillion": 12}
_UNSAID = re.compile(r"[$£€]|\b(?:us|usd|dollars?|nominal)\b")
_NUMBER = re.compile(
    r"([-+]?)(\d{1,3}(?:,\d{3})+|\d+)?(\.\d+)?\s*(%|percent|per cent)?"
    rf"\s*(?:({'|'.join(_SCALES)})s?)?"
)
_BETWEEN = (re.compile(r"\s*;\s*|,\s+|\s+and\s+|\n+"), re.compile(r"\s+"), re.compile(r","))


class Quantity(msgspec.Struct, frozen=True, kw_only=True):
    """A number. `scale` is the power of ten that a word named, None where there was no word."""

    figure: Decimal
    scale: int | None

    @property
    def value(self) -> Decimal:
        """Return the number that is meant."""
        return self.figure.scaleb(self.scale or 0)


def quantities(text: str) -> tuple[Quantity, ...] | None:
    """Read one number or a list of numbers; None for a text that holds anything else.

    A number in round brackets is negative. Currency signs and words are left out; percent is a unit
    that may be left unsaid, so it changes nothing.
    """
    plain = text.strip().strip("[]{}").lower().replace("−", "-").rstrip(".").strip()
    whole = _quantity(plain)
    if whole:
        return (whole,)
    for between in _BETWEEN:
        parts = [_quantity(part) for part in between.split(plain)]
        found = tuple(part for part in parts if part)
        if len(found) == len(parts) > 1:
            return found
    return None


def _quantity(text: str) -> Quantity | None:
    bare = _UNSAID.sub(" ", text).strip()
    negative = bare.startswith("(") and ")" in bare
    if negative:
        bare = bare.replace("(", "", 1).replace(")", "", 1).strip()
    found = _NUMBER.fullmatch(re.sub(r"^([-+])\s+", r"\1", bare))
    if not found or not (found[2] or found[3]):
        return None
    figure = Decimal((found[2] or "0").replace(",", "") + (found[3] or ""))
    if negative != (found[1] == "-"):
        figure = -figure
    return Quantity(figure=figure, scale=_SCALES.get(found[5]))


def same(said: Quantity, right: Quantity, tolerance: float) -> bool:
    """Whether two numbers agree within a relative tolerance.

    Where only one of them names its scale, the question may have named the other's: then equal
    figures count as equal too.
    """
    if _near(said.value, right.value, tolerance):
        return True
    one_unsaid = (said.scale is None) != (right.scale is None)
    return one_unsaid and _near(said.figure, right.figure, tolerance)


def _near(said: Decimal, right: Decimal, tolerance: float) -> bool:
    return abs(said - right) <= abs(right) * Decimal(str(tolerance))
