"""DocVQA: questions about the image of a document page; a short answer out."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from skillopt.envs.base import Attempt, Chat, CommonSettings, EnvSettings
from skillopt.envs.docvqa.items import image_file, problem, read_items
from skillopt.envs.docvqa.rollout import FOLDER, answer_question
from skillopt.records import Item


class DocVQASettings(EnvSettings, frozen=True, kw_only=True):
    """What this benchmark adds to the section `env`."""

    image_detail: Annotated[
        Literal["auto", "low", "high"],
        msgspec.Meta(description="How closely the provider is asked to look at a page."),
    ] = "auto"


class DocVQA:
    """Items hold `question`, `answers` and `image_path`; `soft` is ANLS, `hard` whether it is full."""

    name = "docvqa"
    needs: frozenset[str] = frozenset({"images"})
    settings: type[EnvSettings] = DocVQASettings
    prompts: Path = FOLDER
    initial_skill: Path = Path(__file__).parent / "initial.md"
    read = staticmethod(read_items)
    check = staticmethod(problem)

    def reference(self, item: Item) -> str:
        """Return nothing: the note at the end of a trajectory holds the accepted answers."""
        return ""

    def files(self, item: Item, settings: DocVQASettings) -> Mapping[str, Path]:
        """Return the image of the page."""
        return {item.data["image_path"]: image_file(item)}

    async def attempt(
        self,
        item: Item,
        skill: str,
        chat: Chat,
        common: CommonSettings,
        settings: DocVQASettings,
        seed: int,
    ) -> Attempt:
        """Ask the target one question and judge its answer; nothing here depends on the seed."""
        return await answer_question(
            item, skill, chat, max_turns=common.max_turns, detail=settings.image_detail
        )


ENVIRONMENT = DocVQA()
