"""The benchmark mybench: what an item is, what the target is told, and how its answer is judged.

A change of this file re-runs nothing: delete results/<run>/ and train again (replies are in the call store).
"""

from pathlib import Path
from typing import Annotated

import msgspec

from skillopt.data import read_items
from skillopt.envs.answers import find_answer
from skillopt.envs.base import Attempt, Chat, CommonSettings, EnvSettings
from skillopt.envs.told import fill, left_out
from skillopt.models.base import Message
from skillopt.records import Item, Status, Turn

FOLDER = Path(__file__).parent
PROMPTS = FOLDER / "prompts"


class MybenchSettings(EnvSettings, frozen=True, kw_only=True):
    """Settings of the section `env` that only this benchmark has."""

    ignore_case: Annotated[
        bool, msgspec.Meta(description="Take an answer in other letter case for the right one.")
    ] = True


class Mybench:
    """Items hold `question`, `context` (passages, each after [DOC]) and `answer`."""

    name = "mybench"
    requirements: tuple[str, ...] = ()  # packages it needs; import them where they are used
    settings: type[EnvSettings] = MybenchSettings
    prompts = PROMPTS
    initial_skill = FOLDER / "initial.md"
    read = staticmethod(read_items)  # JSON, JSONL or CSV, a text or number `id` in each item

    def check(self, item: Item) -> str:
        """Say what is wrong with an item ("" when nothing is): it is refused before anything is paid for."""
        for name in ("question", "context", "answer"):
            value = item.data.get(name)
            if not isinstance(value, str) or not value.strip():
                return f"expected a text in `{name}` that is not blank, found {value!r}"
        return ""

    def reference(self, item: Item) -> str:
        """Return what analysts may see of a training item beside the attempt; never seen by the target."""
        return ""

    async def attempt(
        self,
        item: Item,
        skill: str,
        chat: Chat,
        common: CommonSettings,
        settings: MybenchSettings,
        seed: int,
    ) -> Attempt:
        """Let the target do one item with the skill, and judge what it did."""
        right = item.data["answer"]
        told = fill(PROMPTS, "target_user", question=item.data["question"], context=item.data["context"])
        reply = await chat(
            (Message(role="system", content=_system(skill)), Message(role="user", content=told))
        )
        found = find_answer(reply.text)
        answered = found.where == "tag" and bool(found.text)
        status: Status = "scored" if answered else "unparsed"
        if not answered and reply.finish_reason == "length":
            status = "truncated"
        elif found.where == "nowhere":
            status = "no_answer"
        hard, soft = judge(found.text, right, settings.ignore_case) if answered else (0.0, 0.0)
        return Attempt(
            status=status,
            hard=hard,
            soft=soft,
            answer=found.text,
            turns=1,
            trajectory=(  # what reflection reads; the skill itself is left out, it is in the run already
                Turn(role="system", content=_system(left_out(skill))),
                Turn(role="user", content=told),
                Turn(role="assistant", content=reply.text),
                Turn(role="note", content=f"predicted answer: {found.text}\naccepted answers: {right}"),
            ),
            reason="" if hard else f"predicted {found.text!r}, accepted {right!r}",
        )


def judge(said: str, right: str, ignore_case: bool) -> tuple[float, float]:
    """Return (hard, soft) in [0, 1]: whether the answer is the right one, and how near it is to it."""
    if ignore_case:
        said, right = said.lower(), right.lower()
    words, wanted = set(said.split()), set(right.split())
    return float(said.split() == right.split()), len(words & wanted) / len(words | wanted)


def _system(skill: str) -> str:
    return fill(PROMPTS, "target_system", skill=f"## Skill\n\n{skill.strip()}\n\n" if skill.strip() else "")


ENVIRONMENT = Mybench()
