"""Finding the command in a reply: what stands between the first pair of action tags."""

import re
from collections.abc import Sequence
from typing import Literal

import msgspec

Where = Literal["tag", "unclosed", "nowhere"]
MOST_CHARS = 200
"""A longer text between the tags is no command."""

_THOUGHT = re.compile(r"<think\s*>(?:(?!<think\s*>).)*?</think\s*>", re.IGNORECASE | re.DOTALL)
_PAIR = re.compile(r"<action\s*>((?:(?!<action\s*>).)*?)</action\s*>", re.IGNORECASE | re.DOTALL)
_OPENING = re.compile(r"<action\s*>", re.IGNORECASE)
_AROUND = "\"'`*“”‘’ "


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """The command, lower-cased, on one line, without quotes around it ("" for none), and where it was."""

    text: str
    where: Where


def find_command(reply: str, commands: Sequence[str]) -> Command:
    """Return the command of the first complete pair of tags outside of thoughts.

    A tag that was never closed counts when what follows it is one of `commands`.
    """
    said = _THOUGHT.sub(" ", reply)
    pair = _PAIR.search(said)
    if pair:
        text = _plain(pair.group(1))
        return Command(text=text if len(text) <= MOST_CHARS else "", where="tag")
    opening = _OPENING.search(said)
    if not opening:
        return Command(text="", where="nowhere")
    text = _plain(said[opening.end() :])
    return Command(text=text if text in commands else "", where="unclosed")


def _plain(text: str) -> str:
    return " ".join(text.lower().split()).strip(_AROUND).removesuffix(".").strip(_AROUND)
