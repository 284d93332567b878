"""What a benchmark is: how its items are checked, attempted and judged."""

from collections.abc import Awaitable, Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import msgspec

from skillopt.models.base import Message, Reply, Tool
from skillopt.records import Failure, Item, Status, Turn


class Chat(Protocol):
    """The target model, bound to one item: each call goes through the call layer.

    A failed call raises CallError, which the phase turns into the row's status; a benchmark
    does not catch it.
    """

    def __call__(
        self, messages: tuple[Message, ...], *, tools: tuple[Tool, ...] = (), tool_choice: str = ""
    ) -> Awaitable[Reply]: ...


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """How the target did one item. `hard` and `soft` lie in [0, 1]; both 0 unless status is `scored`.

    Only statuses that are the target's own (`scored`, `truncated`, `unparsed`, `no_answer`) and
    `harness_error` (the benchmark's tools broke) are a benchmark's to give.
    """

    status: Status
    hard: float
    soft: float
    answer: str
    turns: int
    trajectory: tuple[Turn, ...]
    reason: str = ""
    error: Failure | None = None
    extra: dict[str, Any] = {}


class EnvSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings that a benchmark adds to the section `env`: subclass, one described field each.

    Fields are written `name: Annotated[int, msgspec.Meta(description="...", ge=1)] = 1`.
    A field that decides no row (a cache, a width) says `extra={"decides": False}` in its Meta; one that
    holds a path or a list of them says `extra={"path": True}`; one that has an effect only beside a value of
    another field says `extra={"beside": ("match", "numeric")}`, and is refused beside others.
    """


class Environment(Protocol):
    """What a package in `skillopt/envs/`, or in the folder `envs/` of a project, declares as `ENVIRONMENT`.

    Two further attributes may be declared: `needs`, capabilities that the target's backend must have
    (or a function of the settings that returns them), and `requirements`, packages (by the name they
    are imported with) that must be installed. Such a package is imported where it is used, not when
    the benchmark is.
    """

    name: str
    settings: type[EnvSettings]
    prompts: Path
    """Folder of its templates; `analyst_failure.md.j2` and so on there win over the general ones."""
    initial_skill: Path

    def read(self, path: Path) -> list[Item]:
        """Read one data file or split folder; raises DataError naming file and item."""
        ...

    def check(self, item: Item) -> str:
        """Say what is wrong with an item ("" when nothing is)."""
        ...

    def reference(self, item: Item) -> str:
        """Text that may be shown to analysts about a training item ("" for none)."""
        ...

    async def attempt(
        self, item: Item, skill: str, chat: Chat, common: "CommonSettings", settings: Any, seed: int
    ) -> Attempt:
        """Do one item with a skill text (already as the target may see it; may be empty) and judge it."""
        ...


@runtime_checkable
class WithFiles(Protocol):
    """A benchmark whose items come with files of their own: pages, documents, workbooks."""

    def files(self, item: Item, settings: Any) -> Mapping[str, Path]:
        """Return the files that an item's outcome depends on, by names that hold when they are moved.

        What they hold counts in what re-runs, like the item itself.
        """
        ...


@runtime_checkable
class WithMachine(Protocol):
    """A benchmark that needs something of the machine which has to be tried, such as a sandbox."""

    async def machine_problem(self, settings: Any) -> str:
        """Say why the benchmark cannot be done on this machine and what to do ("" when it can)."""
        ...


@runtime_checkable
class WithObstacles(Protocol):
    """A benchmark that needs more than its items: a package, a folder, room in the settings."""

    def obstacles(self, settings: Any, common: "CommonSettings") -> list[str]:
        """Say what keeps a run from starting and what to do about it, one sentence each."""
        ...


class CommonSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of section `env` that every benchmark has and that decide a row."""

    max_turns: int
    max_completion_tokens: int
    feedback: bool = False
    """Whether this is a rollout of training, in which a benchmark may tell the target what was wrong."""
