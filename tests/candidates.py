"""Skills with selection results, for tests of what the gate decides."""

from skillopt.decisions.scoring import score
from skillopt.records import Scored, State


def skill(name, hard, soft=None, density=0.0):
    soft = hard if soft is None else soft
    results = {
        f"i{n}": None if value is None else (value, graded)
        for n, (value, graded) in enumerate(zip(hard, soft, strict=True))
    }
    return Scored(
        origin=f"{name}.jsonl",
        skill=f"{name}.md",
        sha256=name,
        visible_sha256=name,
        score=score(results, "hard", 0.5),
        results=results,
        density=density,
    )


def state(current, best=None):
    return State(current=current, best=best or current, scored={current.visible_sha256: current.origin})
