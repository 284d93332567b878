"""A run as its files tell it, finished or not: what is there is read, what is missing or broken is named."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from skillopt.checked import checked_config, checked_plan, checked_summary
from skillopt.errors import ConfigError, CorruptFile
from skillopt.files import read_json, read_jsonl, read_text
from skillopt.models.ledger import Accounts, read_ledger
from skillopt.models.prices import Prices
from skillopt.naming import no_run
from skillopt.phases.spending import free_models, prices_of
from skillopt.phases.summary import rests_on
from skillopt.records import TAKEN, Gate, Row, Scored
from skillopt.runs import gate_files
from skillopt.signs import read_signs
from skillopt.standing import Standing, StandingReader
from skillopt.tools.status import FailedPhase, failed_phases, times_of

T = TypeVar("T")


class RunFiles:
    """Reads files below a run's folder; `problems` collects what could not be read.

    What `standing` says is of before a change is not there.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.problems: list[str] = []
        self.standing = Standing()

    def has(self, name: str) -> bool:
        """Whether a file is there."""
        return not self.standing.is_of_before(name) and (self.folder / name).is_file()

    def json(self, name: str, kind: type[T]) -> T | None:
        """Return a record, None when it is missing or broken."""
        return self.read(name, lambda path: read_json(path, kind))

    def rows(self, name: str) -> list[Row]:
        """Return rows, none when the file is missing or broken."""
        return self.read(name, lambda path: read_jsonl(path, Row)) or []

    def text(self, name: str) -> str | None:
        """Return a text, None when it is missing or broken."""
        return self.read(name, read_text)

    def read(self, name: str, read: Callable[[Path], T]) -> T | None:
        """Return what a function reads, None when the file is missing or broken."""
        if not self.has(name):
            return None
        path = self.folder / name
        try:
            return read(path)
        except (CorruptFile, OSError) as error:
            if str(error) not in self.problems:
                self.problems.append(str(error))
            return None


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """One gate of the run, in order; `gate` is None while it is missing.

    `folder` is that of the step or epoch, `after` the skill it left; both below the run's folder.
    """

    key: str
    name: str
    folder: str
    after: str
    epoch: int
    step: int
    gate: Gate | None

    @property
    def is_step(self) -> bool:
        """Whether it is a step, not the start or the end of an epoch."""
        return self.folder.startswith("steps/") and self.step > 0

    @property
    def taken(self) -> bool:
        """Whether the candidate became the current skill by its score."""
        return self.gate is not None and self.gate.action in TAKEN


class RunRecord:
    """A run's folder. Raises ConfigError when it is none (there is no config.json)."""

    def __init__(self, folder: Path) -> None:
        if not (folder / "config.json").is_file():
            raise no_run(folder)
        self.folder = folder
        self.name = folder.resolve().name
        self.files = RunFiles(folder)
        self.resolved = self.files.read("config.json", checked_config)
        self.plan = self.files.read("plan.json", checked_plan)
        self.summary = self.files.read("summary.json", checked_summary)
        self.standing = self.files.standing = self._standing()
        self.decisions = tuple(self._decisions())
        self.failures = self._failures()

    def _standing(self) -> Standing:
        if self.plan is None or self.resolved is None:
            return Standing()
        try:
            return StandingReader(self.folder).look(self.plan, self.resolved)
        except CorruptFile as error:
            self.files.problems.append(str(error))
            return Standing()

    def _decisions(self) -> Iterator[Decision]:
        for path in self._gate_paths():
            folder = path.removesuffix("/gate.json")
            number = int(folder.rpartition("_")[2])
            gate = self.files.json(path, Gate)
            if folder.startswith("slow_update/"):
                yield Decision(
                    key=f"epoch-{number}",
                    name=f"end of epoch {number}",
                    folder=folder,
                    after=f"{folder}/skill.md",
                    epoch=number,
                    step=gate.step if gate else 0,
                    gate=gate,
                )
                continue
            yield Decision(
                key=f"step-{number}" if number else "start",
                name=f"step {number}" if number else "start",
                folder=folder,
                after=f"skills/skill_v{number:04d}.md",
                epoch=self._epoch_of(number, gate),
                step=number,
                gate=gate,
            )

    def _gate_paths(self) -> list[str]:
        """Return the gates of the plan; without a plan or configuration, the steps that are there."""
        if self.plan and self.resolved:
            return gate_files(self.plan, self.resolved.settings.optimizer.use_slow_update)
        found = sorted(self.folder.glob("steps/step_[0-9][0-9][0-9][0-9]/gate.json"))
        return [path.relative_to(self.folder).as_posix() for path in found]

    def _epoch_of(self, step: int, gate: Gate | None) -> int:
        if self.plan and step:
            return self.plan.steps[step - 1].epoch
        return gate.epoch if gate else 0

    def _failures(self) -> tuple[FailedPhase, ...]:
        try:
            return failed_phases(self.folder)
        except CorruptFile as error:
            self.files.problems.append(str(error))
            return ()

    @property
    def done(self) -> tuple[Decision, ...]:
        """The decisions that have been made, in order."""
        return tuple(decision for decision in self.decisions if decision.gate)

    @property
    def last_gate(self) -> Gate | None:
        """The last decision that has been made."""
        return self.done[-1].gate if self.done else None

    @property
    def steps(self) -> int:
        """How many steps the plan has."""
        return len(self.plan.steps) if self.plan else sum(decision.is_step for decision in self.decisions)

    @property
    def steps_done(self) -> int:
        """How many steps have ended."""
        return sum(decision.is_step for decision in self.done)

    @property
    def finished(self) -> bool:
        """Whether the run came to its end."""
        made = self.summary is not None and all(decision.gate for decision in self.decisions)
        return made and not self.stale()

    @property
    def metric(self) -> str:
        """What the gate compares."""
        return self.last_gate.metric if self.last_gate else "hard"

    @property
    def best(self) -> Scored | None:
        """The best skill so far with its score; in the end the last one may be it, which no gate has seen."""
        chosen = self.files.json("best_skill.json", Scored)
        return chosen or (self.last_gate.state.best if self.last_gate else None)

    def best_skill(self) -> str:
        """Return the path of the best skill so far, below the run's folder ("" when there is none)."""
        if self.files.has("best_skill.md"):
            return "best_skill.md"
        if self.best:
            return self.best.skill
        return "skills/skill_v0000.md" if self.files.has("skills/skill_v0000.md") else ""

    def stale(self) -> list[str]:
        """Name what summary.json rests on and config.json or plan.json no longer say."""
        if self.summary is None or self.resolved is None or self.plan is None:
            return []
        now = {
            "models": {role: f"{model.backend}/{model.model}" for role, model in self.resolved.roles.items()},
            "metric": self.resolved.settings.evaluation.gate_metric,
            "splits": {name: split.sha256 for name, split in self.plan.splits.items()},
        }
        changed = [name for name, value in now.items() if getattr(self.summary, name) != value]
        if not changed and self.summary.rests_on != rests_on(self.folder, self.resolved, self.plan):
            return ["settings or decisions"]
        return changed

    def accounts(self, store: Path | None = None) -> Accounts | None:
        """Return the calls and times of the run, from the call store if it is there, else from calls.json."""
        store = store or self.folder.parent / ".calls"
        if not (store / "ledger" / self.name).is_dir():
            return self.files.json("calls.json", Accounts)
        accounts = read_ledger(store, self.name, self._prices())
        return msgspec.structs.replace(accounts, times=times_of(self.folder, read_signs(self.folder)))

    def _prices(self) -> Prices:
        if self.resolved is None:
            return {}
        try:
            return prices_of(self.resolved)
        except ConfigError as error:
            self.files.problems.append(str(error))
            return free_models(self.resolved)

    def missing(self) -> list[str]:
        """Name what a finished run would have and this one does not, in the order of the data."""
        lacking = [decision.name for decision in self.decisions if decision.gate is None]
        found = []
        if lacking:
            also = f" and {len(lacking) - 6} more" if len(lacking) > 6 else ""
            found.append(f"decisions that have not been made: {', '.join(lacking[:6])}{also}")
        if self.standing.again:
            steps = "1 step" if self.standing.again == 1 else f"{self.standing.again} steps"
            found.append(f"{steps} of before a change, which will be made anew")
        wanted = {"plan.json": "the plan", "best_skill.md": "the best skill", "summary.json": "the summary"}
        found += [f"{what} ({name})" for name, what in wanted.items() if not self.files.has(name)]
        if self.resolved and self.resolved.settings.evaluation.eval_test:
            lost = [
                s for s in ("initial", "best", "last") if not self.files.has(f"eval/test/{s}/scores.json")
            ]
            if lost:
                found.append(f"test evaluation of the {', '.join(lost)} skill")
        return found
