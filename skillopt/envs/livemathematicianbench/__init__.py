"""LiveMathematicianBench: multiple-choice questions about theorems; the label of one option is the answer."""

from pathlib import Path
from typing import Annotated

import msgspec

from skillopt.envs.base import Attempt, Chat, CommonSettings, EnvSettings
from skillopt.envs.livemathematicianbench.items import problem, read_items
from skillopt.envs.livemathematicianbench.prompt import FOLDER, sections
from skillopt.envs.livemathematicianbench.rollout import answer_question
from skillopt.records import Item


class LiveMathSettings(EnvSettings, frozen=True, kw_only=True):
    """What this benchmark adds to the section `env`."""

    shuffle_choices: Annotated[
        bool,
        msgspec.Meta(
            description="Shuffle the options of each item by its id and a seed: that of the batch in "
            "training, the run's in evaluations."
        ),
    ] = True
    use_theorem: Annotated[
        bool, msgspec.Meta(description="Show the target the theorem that the question is about.")
    ] = False
    use_sketch: Annotated[
        bool, msgspec.Meta(description="Show the target the sketch of the theorem's proof.")
    ] = False


class LiveMathematicianBench:
    """Items hold `question`, `choices`, `correct_choice` and `theorem_type`.

    `hard` and `soft` are both 1 for the right label and 0 otherwise.
    """

    name = "livemathematicianbench"
    settings: type[EnvSettings] = LiveMathSettings
    prompts: Path = FOLDER
    initial_skill: Path = Path(__file__).parent / "initial.md"
    read = staticmethod(read_items)
    check = staticmethod(problem)

    def reference(self, item: Item) -> str:
        """Return the theorem and the sketch of its proof, each under a heading."""
        return sections(item.data, theorem=True, sketch=True).strip()

    async def attempt(
        self,
        item: Item,
        skill: str,
        chat: Chat,
        common: CommonSettings,
        settings: LiveMathSettings,
        seed: int,
    ) -> Attempt:
        """Ask the target one question and judge the label that it gives; `seed` orders the options."""
        return await answer_question(
            item,
            skill,
            chat,
            max_turns=common.max_turns,
            seed=seed if settings.shuffle_choices else None,
            extras=sections(item.data, theorem=settings.use_theorem, sketch=settings.use_sketch),
        )


ENVIRONMENT = LiveMathematicianBench()
