"""The report of one run: what the page shows, put together from the run's files."""

from collections import Counter
from collections.abc import Sequence

import msgspec

from skillopt.errors import ConfigError, ExitCode
from skillopt.models.ledger import Totals, spent
from skillopt.models.prices import dollars
from skillopt.phases.summary import simulated_roles
from skillopt.report.facts import Measure, SkillScores, calls_of, measure, silent_phases, skills_of, times_of
from skillopt.report.figures import Figure, fates_in_words
from skillopt.report.lineage import Lineage, lineage_of
from skillopt.report.options import options_of
from skillopt.report.record import RunRecord
from skillopt.report.render import page
from skillopt.report.sections import Section, sections_of

MOST_REASONS = 3
"""Reasons that the top of the page names."""


class Tile(msgspec.Struct, frozen=True, kw_only=True):
    """One number at the top of the page, and what stands below it."""

    name: str
    value: str
    note: str


def render_report(record: RunRecord, figures: dict[str, Figure]) -> str:
    """Return the whole page of a run, finished or not."""
    skills = skills_of(record)
    calls = calls_of(record)
    sections, test = sections_of(record)
    resolved = record.resolved
    options = options_of(resolved) if resolved else []
    return page(
        "report.html.j2",
        record=record,
        state=state_of(record),
        simulated=simulated_roles(resolved) if resolved else (),
        models={name: f"{m.backend}/{m.model}" for name, m in resolved.roles.items()} if resolved else {},
        tiles=_tiles(record, skills, calls),
        missing=record.missing(),
        figures=figures,
        skills=skills,
        lineage=_lineage(record),
        sections=sections,
        test=test,
        calls=calls,
        times=times_of(record),
        silent=silent_phases(record),
        chosen=[option for option in options if option.origin],
        defaults=[option for option in options if not option.origin],
        unusable=_notice_of_unusable(sections),
        problems=list(dict.fromkeys(record.files.problems)),
    )


class UnusableNotice(msgspec.Struct, frozen=True, kw_only=True):
    """What the page says of answers that could not be used: how many, in which decisions, why, most first.

    `unanswered` minibatches got no other.
    """

    count: int
    unanswered: int
    places: tuple[tuple[str, str], ...]
    reasons: tuple[tuple[str, int], ...]


def _notice_of_unusable(sections: Sequence[Section]) -> UnusableNotice | None:
    """Sum up what every section tells of such answers; None when all could be used."""
    said = [problem.reason for part in sections for problem in part.problems]
    if not said:
        return None
    kinds = Counter(map(_kind, said))
    examples = {_kind(reason): reason for reason in reversed(said)}
    return UnusableNotice(
        count=len(said),
        unanswered=sum(part.unanswered for part in sections),
        places=tuple((part.decision.key, part.decision.name) for part in sections if part.problems),
        reasons=tuple((examples[kind], count) for kind, count in kinds.most_common(MOST_REASONS)),
    )


def _kind(reason: str) -> str:
    """Return a reason without its details, such as where in the text the JSON broke off."""
    return reason.partition(": ")[0]


def state_of(record: RunRecord) -> str:
    """Say in a word or two how the run ended, or that it has not."""
    if record.failures:
        interrupted = all(failure.code == ExitCode.INTERRUPTED for failure in record.failures)
        return "interrupted" if interrupted else "stopped by a failure"
    if record.finished and record.summary:
        return record.summary.outcome.replace("_", " ")
    return "unfinished"


def _lineage(record: RunRecord) -> Lineage | None:
    try:
        return lineage_of(record)
    except ConfigError:  # no skill yet: the page says so in its place
        return None


def _tiles(record: RunRecord, skills: Sequence[SkillScores], calls: Sequence[Totals]) -> list[Tile]:
    """Return the numbers that people look for first."""
    kind = "soft" if record.metric == "soft" else "hard"
    by_name = {skill.name: skill for skill in skills}
    found = []
    for split in ("selection", "test"):
        before, after = (getattr(by_name.get(name), split, None) for name in ("initial", "best"))
        if before and after:
            found.append(_score_tile(f"{split}, {kind}", measure(before, kind), measure(after, kind)))
    done = f"{record.steps_done} of {record.steps}"
    found.append(Tile(name="steps", value=done, note=fates_in_words(record.done)))
    if calls:
        found.append(_calls_tile(calls))
    return found


def _score_tile(name: str, before: Measure, after: Measure) -> Tile:
    if before.mean is None or after.mean is None:
        return Tile(name=name, value="no score", note="")
    interval = f"95%: {after.low:.2f} to {after.high:.2f}; n\u00a0=\u00a0{after.n}"
    return Tile(name=name, value=f"{after.mean:.3f}", note=f"from {before.mean:.3f}; {interval}")


def _calls_tile(calls: Sequence[Totals]) -> Tile:
    found = spent(calls)
    tokens = "tokens unknown" if found.tokens is None else f"{found.tokens:,} tokens"
    cost = "cost unknown (no price)" if found.cost is None else dollars(found.cost)
    more = f"; {found.replayed:,} more replayed" if found.replayed else ""
    return Tile(name="calls made", value=f"{found.made:,}", note=f"{tokens}, {cost}{more}")
