"""One question about a page: what the target is shown, and what comes of its reply."""

import base64
from functools import partial
from pathlib import Path

from skillopt.envs.base import Attempt, Chat
from skillopt.envs.dialogue import deciding, judge_reply, talk
from skillopt.envs.docvqa.items import MEDIA_TYPES, image_file
from skillopt.envs.docvqa.scoring import anls, is_full
from skillopt.envs.told import fill, left_out
from skillopt.models.base import Image, Message
from skillopt.records import Item, Turn

FOLDER = Path(__file__).parent / "prompts"
_fill = partial(fill, FOLDER)


async def answer_question(item: Item, skill: str, chat: Chat, *, max_turns: int, detail: str) -> Attempt:
    """Ask the target, let it look again for up to `max_turns` turns in all, and judge its answer."""
    question, golds = item.data["question"].strip(), item.data["answers"]
    file = image_file(item)
    page = Image(
        data=base64.b64encode(file.read_bytes()).decode("ascii"),
        media_type=MEDIA_TYPES[file.suffix.lower()],
        detail=detail,
    )
    user = Message(role="user", content=_fill("target_user", question=question), images=(page,))
    replies = await talk(
        (_system(skill), user), chat, Message(role="user", content=_fill("target_check")), max_turns
    )
    status, found, why = judge_reply(deciding(replies))
    score = anls(found.text, golds) if status == "scored" else 0.0
    accepted = " | ".join(golds)
    note = f"question: {question}\npredicted answer: {found.text}\naccepted answers: {accepted}"
    note += f"\nANLS: {score:.4f}"
    problem = f"{why}; " if why else ""
    return Attempt(
        status=status,
        hard=float(is_full(score)),
        soft=score,
        answer=found.text,
        turns=len(replies),
        trajectory=(
            Turn(role="system", content=_system(left_out(skill)).content),
            Turn(role="user", content=f"{user.content}\n\n(image: {file.name})"),
            *(Turn(role="assistant", content=reply.text) for reply in replies),
            Turn(role="note", content=f"{note}\nproblem: {why}" if why else note),
        ),
        reason=""
        if is_full(score)
        else f"ANLS={score:.4f}: {problem}predicted {found.text!r}, accepted {accepted!r}",
        extra={"anls": score, "gold_answers": list(golds), "image": item.data["image_path"]},
    )


def _system(skill: str) -> Message:
    block = f"## Skill\n\n{skill.strip()}\n\n" if skill.strip() else ""
    return Message(role="system", content=_fill("target_system", skill=block))
