"""SpreadsheetBench: the target writes Python that edits workbooks; cells are compared with the right ones."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from skillopt.envs.base import Attempt, Chat, CommonSettings, EnvSettings
from skillopt.envs.spreadsheetbench.generation import generate
from skillopt.envs.spreadsheetbench.items import problem, read_items, workbook
from skillopt.envs.spreadsheetbench.prompt import FOLDER
from skillopt.envs.spreadsheetbench.toolloop import work
from skillopt.envs.spreadsheetbench.trial import Bench
from skillopt.records import Item
from skillopt.sandbox.program import MIB, Isolation, Limits, Sandbox


class SpreadsheetSettings(EnvSettings, frozen=True, kw_only=True):
    """What this benchmark adds to the section `env`."""

    mode: Annotated[
        Literal["single", "multi", "react"],
        msgspec.Meta(
            description="One program (single), up to max_turns programs until one runs (multi), "
            "or up to max_turns replies with tools (react)."
        ),
    ] = "multi"
    program_seconds: Annotated[
        float, msgspec.Meta(description="Seconds that one run of a program of the target may take.", gt=0)
    ] = 120.0
    program_memory: Annotated[
        int, msgspec.Meta(description="Memory that one run of a program may use, in MiB.", ge=64)
    ] = 2048
    isolation: Annotated[
        Isolation,
        msgspec.Meta(
            description="Programs of the target see and write their own folder alone (full), or are limited "
            "in time and size only (limits): for machines that cannot isolate, and targets that you trust."
        ),
    ] = "full"


class SpreadsheetBench:
    """Items hold `instruction`, `answer_position` and workbooks; each of these is a test case.

    `soft` is the share of the test cases whose cells are all right, `hard` whether all are.
    """

    name = "spreadsheetbench"
    settings: type[EnvSettings] = SpreadsheetSettings
    prompts: Path = FOLDER
    initial_skill: Path = Path(__file__).parent / "initial.md"
    read = staticmethod(read_items)
    check = staticmethod(problem)
    requirements: tuple[str, ...] = ("openpyxl",)

    def __init__(self) -> None:
        self._sandbox = Sandbox()

    def needs(self, settings: SpreadsheetSettings) -> frozenset[str]:
        """Return what the target's backend must have: tools, in the mode `react`."""
        return frozenset({"tools"} if settings.mode == "react" else ())

    async def machine_problem(self, settings: SpreadsheetSettings) -> str:
        """Run a first program; say why that is impossible and what to do."""
        problem = await self._sandbox.problem(settings.isolation)
        if not problem:
            return ""
        if settings.isolation == "full":
            advice = "docs/sandbox.md names the usual reasons; env.isolation: limits is for trusted targets"
        else:
            advice = "as root they run as the user nobody, who must be able to read the interpreter"
        return f"programs of the target cannot be run ({problem}); {advice}"

    def files(self, item: Item, settings: SpreadsheetSettings) -> Mapping[str, Path]:
        """Return the workbooks of an item, those with the answers too."""
        names = [case[side] for case in item.data["cases"] for side in ("input", "answer")]
        return {name: workbook(item, name) for name in names}

    def reference(self, item: Item) -> str:
        """Return nothing: the note at the end of a trajectory tells which cells should be what."""
        return ""

    async def attempt(
        self,
        item: Item,
        skill: str,
        chat: Chat,
        common: CommonSettings,
        settings: SpreadsheetSettings,
        seed: int,
    ) -> Attempt:
        """Let the target write its program and judge it; nothing here depends on the seed."""
        limits = Limits(seconds=settings.program_seconds, memory=settings.program_memory * MIB)
        bench = Bench(sandbox=self._sandbox, limits=limits, isolation=settings.isolation)
        if settings.mode == "react":
            return await work(item, skill, chat, bench, max_turns=common.max_turns)
        turns = common.max_turns if settings.mode == "multi" else 1
        return await generate(item, skill, chat, bench, max_turns=turns, feedback=common.feedback)


ENVIRONMENT = SpreadsheetBench()
