"""What the target did: items, rows of `rollouts.jsonl`, tokens used."""

from typing import Annotated, Any, Literal

import msgspec

Status = Literal["scored", "truncated", "unparsed", "no_answer", "provider_error", "timeout", "harness_error"]
UNSCORED: frozenset[str] = frozenset({"provider_error", "timeout", "harness_error"})
"""Statuses that are the outside's failure: no score, not in means, not in reflection."""


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Calls and tokens; None where the provider does not tell."""

    calls: int = 0
    prompt: int | None = None
    cached: int | None = None
    completion: int | None = None
    reasoning: int | None = None

    def __add__(self, other: "Usage") -> "Usage":
        """Add up; an unknown count of a call makes the sum unknown."""
        if not self.calls:
            return other
        if not other.calls:
            return self
        return Usage(
            calls=self.calls + other.calls,
            prompt=_plus(self.prompt, other.prompt),
            cached=_plus(self.cached, other.cached),
            completion=_plus(self.completion, other.completion),
            reasoning=_plus(self.reasoning, other.reasoning),
        )


def _plus(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else left + right


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """One task. `data` holds the fields of the data file, `id` included, untrusted.

    `folder` is where the data file lies, for what the item names beside it; `files` is a hash of such
    files, where they count (`data.with_file_digests`).
    """

    id: str
    data: dict[str, Any]
    task_type: str = ""
    folder: str = ""
    files: str = ""


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of a trajectory: who spoke (system, user, assistant, tool, note) and what."""

    role: str
    content: str


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """Why a row has no answer, or no score: a short kind and a redacted message."""

    kind: str
    message: str


Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One item done once (DESIGN section 3). `hard` and `soft` lie in [0, 1], None without a score.

    `trajectory` starts with what the target was told, the skill left out (it is in the run
    already). `reason` says why the item is not fully right, for reflection.
    """

    id: str
    status: Status
    hard: Share | None
    soft: Share | None
    answer: str
    task_type: str
    turns: int
    usage: Usage
    seconds: float
    trajectory: tuple[Turn, ...]
    reason: str = ""
    error: Failure | None = None
    extra: dict[str, Any] = {}
