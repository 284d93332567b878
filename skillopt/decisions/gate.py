"""The gate: a candidate replaces the current skill only if it scores strictly better.

Both scores are taken on the items that both have (arXiv 2605.23904, section on validation gating).
"""

import re
from collections.abc import Sequence

import msgspec

from skillopt.decisions.scoring import Metric, pair, score
from skillopt.errors import LowCoverage
from skillopt.records import GateAction, Results, Score, Scored, State

_ROUNDING = 1e-9
"""By this much sums of equal worth may differ: 0.1 + 0.2 is above 0.3. Real differences are larger."""


class GateRule(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of the gate. `density_weight` 0 leaves the style term out."""

    metric: Metric = "hard"
    mixed_weight: float = 0.5
    use_gate: bool = True
    early_reject: bool = False
    density_weight: float = 0.0
    leading_words: tuple[str, ...] = ()


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What the gate decided, and on what numbers."""

    action: GateAction
    candidate: Score
    compared: Score
    left_out: int
    at_most: float | None
    paired: int
    improved: tuple[str, ...]
    regressed: tuple[str, ...]
    density: dict[str, float] | None
    state: State


def strictly_better(candidate: Scored, other: Scored, rule: GateRule) -> bool:
    """Whether `candidate` beats `other` on the items that both have; rounding beats nobody."""
    mine, theirs = _paired_scores(candidate, other, rule)
    if mine.value is None or theirs.value is None:
        raise LowCoverage(
            f"gate: {candidate.skill} and {other.skill} have no item with a score on both sides, "
            "so they cannot be compared. Run the same command again to score what is missing."
        )
    return mine.value + _bonus(candidate, rule) - theirs.value - _bonus(other, rule) > _ROUNDING


def at_best(candidate: Scored, current: Scored) -> Scored:
    """Return the candidate with full marks on the items that only `current` has done."""
    left = [id_ for id_ in current.results if id_ not in candidate.results]
    return msgspec.structs.replace(candidate, results=candidate.results | dict.fromkeys(left, (1.0, 1.0)))


def decide(candidate: Scored, state: State, rule: GateRule) -> Verdict:
    """Compare a candidate with the current and the best skill and return the new state.

    A candidate that was given up early is judged by the most that it could have reached.
    """
    most = at_best(candidate, state.current)
    left_out = len(most.results) - len(candidate.results)
    accepted = strictly_better(most, state.current, rule)
    if left_out and accepted:
        raise ValueError(f"{candidate.origin}: {left_out} items are missing that can make it the better one")
    new_best = (accepted or not rule.use_gate) and strictly_better(candidate, state.best, rule)
    action: GateAction = (
        "accept_new_best" if new_best and rule.use_gate else "accept" if accepted else "reject"
    )
    if not rule.use_gate:
        action = "force_accept"
    mine, theirs = pair(candidate.results, state.current.results)
    bound, compared = _paired_scores(most, state.current, rule)
    done = score(mine, rule.metric, rule.mixed_weight)
    return Verdict(
        action=action,
        candidate=msgspec.structs.replace(done, total=bound.total),
        compared=compared,
        left_out=left_out,
        at_most=bound.value if left_out else None,
        paired=len(mine),
        improved=tuple(id_ for id_ in mine if _gain(mine, theirs, id_, rule) > 0),
        regressed=tuple(id_ for id_ in mine if _gain(mine, theirs, id_, rule) < 0),
        density=_densities(candidate, state.current, rule),
        state=State(
            current=state.current if action == "reject" else candidate,
            best=candidate if new_best else state.best,
            scored=state.scored if left_out else {candidate.visible_sha256: candidate.origin, **state.scored},
            memory=state.memory,
        ),
    )


def resolution(n: int) -> str:
    """Say what a gate with `n` selection items can see."""
    return f"with {n} selection items, hard moves in steps of {1 / n:.3g}"


def has_headroom(initial: Scored, rule: GateRule) -> bool:
    """Whether any candidate can score better than the initial skill; the style term has no end."""
    value = initial.score.value
    return value is None or value < 1 - _ROUNDING or rule.density_weight > 0


def density(text: str, leading_words: Sequence[str]) -> float:
    """Return the share of the words of `text` that are strong words."""
    strong = {word.lower() for word in leading_words}
    words = re.findall(r"[\w']+", text.lower())
    return sum(word in strong for word in words) / len(words) if words else 0.0


def _gain(mine: Results, theirs: Results, id_: str, rule: GateRule) -> float:
    """Return how much one item gained by the metric of the gate."""
    before, after = (
        score({id_: results[id_]}, rule.metric, rule.mixed_weight).value for results in (theirs, mine)
    )
    return 0.0 if before is None or after is None else after - before


def _paired_scores(candidate: Scored, other: Scored, rule: GateRule) -> tuple[Score, Score]:
    mine, theirs = pair(candidate.results, other.results)
    return score(mine, rule.metric, rule.mixed_weight), score(theirs, rule.metric, rule.mixed_weight)


def _bonus(scored: Scored, rule: GateRule) -> float:
    return rule.density_weight * scored.density if rule.density_weight else 0.0


def _densities(candidate: Scored, current: Scored, rule: GateRule) -> dict[str, float] | None:
    if not rule.density_weight:
        return None
    return {"weight": rule.density_weight, "candidate": candidate.density, "current": current.density}
