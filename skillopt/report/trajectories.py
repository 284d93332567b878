"""Two trajectories of one item side by side, cut to what a page can hold, with a note of what was cut."""

import html
from collections.abc import Iterable, Sequence

import msgspec

from skillopt.records import Row, Turn

TOLD, SAID = 2_000, 3_000
"""Characters kept of what both sides were told, and of what each side then did."""
PAGE = 8_000_000
"""Bytes of trajectories in one page, as HTML; pairs beyond it are listed without them."""


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """How one side did the item; `turns` are those that the other side does not share."""

    status: str
    hard: float | None
    soft: float | None
    answer: str
    reason: str
    turns: tuple[Turn, ...]


class Sides(msgspec.Struct, frozen=True, kw_only=True):
    """One item with the skill before and after; `told` are the turns that both sides begin with."""

    id: str
    kind: str
    before: Side
    after: Side
    told: tuple[Turn, ...]
    without: bool = False


class Changed(msgspec.Struct, frozen=True, kw_only=True):
    """The items whose result changed; `unshown` are the ids for which there is no room on the page."""

    pairs: tuple[Sides, ...] = ()
    unshown: tuple[str, ...] = ()


class Room:
    """How much room a page has left: for a place at most `each` pairs, over all places `PAGE` bytes."""

    def __init__(self, places: int, pairs: int = 1_600) -> None:
        self.each = max(4, min(24, pairs // max(places, 1)))
        self._left = PAGE

    def take(self, pair: Sides) -> Sides:
        """Return the pair, without its trajectories when no room is left."""
        turns = (*pair.told, *pair.before.turns, *pair.after.turns)
        texts = [turn.content for turn in turns]
        texts += [text for side in (pair.before, pair.after) for text in (side.answer, side.reason)]
        size = sum(len(html.escape(text).encode()) for text in texts)
        if size > self._left:
            bare = [msgspec.structs.replace(side, turns=()) for side in (pair.before, pair.after)]
            return msgspec.structs.replace(pair, told=(), before=bare[0], after=bare[1], without=True)
        self._left -= size
        return pair


def changed(
    kinds: Iterable[tuple[str, str]], before: Sequence[Row], after: Sequence[Row], room: Room
) -> Changed:
    """Pair the rows of ids, given with their kinds; regressed ones come first.

    An id without a row on one side is only named.
    """
    old, new = ({row.id: row for row in rows} for rows in (before, after))
    ordered = sorted(kinds, key=lambda entry: entry[1] != "regressed")
    both = [(id_, kind) for id_, kind in ordered if id_ in old and id_ in new]
    shown = both[: room.each]
    named = {id_ for id_, _ in shown}
    return Changed(
        pairs=tuple(room.take(sides(kind, old[id_], new[id_])) for id_, kind in shown),
        unshown=tuple(id_ for id_, _ in ordered if id_ not in named),
    )


def sides(kind: str, before: Row, after: Row) -> Sides:
    """Put two rows of one item side by side; what both were told is kept once."""
    shared = 0
    for left, right in zip(before.trajectory, after.trajectory, strict=False):
        if left != right or left.role == "assistant":
            break
        shared += 1
    return Sides(
        id=before.id,
        kind=kind,
        before=_side(before, shared),
        after=_side(after, shared),
        told=cut(before.trajectory[:shared], TOLD),
    )


def _side(row: Row, start: int) -> Side:
    reason = row.error.message if row.error else row.reason
    return Side(
        status=row.status,
        hard=row.hard,
        soft=row.soft,
        answer=shorten(row.answer, 600),
        reason=shorten(reason, 600),
        turns=cut(row.trajectory[start:], SAID),
    )


def cut(turns: Sequence[Turn], limit: int) -> tuple[Turn, ...]:
    """Keep the first and last turns, each shortened, so that about `limit` characters remain.

    The last turn gets its share first: it holds the answer.
    """
    if not turns:
        return ()
    share = max(limit // len(turns), 200)
    kept = min(len(turns), max(limit // share, 2))
    head, tail = turns[: kept - kept // 2], turns[len(turns) - kept // 2 :]
    gone = turns[len(head) : len(turns) - len(tail)]
    note = []
    if gone:
        size = sum(len(turn.content) for turn in gone)
        note = [Turn(role="note", content=f"[{len(gone)} turns left out, {size:,} characters]")]
    parts = [*head, *note, *tail]
    return tuple(Turn(role=part.role, content=shorten(part.content, share)) for part in parts)


def shorten(text: str, limit: int) -> str:
    """Keep the beginning and the end of a long text, and say how much is left out between them."""
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    tail = limit - head
    return f"{text[:head]}\n[... {len(text) - limit:,} characters left out ...]\n{text[-tail:]}"
