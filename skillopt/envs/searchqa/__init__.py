"""SearchQA: quiz questions with passages that a search has found; text in, a short answer out."""

from pathlib import Path
from typing import Annotated

import msgspec

from skillopt.envs.base import Attempt, Chat, CommonSettings, EnvSettings
from skillopt.envs.searchqa.items import problem, read_items
from skillopt.envs.searchqa.prompt import FOLDER
from skillopt.envs.searchqa.rollout import answer_question
from skillopt.records import Item


class SearchQASettings(EnvSettings, frozen=True, kw_only=True):
    """What this benchmark adds to the section `env`."""

    context_chars: Annotated[
        int,
        msgspec.Meta(
            description="Characters of context that the target is given at most; cut between [DOC] passages.",
            ge=1,
        ),
    ] = 6000


class SearchQA:
    """Items hold `question`, `context` (passages marked by `[DOC]`) and `answers` (accepted texts).

    `hard` is exact match after normalisation, `soft` the best token F1.
    """

    name = "searchqa"
    settings: type[EnvSettings] = SearchQASettings
    prompts: Path = FOLDER
    initial_skill: Path = Path(__file__).parent / "initial.md"
    read = staticmethod(read_items)
    check = staticmethod(problem)

    def reference(self, item: Item) -> str:
        """Return nothing: the note at the end of a trajectory holds the accepted answers."""
        return ""

    async def attempt(
        self,
        item: Item,
        skill: str,
        chat: Chat,
        common: CommonSettings,
        settings: SearchQASettings,
        seed: int,
    ) -> Attempt:
        """Ask the target one question and judge its answer; nothing here depends on the seed."""
        return await answer_question(
            item, skill, chat, max_turns=common.max_turns, context_chars=settings.context_chars
        )


ENVIRONMENT = SearchQA()
