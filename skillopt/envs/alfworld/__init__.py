"""ALFWorld: household chores in text games, one command at a time."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from skillopt.envs.alfworld.engine import Game
from skillopt.envs.alfworld.items import blueprint_of, game_file, games_folder, problem, read_items
from skillopt.envs.alfworld.prompt import FOLDER
from skillopt.envs.alfworld.rollout import play
from skillopt.envs.base import Attempt, Chat, CommonSettings, EnvSettings
from skillopt.envs.registry import missing_packages
from skillopt.errors import DataError
from skillopt.records import Item

PACKAGES = ("alfworld", "textworld")


class ALFWorldSettings(EnvSettings, frozen=True, kw_only=True):
    """What this benchmark adds to the section `env`."""

    engine: Annotated[
        Literal["textworld", "household"],
        msgspec.Meta(
            description="Play ALFWorld's game files (textworld, needs the extra alfworld) or games that "
            "items describe themselves (household)."
        ),
    ] = "textworld"
    games_dir: Annotated[
        str,
        msgspec.Meta(
            description="Folder below which game files lie (engine textworld); blank: $ALFWORLD_DATA, else "
            "~/.cache/alfworld. What they hold decides outputs, where they lie does not.",
            extra={"decides": False, "path": True, "beside": ("engine", "textworld")},
        ),
    ] = ""
    history: Annotated[
        int,
        msgspec.Meta(
            description="Earlier steps that the target is shown at each step (published protocol: 2).", ge=0
        ),
    ] = 2


class ALFWorld:
    """Items hold a `game`, or the path of one in `gamefile`; `hard` and `soft` are 1 when it is won."""

    name = "alfworld"
    settings: type[EnvSettings] = ALFWorldSettings
    prompts: Path = FOLDER
    initial_skill: Path = Path(__file__).parent / "initial.md"
    read = staticmethod(read_items)
    check = staticmethod(problem)

    def reference(self, item: Item) -> str:
        """Return commands that win a game which an item describes; a game file is not opened for it."""
        from skillopt.envs.alfworld.household import walkthrough

        if "game" not in item.data:
            return ""
        return f"one way to do it: {', '.join(walkthrough(blueprint_of(item)))}"

    def obstacles(self, settings: ALFWorldSettings, common: CommonSettings) -> list[str]:
        """Say what keeps a run from starting: packages or game files that are not there, too few turns."""
        found = []
        if settings.engine == "textworld":
            problem = missing_packages(self.name, PACKAGES)
            found += [problem] if problem else []
            folder = games_folder(settings.games_dir)
            if not folder.is_dir():
                found.append(
                    f"env.games_dir: expected a folder of games, found none at {str(folder)!r}. Fetch them "
                    "with `alfworld-download` (of the package alfworld) or name their folder."
                )
        if common.max_turns < 2:
            found.append(
                "env.max_turns: expected at least 2, found 1: a turn is one command, and no game is won by "
                "one. The published protocol has 50."
            )
        return found

    def files(self, item: Item, settings: ALFWorldSettings) -> Mapping[str, Path]:
        """Return the file of an item's game; raises DataError when the engine cannot play the item."""
        if settings.engine == "household":
            if "game" not in item.data:
                raise DataError(
                    f"item {item.id!r}: env.engine household plays games that items describe in `game`; "
                    "this one names a game file. Set env.engine: textworld."
                )
            return {}
        if "gamefile" not in item.data:
            raise DataError(
                f"item {item.id!r}: env.engine textworld plays the game file that `gamefile` names; "
                "this one has none. Set env.engine: household."
            )
        return {item.data["gamefile"]: game_file(item, settings.games_dir)}

    async def attempt(
        self,
        item: Item,
        skill: str,
        chat: Chat,
        common: CommonSettings,
        settings: ALFWorldSettings,
        seed: int,
    ) -> Attempt:
        """Let the target play one game; nothing here depends on the seed."""
        game = self._open(item, settings)
        return await play(game, skill, chat, max_turns=common.max_turns, history=settings.history)

    def _open(self, item: Item, settings: ALFWorldSettings) -> Game:
        if settings.engine == "household":
            from skillopt.envs.alfworld.household import HouseholdGame

            return HouseholdGame(blueprint_of(item))
        from skillopt.envs.alfworld.process import TextWorldGame

        return TextWorldGame(game_file(item, settings.games_dir))


ENVIRONMENT = ALFWorld()
