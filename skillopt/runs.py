"""One run as the workflow sees it: its plan, and which file comes from which.

All paths are below the run's folder, as text. This is where the order of a training run is
decided; it knows nothing of the engine that carries it out.
"""

from functools import cached_property

from skillopt.config.fingerprint import PHASES, deciding
from skillopt.config.resolved import Resolved
from skillopt.config.settings import Optimizer
from skillopt.config.templates import PROMPTS, prompts_digest, used_prompts
from skillopt.data import Splits, batches_digest, content_digest
from skillopt.envs.registry import environment
from skillopt.errors import ConfigError
from skillopt.files import canonical, read_text
from skillopt.phases.initial_skill import initial_skill_path
from skillopt.records import EpochPlan, Plan, StepPlan
from skillopt.skill import sha256


class Run:
    """A planned run. Raises ConfigError or DataError when it cannot be planned.

    `initial_skill` is a hash of the skill that it starts from, `prompts` one of what each phase asks with.
    """

    def __init__(self, resolved: Resolved, plan: Plan, splits: Splits) -> None:
        self.resolved = resolved
        self.plan = plan
        self.splits = splits
        self._train = {item.id: item for item in splits.train}
        self._deciding: dict[str, str] = {}
        self._batches: dict[int, str] = {}
        env = resolved.settings.env
        self.initial_skill = sha256(read_text(initial_skill_path(env.name, env.skill_init)))
        self.prompts = {
            phase: prompts_digest(used_prompts(resolved, phase), environment(env.name).prompts)
            for phase in PROMPTS
        }

    # settings that decide each phase's output, and digests of the items it reads

    def deciding(self, phase: str) -> str:
        """Return the settings that decide a phase's output, as canonical text."""
        if phase not in self._deciding:
            self._deciding[phase] = deciding(self.resolved, phase)
        return self._deciding[phase]

    def batch_digest(self, step: int) -> str:
        """Return a hash of the step's batches: ids, seeds and the contents of the items."""
        if step not in self._batches:
            batches = self.step(step).batches
            ids = [id_ for batch in batches for id_ in batch.ids]
            self._batches[step] = batches_digest(batches, [self._train[id_] for id_ in ids])
        return self._batches[step]

    def comparison_digest(self, epoch: int) -> str:
        """Return a hash of the items that the epoch's comparison may use."""
        planned = self.epoch(epoch)
        whole = self.resolved.settings.optimizer.longitudinal_pair_policy == "changed"
        ids = planned.comparison if whole else planned.sampled
        return content_digest([self._train[id_] for id_ in ids])

    def sample_digest(self, epoch: int) -> str:
        """Return a hash of the items that an epoch's comparison always uses."""
        return content_digest([self._train[id_] for id_ in self.epoch(epoch).sampled])

    def split_digest(self, split: str) -> str:
        """Return a hash of the items of a split that are used."""
        return self.plan.splits[split].sha256

    def edit_budget(self, step: int) -> str:
        """Return the edit budget of a step, "" for no limit."""
        budget = self.step(step).edit_budget
        return "" if budget is None else str(budget)

    @cached_property
    def basis(self) -> str:
        """What the results rest on; see `basis_of`."""
        return basis_of(self.resolved, self.plan)

    # the order of things

    @property
    def _optimizer(self) -> Optimizer:
        return self.resolved.settings.optimizer

    def step(self, number: int) -> StepPlan:
        """Return a step, counted from 1; raises ConfigError when the run has no such step."""
        if not 1 <= number <= len(self.plan.steps):
            raise ConfigError(f"step {number}: run {self.plan.run} has steps 1 to {len(self.plan.steps)}")
        return self.plan.steps[number - 1]

    def epoch(self, number: int) -> EpochPlan:
        """Return an epoch, counted from 1; raises ConfigError when the run has no such epoch."""
        if not 1 <= number <= len(self.plan.epochs):
            raise ConfigError(f"epoch {number}: run {self.plan.run} has epochs 1 to {len(self.plan.epochs)}")
        return self.plan.epochs[number - 1]

    def epoch_of(self, step: int) -> EpochPlan:
        """Return the epoch of a step."""
        return self.epoch(self.step(step).epoch)

    def skill_before(self, step: int) -> str:
        """Return the skill a step starts from."""
        epoch = self.epoch_of(step)
        if step > epoch.first_step or epoch.epoch == 1:
            return f"skills/skill_v{step - 1:04d}.md"
        return self.skill_after_epoch(epoch.epoch - 1)

    def skill_after_epoch(self, epoch: int) -> str:
        """Return the skill that starts the next epoch."""
        if self._optimizer.use_slow_update:
            return f"slow_update/epoch_{epoch:02d}/skill.md"
        return self.last_step_skill(epoch)

    def last_step_skill(self, epoch: int) -> str:
        """Return the skill after the last step of an epoch."""
        return f"skills/skill_v{self.epoch(epoch).last_step:04d}.md"

    def state_before(self, step: int) -> str:
        """Return the gate record that a step's gate starts from."""
        epoch = self.epoch_of(step)
        if step > epoch.first_step or epoch.epoch == 1:
            return f"steps/step_{step - 1:04d}/gate.json"
        return self.state_after_epoch(epoch.epoch - 1)

    def state_after_epoch(self, epoch: int) -> str:
        """Return the gate record at the end of an epoch."""
        if self._optimizer.use_slow_update:
            return f"slow_update/epoch_{epoch:02d}/gate.json"
        return f"steps/step_{self.epoch(epoch).last_step:04d}/gate.json"

    def memory_within_epoch(self, step: int) -> list[str]:
        """Return the record that holds the digests of the epoch's earlier steps (none for the first)."""
        return [self.state_before(step)] if step > self.epoch_of(step).first_step else []

    def memory_across_epochs(self, step: int) -> list[str]:
        """Return the optimizer's memory for a step (none before epoch 3)."""
        return self.meta_skill_of(self.step(step).epoch - 1)

    def meta_skill_of(self, epoch: int) -> list[str]:
        """Return the memory that an epoch ended with (none before epoch 2, or when switched off).

        Only the next epoch asks for it, so that the last epoch makes none.
        """
        if not self._optimizer.use_meta_skill or epoch < 2:
            return []
        return [f"meta_skill/epoch_{epoch:02d}/meta_skill.json"]

    def skill_before_epoch(self, epoch: int) -> list[str]:
        """Return the skill that an epoch began with (none for epoch 1, which compares nothing)."""
        return [self.skill_after_epoch(epoch - 1)] if epoch > 1 else []

    def last_skill_before_epoch(self, epoch: int) -> str:
        """Return the skill after the last step of the epoch before."""
        return self.last_step_skill(epoch - 1)

    def memory_before_epoch(self, epoch: int) -> list[str]:
        """Return the optimizer's memory that an epoch began with (none before epoch 3)."""
        return self.meta_skill_of(epoch - 1)

    def last_step_state(self, epoch: int) -> str:
        """Return the gate record of the last step of an epoch."""
        return f"steps/step_{self.epoch(epoch).last_step:04d}/gate.json"

    def last_rollouts(self, epoch: int) -> str:
        """Return the rollouts of the last step of an epoch."""
        return f"steps/step_{self.epoch(epoch).last_step:04d}/rollouts.jsonl"

    def compared_skills(self, epoch: int) -> tuple[str, str]:
        """Return the skills at the end of the previous epoch and of this one's steps."""
        return self.skill_after_epoch(epoch - 1), self.last_step_skill(epoch)

    def comparison(self, epoch: int) -> str | None:
        """Return the folder of an epoch's comparison, None where there is none."""
        wanted = self._optimizer.use_slow_update or self._optimizer.use_meta_skill
        return f"slow_update/epoch_{epoch:02d}" if epoch > 1 and wanted else None

    def step_files(self, epoch: int, name: str) -> list[str]:
        """Return one file of every step of an epoch, the oldest first."""
        planned = self.epoch(epoch)
        return [f"steps/step_{s:04d}/{name}" for s in range(planned.first_step, planned.last_step + 1)]

    def gates(self) -> list[str]:
        """Return every gate record, the oldest first."""
        return gate_files(self.plan, self._optimizer.use_slow_update)

    def last_skill(self) -> str:
        """Return the skill at the end of training."""
        return self.skill_after_epoch(self.plan.num_epochs)

    def last_gate(self) -> str:
        """Return the gate record at the end of training."""
        return self.state_after_epoch(self.plan.num_epochs)

    def last_rows(self) -> list[str]:
        """Return selection rows of the last skill where a run may end with a text no gate has seen."""
        return ["eval/val/last/rollouts.jsonl"] if may_end_unscored(self._optimizer) else []

    def tests(self) -> list[str]:
        """Return the score files of the test evaluations, and of their repeats where there are some."""
        if not self.resolved.settings.evaluation.eval_test:
            return []
        return [
            f"eval/test/{skill}/{name}.json"
            for skill in ("initial", "best", "last")
            for name in ("scores", *self.repeats)
        ]

    @property
    def repeats(self) -> tuple[str, ...]:
        """Return the name of the file with the repeats of an evaluation, where it is done several times."""
        return ("repeats",) if self.resolved.settings.evaluation.repeats > 1 else ()


_APART = frozenset({"plan", "repeat", "tabulate"})
"""Phases that are in the basis as the plan itself, or that an evaluation beside the training may do."""


def basis_of(resolved: Resolved, plan: Plan) -> str:
    """Return a hash of what decides the results of a run, prompts apart: settings, plan, items."""
    settings = {phase: deciding(resolved, phase) for phase in PHASES if phase not in _APART}
    splits = {name: split.sha256 for name, split in plan.splits.items()}
    return sha256(canonical([settings, splits, plan.epochs, plan.steps]))


def gate_files(plan: Plan, slow_update: bool) -> list[str]:
    """Return every gate record of a plan, the oldest first; with `slow_update` also those of epochs."""
    found = ["steps/step_0000/gate.json"]
    for epoch in plan.epochs:
        found += [f"steps/step_{s:04d}/gate.json" for s in range(epoch.first_step, epoch.last_step + 1)]
        if slow_update:
            found.append(f"slow_update/epoch_{epoch.epoch:02d}/gate.json")
    return found


def compared(plan: Plan, optimizer: Optimizer) -> tuple[EpochPlan, ...]:
    """Return the epochs whose end is compared with their beginning."""
    return plan.epochs[1:] if optimizer.use_slow_update else remembered(plan, optimizer)


def remembered(plan: Plan, optimizer: Optimizer) -> tuple[EpochPlan, ...]:
    """Return the epochs that leave a memory: there is a later one to read it."""
    return plan.epochs[1:-1] if optimizer.use_meta_skill else ()


def may_end_unscored(optimizer: Optimizer) -> bool:
    """Whether the last skill may have a text that no gate has seen."""
    ungated = optimizer.use_slow_update and not optimizer.slow_update_gate_with_selection
    return ungated or optimizer.use_skill_aware_reflection
