"""From trials to a row: scores, the reason of a failure, what reflection gets to read."""

from collections.abc import Sequence

from skillopt.envs.base import Attempt
from skillopt.envs.spreadsheetbench.prompt import system_message
from skillopt.envs.spreadsheetbench.trial import Trial, told
from skillopt.envs.told import left_out
from skillopt.records import Item, Status, Turn

_WRONG = 12
_FORMULAS = 5
_PRINTED = 1_500
_NOTE = 12_000


def given_up(
    status: Status, why: str, item: Item, skill: str, said: Sequence[Turn], turns: int, tools: bool
) -> Attempt:
    """Return the attempt of a target that gave no program."""
    return Attempt(
        status=status,
        hard=0.0,
        soft=0.0,
        answer="",
        turns=turns,
        trajectory=(_told(skill, tools), *said, Turn(role="note", content=f"problem: {why}")),
        reason=why,
        extra={"n_cases": len(item.data["cases"]), "n_exec_pass": 0, "n_pass": 0},
    )


def judged(
    code: str,
    trials: Sequence[Trial],
    skill: str,
    said: Sequence[Turn],
    turns: int,
    in_force: Sequence[str],
    tools: bool,
) -> Attempt:
    """Return the attempt of a target whose program was tried on every test case."""
    passed = sum(trial.ok for trial in trials)
    failed = next((trial for trial in trials if not trial.ok), None)
    return Attempt(
        status="scored",
        hard=float(failed is None),
        soft=passed / len(trials),
        answer=code,
        turns=turns,
        trajectory=(_told(skill, tools), *said, _note(trials)),
        reason=f"case {failed.no}: {failed.reason}" if failed else "",
        extra={
            "n_cases": len(trials),
            "n_exec_pass": sum(trial.stage == "eval" for trial in trials),
            "n_pass": passed,
            "cases": [
                {"no": trial.no, "stage": trial.stage, "ok": trial.ok, "reason": trial.reason}
                for trial in trials
            ],
            "sandbox": list(in_force),
        },
    )


def _told(skill: str, tools: bool) -> Turn:
    return Turn(role="system", content=system_message(left_out(skill), tools=tools).content)


def _note(trials: Sequence[Trial]) -> Turn:
    text = "\n\n".join(_report(trial) for trial in trials)
    return Turn(role="note", content=middle_cut(text, _NOTE))


def _report(trial: Trial) -> str:
    lines = [f"test case {trial.no}: {'PASS' if trial.ok else f'FAIL: {trial.reason}'}"]
    if trial.stage == "exec" and trial.printed.strip():
        lines += ["it printed:", middle_cut(trial.printed.strip(), _PRINTED)]
    if trial.wrong:
        lines.append(f"cells that are right: {trial.right}; wrong: {len(trial.wrong)}")
        lines += [f"- {told(wrong)}" for wrong in trial.wrong[:_WRONG]]
        uncomputed = [wrong.cell for wrong in trial.wrong if wrong.formula]
        if uncomputed:
            cells = ", ".join(uncomputed[:_FORMULAS])
            lines.append(
                f"{len(uncomputed)} wrong cells hold a formula that nobody computes, such as {cells}"
            )
    return "\n".join(lines)


def middle_cut(text: str, most: int) -> str:
    """Return a text with its middle cut out when it is longer than `most` characters."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"
