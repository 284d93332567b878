"""One game: the dialogue with the target, and what comes of it."""

from collections.abc import Sequence
from typing import Any

import msgspec

from skillopt.envs.alfworld.commands import Command, find_command
from skillopt.envs.alfworld.engine import TASK_MARK, EngineFailure, Game, Scene
from skillopt.envs.alfworld.prompt import (
    WITHOUT_COMMAND,
    Step,
    listed,
    system_message,
    user_message,
)
from skillopt.envs.base import Attempt, Chat
from skillopt.envs.told import left_out
from skillopt.models.base import Reply
from skillopt.records import Failure, Status, Turn

MOST_MISSES = 3
"""Replies without a command, one after the other, that end a game."""


class Lapse(msgspec.Struct, frozen=True, kw_only=True):
    """A reply without a command: the status that it leads to, and what was the matter."""

    status: Status
    why: str


class Match:
    """A game as it is played: its steps, its trajectory, and what was counted."""

    def __init__(self, scene: Scene) -> None:
        self.start, _, task = scene.observation.partition(TASK_MARK)
        self.start, self.task = self.start.strip(), task.strip()
        self.scene = scene
        self.steps: list[Step] = []
        self.turns = [Turn(role="user", content=_seen(self.start, scene.commands))]
        self.lapses: list[Lapse] = []
        self.unknown = 0
        self.misses = 0
        """Replies without a command since the last one that held one."""

    def hear(self, reply: Reply) -> Command:
        """Add a reply to the trajectory and find its command."""
        self.turns.append(Turn(role="assistant", content=reply.text))
        command = find_command(reply.text, self.scene.commands)
        self.unknown += bool(command.text) and command.text not in self.scene.commands
        return command

    def miss(self, lapse: Lapse) -> None:
        """Note that a reply held no command: the step is spent, the game stands still."""
        self.lapses.append(lapse)
        self.misses += 1
        self._note("", WITHOUT_COMMAND)

    def move(self, command: str, scene: Scene) -> None:
        """Note what came of a command."""
        self.scene, self.misses = scene, 0
        self._note(command, scene.observation)

    def _note(self, command: str, seen: str) -> None:
        self.steps.append(Step(command=command, seen=seen))
        here = [name for name in self.scene.commands if not name.startswith("go to ")]
        self.turns.append(Turn(role="user", content=_seen(seen, here)))


async def play(game: Game, skill: str, chat: Chat, *, max_turns: int, history: int) -> Attempt:
    """Let the target play a game for up to `max_turns` replies; it is closed in any case.

    At each step the target is shown the task, the last `history` steps and what can be done now. A
    game of which the engine breaks is a harness error with the steps that were made.
    """
    match: Match | None = None
    try:
        match = Match(await game.reset())
        await _make_moves(match, game, skill, chat, max_turns=max_turns, history=history)
    except EngineFailure as error:
        return _broken(match, error)
    finally:
        await game.close()
    return _judged(match, skill, max_turns)


async def _make_moves(
    match: Match, game: Game, skill: str, chat: Chat, *, max_turns: int, history: int
) -> None:
    system = system_message(skill, max_turns)
    while len(match.steps) < max_turns and match.misses < MOST_MISSES and not match.scene.over:
        user = user_message(match.task, match.start, match.steps, match.scene.commands, history)
        reply = await chat((system, user))
        command = match.hear(reply)
        if command.text:
            match.move(command.text, await game.step(command.text))
        else:
            match.miss(_lapse(reply, command))


def _lapse(reply: Reply, command: Command) -> Lapse:
    if reply.finish_reason == "length" and command.where != "tag":
        return Lapse(status="truncated", why="the reply was cut off before its command")
    if not reply.text.strip():
        return Lapse(status="no_answer", why="the reply was empty")
    if command.where == "tag":
        return Lapse(status="unparsed", why="what stood between the action tags is no command")
    if command.where == "unclosed":
        return Lapse(status="unparsed", why="the action tag was never closed")
    return Lapse(status="unparsed", why="the reply held no action tags")


def _judged(match: Match, skill: str, max_turns: int) -> Attempt:
    played = [step.command for step in match.steps if step.command]
    gave_up = bool(match.lapses) and (match.misses >= MOST_MISSES or not played)
    status: Status = match.lapses[-1].status if gave_up else "scored"
    score = float(match.scene.won and not gave_up)
    reason = "" if score else _reason(match, max_turns, gave_up=gave_up)
    return Attempt(
        status=status,
        hard=score,
        soft=score,
        answer=played[-1] if played else "",
        turns=len(match.steps),
        trajectory=(*_opening(match, skill, max_turns), *match.turns, _note(match, reason)),
        reason=reason,
        extra=_extra(match),
    )


def _opening(match: Match, skill: str, max_turns: int) -> tuple[Turn, ...]:
    shown = system_message(left_out(skill), max_turns)
    return (
        Turn(role="system", content=shown.content),
        Turn(role="user", content=f"## Your task\n\n{match.task}"),
    )


def _reason(match: Match, max_turns: int, *, gave_up: bool) -> str:
    if gave_up:
        return f"the task was not done: {match.lapses[-1].why}, {match.misses} times at the end"
    if match.scene.over:
        return f"the task was not done: the game ended after {len(match.steps)} steps"
    return f"the task was not done within {max_turns} steps"


def _note(match: Match, reason: str) -> Turn:
    result = reason or f"the task was done in {len(match.steps)} steps"
    lines = [f"task: {match.task}", f"result: {result}"]
    if match.unknown:
        lines.append(f"commands that were not among those listed: {match.unknown}")
    if match.lapses:
        lines.append(f"replies without a command: {len(match.lapses)}")
    return Turn(role="note", content="\n".join(lines))


def _extra(match: Match) -> dict[str, Any]:
    return {
        "task": match.task,
        "won": match.scene.won,
        "unknown_commands": match.unknown,
        "replies_without_command": len(match.lapses),
    }


def _broken(match: Match | None, error: EngineFailure) -> Attempt:
    return Attempt(
        status="harness_error",
        hard=0.0,
        soft=0.0,
        answer="",
        turns=len(match.steps) if match else 0,
        trajectory=tuple(match.turns) if match else (),
        error=Failure(kind="game_engine", message=str(error)),
        extra=_extra(match) if match else {},
    )


def _seen(observation: str, commands: Sequence[str]) -> str:
    """Return an entry of the trajectory: what was seen, and the commands there were."""
    return f"{observation}\n\ncommands:\n{listed(commands)}"
