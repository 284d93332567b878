"""When a phase has too few scores to be trusted."""

from collections import Counter
from collections.abc import Sequence

from skillopt.errors import LowCoverage, ProviderDead
from skillopt.records import UNSCORED, Row


def require_coverage(rows: Sequence[Row], min_coverage: float, what: str, *, left_out: int = 0) -> None:
    """Raise LowCoverage, naming the commonest error, when too few items have a score.

    `min_coverage` is a share; no item with a score is never enough. Items that were left out, full marks
    being assumed for them, count as scored: an item that always fails is a small part of all as well as of
    those that were done. When the provider failed on each row, however few they are, it is ProviderDead.
    """
    failed = [row for row in rows if row.status in UNSCORED]
    total = len(rows) + left_out
    scored = total - len(failed)
    if scored and scored >= min_coverage * total:
        return
    errors = Counter(_cause(row) for row in failed)
    commonest, times = errors.most_common(1)[0] if errors else ("there are no items", 0)
    dead = rows and all(row.status == "provider_error" for row in rows)
    raise (ProviderDead if dead else LowCoverage)(
        f"{what}: {len(rows) - len(failed)} of {len(rows)} items have a score, expected a share of at least "
        f"{min_coverage} (evaluation.min_coverage). Commonest error ({times} times): {commonest}. "
        "Run the same command again: only what is missing is paid for."
    )


def _cause(row: Row) -> str:
    return f"{row.status}: {row.error.message}" if row.error else row.status


def own_failure_of_all(rows: Sequence[Row]) -> str:
    """Say it when not one reply could be judged, "" otherwise: rarely is that what the skill is about.

    Such rows count as 0 (the target was asked and did not answer as it was told to), but a limit of
    output that is too low, or a model that never takes the form, looks the same.
    """
    answered = [row.status for row in rows if row.status not in UNSCORED]
    if not answered or "scored" in answered:
        return ""
    kinds = ", ".join(sorted(set(answered)))
    return (
        f"none of {len(answered)} replies could be judged ({kinds}): each counts as 0. "
        "Look at the trajectories, and at env.max_completion_tokens, before you pay for more."
    )
