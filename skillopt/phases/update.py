"""The selected changes are applied to the current skill: the candidate."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from skillopt.config.settings import Settings
from skillopt.decisions.size import too_long
from skillopt.envs.registry import environment
from skillopt.files import read_json, read_text, write_json, write_text
from skillopt.models.base import Request
from skillopt.phases.job import Job, add_job_arguments, open_job
from skillopt.phases.shapes import MAX_ANSWER_TOKENS, NotesAnswer, RewriteAnswer, told
from skillopt.records import (
    Digest,
    EditReport,
    Gate,
    Patch,
    Reflections,
    Selected,
    Update,
    UpdateAction,
    Usage,
)
from skillopt.skill import (
    SkillDocument,
    appendix_notes,
    apply_edits,
    merge_notes,
    replace_body,
    sha256,
    with_appendix,
)
from skillopt.skill.markers import line_end

if TYPE_CHECKING:
    from skillopt.models.client import Client


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate before notes and limits: its text and how it came to be."""

    text: str
    reports: tuple[EditReport, ...] = ()
    summary: str = ""
    problems: tuple[str, ...] = ()
    usage: Usage = Usage()
    no_rewrite: bool = False


class Notes(msgspec.Struct, frozen=True, kw_only=True):
    """The appendix after the step."""

    notes: tuple[str, ...]
    added: int
    consolidated: bool = False
    left_out: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    usage: Usage = Usage()


def draft_from_edits(skill: str, patch: Patch) -> Draft:
    """Apply edits in order; every line that no edit touched stays as it is."""
    text, reports = apply_edits(skill, patch.edits)
    return Draft(text=text, reports=reports)


def draft_from_candidates(skill: str, patch: Patch) -> Draft:
    """Take the first proposed skill that is not empty; regions are carried over."""
    for candidate in patch.candidates:
        if candidate.new_skill.strip():
            return Draft(text=replace_body(skill, candidate.new_skill), summary=candidate.change_summary)
    return Draft(text=skill, no_rewrite=True, problems=("every proposed skill is empty",))


async def draft_from_suggestions(
    skill: str, patch: Patch, history: tuple[Digest, ...], client: "Client", settings: Settings, prompts: Path
) -> Draft:
    """Have the whole body rewritten from the selected suggestions; regions are carried over."""
    from skillopt.models.replies import ask_json
    from skillopt.prompting import render

    messages = render(
        "rewrite",
        folder=prompts,
        skill_body=SkillDocument.parse(skill).body,
        suggestions=patch.suggestions,
        history=history,
    )
    request = Request(
        messages=messages,
        max_completion_tokens=settings.model.rewrite_max_completion_tokens,
        reasoning_effort=settings.model.rewrite_reasoning_effort,
    )
    answer = await ask_json(
        client,
        request,
        RewriteAnswer,
        attempts=settings.calls.answer_attempts,
        check=lambda value: "" if value.new_skill.strip() else "new_skill is empty",
    )
    if answer.value is None:
        return Draft(text=skill, no_rewrite=True, problems=answer.problems, usage=answer.usage)
    return Draft(
        text=replace_body(skill, answer.value.new_skill),
        summary=told(answer.value.change_summary),
        problems=answer.problems,
        usage=answer.usage,
    )


async def collect_notes(
    skill: str, reflections: Reflections, client: "Client", settings: Settings, prompts: Path
) -> Notes:
    """Add the step's notes to the appendix; past the threshold one call compacts them."""
    from skillopt.models.replies import ask_json
    from skillopt.prompting import render

    old = appendix_notes(skill)
    new = [note for group in reflections.groups for note in group.notes]
    notes = merge_notes(old, new)
    collected = Notes(notes=notes, added=len(notes) - len(old))
    threshold = settings.optimizer.skill_aware_consolidate_threshold
    if not threshold or len(notes) <= threshold or not collected.added:
        return collected
    answer = await ask_json(
        client,
        Request(
            messages=render("consolidate", folder=prompts, notes=notes),
            max_completion_tokens=MAX_ANSWER_TOKENS,
        ),
        NotesAnswer,
        attempts=settings.calls.answer_attempts,
        check=lambda value: _shorter(value.notes, notes),
    )
    compact = merge_notes((), answer.value.notes) if answer.value else notes
    return Notes(
        notes=compact,
        added=collected.added,
        consolidated=answer.value is not None,
        problems=answer.problems,
        usage=answer.usage,
    )


def _shorter(answer: tuple[str, ...], notes: tuple[str, ...]) -> str:
    compact = merge_notes((), answer)
    if not compact:
        return "notes is empty"
    if sum(map(len, compact)) >= sum(map(len, notes)):
        return "the notes are not shorter than before"
    return ""


def fit_notes(notes: Notes, skill: str, draft: str, max_chars: int) -> Notes:
    """Leave out the notes that would push the skill or the draft over `max_chars` (0: no limit).

    They are taken in their order, so the old ones stay. A draft that is too long by itself does
    not count: it is refused anyway.
    """
    if not max_chars or not (notes.added or notes.consolidated):
        return notes
    texts = [skill] if too_long(len(skill), len(draft), max_chars) else [skill, draft]
    rooms = [_room(text, max_chars) for text in texts]
    kept: list[str] = []
    left_out: list[str] = []
    for note in notes.notes:
        left = [room - len(f"- {note}{line_end(text)}") for room, text in zip(rooms, texts, strict=True)]
        if min(left) < 0:
            left_out.append(note)
        else:
            kept.append(note)
            rooms = left
    added = max(notes.added - len(left_out), 0)
    return msgspec.structs.replace(notes, notes=tuple(kept), added=added, left_out=tuple(left_out))


def _room(text: str, max_chars: int) -> int:
    """Return how many characters of notes a text may hold; the region around them counts as its own."""
    other = "x" * (len(text) + 1)  # no note that stands there already, which would stay as it is written
    empty = len(with_appendix(text, [other])) - len(f"- {other}{line_end(text)}")
    return max(max_chars, len(text)) - empty


def judge(
    step: int, skill: str, selected: Selected, draft: Draft, notes: Notes, settings: Settings
) -> Update:
    """Decide whether the draft is a candidate for the gate, and record how it came to be."""
    text = _with_notes(draft.text, notes)
    action, detail = _action(skill, text, selected, draft, settings.env.max_skill_chars)
    return Update(
        step=step,
        action=action,
        mode=settings.optimizer.skill_update_mode,
        edits=draft.reports,
        change_summary=draft.summary,
        notes=notes.notes,
        notes_added=notes.added,
        notes_consolidated=notes.consolidated,
        notes_left_out=notes.left_out,
        chars_before=len(skill),
        chars_after=len(text),
        candidate_sha256=sha256(text),
        detail=detail,
        problems=(*draft.problems, *notes.problems),
        usage=draft.usage + notes.usage,
    )


def _action(
    skill: str, text: str, selected: Selected, draft: Draft, max_chars: int
) -> tuple[UpdateAction, str]:
    if selected.patch.empty and selected.how == "nothing":
        return "skip_no_patches", ""
    if draft.no_rewrite:
        return "skip_no_rewrite", ""
    if draft.text == skill:
        return "skip_no_change", ""
    detail = too_long(len(skill), len(text), max_chars)
    return ("skip_too_long" if detail else "candidate"), detail


def _with_notes(text: str, notes: Notes) -> str:
    return with_appendix(text, notes.notes) if notes.added or notes.consolidated else text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line of `skillopt update`."""
    add_job_arguments(parser)
    parser.add_argument("--step", type=int, required=True, help="step, counted from 1")
    parser.add_argument("--skill", type=Path, required=True, help="skill before the step (read)")
    parser.add_argument("--patch", type=Path, required=True, help="patch.json (read)")
    parser.add_argument("--reflections", type=Path, required=True, help="reflections.json (read)")
    parser.add_argument("--state", type=Path, nargs="?", help="gate.json of the epoch's previous step (read)")
    parser.add_argument("--candidate", type=Path, required=True, help="candidate.md (written)")
    parser.add_argument("--out", type=Path, required=True, help="update.json (written)")


def main(args: argparse.Namespace) -> None:
    """Run the phase."""
    job = open_job(args, "update")
    skill = read_text(args.skill)
    selected = read_json(args.patch, Selected)
    reflections = read_json(args.reflections, Reflections)
    history = read_json(args.state, Gate).state.memory if args.state else ()
    if needs_model(selected, reflections):
        draft, notes = _draft_with_model(job, skill, selected, reflections, history)
    else:
        draft, notes = draft_without_model(skill, selected.patch), Notes(notes=appendix_notes(skill), added=0)
    settings = job.resolved.settings
    notes = fit_notes(notes, skill, draft.text, settings.env.max_skill_chars)
    update = judge(args.step, skill, selected, draft, notes, settings)
    write_text(args.candidate, _with_notes(draft.text, notes) if update.action == "candidate" else skill)
    write_json(args.out, update)


def needs_model(selected: Selected, reflections: Reflections) -> bool:
    """Whether the update may call the optimizer: to rewrite the document, or to compact notes."""
    return bool(selected.patch.suggestions) or any(group.notes for group in reflections.groups)


def draft_without_model(skill: str, patch: Patch) -> Draft:
    """Return the draft of an update that rewrites nothing by a model."""
    return draft_from_candidates(skill, patch) if patch.candidates else draft_from_edits(skill, patch)


def _draft_with_model(
    job: Job, skill: str, selected: Selected, reflections: Reflections, history: tuple[Digest, ...]
) -> tuple[Draft, Notes]:
    from skillopt.process import run_async

    settings = job.resolved.settings
    prompts = environment(settings.env.name).prompts

    async def work() -> tuple[Draft, Notes]:
        async with job.client("optimizer", width=1) as client:
            notes = await collect_notes(skill, reflections, client, settings, prompts)
            if not selected.patch.suggestions:
                return draft_without_model(skill, selected.patch), notes
            patch = selected.patch
            return await draft_from_suggestions(skill, patch, history, client, settings, prompts), notes

    return run_async(work())
