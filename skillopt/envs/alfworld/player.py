"""The process that plays one game file with TextWorld, as ALFWorld sets it up.

    python -m skillopt.envs.alfworld.player GAME_FILE

It reads commands, one JSON text a line, and answers each with a line, as it does once at the start;
see `process.Answer`. It ends when nothing more is to be read, so it never outlives its parent.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from skillopt.envs.alfworld.engine import Scene
from skillopt.envs.alfworld.process import Answer


def open_game(file: Path) -> Any:
    """Return the game, with names as ALFWorld shows them and no limit of steps of its own."""
    import textworld
    from alfworld.agents.environment.alfred_tw_env import AlfredDemangler

    wanted = textworld.EnvInfos(feedback=True, won=True, admissible_commands=True)
    return textworld.start(str(file), wanted, wrappers=[AlfredDemangler()])


def play(game: Any, commands: Iterator[str]) -> Iterator[Scene]:
    """Yield the first scene, then one for each command."""
    yield _scene(game.reset(), over=False)
    for command in commands:
        state, _, over = game.step(command)
        yield _scene(state, over=over)


def _scene(state: Any, *, over: bool) -> Scene:
    return Scene(
        observation=state["feedback"].strip(),
        commands=tuple(sorted(set(state["admissible_commands"]))),
        won=bool(state["won"]),
        over=over,
    )


def main() -> None:
    """Play the game that the command line names."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what libraries print is no answer

    def say(answer: Answer) -> None:
        answers.write(msgspec.json.encode(answer) + b"\n")
        answers.flush()

    commands = (msgspec.json.decode(line, type=str) for line in sys.stdin.buffer)
    try:
        for scene in play(open_game(Path(sys.argv[1])), commands):
            say(Answer(scene=scene))
    except Exception as error:  # whatever breaks in the engine is told to the parent, which goes on
        say(Answer(error=f"{type(error).__name__}: {error}"))


if __name__ == "__main__":
    main()
