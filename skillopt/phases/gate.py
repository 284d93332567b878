"""The decision: the candidate becomes the current skill, or it does not."""

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path

import msgspec

from skillopt.config.resolved import Resolved, read_resolved
from skillopt.config.settings import Settings
from skillopt.decisions.early import needed_next
from skillopt.decisions.gate import GateRule, decide, density, has_headroom, resolution
from skillopt.decisions.scoring import results_of, score
from skillopt.errors import ConfigError, CorruptFile
from skillopt.files import read_json, read_jsonl, read_text, write_json, write_text
from skillopt.phases.recorded import read_initial, read_recorded
from skillopt.records import (
    TAKEN,
    Digest,
    Gate,
    GateAction,
    Patch,
    Pattern,
    Plan,
    Reflections,
    Row,
    Scored,
    Selected,
    SlowUpdate,
    SlowUpdateAction,
    State,
    Update,
)
from skillopt.skill import SkillDocument, sha256, visible, with_appendix

log = logging.getLogger(__name__)


class Files(msgspec.Struct, frozen=True, kw_only=True):
    """Where a skill and its rows lie, below the run's folder."""

    skill: str
    rows: str


def gate_rule(settings: Settings, *, guidance: bool = False) -> GateRule:
    """Return the settings of the gate of a step, or of the guidance at the end of an epoch."""
    evaluation = settings.evaluation
    early = evaluation.early_reject == "all" or (guidance and evaluation.early_reject == "slow_update")
    return GateRule(
        metric=evaluation.gate_metric,
        mixed_weight=evaluation.gate_mixed_weight,
        use_gate=evaluation.use_gate,
        early_reject=early and evaluation.use_gate and not evaluation.use_semantic_density,
        density_weight=evaluation.semantic_density_weight if evaluation.use_semantic_density else 0.0,
        leading_words=tuple(evaluation.leading_words),
    )


def scored(text: str, rows: Sequence[Row], files: Files, rule: GateRule) -> Scored:
    """Return a skill with its selection results."""
    results = results_of(rows)
    return Scored(
        origin=files.rows,
        skill=files.skill,
        sha256=sha256(text),
        visible_sha256=sha256(visible(text)),
        score=score(results, rule.metric, rule.mixed_weight),
        results=results,
        density=density(SkillDocument.parse(text).body, rule.leading_words) if rule.density_weight else 0.0,
    )


def initial_gate(skill: Scored, metric: str) -> Gate:
    """Return the state before step 1: the initial skill is current and best."""
    state = State(current=skill, best=skill, scored={skill.visible_sha256: skill.origin})
    return Gate(
        step=0,
        epoch=0,
        phase="initial",
        action="initial",
        metric=metric,
        candidate=skill.score,
        candidate_sha256=skill.sha256,
        state=state,
    )


def judged(gate: Gate, candidate: Scored, rule: GateRule) -> Gate:
    """Decide on a candidate and put the verdict into the gate record, whose state is that before."""
    verdict = decide(candidate, gate.state, rule)
    return msgspec.structs.replace(
        gate,
        action=verdict.action,
        candidate=verdict.candidate,
        compared=verdict.compared,
        paired=verdict.paired,
        left_out=verdict.left_out,
        at_most=verdict.at_most,
        improved=verdict.improved,
        regressed=verdict.regressed,
        reused_from=gate.state.scored.get(candidate.visible_sha256, ""),
        density=verdict.density,
        state=verdict.state,
    )


def with_text(state: State, text: str, path: str) -> State:
    """Let the current skill be `text` without a score of its own (notes, guidance, an empty region)."""
    current = state.current
    shown = sha256(visible(text))
    changed = msgspec.structs.replace(
        current,
        skill=path,
        sha256=sha256(text),
        visible_sha256=shown,
        inherited=current.inherited or shown != current.visible_sha256,
    )
    return msgspec.structs.replace(state, current=changed)


def digest(reflections: Reflections, selected: Selected, gate: Gate) -> Digest:
    """Return what later steps of the epoch are told (arXiv 2605.23904, rejected-edit memory)."""
    rejected = gate.action == "reject"
    failures = [group for group in reflections.groups if group.kind == "failure"]
    return Digest(
        step=gate.step,
        action=gate.action,
        failed=reflections.failed,
        total=reflections.rows,
        patterns=_patterns(reflections) or reflections.reasons,
        failed_ids=tuple(id_ for group in failures for id_ in group.ids),
        tried=selected.patch if rejected else Patch(),
        score_before=gate.compared.value if rejected and gate.compared else None,
        score_after=gate.reached if rejected else None,
        given_up=gate.left_out > 0,
    )


def _patterns(reflections: Reflections) -> tuple[Pattern, ...]:
    """Return the analysts' failure patterns, equal ones added up, the most frequent first."""
    found: dict[tuple[str, str], Pattern] = {}
    for group in reflections.groups:
        if group.kind == "failure":
            for pattern in group.patterns:
                key = (pattern.failure_type, pattern.description)
                before = found.get(key, msgspec.structs.replace(pattern, count=0, ids=()))
                found[key] = msgspec.structs.replace(
                    before,
                    count=before.count + pattern.count,
                    ids=tuple(dict.fromkeys((*before.ids, *group.ids))),
                )
    return tuple(sorted(found.values(), key=lambda pattern: -pattern.count))


def step_gate(
    step: int,
    epoch: int,
    before: Gate,
    update: Update,
    candidate: Scored | None,
    rule: GateRule,
) -> Gate:
    """Return the gate record of a step, before notes and digest go in."""
    first = before.epoch != epoch
    state = msgspec.structs.replace(before.state, memory=() if first else before.state.memory)
    gate = Gate(
        step=step,
        epoch=epoch,
        phase="step",
        action="reject" if update.action == "candidate" else update.action,
        metric=rule.metric,
        candidate_sha256=update.candidate_sha256,
        state=state,
    )
    if candidate is not None:
        gate = judged(gate, candidate, rule)
    return gate


def slow_update_gate(before: Gate, slow: SlowUpdate, candidate: Scored | None, rule: GateRule) -> Gate:
    """Return the gate record of the end of an epoch; the next one starts with an empty memory."""
    made: dict[SlowUpdateAction, GateAction] = {
        "prepare_region": "inject",
        "inject": "inject",
        "skip_no_content": "skip_no_content",
        "skip_no_pairs": "skip_no_pairs",
        "skip_too_long": "skip_too_long",
    }
    gate = Gate(
        step=before.step,
        epoch=slow.epoch,
        phase="slow_update",
        action=made.get(slow.action, "reject"),
        metric=rule.metric,
        candidate_sha256=slow.candidate_sha256,
        state=msgspec.structs.replace(before.state, memory=()),
    )
    return gate if candidate is None else judged(gate, candidate, rule)


def skill_after(gate: Gate, current: str, candidate: str, update: Update) -> str:
    """Return the text of the skill after a step: notes are kept whatever the gate decides."""
    if gate.action in TAKEN:
        return candidate
    return (
        with_appendix(current, update.notes) if update.notes_added or update.notes_consolidated else current
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line of `skillopt gate`."""
    parser.add_argument("--config", type=Path, required=True, help="config.json of the run (read)")
    parser.add_argument("--step", type=int, default=0, help="step, counted from 1; 0: the initial skill")
    parser.add_argument("--plan", type=Path, help="plan.json of the run (read)")
    parser.add_argument("--skill", type=Path, required=True, help="skill before the gate (read)")
    parser.add_argument("--state", type=Path, help="gate.json before (read)")
    parser.add_argument("--reflections", type=Path, help="reflections.json of the step (read)")
    parser.add_argument("--patch", type=Path, help="patch.json of the step (read)")
    parser.add_argument("--update", type=Path, help="update.json of the step (read)")
    parser.add_argument("--slow-update", type=Path, help="slow_update.json of the epoch (read)")
    parser.add_argument("--candidate", type=Path, help="candidate.md (read)")
    parser.add_argument("--rows", type=Path, help="selection rows of the candidate or initial skill (read)")
    parser.add_argument("--out", type=Path, required=True, help="gate.json (written)")
    parser.add_argument("--skill-out", type=Path, help="skill after the gate (written)")


def in_words(gate: Gate) -> str:
    """Return the decision as one line for a person who watches the run."""
    state = gate.state
    if gate.phase == "initial":
        n = state.current.score.n
        sees = f"; {resolution(n)}" if n else ""
        return f"the initial skill: {gate.metric} {_number(state.current.score.value)}{sees}"
    where = f"step {gate.step}" if gate.phase == "step" else f"the end of epoch {gate.epoch}"
    action = (
        "region for guidance put in without a score"
        if gate.action == "inject"
        else gate.action.replace("_", " ")
    )
    line = f"{where}: {action}"
    if gate.candidate and gate.compared:
        most = "at most " if gate.left_out else ""
        line += f", {gate.metric} {_number(gate.compared.value)} -> {most}{_number(gate.reached)}"
    return f"{line}; best {_number(state.best.score.value)}"


def _number(value: float | None) -> str:
    return "no score" if value is None else f"{value:.3f}"


def main(args: argparse.Namespace) -> None:
    """Run the phase."""
    resolved = read_resolved(args.config)
    rule = gate_rule(resolved.settings, guidance=bool(args.slow_update))
    run = args.config.parent
    if args.slow_update:
        _slow_update_gate(args, run, rule)
    elif args.step:
        _step_gate(args, run, rule)
    else:
        skill = _initial(args, run, resolved, rule)
        _check_headroom(skill, rule)
        _write(args.out, initial_gate(skill, rule.metric))


def _initial(args: argparse.Namespace, run: Path, resolved: Resolved, rule: GateRule) -> Scored:
    """Read the initial skill with its rows, each as the run has it."""
    text = read_initial(args.skill, resolved)
    rows = read_jsonl(args.rows, Row)
    planned = read_json(args.plan, Plan).splits["val"].used
    if len(rows) != planned:
        raise CorruptFile(
            f"{args.rows}: expected a row for each of {planned} selection items, found {len(rows)} rows. "
            "Delete the file and run the same command again; paid replies are kept in the call store."
        )
    return scored(text, rows, Files(skill=_below(args.skill, run), rows=_below(args.rows, run)), rule)


def _check_headroom(initial: Scored, rule: GateRule) -> None:
    """Stop a run that could accept nothing, before it spends an epoch on that; without the gate, say it."""
    if has_headroom(initial, rule):
        return
    message = (
        f"no headroom: the initial skill already has the highest {rule.metric} score on all "
        f"{initial.score.n} selection items, so no candidate can be better. Take harder or more selection "
        "items, or another evaluation.gate_metric"
    )
    if rule.use_gate:
        raise ConfigError(f"{message}; to train all the same, set evaluation.use_gate: false.")
    log.warning("%s.", message)


def _write(path: Path, gate: Gate) -> None:
    write_json(path, gate)
    log.info("gate of %s", in_words(gate))


def _below(path: Path, run: Path) -> str:
    return path.relative_to(run).as_posix()


def _candidate_of(
    made: Update | SlowUpdate, args: argparse.Namespace, run: Path, rule: GateRule, state: State
) -> Scored | None:
    """Read the candidate with its rows, None when the phase before made none."""
    if made.action != "candidate":
        return None
    text = read_text(args.candidate)
    rows = read_jsonl(args.rows, Row)
    files = Files(skill=_below(args.candidate, run), rows=_below(args.rows, run))
    if sha256(text) == made.candidate_sha256:
        candidate = scored(text, rows, files, rule)
        if _complete(candidate, state.current, rule):
            return candidate
    raise CorruptFile(
        f"{args.candidate}, {args.rows}: expected the candidate that the update recorded and its rows, "
        "found other content. Delete both and run the same command again; paid replies are kept."
    )


def _complete(candidate: Scored, current: Scored, rule: GateRule) -> bool:
    """Whether there are rows of all selection items, or of enough to be sure of a rejection."""
    if candidate.results.keys() == current.results.keys():
        return True
    known = candidate.results.keys() < current.results.keys()
    return rule.early_reject and known and not needed_next(candidate, current, rule)


def _read_current(args: argparse.Namespace, before: Gate) -> str:
    return read_recorded(args.skill, before.state.current.sha256, str(args.state))


def _step_gate(args: argparse.Namespace, run: Path, rule: GateRule) -> None:
    before = read_json(args.state, Gate)
    update = read_json(args.update, Update)
    candidate = _candidate_of(update, args, run, rule, before.state)
    path = _below(args.skill_out, run)
    epoch = read_json(args.plan, Plan).steps[args.step - 1].epoch
    gate = step_gate(args.step, epoch, before, update, candidate, rule)
    text = skill_after(gate, _read_current(args, before), read_text(args.candidate), update)
    if gate.state.current.sha256 != sha256(text):
        gate = msgspec.structs.replace(gate, state=with_text(gate.state, text, path))
    left = digest(read_json(args.reflections, Reflections), read_json(args.patch, Selected), gate)
    state = msgspec.structs.replace(gate.state, memory=(*gate.state.memory, left))
    write_text(args.skill_out, text)
    _write(args.out, msgspec.structs.replace(gate, digest=left, state=state))


def _slow_update_gate(args: argparse.Namespace, run: Path, rule: GateRule) -> None:
    before = read_json(args.state, Gate)
    slow = read_json(args.slow_update, SlowUpdate)
    gate = slow_update_gate(before, slow, _candidate_of(slow, args, run, rule, before.state), rule)
    text = _read_current(args, before)
    if gate.action in TAKEN or gate.action == "inject":
        text = read_text(args.candidate)
    if gate.state.current.sha256 != sha256(text):
        state = with_text(gate.state, text, _below(args.skill_out, run))
        gate = msgspec.structs.replace(gate, state=state)
    write_text(args.skill_out, text)
    _write(args.out, gate)
