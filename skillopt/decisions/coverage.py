"""When a phase has too few scores to be trusted."""

from collections import Counter
from collections.abc import Sequence

from skillopt.errors import LowCoverage
from skillopt.records import UNSCORED, Row


def require_coverage(rows: Sequence[Row], min_coverage: float, what: str) -> None:
    """Raise LowCoverage, naming the commonest error, when too few rows have a score.

    `min_coverage` is a share; no row with a score is never enough.
    """
    failed = [row for row in rows if row.status in UNSCORED]
    scored = len(rows) - len(failed)
    if scored and scored >= min_coverage * len(rows):
        return
    errors = Counter(_cause(row) for row in failed)
    commonest, times = errors.most_common(1)[0] if errors else ("there are no items", 0)
    raise LowCoverage(
        f"{what}: {scored} of {len(rows)} items have a score, expected a share of at least {min_coverage} "
        f"(evaluation.min_coverage). Commonest error ({times} times): {commonest}. "
        "Run the same command again: only what is missing is paid for."
    )


def _cause(row: Row) -> str:
    return f"{row.status}: {row.error.message}" if row.error else row.status
