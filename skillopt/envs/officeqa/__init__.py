"""OfficeQA: questions over a collection of official documents, answered with search and read tools."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from skillopt.envs.base import Attempt, Chat, CommonSettings, EnvSettings
from skillopt.envs.officeqa.corpus import Corpus, missing_folders, open_corpus
from skillopt.envs.officeqa.items import problem, read_items
from skillopt.envs.officeqa.prompt import FOLDER
from skillopt.envs.officeqa.rollout import answer_question
from skillopt.envs.officeqa.scoring import Match
from skillopt.envs.officeqa.tools import Shelf
from skillopt.records import Item


class OfficeQASettings(EnvSettings, frozen=True, kw_only=True):
    """What this benchmark adds to the section `env`."""

    data_dirs: Annotated[
        tuple[str, ...],
        msgspec.Meta(
            description="Folders with documents; what they hold decides outputs, where they lie does not.",
            extra={"decides": False, "path": True},
        ),
    ] = ("data/officeqa_docs_official",)
    document_scope: Annotated[
        Literal["sources", "corpus"],
        msgspec.Meta(
            description="Tell the target the documents that an item names and open no others (sources), "
            "or let it find them among all (corpus)."
        ),
    ] = "sources"
    match: Annotated[
        Match,
        msgspec.Meta(
            description="Compare numbers as numbers and the rest as text (numeric), or everything as text "
            "by the published rule (text)."
        ),
    ] = "numeric"
    tolerance: Annotated[
        float,
        msgspec.Meta(
            description="Relative difference up to which numbers count as equal (match numeric).",
            ge=0,
            lt=1,
            extra={"beside": ("match", "numeric")},
        ),
    ] = 0.0001


class OfficeQA:
    """Items hold `question`, `answers` and the names of `source_files`.

    `hard` is whether the answer agrees with an accepted one, `soft` the share of a list that does, or
    the token F1 of a text.
    """

    name = "officeqa"
    needs: frozenset[str] = frozenset({"tools"})
    settings: type[EnvSettings] = OfficeQASettings
    prompts: Path = FOLDER
    initial_skill: Path = Path(__file__).parent / "initial.md"
    read = staticmethod(read_items)
    check = staticmethod(problem)

    def reference(self, item: Item) -> str:
        """Return nothing: the note at the end of a trajectory holds answers and documents."""
        return ""

    def obstacles(self, settings: OfficeQASettings, common: CommonSettings) -> list[str]:
        """Say what keeps a run from starting: folders that are not there, no turn for a tool."""
        found = [
            f"env.data_dirs: expected a folder with documents, found none at {folder!r}. Put the documents "
            "there or name the folder that has them."
            for folder in missing_folders(settings.data_dirs)
        ]
        if not settings.data_dirs:
            found.append("env.data_dirs: expected at least one folder with documents, found none")
        if common.max_turns < 2:
            found.append(
                "env.max_turns: expected at least 2, found 1: the last turn gives the answer, so no turn "
                "is left for search. The published protocol has 24."
            )
        return found

    def files(self, item: Item, settings: OfficeQASettings) -> Mapping[str, Path]:
        """Return the documents that an item's outcome may depend on."""
        shelf = _shelf(item, settings)
        return {name: shelf.corpus.file(name) for name in shelf.names}

    async def attempt(
        self,
        item: Item,
        skill: str,
        chat: Chat,
        common: CommonSettings,
        settings: OfficeQASettings,
        seed: int,
    ) -> Attempt:
        """Let the target answer one question with its tools; nothing here depends on the seed."""
        shelf = _shelf(item, settings)
        return await answer_question(
            item,
            skill,
            chat,
            shelf,
            told=shelf.names if _names_its_sources(item, settings) else (),
            max_turns=common.max_turns,
            match=settings.match,
            tolerance=settings.tolerance,
        )


def _shelf(item: Item, settings: OfficeQASettings) -> Shelf:
    corpus: Corpus = open_corpus(settings.data_dirs)
    names = corpus.named(item.data["source_files"]) if _names_its_sources(item, settings) else corpus.names
    return Shelf(corpus=corpus, names=names)


def _names_its_sources(item: Item, settings: OfficeQASettings) -> bool:
    return settings.document_scope == "sources" and bool(item.data["source_files"])


ENVIRONMENT = OfficeQA()
