"""A run's folder made of records, without any model: as large and as odd as a test wants it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from skillopt.config.resolve import load_run
from skillopt.config.resolved import Resolved
from skillopt.decisions.gate import GateRule
from skillopt.decisions.plan import make_plan
from skillopt.files import write_json, write_jsonl, write_text
from skillopt.models.base import Reply, RoleModel
from skillopt.models.ledger import Ledger
from skillopt.phases import best_skill, gate
from skillopt.phases.summary import rests_on
from skillopt.records import (
    Batch,
    Edit,
    Gate,
    Merged,
    Patch,
    Pattern,
    Plan,
    Reflection,
    Reflections,
    Row,
    Scored,
    Selected,
    SplitInfo,
    Turn,
    Update,
    Usage,
)
from skillopt.skill import apply_edits, sha256, with_slow_update

RULE = GateRule()
INITIAL = "# Skill\n\nNothing yet.\n"


class MadeUp:
    """Writes `folder` (results/<run>) step by step.

    `say` makes the texts of models and items out of plain ones. A candidate of an odd step knows `gain`
    selection items more than the current skill; that of an even step knows only the first one.
    """

    def __init__(
        self,
        folder: Path,
        *,
        epochs: int = 2,
        per_epoch: int = 2,
        batch: int = 4,
        val: int = 8,
        gain: int = 1,
        say: Callable[[str], str] = str,
        length: int = 40,
        overrides: tuple[str, ...] = (),
    ) -> None:
        self.folder = folder
        self.say = say
        self.length = length
        self.gain = gain
        ids = [say(f"t{i}") for i in range(batch * per_epoch)]
        self.val = [say(f"v{i}") for i in range(val)]
        self.resolved = resolved(folder.parent.parent, overrides)
        self.plan = plan(folder.name, ids, epochs, batch, val)
        self.skill = INITIAL
        self.known = 0
        write_json(folder / "config.json", self.resolved)
        write_json(folder / "plan.json", self.plan)
        write_text(folder / "skills/skill_v0000.md", INITIAL)
        rows = self.rows("eval/val/initial/rollouts.jsonl", self.val, 0)
        files = gate.Files(skill="skills/skill_v0000.md", rows="eval/val/initial/rollouts.jsonl")
        self.gate = gate.initial_gate(gate.scored(INITIAL, rows, files, RULE), "hard")
        write_json(folder / "steps/step_0000/gate.json", self.gate)

    def whole(self) -> "MadeUp":
        """Write every step and epoch, and the end of the run."""
        for epoch in self.plan.epochs:
            for number in range(epoch.first_step, epoch.last_step + 1):
                self.step(number)
            self.end_of_epoch(epoch.epoch)
        return self.end()

    def rows(self, path: str, ids: list[str], right: int) -> list[Row]:
        found = [self.row(id_, number < right) for number, id_ in enumerate(ids)]
        write_jsonl(self.folder / path, found)
        return found

    def row(self, id_: str, right: bool) -> Row:
        filler = "word " * (self.length // 5)
        return Row(
            id=id_,
            status="scored",
            hard=float(right),
            soft=float(right),
            answer=self.say(f"answer to {id_}"),
            task_type=self.say("kind"),
            turns=1,
            usage=Usage(calls=1, prompt=100, completion=10),
            seconds=0.5,
            trajectory=(
                Turn(role="system", content=self.say(f"do it {filler}")),
                Turn(role="user", content=self.say(f"question {id_} {filler}")),
                Turn(role="assistant", content=self.say(f"{'right' if right else 'wrong'} {filler}")),
            ),
            reason="" if right else self.say("not the answer"),
        )

    def edits(self, number: int) -> tuple[Edit, ...]:
        new = Edit(op="append", content=self.say(f"- Rule {number}."), support_count=3)
        if number == 1:
            return (
                Edit(op="replace", target="Nothing yet.", content=self.say("- Rule 1."), support_count=3),
            )
        return (new,)

    def step(self, number: int, notes: tuple[str, ...] = ()) -> Gate:
        folder = self.folder / f"steps/step_{number:04d}"
        batch: Batch = self.plan.steps[number - 1].batches[0]
        rows = self.rows(f"steps/step_{number:04d}/rollouts.jsonl", list(batch.ids), self.known)
        edits = self.edits(number)
        reflections = self.reflections(number, rows, edits, notes)
        write_json(folder / "reflections.json", reflections)
        write_json(folder / "merged.json", Merged(step=number, patch=Patch(edits=edits)))
        selected = Selected(
            step=number,
            budget=4,
            budget_reason="schedule",
            how="ranked",
            patch=Patch(edits=edits),
            clipped=Patch(edits=(Edit(op="append", content=self.say("- Left out.")),)),
            reasoning=self.say("the most general first"),
        )
        write_json(folder / "patch.json", selected)
        candidate, reports = apply_edits(self.skill, edits)
        update = Update(
            step=number,
            action="candidate",
            mode="patch",
            edits=reports,
            notes=notes,
            notes_added=len(notes),
            chars_before=len(self.skill),
            chars_after=len(candidate),
            candidate_sha256=sha256(candidate),
        )
        write_text(folder / "candidate.md", candidate)
        write_json(folder / "update.json", update)
        right = self.known + self.gain if number % 2 else 1
        scored = self.rows(f"steps/step_{number:04d}/selection.jsonl", self.val, right)
        files = gate.Files(
            skill=f"steps/step_{number:04d}/candidate.md", rows=f"steps/step_{number:04d}/selection.jsonl"
        )
        found = gate.step_gate(
            number,
            self.plan.steps[number - 1].epoch,
            self.gate,
            update,
            gate.scored(candidate, scored, files, RULE),
            RULE,
        )
        text = gate.skill_after(found, self.skill, candidate, update)
        if found.state.current.sha256 != sha256(text):
            path = f"skills/skill_v{number:04d}.md"
            found = msgspec.structs.replace(found, state=gate.with_text(found.state, text, path))
        left = gate.digest(reflections, selected, found)
        found = msgspec.structs.replace(found, digest=left)
        write_text(self.folder / f"skills/skill_v{number:04d}.md", text)
        write_json(folder / "gate.json", found)
        self.known = right if "accept" in found.action else self.known
        self.skill, self.gate = text, found
        return found

    def reflections(
        self, number: int, rows: list[Row], edits: tuple[Edit, ...], notes: tuple[str, ...]
    ) -> Reflections:
        failed = [row.id for row in rows if not row.hard]
        group = Reflection(
            kind="failure",
            micro_batch=0,
            ids=tuple(failed),
            patch=Patch(edits=edits),
            patterns=(
                Pattern(
                    failure_type=self.say("gap"), count=len(failed), description=self.say("a rule is missing")
                ),
            ),
            notes=notes,
            problems=(self.say("no JSON in the answer"),),
        )
        return Reflections(
            step=number,
            groups=(group,),
            rows=len(rows),
            failed=len(failed),
            succeeded=len(rows) - len(failed),
            unscored=0,
        )

    def end_of_epoch(self, epoch: int, guidance: str = "") -> Gate:
        """Put guidance (or an empty region) into the skill without a score."""
        folder = self.folder / f"slow_update/epoch_{epoch:02d}"
        text = with_slow_update(self.skill, guidance)
        changed = text != self.skill
        record = {
            "epoch": epoch,
            "action": "inject" if changed else "skip_no_content",
            "reasoning": self.say("because"),
            "slow_update_content": guidance,
            "chars_before": len(self.skill),
            "chars_after": len(text),
            "candidate_sha256": sha256(text),
        }
        state = gate.with_text(self.gate.state, text, f"slow_update/epoch_{epoch:02d}/skill.md")
        found = Gate(
            step=self.gate.step,
            epoch=epoch,
            phase="slow_update",
            action="inject" if changed else "skip_no_change",
            metric="hard",
            candidate_sha256=sha256(text),
            state=state if changed else self.gate.state,
        )
        write_text(folder / "candidate.md", text)
        write_text(folder / "skill.md", text)
        write_json(folder / "slow_update.json", record)
        write_jsonl(folder / "selection.jsonl", [])
        write_json(folder / "gate.json", found)
        self.skill, self.gate = text, found
        return found

    def end(self, last_right: int | None = None) -> "MadeUp":
        """Write what a run ends with; with `last_right` the last skill gets a selection score of its own."""
        last = None if last_right is None else self.scored_in_the_end(last_right)
        best = best_skill.best_of(self.gate, last, RULE)
        write_text(self.folder / "best_skill.md", (self.folder / best.skill).read_text())
        write_json(self.folder / "best_skill.json", best)
        test = [self.say(f"x{i}") for i in range(6)]
        for name, right in (("initial", 1), ("best", 4), ("last", 4)):
            self.rows(f"eval/test/{name}/rollouts.jsonl", test, right)
            write_json(self.folder / f"eval/test/{name}/scores.json", {})
        write_json(self.folder / "summary.json", self.summary())
        return self

    def scored_in_the_end(self, right: int) -> Scored:
        files = gate.Files(skill=self.gate.state.current.skill, rows="eval/val/last/rollouts.jsonl")
        return gate.scored(self.skill, self.rows(files.rows, self.val, right), files, RULE)

    def summary(self) -> dict[str, Any]:
        """Return what `skillopt status` and the report read of summary.json."""
        roles = self.resolved.roles.items()
        skill = {"sha256": sha256(INITIAL), "chars": len(INITIAL), "selection": None, "test": None}
        return {
            "run": self.plan.run,
            "outcome": "improved",
            "simulated": [],
            "models": {role: f"{model.backend}/{model.model}" for role, model in roles},
            "metric": "hard",
            "skills": {name: {**skill, "origin": ""} for name in ("initial", "best", "last")},
            "epochs": [],
            "usage": {},
            "splits": {name: split.sha256 for name, split in self.plan.splits.items()},
            "rests_on": rests_on(self.folder, self.resolved, self.plan),
        }

    def called(self, count: int = 3, event: str = "made", model: str = "m") -> None:
        """Leave accounts of some target calls in the call store beside the run."""
        ledger = Ledger(self.folder.parent / ".calls", run=self.folder.name, phase="rollout", label="0001")
        role = RoleModel(role="target", backend="simulator", model=model)
        for number in range(count):
            usage = Usage(calls=1, prompt=1000, completion=100)
            ledger.replied(event, str(number), role, Reply(text="a", usage=usage, seconds=2.0))
        ledger.close()


def resolved(project: Path, overrides: tuple[str, ...]) -> Resolved:
    """Return a configuration from a file in the project's folder."""
    path = project / "config" / "made.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("env: {name: searchqa, split_dir: data, split_mode: split_dir}\n", encoding="utf-8")
    return load_run(path, list(overrides), {})


def plan(run: str, ids: list[str], epochs: int, batch: int, val: int) -> Plan:
    """Return the plan of such a run."""
    info = {
        name: SplitInfo(source=f"data/{name}", size=size, used=size, sha256=sha256(f"{name} {size}"))
        for name, size in (("train", len(ids)), ("val", val), ("test", 6))
    }
    return make_plan(
        run,
        train_ids=ids,
        splits=info,
        num_epochs=epochs,
        train_size=0,
        batch_size=batch,
        accumulation=1,
        seed=1,
        learning_rate=4,
        min_learning_rate=2,
        lr_scheduler="constant",
        slow_update_samples=2,
    )
