"""Why a household game was lost: what a reader of its steps can see in them."""

import re
from typing import NamedTuple

from skillopt.models.simulator.playing import (
    STATES,
    Chore,
    came_to_nothing,
    held_in,
    is_one,
    read_chore,
)

DESCRIPTIONS = {
    "look_inside": "a closed place was left unopened",
    "new_places": "the agent went back to places that it had already seen",
    "as_listed": "a command was put into other words than those listed, and nothing happened",
    "wash": "the thing was never cleaned",
    "warm": "the thing was never heated",
    "chill": "the thing was never cooled",
    "under_lamp": "the lamp was never used",
    "second": "only one of two things was brought",
}
_NOTE = re.compile(r"^\[note\]\ntask: (.*)$", re.MULTILINE)
_ROLE = re.compile(r"^\[(system|user|assistant|tool|note)\]$", re.MULTILINE)
_ACTION = re.compile(r"<action>(.*?)</action>", re.IGNORECASE | re.DOTALL)
_LISTED = re.compile(r"^commands:\s*$", re.MULTILINE)
_COMMAND = re.compile(r"^- (.+)$", re.MULTILINE)
_OFTEN = 3


class Moment(NamedTuple):
    """A step as the trajectory has it: the commands there were, the one given, what was seen then."""

    commands: tuple[str, ...]
    given: str
    seen: str


def played(trace: str) -> bool:
    """Whether an attempt was a household game."""
    return bool(_NOTE.search(trace) and _LISTED.search(trace))


def causes_of_game(trace: str) -> list[str]:
    """Name the rules whose lack a lost game shows, the plainest first."""
    task = _NOTE.findall(trace)
    chore = read_chore(task[-1] if task else "")
    moments = _moments(trace)
    steps = [(moment.given, moment.seen) for moment in moments if not came_to_nothing(moment.seen)]
    found = []
    if any(_in_other_words(moment) for moment in moments):
        found.append("as_listed")
    if any(_had(steps, "take ", chore.thing)):
        found += _left_out(steps, chore)
    if _passed_by(moments):
        found.append("look_inside")
    if _went_back(steps) >= _OFTEN:
        found.append("new_places")
    return found


def _moments(trace: str) -> list[Moment]:
    parts = _ROLE.split(trace)[1:]
    entries = list(zip(parts[::2], parts[1::2], strict=True))
    found = []
    for place, (role, text) in enumerate(entries[1:-1], 1):
        before, after = entries[place - 1], entries[place + 1]
        given = _ACTION.findall(text)
        if role != "assistant" or before[0] != "user" or after[0] != "user" or not given:
            continue
        listed = _LISTED.split(before[1])
        commands = tuple(_COMMAND.findall(listed[-1])) if len(listed) > 1 else ()
        found.append(Moment(commands, given[-1].strip().lower(), _LISTED.split(after[1])[0].strip()))
    return found


def _in_other_words(moment: Moment) -> bool:
    """Whether nothing came of a command that names two things of one that was listed."""
    if not came_to_nothing(moment.seen) or moment.given in moment.commands:
        return False
    names = set(re.findall(r"[a-z]+ \d+", moment.given))
    return len(names) > 1 and any(
        names == set(re.findall(r"[a-z]+ \d+", command)) for command in moment.commands
    )


def _had(steps: list[tuple[str, str]], verb: str, thing: str) -> list[bool]:
    done = [command.removeprefix(verb) for command, _ in steps if command.startswith(verb)]
    return [is_one(re.split(r" (?:from|to) ", rest)[0], thing) for rest in done]


def _left_out(steps: list[tuple[str, str]], chore: Chore) -> list[str]:
    """Name what should have been done with a thing that was found."""
    if chore.with_lamp:
        return [] if any(command.startswith("use ") for command, _ in steps) else ["under_lamp"]
    moved = sum(_had(steps, "move ", chore.thing))
    if (
        chore.state
        and moved
        and not any(command.startswith(f"{STATES[chore.state]} ") for command, _ in steps)
    ):
        return [chore.state]
    return ["second"] if chore.many and moved == 1 and not held_in(steps) else []


def _passed_by(moments: list[Moment]) -> bool:
    """Whether a place that could be opened never was."""
    could = {command for moment in moments for command in moment.commands if command.startswith("open ")}
    return bool(could - {moment.given for moment in moments})


def _went_back(steps: list[tuple[str, str]]) -> int:
    """Count walks to places that were already visited, with empty hands."""
    count, visited = 0, set()
    for number, (command, _) in enumerate(steps):
        if command.startswith("go to "):
            count += command in visited and not held_in(steps[:number])
            visited.add(command)
    return count
