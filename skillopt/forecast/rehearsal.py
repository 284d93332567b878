"""How long the prompts of a run are, and which of its first requests the store holds: no call is made.

The phases themselves build the prompts, from the real items, the real templates and the initial skill. In
place of a model there is one that looks into the store, or one that gives a made-up answer of usual length.
"""

import json
from collections.abc import Sequence

import msgspec

from skillopt.config.settings import Settings
from skillopt.data import Splits
from skillopt.forecast.counts import Size
from skillopt.models.base import CallError, Reply, Request, Role, RoleModel
from skillopt.models.client import Client
from skillopt.models.estimates import ASSUMED_COMPLETION, CHARS_PER_TOKEN, prompt_tokens
from skillopt.models.store import Store, key_maker
from skillopt.phases.aggregate import Merger
from skillopt.phases.meta_skill import meta_skill
from skillopt.phases.reflect import Context, Group, reflect
from skillopt.phases.rollout import Bench, roll_out
from skillopt.phases.select import Chooser, Situation
from skillopt.phases.slow_update import PairViews, slow_update, view_pairs
from skillopt.phases.update import collect_notes, draft_from_suggestions
from skillopt.progress import Board
from skillopt.records import Item, Pair, PairKind, Pairs, Patch, Plan, Reflections, Row, Suggestion, Usage
from skillopt.skill import visible


class _NoModel(Client):
    """Stands in a phase's place for the model; makes no call and keeps no accounts."""

    def __init__(self, role: RoleModel) -> None:
        self.role = role
        self.board = Board(quiet=True)
        self.prompts: list[int] = []


class Looker(_NoModel):
    """Notes the key and the prompt tokens of a first request, and answers nothing."""

    def __init__(self, role: RoleModel) -> None:
        super().__init__(role)
        self._key_of = key_maker(role)
        self.keys: list[str] = []

    async def call(self, request: Request) -> Reply:
        """Raise CallError, which ends the item."""
        self.keys.append(self._key_of(request))
        self.prompts.append(prompt_tokens(request))
        raise CallError("only looked at")


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """The first request of an item with the initial skill: its key and tokens, whether the reply is held."""

    key: str
    prompt: int
    held: bool = False
    looked: bool = True


async def look(
    items: Sequence[Item], skill: str, bench: Bench, role: RoleModel, store: Store, *, seed: int, most: int
) -> dict[str, Seen]:
    """Build the first requests of items, and look them up in the store.

    At most `most` items are looked at (0: all); the others are taken for new, and as long as the mean.
    An item that makes no request has its id as key.
    """
    found: dict[str, Seen] = {}
    for item in items[: most or None]:
        looker = Looker(role)
        await roll_out([item], visible(skill), bench, looker, width=1, seed=seed, what="")
        if looker.keys:
            key = looker.keys[0]
            found[item.id] = Seen(key=key, prompt=looker.prompts[0], held=store.get(key) is not None)
        else:
            found[item.id] = Seen(key=item.id, prompt=0)
    mean = sum(one.prompt for one in found.values()) // max(len(found), 1)
    others = {item.id: Seen(key=item.id, prompt=mean, looked=False) for item in items[len(found) :]}
    return found | others


class _Actor(_NoModel):
    """Gives one made-up answer to everything; notes the prompt tokens of each request."""

    def __init__(self, role: RoleModel, text: str) -> None:
        super().__init__(role)
        self._text = text

    async def call(self, request: Request) -> Reply:
        """Return the answer."""
        self.prompts.append(prompt_tokens(request))
        return Reply(text=self._text, usage=Usage(calls=1))

    def first(self) -> int:
        """Return the tokens of the first prompt since the last look; 0 for none."""
        first = self.prompts[0] if self.prompts else 0
        self.prompts.clear()
        return first


def _text(role: Role, share: float = 1.0) -> str:
    """Return filler of a usual answer's length."""
    return "words and ".ljust(10) * round(ASSUMED_COMPLETION[role] * CHARS_PER_TOKEN * share / 10)


def _answer(settings: Settings) -> str:
    """Return an answer that every call of the optimizer can use, in the run's update mode."""
    mode, count = settings.optimizer.skill_update_mode, settings.optimizer.learning_rate
    changes: dict[str, object] = {"reasoning": "r"}
    if mode == "patch":
        edit = {"op": "append", "content": _text("optimizer", 0.8 / count)}
        changes["edits"] = [edit] * count
    elif mode == "rewrite_from_suggestions":
        suggestion = {"type": "t", "title": "t", "instruction": _text("optimizer", 0.8 / count)}
        changes["revise_suggestions"] = [suggestion] * count
    else:
        changes["skill_candidates"] = [{"title": "t", "new_skill": _text("optimizer", 0.8)}]
    threshold = settings.optimizer.skill_aware_consolidate_threshold
    others = {
        "patch": changes,
        "failure_summary": [{"failure_type": "t", "count": 1, "description": "d"}],
        "appendix_notes": [f"note {number}: {_text('optimizer', 0.03)}" for number in range(threshold + 1)],
        "notes": ["short"],
        "selected_indices": [0],
        "learning_rate": 1,
        "new_skill": _text("optimizer", 0.8),
        "slow_update_content": _text("optimizer", 0.3),
        "meta_skill_content": _text("optimizer", 0.3),
    }
    return json.dumps(changes | others)


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    """What a rehearsal needs. `patches` is how many proposals a merge joins."""

    settings: Settings
    bench: Bench
    roles: dict[Role, RoleModel]
    plan: Plan
    splits: Splits
    patches: int


async def rehearse(stage: Stage, skill: str, pairs: PairKind) -> dict[Size, int]:
    """Return the prompt tokens of each call of the optimizer with this skill.

    At the end of an epoch all pairs are of one kind: `stable_success` is the shortest to tell,
    `persistent_fail` the longest.
    """
    actor = _Actor(stage.roles["optimizer"], _answer(stage.settings))
    batch = stage.plan.steps[0].batches[0].ids[: stage.settings.gradient.minibatch_size]
    reflections = await _reflect(stage, skill, batch, actor)
    sizes: dict[Size, int] = {"reflect": actor.first()}
    proposed = reflections.groups[0].patch or Patch()
    await _merger(stage, skill, actor).merge([proposed] * stage.patches, "failure", 1)
    sizes["merge"] = actor.first()
    await _choose(stage, skill, proposed, actor)
    sizes["choose"] = actor.first()
    await _update(stage, skill, proposed, reflections, actor)
    sizes["update"] = actor.first()
    sizes |= await _at_the_end(stage, skill, pairs, actor)
    return sizes


async def _act(stage: Stage, skill: str, ids: Sequence[str]) -> list[Row]:
    """Have items of the train split done by a target that says something of usual length."""
    train = {item.id: item for item in stage.splits.train}
    target = _Actor(stage.roles["target"], _text("target"))
    seed = stage.settings.train.seed
    items = [train[id_] for id_ in ids]
    return await roll_out(items, visible(skill), stage.bench, target, width=8, seed=seed, what="")


async def _reflect(stage: Stage, skill: str, ids: Sequence[str], actor: _Actor) -> Reflections:
    rows = await _act(stage, skill, ids)
    groups = [Group(side="failure", micro_batch=0, rows=tuple(rows))]
    context = Context(skill=skill, history=(), memory="")
    items = {item.id: item for item in stage.splits.train}
    return await reflect(1, rows, groups, context, actor, stage.settings, stage.bench.environment, items)


def _merger(stage: Stage, skill: str, actor: _Actor) -> Merger:
    prompts = stage.bench.environment.prompts
    return Merger(client=actor, settings=stage.settings, prompts=prompts, skill=skill, memory="")


async def _choose(stage: Stage, skill: str, proposed: Patch, actor: _Actor) -> None:
    situation = Situation(skill=skill, history=(), memory="", hard=0.5, soft=0.5, n=1)
    prompts = stage.bench.environment.prompts
    chooser = Chooser(client=actor, settings=stage.settings, prompts=prompts, situation=situation)
    await chooser.rank(proposed.edits or proposed.suggestions, 1)


async def _update(stage: Stage, skill: str, proposed: Patch, reflections: Reflections, actor: _Actor) -> None:
    settings, prompts = stage.settings, stage.bench.environment.prompts
    if settings.optimizer.skill_update_mode == "rewrite_from_suggestions":
        nothing = Patch(suggestions=(Suggestion(type="t", title="t", instruction="i"),))
        await draft_from_suggestions(
            skill, nothing if proposed.empty else proposed, (), actor, settings, prompts
        )
    else:
        await collect_notes(skill, reflections, actor, settings, prompts)


async def _at_the_end(stage: Stage, skill: str, kind: PairKind, actor: _Actor) -> dict[Size, int]:
    epoch = stage.plan.epochs[0]
    rows = await _act(stage, skill, epoch.comparison[: epoch.sample])
    views = _views(stage, rows, kind)
    bench = stage.bench.environment
    await slow_update(2, (skill, skill), views, (), actor, stage.settings, bench)
    slow = actor.first()
    await meta_skill(2, (skill, skill), "", views, actor, stage.settings, bench)
    return {"slow_update": slow, "meta_skill": actor.first()}


def _views(stage: Stage, rows: list[Row], kind: PairKind) -> PairViews:
    pairs = tuple(Pair(id=row.id, kind=kind, previous=(0.0, 0.0), current=(0.0, 0.0)) for row in rows)
    references = {item.id: stage.bench.environment.reference(item) for item in stage.splits.train}
    return view_pairs(
        Pairs(epoch=2, policy="mixed", sampled=len(rows), topped_up=0, pairs=pairs), rows, rows, references
    )
