"""What a prompt asks: the skill, the passages and the question in it, and the kind of answer wanted."""

import re
from typing import Literal, NamedTuple

from skillopt.models.simulator.text import FUNCTION_WORDS, stem, tokens, word_set

Kind = Literal["when", "number", "person", "place", "thing"]

_CONTEXT = re.compile(r"^## Context\s*$", re.MULTILINE)
_QUESTION = re.compile(r"^## Question\s*$", re.MULTILINE)
_SKILL = re.compile(r"^## Skill\s*$", re.MULTILINE)
_TASK = re.compile(r"^## Task\s*$", re.MULTILINE)
_PERSONS = word_set(
    """person man woman king queen emperor president scientist author inventor leader actor actress
    singer composer poet painter explorer general philosopher physicist mathematician minister
    player founder writer novelist astronomer chemist architect engineer artist monarch"""
)
_PLACES = word_set(
    """city country place state region river town island capital continent county ocean lake mountain
    nation province area location village desert sea"""
)
_TIMES = word_set("""year date decade century day month""")
_AMOUNTS = re.compile(
    r"\bhow (?:many|much|old|long|far|tall|large|high|big|often|fast|hot|deep|wide|heavy)\b"
    r"|\b(?:percentage|number) of\b"
)


class Task(NamedTuple):
    """A skill, passages and a question; the skill is "" when none was given."""

    skill: str
    passages: tuple[str, ...]
    question: str


def read_task(system: str, user: str) -> Task:
    """Take a prompt apart; without the known headings the last line is the question."""
    skill = _SKILL.split(system, maxsplit=1)[1] if _SKILL.search(system) else ""
    heads = list(_TASK.finditer(skill))
    if heads:
        skill = skill[: heads[-1].start()]
    parts = list(_QUESTION.finditer(user))
    if parts:
        context, question = _CONTEXT.split(user[: parts[-1].start()], maxsplit=1)[-1], user[parts[-1].end() :]
    else:
        context, _, question = user.strip().rpartition("\n")
    passages = tuple(passage.strip() for passage in context.split("[DOC]") if passage.strip())
    return Task(skill.strip(), passages, question.strip())


def kind_of(question: str) -> Kind:
    """Say what kind of answer a question wants; a statement about "this inventor" wants a person."""
    lower = question.lower()
    head = head_noun(question)
    words = {word.lower for word in tokens(question)}
    if "when" in words or head in _TIMES:
        return "when"
    if _AMOUNTS.search(lower):
        return "number"
    if words & {"who", "whom", "whose"} or head in _PERSONS:
        return "person"
    if "where" in words or head in _PLACES:
        return "place"
    return "thing"


def head_noun(question: str) -> str:
    """Return the noun that names what is asked: the one after what, which, this or these ("" for none)."""
    words = [word.lower for word in tokens(question)]
    for place, word in enumerate(words[:-1]):
        if word not in {"what", "which", "this", "these"}:
            continue
        following = []
        for other in words[place + 1 : place + 5]:
            if other in FUNCTION_WORDS or not other[0].isalpha():
                break
            following.append(other)
        nouns = [other for other in following if other in _PERSONS | _PLACES | _TIMES]
        return (nouns or following or [""])[0]
    return ""


def head_stem(question: str) -> str:
    """The stem of the head noun ("" for none)."""
    return stem(head_noun(question))
