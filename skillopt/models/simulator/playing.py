"""The simulated target in a household game: it goes by the commands it is offered and what it was told.

It sees the task, the earlier steps that its prompt shows and the commands there are. Its habits: it
wanders back and forth, passes closed doors, puts things away as they are, says commands in words of
its own, and takes a task for done once something was moved. Rules of the skill mend them one by one.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from skillopt.models.simulator.text import chance, word_set

RULES = ("look_inside", "new_places", "as_listed", "wash", "warm", "chill", "under_lamp", "second")
STATES = {"wash": "clean", "warm": "heat", "chill": "cool"}
"""The rule that each state of a thing needs, and the verb of the command that makes it."""
_STATE_WORDS = {
    "wash": word_set("clean cleaned wash washed rinse rinsed"),
    "warm": word_set("hot heat heated warm warmed"),
    "chill": word_set("cool cooled cold chill chilled"),
}
_NO_THING = word_set(
    """a an the some of one two both and it them in on to into onto with by under at find look examine put
    place bring carry take move lay set inspect light hold study"""
)
_TASK = re.compile(r"^## Your task\s*\n+(.*?)(?=^## |^\[|\Z)", re.MULTILINE | re.DOTALL)
_STEP = re.compile(r"^\d+\. (.*?) -> (.*)$", re.MULTILINE)
_COMMANDS = re.compile(r"^## Commands\s*$", re.MULTILINE)
_COMMAND = re.compile(r"^- (.+)$", re.MULTILINE)
_THING = re.compile(r"\ban? ([a-z]+ \d+)")
_LAPSES = 0.5  # share of the games in which it says how it puts things down in words of its own
_TURNS_BACK = 0.6  # share of its walks that lead to where it was before


class Chore(NamedTuple):
    """What a task asks: words for the thing and where it goes, the rule of its state, how many."""

    thing: str
    place: str
    state: str
    many: bool

    @property
    def with_lamp(self) -> bool:
        """Whether the thing is to be seen by a lamp."""
        return self.place.endswith("lamp")


class View(NamedTuple):
    """What a prompt shows: the task, the earlier steps (command, what was seen), the commands."""

    task: str
    steps: tuple[tuple[str, str], ...]
    commands: tuple[str, ...]

    def done(self, verb: str) -> list[str]:
        """What stood behind a verb in the commands that were carried out, in order."""
        return [command.removeprefix(verb) for command, _ in self.worked if command.startswith(verb)]

    @property
    def worked(self) -> list[tuple[str, str]]:
        """The steps that changed something."""
        return [step for step in self.steps if not came_to_nothing(step[1])]

    def offered(self, start: str) -> list[str]:
        """The commands that begin so."""
        return [command for command in self.commands if command.startswith(start)]


def is_game(user: str) -> bool:
    """Whether a prompt shows a game and asks for a command."""
    return bool(_COMMANDS.search(user) and _TASK.search(user))


def read_view(user: str) -> View:
    """Take a prompt with a game apart."""
    task = _TASK.search(user)
    commands = _COMMAND.findall(_COMMANDS.split(user)[-1])
    steps = _STEP.findall(_COMMANDS.split(user)[0])
    return View(task.group(1).strip() if task else "", tuple(steps), tuple(commands))


def read_chore(task: str) -> Chore:
    """Say what a task asks: its last word is where, its first noun is what."""
    words = re.findall(r"[a-z]+", task.lower())
    place = words[-1] if words else ""
    state = next((rule for rule, ways in _STATE_WORDS.items() if ways & set(words)), "")
    known = _NO_THING | frozenset().union(*_STATE_WORDS.values())
    things = [word for word in words[:-1] if word not in known]
    return Chore(things[0] if things else "", place, state, bool({"two", "both"} & set(words)))


def is_one(name: str, word: str) -> bool:
    """Whether a thing such as `mug 1` is what a word means, in the singular or plural."""
    kind = name.rpartition(" ")[0]
    return bool(kind) and word in (kind, f"{kind}s", f"{kind}es")


def came_to_nothing(seen: str) -> bool:
    """Whether a command changed nothing."""
    return "nothing happens" in seen.lower() or "nothing was done" in seen.lower()


def play(user: str, rules: frozenset[str]) -> str:
    """Return the whole reply to a prompt with a game under the rules in force."""
    view = read_view(user)
    command = _command(view, rules)
    return f"<think>{_thought(view)}</think>\n<action>{_worded(command, view, rules)}</action>"


def _thought(view: View) -> str:
    held = held_in(view.steps)
    return f"I carry {held}." if held else "My hands are empty."


def _worded(command: str, view: View, rules: frozenset[str]) -> str:
    if "full_sentence" in rules:
        return f"I think that the best thing to do now is to {command}"
    if "list_all" in rules:
        return " or ".join([command, *view.commands[:2]])
    if "context" in rules:
        return f"{command} (to get on with: {view.task})"
    moved = re.fullmatch(r"move (.+) to (.+)", command)
    if moved and "as_listed" not in rules and chance("says", view.task) < _LAPSES:
        return f"put {moved[1]} in {moved[2]}"
    return command


def _command(view: View, rules: frozenset[str]) -> str:
    chore = read_chore(view.task)
    if "first_words" in rules:
        return view.commands[0] if view.commands else "look"
    if "look_often" in rules and view.steps and view.steps[-1][0] != "look":
        return "look"
    held = held_in(view.steps)
    if held and is_one(held, chore.thing):
        return _with_thing(view, chore, held, rules)
    if len(_delivered(view, chore)) >= (2 if chore.many and "second" in rules else 1):
        return "inventory" if view.steps[-1][0] == "look" else "look"
    taken = [command for command in view.offered("take ") if _wanted(command, chore)]
    if taken:
        return taken[0]
    return _search(view, chore.thing, rules)


def held_in(steps: Sequence[tuple[str, str]]) -> str:
    """Return the thing in hand after these steps, "" for none."""
    held = ""
    for command, seen in steps:
        if came_to_nothing(seen):
            continue
        if command.startswith("take "):
            held = command.removeprefix("take ").partition(" from ")[0]
        elif command.startswith("move "):
            held = ""
    return held


def _delivered(view: View, chore: Chore) -> list[str]:
    moves = [move.partition(" to ") for move in view.done("move ")]
    return [thing for thing, _, place in moves if is_one(thing, chore.thing) and is_one(place, chore.place)]


def _wanted(command: str, chore: Chore) -> bool:
    thing, _, place = command.removeprefix("take ").partition(" from ")
    return is_one(thing, chore.thing) and (bool(chore.state) or not is_one(place, chore.place))


def _with_thing(view: View, chore: Chore, held: str, rules: frozenset[str]) -> str:
    if chore.with_lamp:
        return _to_lamp(view, chore, held, rules)
    verb = STATES.get(chore.state, "")
    if chore.state in rules and not [done for done in view.done(f"{verb} ") if done.startswith(f"{held} ")]:
        offered = view.offered(f"{verb} {held} with ")
        if offered:
            return offered[0]
        appliance = {"wash": "sinkbasin", "warm": "microwave", "chill": "fridge"}[chore.state]
        return _go(view, appliance) or _search(view, "", rules)
    here = [c for c in view.offered(f"move {held} to ") if is_one(c.partition(" to ")[2], chore.place)]
    if here:
        return here[0]
    at = _at(view)
    if is_one(at, chore.place) and "look_inside" in rules and f"open {at}" in view.commands:
        return f"open {at}"
    if is_one(at, chore.place):
        return f"move {held} to {at}"
    return _go(view, chore.place) or _search(view, "", rules)


def _to_lamp(view: View, chore: Chore, held: str, rules: frozenset[str]) -> str:
    if "under_lamp" not in rules:
        return f"examine {held}"
    offered = [command for command in view.offered("use ") if is_one(command[4:], chore.place)]
    return offered[0] if offered else _search(view, chore.place, rules)


def _go(view: View, kind: str) -> str:
    ways = [command for command in view.offered("go to ") if is_one(command.removeprefix("go to "), kind)]
    return ways[0] if ways else ""


def _at(view: View) -> str:
    return (view.done("go to ") or [""])[-1]


def _search(view: View, thing: str, rules: frozenset[str]) -> str:
    """Go where the thing was seen, else look on."""
    at, ways = _at(view), [command.removeprefix("go to ") for command in view.offered("go to ")]
    if "unsure" in rules or not ways:
        return "look"
    if "look_inside" in rules and f"open {at}" in view.commands:
        return f"open {at}"
    known = [place for place in _seen_at(view, thing) if place in ways]
    if known:
        return f"go to {known[0]}"
    visited = view.done("go to ")
    if "new_places" in rules:
        new = [place for place in ways if place not in visited]
        return f"go to {new[0] if new else ways[len(visited) % len(ways)]}"
    if visited[-2:-1] and visited[-2] in ways and chance("back", view.task, str(len(visited))) < _TURNS_BACK:
        return f"go to {visited[-2]}"
    return f"go to {ways[int(chance('wander', view.task, str(len(visited))) * len(ways))]}"


def _seen_at(view: View, thing: str) -> list[str]:
    """Return the places where things of this kind were seen and not taken since."""
    at = ""
    found: dict[str, str] = {}
    for command, seen in view.worked:
        if command.startswith("go to "):
            at = command.removeprefix("go to ")
        if command.startswith("take "):
            found.pop(command.removeprefix("take ").partition(" from ")[0], None)
        elif at and command.startswith(("go to ", "open ", "look")):
            found |= {name: at for name in _THING.findall(seen) if is_one(name, thing)}
    return list(dict.fromkeys(found.values()))
