"""Game files for ALFWorld's engine, made of games that are described as the household engine takes them."""

import itertools
import json
from pathlib import Path

from skillopt.envs.alfworld.household import is_lamp, kind_of

_LOGIC = ("alfred.pddl", "alfred.twl2")
_FIXED = ("SinkBasinType", "MicrowaveType", "FridgeType")
_TOOLS = ("KnifeType", "ButterKnifeType")


def ident(name):
    """Return the id that the engine makes this name of: it numbers things of a kind from the last id down."""
    kind, _, number = name.rpartition(" ")
    place = f"_bar_{100 - int(number)}"
    return f"Sink{place}_bar_SinkBasin" if kind == "sinkbasin" else f"{kind.capitalize()}{place}"


def type_of(kind):
    known = {"sinkbasin": "SinkBasin"}
    return f"{known.get(kind, kind.capitalize())}Type"


def problem_of(blueprint):
    places, goal = blueprint.places, blueprint.goal
    things = [thing for place in places for thing in place.holds]
    rtypes = sorted({type_of(kind_of(place.name)) for place in places} | set(_FIXED))
    otypes = sorted({type_of(kind_of(thing)) for thing in things} | set(_TOOLS))
    lines = ["(define (problem game) (:domain alfred)", "(:objects agent1 - agent", "start - location"]
    lines += [f"loc{number} - location" for number in range(len(places))]
    lines += [f"{ident(place.name)} - receptacle" for place in places]
    lines += [f"{ident(thing)} - object" for thing in things]
    lines += [f"{name} - rtype" for name in rtypes] + [f"{name} - otype" for name in otypes]
    lines += [")", "(:init (atLocation agent1 start)", "(= (total-cost) 0)"]
    for number, place in enumerate(places):
        here = ident(place.name)
        lines.append(f"(receptacleAtLocation {here} loc{number})")
        lines.append(f"(receptacleType {here} {type_of(kind_of(place.name))})")
        lines += [f"(openable {here})"] if place.openable else []
        for thing in place.holds:
            lines.append(f"(inReceptacle {ident(thing)} {here})")
            lines.append(f"(objectAtLocation {ident(thing)} loc{number})")
    for thing in things:
        lines.append(f"(objectType {ident(thing)} {type_of(kind_of(thing))})")
        able = ("toggleable",) if is_lamp(thing) else ("pickupable", "heatable", "coolable", "cleanable")
        lines += [f"({word} {ident(thing)})" for word in able]
    lines += [f"(canContain {place} {thing})" for place in rtypes for thing in otypes]
    return "\n".join([*lines, ")", f"(:goal {_goal(goal)})", "(:metric minimize (total-cost))", ")"])


def _goal(goal):
    if goal.lamp:
        return f"""(and
          (exists (?ot - object ?r - receptacle ?a - agent ?l - location)
            (and (objectType ?ot {type_of(goal.lamp)}) (toggleable ?ot) (isToggled ?ot)
                 (receptacleAtLocation ?r ?l) (atLocation ?a ?l) (inReceptacle ?ot ?r)))
          (exists (?o - object ?a - agent) (and (objectType ?o {type_of(goal.thing)}) (holds ?a ?o))))"""
    state = {"hot": "(isHot {0})", "cool": "(isCool {0})", "clean": "(isClean {0})", None: ""}[goal.state]
    there = f"(objectType {{0}} {type_of(goal.thing)}) (inReceptacle {{0}} ?r) {state}"
    names = [f"?o{number}" for number in range(goal.count)]
    inner = " ".join(there.format(name) for name in names)
    inner += "".join(f" (not (= {a} {b}))" for a, b in itertools.combinations(names, 2))
    bound = " ".join(f"{name} - object" for name in names)
    place = f"(receptacleType ?r {type_of(goal.place)})"
    return f"(exists (?r - receptacle) (and {place} (exists ({bound}) (and {inner}))))"


def write_game(blueprint, file):
    """Write a game file; needs the package alfworld, whose rules of the world it holds."""
    import alfworld

    domain, grammar = (
        (Path(alfworld.__file__).parent / "data" / name).read_text(encoding="utf-8") for name in _LOGIC
    )
    content = {
        "pddl_domain": domain,
        "grammar": grammar.replace("UNKNOWN GOAL", blueprint.task),
        "pddl_problem": problem_of(blueprint),
        "solvable": True,
        "walkthrough": [],
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content), encoding="utf-8")
