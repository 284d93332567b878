"""The target writes a program without tools: once, or again as long as the first workbook fails."""

import asyncio
from collections.abc import Sequence

from skillopt.envs.base import Attempt, Chat
from skillopt.envs.spreadsheetbench.extraction import find_program
from skillopt.envs.spreadsheetbench.prompt import system_message, user_message
from skillopt.envs.spreadsheetbench.trial import Bench, Trial, preview, told
from skillopt.envs.spreadsheetbench.verdict import given_up, judged, middle_cut
from skillopt.models.base import Message, Reply
from skillopt.records import Item, Status, Turn
from skillopt.sandbox.program import in_force

_TOLD = 3_000
_CELLS = 20


async def generate(
    item: Item, skill: str, chat: Chat, bench: Bench, *, max_turns: int, feedback: bool
) -> Attempt:
    """Ask for a program, for up to `max_turns` replies in all, and judge the last one on every test case.

    Between replies the target is told what came of its program on the first test case. The
    dialogue ends with a program that runs; with `feedback`, with one whose result is right: the
    target is then told which cells are wrong, and never what should stand there.
    """
    messages: tuple[Message, ...] = (
        system_message(skill),
        user_message(item, await asyncio.to_thread(preview, item)),
    )
    said = [Turn(role="user", content=messages[1].content)]
    code, first, last, turns = "", None, Reply(text=""), 0
    while turns < max_turns:
        last, turns = await chat(messages), turns + 1
        said.append(Turn(role="assistant", content=last.text))
        found = usable(last)
        if found:
            code, first = found, None
        if turns == max_turns or not last.text.strip():  # providers refuse an empty message of the assistant
            break
        if found:
            first = await bench.try_case(item, item.data["cases"][0], code, {})
        answer = _response(first if found else None, feedback=feedback)
        if not answer:
            break
        said.append(Turn(role="user", content=answer))
        messages = (
            *messages,
            Message(role="assistant", content=last.text),
            Message(role="user", content=answer),
        )
    if not code:
        return given_up(*why_none(last), item, skill, said, turns, tools=False)
    tried = [first] if first else []
    tried += [await bench.try_case(item, case, code, {}) for case in item.data["cases"][len(tried) :]]
    return judged(code, tried, skill, said, turns, in_force(bench.isolation), tools=False)


def usable(reply: Reply) -> str:
    """Return the program of a reply; a program whose block was cut off at the token limit is none."""
    found = find_program(reply.text)
    return "" if reply.finish_reason == "length" and found.where != "fence" else found.code


def why_none(reply: Reply) -> tuple[Status, str]:
    """Return the status of a reply without a program, and why."""
    if reply.finish_reason == "length":
        return "truncated", "the reply was cut off at the token limit before its program was complete"
    if not reply.text.strip():
        return "no_answer", "the reply was empty"
    if find_program(reply.text).where == "nowhere":
        return "unparsed", "the reply holds no program"
    return "unparsed", "empty-code-block: the block of code was empty"


def _response(trial: Trial | None, *, feedback: bool) -> str:
    """Say what came of a program on the first test case ("" when there is nothing to mend)."""
    if trial is None:
        return "Your reply holds no complete program. Reply with the whole program in one block."
    if trial.stage == "exec":
        printed = middle_cut(trial.printed.strip(), _TOLD)
        return f"The program failed: {trial.reason}\n\n{printed}\n\nReply with the whole program, mended."
    if trial.ok or not feedback:
        return ""
    return f"{_wrong(trial)}\n\nFind out why, and reply with the whole program, mended."


def _wrong(trial: Trial) -> str:
    if not trial.wrong:
        return f"The program ran, and its result cannot be judged: {trial.reason}"
    lines: Sequence[str] = [f"- {told(wrong, expected=False)}" for wrong in trial.wrong[:_CELLS]]
    head = f"The program ran. {trial.right} cells are right and {len(trial.wrong)} are wrong:"
    return "\n".join([head, *lines])
