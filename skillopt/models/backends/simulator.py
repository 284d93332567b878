"""A simulated model for both roles: deterministic, with no network and no clock.

It sees the messages of a request and nothing else. As target it is a small extractive reader that
follows its skill; it cannot see, but reads the words that some images carry; it works with search tools
and plays household games. As optimizer it reads the failures in its prompt and proposes changes, most of
them useful. What it is asked decides which of the two it is.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence

from skillopt.models.base import BackendSpec, Reply, Request, RoleModel, Setting, ToolCall
from skillopt.models.simulator import playing, searching
from skillopt.models.simulator.asked import read_task
from skillopt.models.simulator.optimizer import call_kind, improve
from skillopt.models.simulator.pages import words_on
from skillopt.models.simulator.rules import rules_of
from skillopt.models.simulator.sheets import is_workbook_task, write_program
from skillopt.models.simulator.target import answer, answer_again
from skillopt.records import Usage

_CHARS_PER_TOKEN = 4


class Simulator:
    """The simulated model. `seed` shifts what its optimizer draws by chance."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._rules: tuple[str, frozenset[str]] = ("", frozenset())

    async def complete(self, request: Request) -> Reply:
        """Answer one request, cut at its token limit as a provider would."""
        system = "\n\n".join(message.content for message in request.messages if message.role == "system")
        turns = [message for message in request.messages if message.role != "system"]
        user = next((message.content for message in turns if message.role == "user"), "")
        calls: tuple[ToolCall, ...] = ()
        if call_kind(system):
            text = improve(system, user, self._draw(request, system, user))
        elif {tool.name for tool in request.tools} >= searching.TOOLS:
            text, calls = self._search(system, user, request)
        elif playing.is_game(user):
            text = playing.play(user, self._in_force(read_task(system, user).skill))
        else:
            pages = [words_on(image) for message in turns for image in message.images]
            again = any(message.role == "assistant" for message in turns)
            text = self._read(system, user, pages, again=again)
        limit = request.max_completion_tokens * _CHARS_PER_TOKEN
        said = sum(len(message.content) for message in request.messages)
        return Reply(
            text=text[:limit],
            finish_reason="tool_calls" if calls else "length" if len(text) > limit else "stop",
            tool_calls=calls,
            usage=Usage(calls=1, prompt=_estimated(said), completion=_estimated(min(len(text), limit))),
            model="simulated",
        )

    async def close(self) -> None:
        """Nothing is open."""

    def _read(self, system: str, user: str, pages: Sequence[str], *, again: bool) -> str:
        task = read_task(system, user)
        if pages:
            task = task._replace(passages=tuple(pages))
        rules = self._in_force(task.skill)
        if is_workbook_task(user):
            return write_program(user, rules)
        return answer_again(task, rules) if again else answer(task, rules)

    def _search(self, system: str, user: str, request: Request) -> tuple[str, tuple[ToolCall, ...]]:
        task = read_task(system, user)
        outputs = [message.content for message in request.messages if message.role == "tool"]
        step = searching.next_step(task.question, self._in_force(task.skill), outputs)
        if isinstance(step, str):
            return step, ()
        if request.tool_choice == "none":
            return searching.NOT_FOUND, ()
        arguments = json.dumps(step.arguments, ensure_ascii=False)
        return "", (ToolCall(id=f"call_{len(outputs) + 1}", name=step.tool, arguments=arguments),)

    def _in_force(self, skill: str) -> frozenset[str]:
        if self._rules[0] != skill:  # one skill serves a whole phase: understand it once
            self._rules = (skill, rules_of(skill))
        return self._rules[1]

    def _draw(self, request: Request, system: str, user: str) -> str:
        parts = (str(self._seed), str(request.sample), system, user)
        return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()


def _estimated(chars: int) -> int:
    return -(-chars // _CHARS_PER_TOKEN)


def _open(role: RoleModel, env: Mapping[str, str]) -> Simulator:
    return Simulator(int(role.settings.get("seed") or 0))


BACKEND = BackendSpec(
    name="simulator",
    description="A simulated model for both roles: no key, no network, the same reply to the same request.",
    open=_open,
    default_model="simulated",
    settings=(
        Setting(
            name="seed",
            type="int",
            default=0,
            description="Shifts what the simulated optimizer draws by chance.",
            decides=True,
        ),
    ),
    capabilities=frozenset({"simulated", "tools", "images", "usage"}),
)
