"""What an optimizer prompt holds: fenced blocks, attempts, changes."""

import json
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

_FENCE = re.compile(r"^(`{3,})(\w+)\n(.*?)\n\1$", re.MULTILINE | re.DOTALL)
_ROLE = r"^\[(?:system|user|assistant|tool|note)\]$"
_QUESTION = re.compile(rf"^## Question\s*\n(.*?)(?={_ROLE}|\Z)", re.MULTILINE | re.DOTALL)
_CONTEXT = re.compile(r"^## Context\s*\n(.*?)^## Question", re.MULTILINE | re.DOTALL)
_TAG = re.compile(r"<answer>(.*?)</answer>", re.IGNORECASE | re.DOTALL)
_SAID = re.compile(r"^predicted answer: *(.*)$", re.MULTILINE | re.IGNORECASE)
_ACCEPTED = re.compile(
    r"^(?:accepted|expected|gold|correct|reference) answers?: *(.+)$", re.MULTILINE | re.IGNORECASE
)
_REFERENCE = re.compile(r"^- reference: *(.+)$", re.MULTILINE)
_REGION = re.compile(r"<!-- (\w+)_START -->.*?<!-- \1_END -->\n?", re.DOTALL)


class Block(NamedTuple):
    """A fenced block: its label, the text inside, and the text that leads to it."""

    label: str
    text: str
    before: str


class Attempt(NamedTuple):
    """How the agent did one item, as far as the prompt tells; `trace` is all of it."""

    question: str
    context: str
    said: str
    accepted: tuple[str, ...]
    trace: str = ""


class Brief(NamedTuple):
    """An optimizer prompt taken apart."""

    user: str
    blocks: tuple[Block, ...]

    def first(self, label: str) -> str:
        """The first block of a label ("" for none)."""
        return next((block.text for block in self.blocks if block.label == label), "")

    def attempts(self, label: str, heading: str = "") -> list[Attempt]:
        """The attempts in blocks of a label, below a heading that holds these words ("" for any)."""
        found, section = [], ""
        for block in self.blocks:
            headings = re.findall(r"^## (.*)$", block.before, re.MULTILINE)
            section = headings[-1] if headings else section
            if block.label == label and heading in section:
                found.append(_attempt(block))
        return found


def read_brief(user: str) -> Brief:
    """Find the fenced blocks of a prompt."""
    blocks, end = [], 0
    for match in _FENCE.finditer(user):
        blocks.append(Block(match.group(2), match.group(3), user[end : match.start()]))
        end = match.end()
    return Brief(user, tuple(blocks))


def _attempt(block: Block) -> Attempt:
    question = _QUESTION.findall(block.text)
    context = _CONTEXT.findall(block.text)
    tags = _TAG.findall(block.text)
    said = _SAID.findall(block.text) or tags
    accepted = _ACCEPTED.findall(block.text) or _REFERENCE.findall(block.before)
    return Attempt(
        question[-1].strip() if question else "",
        context[-1].strip() if context else "",
        said[-1].strip() if said else "",
        tuple(part.strip() for part in accepted[-1].split(" | ")) if accepted else (),
        block.text,
    )


def changes_in(text: str) -> list[dict[str, Any]]:
    """Read the changes of a block, one JSON object a line."""
    found = [_change(line) for line in text.splitlines() if line.startswith("{")]
    return [{key: value for key, value in change.items() if key != "index"} for change in found]


def _change(line: str) -> dict[str, Any]:
    try:
        return dict(json.loads(line))
    except ValueError:
        return {"op": "append", "target": "", "content": line}  # a reader takes it as plain words


def said_by(change: dict[str, Any]) -> str:
    """The words of a change, whatever its form."""
    return str(change.get("content") or change.get("instruction") or change.get("new_skill") or "")


def body_lines(skill: str) -> list[str]:
    """The lines of a skill outside the protected regions, trailing blank ones dropped."""
    return _REGION.sub("", skill).rstrip().splitlines()


def join_lines(lines: Iterable[str]) -> str:
    """Make a document of lines."""
    return "\n".join(lines).strip() + "\n"
