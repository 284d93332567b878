"""Household games of our own: rooms described in JSON, played by a small deterministic engine.

The commands are those of ALFWorld's games. Hands hold one thing at a time; what is openable starts
closed; a thing is heated with a microwave, cooled with a fridge and cleaned with a sinkbasin.
"""

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec

from skillopt.envs.alfworld.engine import TASK_MARK, Scene

State = Literal["hot", "cool", "clean"]
Name = Annotated[str, msgspec.Meta(pattern=r"^[a-z]+ [1-9]\d*$")]
Kind = Annotated[str, msgspec.Meta(pattern=r"^[a-z]+$")]

NOTHING = "Nothing happens."
APPLIANCES: dict[str, tuple[str, State]] = {
    "microwave": ("heat", "hot"),
    "fridge": ("cool", "cool"),
    "sinkbasin": ("clean", "clean"),
}
"""What each kind of appliance does, and the state it leaves."""
_CONTRARY: dict[State, State] = {"hot": "cool", "cool": "hot"}


class Place(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A receptacle, such as `cabinet 1`, and the things in or on it. Lamps are things, too, that stay."""

    name: Name
    holds: tuple[Name, ...] = ()
    openable: bool = False


class Goal(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What wins: `count` things of a kind at a kind of place, in a state; or one held under a lit lamp."""

    thing: Kind
    place: Kind | None = None
    lamp: Kind | None = None
    state: State | None = None
    count: Annotated[int, msgspec.Meta(ge=1)] = 1


class Blueprint(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A game as its item describes it: the task in words, the room, what wins."""

    task: Annotated[str, msgspec.Meta(min_length=1)]
    places: Annotated[tuple[Place, ...], msgspec.Meta(min_length=1)]
    goal: Goal


def kind_of(name: str) -> str:
    """Return the kind of a place or thing: its name without the number."""
    return name.rpartition(" ")[0]


def is_lamp(name: str) -> bool:
    """Whether a thing is a lamp, which can be used and not be taken."""
    return kind_of(name).endswith("lamp")


class House:
    """A game as it is played: `start`, then `act` for each command."""

    def __init__(self, blueprint: Blueprint) -> None:
        self._blueprint = blueprint
        self._things = {place.name: list(place.holds) for place in blueprint.places}
        self._closed = {place.name for place in blueprint.places if place.openable}
        self._openable = frozenset(self._closed)
        self._states: dict[str, set[State]] = {}
        self._lit: set[str] = set()
        self._held = ""
        self._at = ""

    def start(self) -> Scene:
        """Return the first scene."""
        return self._scene(f"{self._room()}\n\n{TASK_MARK} {self._blueprint.task}.")

    def act(self, command: str) -> Scene:
        """Carry out a command; all but those of the last scene change nothing."""
        return self._scene(self._done(command) if command in self._commands() else NOTHING)

    def _scene(self, observation: str) -> Scene:
        return Scene(observation=observation, commands=self._commands(), won=self._won(), over=self._won())

    def _commands(self) -> tuple[str, ...]:
        found = ["inventory", "look"]
        found += [f"go to {name}" for name in self._things if name != self._at]
        if self._held:
            found.append(f"examine {self._held}")
        if self._at:
            found += self._commands_here(self._at)
        return tuple(sorted(set(found)))

    def _commands_here(self, at: str) -> list[str]:
        found = [f"examine {at}"]
        if at in self._openable:
            found.append(f"open {at}" if at in self._closed else f"close {at}")
        if kind_of(at) in APPLIANCES and self._held:
            found.append(f"{APPLIANCES[kind_of(at)][0]} {self._held} with {at}")
        if at in self._closed:
            return found
        found += [f"examine {thing}" for thing in self._things[at]]
        found += [f"use {thing}" for thing in self._things[at] if is_lamp(thing)]
        if self._held:
            found.append(f"move {self._held} to {at}")
        else:
            found += [f"take {thing} from {at}" for thing in self._things[at] if not is_lamp(thing)]
        return found

    def _done(self, command: str) -> str:
        verb, _, rest = command.partition(" ")
        match verb:
            case "go":
                self._at = rest.removeprefix("to ")
                return f"You are now at {self._at}. {self._contents(self._at)}"
            case "open":
                self._closed.discard(rest)
                return f"You open {rest}. {self._contents(rest)}"
            case "close":
                self._closed.add(rest)
                return f"You close {rest}."
            case "take":
                self._held = rest.partition(" from ")[0]
                self._things[self._at].remove(self._held)
                return f"You take {self._held} from {self._at}."
            case "move":
                self._things[self._at].append(self._held)
                moved, self._held = self._held, ""
                return f"You move {moved} to {self._at}."
            case "use":
                return self._switched(rest)
            case "heat" | "cool" | "clean":
                return self._changed(verb)
            case _:
                return self._perceived(verb, rest)

    def _perceived(self, verb: str, name: str) -> str:
        if verb == "inventory":
            held = self._held
            return f"You carry {_article(held)} {held}." if held else "You carry nothing."
        if verb == "examine":
            return self._contents(name) if name in self._things else self._described(name)
        return f"You are at {self._at}. {self._contents(self._at)}" if self._at else self._room()

    def _changed(self, verb: str) -> str:
        state = next(state for done, state in APPLIANCES.values() if done == verb)
        states = self._states.setdefault(self._held, set())
        if state in _CONTRARY:
            states.discard(_CONTRARY[state])
        states.add(state)
        return f"You {verb} {self._held} with {self._at}."

    def _switched(self, lamp: str) -> str:
        self._lit ^= {lamp}
        return f"You switch {lamp} {'on' if lamp in self._lit else 'off'}."

    def _described(self, thing: str) -> str:
        if is_lamp(thing):
            return f"The {thing} is {'on' if thing in self._lit else 'off'}."
        states = sorted(self._states.get(thing, ()))
        return f"The {thing} is {' and '.join(states) if states else 'as it always was'}."

    def _room(self) -> str:
        return f"You are in the middle of a room. Around you there is {_listed(list(self._things))}."

    def _contents(self, place: str) -> str:
        if place in self._closed:
            return f"The {place} is closed."
        where = f"The {place} is open; in it" if place in self._openable else f"On {place}"
        return f"{where} there is {_listed(self._things[place])}."

    def _won(self) -> bool:
        goal = self._blueprint.goal
        if goal.lamp:
            near = self._things.get(self._at, []) if self._at not in self._closed else []
            lit = any(kind_of(thing) == goal.lamp and thing in self._lit for thing in near)
            return lit and kind_of(self._held) == goal.thing
        return goal.count <= sum(
            kind_of(thing) == goal.thing and (goal.state is None or goal.state in self._states.get(thing, ()))
            for place, things in self._things.items()
            if kind_of(place) == goal.place
            for thing in things
        )


class HouseholdGame:
    """A game of our own behind the interface of all games."""

    def __init__(self, blueprint: Blueprint) -> None:
        self._house = House(blueprint)

    async def reset(self) -> Scene:
        """Start the game."""
        return self._house.start()

    async def step(self, command: str) -> Scene:
        """Carry out one command."""
        return self._house.act(command)

    async def close(self) -> None:
        """Nothing is held."""


def _listed(names: Sequence[str]) -> str:
    named = [f"{_article(name)} {name}" for name in names]
    if len(named) < 2:
        return named[0] if named else "nothing"
    return f"{', '.join(named[:-1])} and {named[-1]}"


def _article(name: str) -> str:
    return "an" if name[0] in "aeiou" else "a"


def fault(blueprint: Blueprint) -> str:
    """Say what keeps a game from being played and won ("" for nothing)."""
    goal, places = blueprint.goal, blueprint.places
    names = [name for place in places for name in (place.name, *place.holds)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        return f"expected each name once, found {twice[0]!r} more than once"
    if (goal.place is None) == (goal.lamp is None):
        return "expected a goal with either a place or a lamp"
    kinds = {kind_of(place.name) for place in places}
    things = [kind_of(thing) for place in places for thing in place.holds]
    wanted = goal.place or goal.lamp
    if wanted not in (kinds if goal.place else things):
        return f"expected a {wanted}, as the goal has it, found none"
    if things.count(goal.thing) < goal.count:
        return f"expected {goal.count} of {goal.thing!r}, found {things.count(goal.thing)}"
    made = {state for kind, (_, state) in APPLIANCES.items() if kind in kinds}
    if goal.state and goal.state not in made:
        return f"expected something that makes a thing {goal.state}, found none"
    if House(blueprint).start().won:
        return "expected a task that is still to be done, found that it is"
    return ""


def walkthrough(blueprint: Blueprint) -> list[str]:
    """Return commands that win a playable game: the things that are wanted, one after the other."""
    goal, holders = blueprint.goal, {thing: place.name for place in blueprint.places for thing in place.holds}
    things = [thing for thing in holders if kind_of(thing) == goal.thing]
    there = [thing for thing in things if kind_of(holders[thing]) == goal.place]
    if goal.state or goal.lamp:
        there = []
    target = next(
        name
        for name in (holders if goal.lamp else [place.name for place in blueprint.places])
        if kind_of(name) == (goal.lamp or goal.place)
    )
    walk = _Walk({place.name for place in blueprint.places if place.openable})
    for thing in [thing for thing in things if thing not in there][: goal.count - len(there)]:
        walk.visit(holders[thing])
        walk.commands.append(f"take {thing} from {holders[thing]}")
        if goal.state:
            kind, verb = next((kind, verb) for kind, (verb, s) in APPLIANCES.items() if s == goal.state)
            appliance = next(place.name for place in blueprint.places if kind_of(place.name) == kind)
            walk.visit(appliance)
            walk.commands.append(f"{verb} {thing} with {appliance}")
        walk.visit(holders[target] if goal.lamp else target)
        walk.commands.append(f"use {target}" if goal.lamp else f"move {thing} to {target}")
    return walk.commands


class _Walk:
    """The commands of a walkthrough as they are put together."""

    def __init__(self, closed: set[str]) -> None:
        self.commands: list[str] = []
        self._closed = closed
        self._at = ""

    def visit(self, place: str) -> None:
        """Go to a place, where the player is not there yet, and open it, where it is closed."""
        if place != self._at:
            self.commands.append(f"go to {place}")
            self._at = place
        if place in self._closed:
            self._closed.discard(place)
            self.commands.append(f"open {place}")
