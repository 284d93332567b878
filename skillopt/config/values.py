"""Values of settings: what is expected, reading them from text, and checking them."""

import json
import re
from typing import Any, Literal, get_args, get_origin

import msgspec
import msgspec.inspect as mi

from skillopt.redact import redact

INT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
FLOAT = re.compile(r"[-+]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
MOST_DIGITS = 30
"""Digits of a whole number that is read at all; Python refuses to read thousands of them."""
_LARGEST = 2**53
"""Up to here JSON keeps whole numbers exactly; an infinite one becomes null in it."""
_SHOWN = 60
_READ = 1000
"""Characters of a value that are looked at to show _SHOWN of them, keys masked."""


def parse_text(text: str, kind: Any) -> Any:
    """Read a value from the command line or the environment by the type that its key has.

    Text that is not of the type is returned as it is, for the check to refuse.
    """
    info = _plain(kind)
    if isinstance(info, mi.BoolType):
        return {"true": True, "false": False}.get(text, text)
    if isinstance(info, mi.IntType):
        return int(text) if INT.fullmatch(text) and len(text) <= MOST_DIGITS else text
    if isinstance(info, mi.FloatType):
        return float(text) if FLOAT.fullmatch(text) else text
    if isinstance(info, mi.CollectionType | mi.VarTupleType):
        return _parse_list(text)
    if isinstance(info, mi.DictType):
        return _parse_json(text)
    return text


def _parse_list(text: str) -> Any:
    if not text.startswith("["):
        return [part.strip() for part in text.split(",")]
    return _parse_json(text)


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def check_value(value: Any, kind: Any) -> tuple[Any, str]:
    """Return the value as its type has it, and what is wrong with it ("" for nothing)."""
    if isinstance(value, int | float) and not -_LARGEST <= value <= _LARGEST:  # nor NaN
        return value, f"expected {expected(kind)}, found one that is too large or no number"
    try:
        return msgspec.convert(value, kind), ""
    except msgspec.ValidationError:
        return value, f"expected {expected(kind)}, found {found(value)}{_advice(value, kind)}"


def expected(kind: Any) -> str:
    """Say in words which values a type allows."""
    info = mi.type_info(kind)
    choices = choices_of(kind)
    words = f"one of {', '.join(str(c) or 'blank' for c in choices)}" if choices else _words(_plain(kind))
    allows_none = isinstance(_bare(info), mi.UnionType)
    return f"{words} or nothing" if allows_none else words


def found(value: Any) -> str:
    """Show a value in a message, shortened."""
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return "a group of keys"
    shown = ""
    for chunk in json.JSONEncoder(ensure_ascii=False, default=str).iterencode(value):
        shown += chunk  # not the whole: aliases of YAML can repeat a list without end
        if len(shown) > _READ:
            break
    shown = redact(shown)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}..."


def _advice(value: Any, kind: Any) -> str:
    info = _plain(kind)
    if isinstance(info, mi.StrType | mi.LiteralType) and isinstance(value, bool | int | float):
        return " (put it in quotes)"
    if isinstance(info, mi.LiteralType) and isinstance(value, str):
        from difflib import get_close_matches

        close = get_close_matches(value, [str(choice) for choice in info.values], 1)
        return f"; did you mean {close[0]!r}?" if close and close[0] else ""
    return ""


def choices_of(kind: Any) -> tuple[Any, ...]:
    """Return the choices of a type in the order of their definition, none for other types."""
    if get_origin(kind) is Literal:
        return get_args(kind)
    return next((found for part in get_args(kind) if (found := choices_of(part))), ())


def _bare(info: mi.Type) -> mi.Type:
    return info.type if isinstance(info, mi.Metadata) else info


def _plain(kind: Any) -> mi.Type:
    """Return the type without its description and without None."""
    info = _bare(mi.type_info(kind))
    if isinstance(info, mi.UnionType):
        info = next(_bare(part) for part in info.types if not isinstance(part, mi.NoneType))
    return info


def _words(info: mi.Type) -> str:
    if isinstance(info, mi.BoolType):
        return "true or false"
    if isinstance(info, mi.IntType):
        return f"a whole number{_bounds(info)}"
    if isinstance(info, mi.FloatType):
        return f"a number{_bounds(info)}"
    if isinstance(info, mi.CollectionType | mi.VarTupleType):
        return "a list of text" if isinstance(_bare(info.item_type), mi.StrType) else "a list"
    return "names with text" if isinstance(info, mi.DictType) else "text"


def _bounds(info: mi.IntType | mi.FloatType) -> str:
    parts = []
    if info.ge is not None:
        parts.append(f"{info.ge:g} or more")
    if info.gt is not None:
        parts.append(f"more than {info.gt:g}")
    if info.le is not None:
        parts.append(f"{info.le:g} or less")
    if info.lt is not None:
        parts.append(f"less than {info.lt:g}")
    return f" ({', '.join(parts)})" if parts else ""
