"""What the report tells of each decision, from the files of its step or epoch."""

from collections.abc import Sequence

import msgspec

from skillopt.records import (
    Candidate,
    Edit,
    EditReport,
    Merged,
    MergeNote,
    MetaSkill,
    Pairs,
    Pattern,
    Reflections,
    Selected,
    SlowUpdate,
    Suggestion,
    Update,
)
from skillopt.report.figures import fate
from skillopt.report.record import Decision, RunRecord
from skillopt.report.textdiff import DiffLine, diff
from skillopt.report.trajectories import Changed, Room, changed

Change = Edit | Suggestion | Candidate


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """An answer of the optimizer that could not be used: of which call, and why."""

    call: str
    reason: str


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """One decision with all that led to it; what is not there yet is None or empty.

    `unanswered` counts the minibatches for which the optimizer gave no usable answer.
    """

    decision: Decision
    fate: str
    update: Update | None = None
    selected: Selected | None = None
    edits: tuple[EditReport, ...] = ()
    changes: tuple[Change, ...] = ()
    clipped: tuple[Change, ...] = ()
    merges: tuple[MergeNote, ...] = ()
    batch: tuple[int, int, int] | None = None
    patterns: tuple[Pattern, ...] = ()
    slow_update: SlowUpdate | None = None
    memory: MetaSkill | None = None
    diff: tuple[DiffLine, ...] = ()
    selection: Changed = Changed()
    comparison: Changed = Changed()
    problems: tuple[Problem, ...] = ()
    unanswered: int = 0


def sections_of(record: RunRecord) -> tuple[list[Section], Changed]:
    """Return a section for each decision that was made or begun, and the items that changed on test."""
    room = Room(places=2 * len(record.decisions) + 1)
    test = _changed_on_test(record, room)
    sections = []
    before: Decision | None = None
    for decision in record.decisions:
        if before is not None and (decision.gate or _begun(record, decision)):
            make = _step_section if decision.is_step else _epoch_section
            sections.append(make(record, before, decision, room))
        before = decision if decision.gate else before
    return sections, test


def _begun(record: RunRecord, decision: Decision) -> bool:
    names = ("rollouts.jsonl", "reflections.json", "pairs.json", "slow_update.json")
    return any(record.files.has(f"{decision.folder}/{name}") for name in names)


def _changed_on_test(record: RunRecord, room: Room) -> Changed:
    before = record.files.rows("eval/test/initial/rollouts.jsonl")
    after = record.files.rows("eval/test/best/rollouts.jsonl")
    new = {row.id: row for row in after}
    kinds = []
    for row in before:
        other = new.get(row.id)
        if other and row.hard is not None and other.hard is not None and row.hard != other.hard:
            kinds.append((row.id, "improved" if other.hard > row.hard else "regressed"))
    return changed(kinds, before, after, room)


def _step_section(record: RunRecord, before: Decision, decision: Decision, room: Room) -> Section:
    files, folder = record.files, decision.folder
    reflections = files.json(f"{folder}/reflections.json", Reflections)
    merged = files.json(f"{folder}/merged.json", Merged)
    selected = files.json(f"{folder}/patch.json", Selected)
    update = files.json(f"{folder}/update.json", Update)
    digest = decision.gate.digest if decision.gate else None
    return Section(
        decision=decision,
        fate=fate(decision),
        update=update,
        selected=selected,
        edits=update.edits if update else (),
        changes=(*selected.patch.suggestions, *selected.patch.candidates) if selected else (),
        clipped=(*selected.clipped.edits, *selected.clipped.suggestions) if selected else (),
        merges=merged.merges if merged else (),
        batch=_batch(reflections),
        patterns=digest.patterns if digest else (),
        diff=_diff_of(record, before, decision),
        selection=_selection(record, before, decision, room),
        problems=_problems(reflections, merged, selected, update),
        unanswered=sum(group.patch is None for group in reflections.groups) if reflections else 0,
    )


def _batch(reflections: Reflections | None) -> tuple[int, int, int] | None:
    if reflections is None:
        return None
    return reflections.succeeded, reflections.failed, reflections.unscored


def _problems(
    reflections: Reflections | None, merged: Merged | None, selected: Selected | None, update: Update | None
) -> tuple[Problem, ...]:
    """Collect what the optimizer answered that could not be used."""
    found: list[Problem] = []
    for group in reflections.groups if reflections else ():
        found += _named(f"reflect, {group.kind} group of {len(group.ids)}", group.problems)
    for merge in merged.merges if merged else ():
        found += _named(f"aggregate, {merge.outcome}", merge.problems)
    found += _named(f"select, {selected.how}", selected.problems) if selected else []
    found += _named("update", update.problems) if update else []
    return tuple(found)


def _named(call: str, reasons: Sequence[str]) -> list[Problem]:
    return [Problem(call=call, reason=reason) for reason in reasons]


def _epoch_section(record: RunRecord, before: Decision, decision: Decision, room: Room) -> Section:
    files, folder = record.files, decision.folder
    pairs = files.json(f"{folder}/pairs.json", Pairs)
    kinds = [(pair.id, pair.kind) for pair in pairs.pairs] if pairs else []
    slow = files.json(f"{folder}/slow_update.json", SlowUpdate)
    memory = files.json(f"meta_skill/epoch_{decision.epoch:02d}/meta_skill.json", MetaSkill)
    return Section(
        decision=decision,
        fate=fate(decision),
        slow_update=slow,
        memory=memory,
        diff=_diff_of(record, before, decision),
        selection=_selection(record, before, decision, room),
        comparison=changed(
            [entry for entry in kinds if entry[1] in ("improved", "regressed")],
            files.rows(f"{folder}/previous.jsonl"),
            files.rows(f"{folder}/current.jsonl"),
            room,
        ),
        problems=(
            *_named("slow_update", slow.problems if slow else ()),
            *_named("meta_skill", memory.problems if memory else ()),
        ),
    )


def _selection(record: RunRecord, before: Decision, decision: Decision, room: Room) -> Changed:
    """Pair the items whose result on the selection split the candidate changed."""
    gate = decision.gate
    if gate is None or before.gate is None or not (gate.improved or gate.regressed):
        return Changed()
    kinds = [(id_, "regressed") for id_ in gate.regressed] + [(id_, "improved") for id_ in gate.improved]
    old = record.files.rows(before.gate.state.current.origin)
    return changed(kinds, old, record.files.rows(f"{decision.folder}/selection.jsonl"), room)


def _diff_of(record: RunRecord, before: Decision, decision: Decision) -> tuple[DiffLine, ...]:
    old = record.files.text(before.after)
    if before.key == "start":
        old = record.files.text("skills/skill_v0000.md")
    new = record.files.text(f"{decision.folder}/candidate.md")
    return diff(old, new) if old is not None and new is not None else ()
