"""Which selection items a candidate has to do: those that can still change what the gate decides.

With `evaluation.early_reject`. Nothing is estimated: a candidate is given up when full marks on all
that is left would not make it better than the current skill.
"""

import math

from skillopt.decisions.gate import GateRule, at_best, strictly_better
from skillopt.decisions.scoring import pair, score
from skillopt.records import Scored

_SHARE = 8
"""At least an eighth of the split is done at once, and then as much again as is done: four rounds at most.

A round takes as long as its slowest call, however few its items are.
"""
_WHOLE = 2 / 3
"""A round of more than this share of the split is one of the whole split: another would cost more time than
it is likely to save calls.
"""


def needed_next(candidate: Scored, current: Scored, rule: GateRule) -> tuple[str, ...]:
    """Return the ids of the items to do next, none when the decision is certain or all are done.

    First come the items that the current skill fails: there a candidate that is no better loses the
    most. At least as many items are needed as points that it has to lose to be out.
    """
    left = [id_ for id_ in current.results if id_ not in candidate.results]
    most = at_best(candidate, current)
    if not left or not strictly_better(most, current, rule):
        return ()
    left.sort(key=lambda id_: _value(current, id_, rule))  # stable: the order of the split among equals
    split = len(current.results)
    needed = max(_to_lose(most, current, rule), math.ceil(split / _SHARE), len(candidate.results))
    return tuple(left[:needed] if needed <= split * _WHOLE else left)


def _value(current: Scored, id_: str, rule: GateRule) -> float:
    """Return what an item counts for the current skill; an item without a score comes last."""
    value = score({id_: current.results[id_]}, rule.metric, rule.mixed_weight).value
    return math.inf if value is None else value


def _to_lose(most: Scored, current: Scored, rule: GateRule) -> int:
    both = pair(most.results, current.results)
    mine, theirs = (score(results, rule.metric, rule.mixed_weight) for results in both)
    lead = (mine.value or 0.0) * mine.n - (theirs.value or 0.0) * theirs.n
    return math.ceil(lead - 1e-6)
