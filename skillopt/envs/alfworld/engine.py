"""What a game engine is: commands go in, observations come out."""

from typing import Protocol

import msgspec

TASK_MARK = "Your task is to:"
"""Stands before the task sentence in the first observation of every game."""


class Scene(msgspec.Struct, frozen=True, kw_only=True):
    """What a player sees, and the commands that can be carried out now.

    `over`: the game takes no more commands, won or not.
    """

    observation: str
    commands: tuple[str, ...]
    won: bool = False
    over: bool = False


class EngineFailure(Exception):
    """The engine broke: not the player's fault. The message is shown and stored."""


class Game(Protocol):
    """One game, played once. All methods but `close` raise EngineFailure."""

    async def reset(self) -> Scene:
        """Start the game."""
        ...

    async def step(self, command: str) -> Scene:
        """Carry out one command; one that cannot be carried out changes nothing and says so."""
        ...

    async def close(self) -> None:
        """Free what the game holds; may be called at any time."""
        ...
