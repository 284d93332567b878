"""The target works with tools: it writes files, runs Python on them, and leaves a program."""

import shlex
from collections.abc import Mapping

import msgspec

from skillopt.envs.base import Attempt, Chat
from skillopt.envs.spreadsheetbench.items import workbook
from skillopt.envs.spreadsheetbench.prompt import system_message, tools_message
from skillopt.envs.spreadsheetbench.trial import INPUT, OUTPUT, PROGRAM, Bench, Trial
from skillopt.envs.spreadsheetbench.verdict import given_up, judged
from skillopt.models.arguments import arguments_problem
from skillopt.models.base import Message, Reply, Tool, ToolCall
from skillopt.records import Item, Status, Turn
from skillopt.sandbox.paths import inside
from skillopt.sandbox.program import in_force

_SHOWN, _KEPT = 4_000, 3_800
_MOST_BYTES = 64 * 1024 * 1024
_PYTHON = frozenset({"python", "python3", "python.exe", "python3.exe"})


def _tool(name: str, description: str, **parameters: str) -> Tool:
    properties = {key: {"type": "string", "description": text} for key, text in parameters.items()}
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(parameters),
        "additionalProperties": False,
    }
    return Tool(name=name, description=description, parameters=schema)


TOOLS = (
    _tool("bash", "Run one command, without a shell. Only python can be run.", cmd="the command"),
    _tool("write_file", "Write a text file.", path="below the working folder", content="the whole text"),
)
_NAMES = frozenset(tool.name for tool in TOOLS)


class BashArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of the tool `bash`."""

    cmd: str


class WriteArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of the tool `write_file`."""

    path: str
    content: str


class Workplace:
    """The working folder of one attempt, in memory: no path in it can lead anywhere else."""

    def __init__(self, bench: Bench, given: bytes) -> None:
        self._bench = bench
        self.files: dict[str, bytes] = {INPUT: given}
        self.calls = 0

    async def use(self, call: ToolCall) -> str:
        """Carry out a tool call; what is wrong with it is an answer to the target, no failure."""
        self.calls += 1
        if call.name in _NAMES and (problem := arguments_problem(call.arguments)):
            return f"The arguments of {call.name} cannot be used: {problem}"
        try:
            if call.name == "bash":
                return await self._bash(msgspec.json.decode(call.arguments or "{}", type=BashArguments).cmd)
            if call.name == "write_file":
                return self._write(msgspec.json.decode(call.arguments or "{}", type=WriteArguments))
        except msgspec.ValidationError as error:
            return f"The arguments of {call.name} cannot be used: {error}"
        return f"There is no tool {call.name!r}; the tools are bash and write_file."

    def _write(self, asked: WriteArguments) -> str:
        try:
            path = inside(asked.path)
        except ValueError as error:
            return f"Nothing was written: {error}"
        content = asked.content.encode("utf-8", "replace")
        others = [name for name in self.files if name != path]
        if any(name.startswith(f"{path}/") or path.startswith(f"{name}/") for name in others):
            return f"Nothing was written: {path} is, or lies below, something else in the folder."
        if len(content) + sum(len(self.files[name]) for name in others) > _MOST_BYTES:
            return "Nothing was written: the working folder would become too large."
        self.files[path] = content
        return f"{path}: {len(content)} bytes written"

    async def _bash(self, command: str) -> str:
        try:
            words = shlex.split(command)
        except ValueError as error:
            return f"The command cannot be read: {error}"
        if not words or words[0].replace("\\", "/").rpartition("/")[2] not in _PYTHON:
            return "Blocked: only python can be run, such as python solution.py. There is no shell."
        if any("\0" in word for word in words):
            return "The command cannot be read: it holds a zero byte."
        done = await self._bench.run(words[1:], self.files)
        if not done.problem.startswith("printed"):  # what it left is then unknown
            self.files = dict(done.files)
        printed = done.output if len(done.output) <= _SHOWN else f"{done.output[:_KEPT]}\n[cut off]"
        lines = [printed.rstrip() or "(nothing was printed)"]
        lines += [f"The program {done.problem} and was ended."] if done.problem else []
        lines += [f"exit code {done.code}"] if done.code else []
        lines += [f"not kept: {left}" for left in done.left]
        if PROGRAM in command:
            lines.append(await self._look())
        return "\n".join(lines)

    async def _look(self) -> str:
        if OUTPUT not in self.files:
            return f"Check: there is no {OUTPUT} yet."
        seen = await self._bench.look(self.files[OUTPUT])
        if "problem" in seen:
            return f"Check of {OUTPUT}: {seen['problem']}"
        lines = [f"Check of {OUTPUT}, first sheet:", seen["preview"]]
        if seen["formulas"]:
            cells = ", ".join(seen["formulas"])
            lines.append(f"Formulas without a value, which read as empty: {cells}. Write values instead.")
        return "\n".join(lines)


async def work(item: Item, skill: str, chat: Chat, bench: Bench, *, max_turns: int) -> Attempt:
    """Let the target work for up to `max_turns` replies, and judge the program that it leaves.

    The program is run afresh on every test case. Without one, a workbook that was left counts for
    the first test case alone.
    """
    place = Workplace(bench, workbook(item, item.data["cases"][0]["input"]).read_bytes())
    messages: tuple[Message, ...] = (system_message(skill, tools=True), tools_message(item))
    said, turns = [Turn(role="user", content=messages[1].content)], 0
    while True:
        reply, turns = await chat(messages, tools=TOOLS), turns + 1
        said.append(Turn(role="assistant", content=_told(reply)))
        if not reply.tool_calls or turns == max_turns:
            break
        results = [await place.use(call) for call in reply.tool_calls]
        if turns == max_turns - 1:
            results[-1] += "\n\nOne reply is left, and its tool calls are not carried out."
        said += [Turn(role="tool", content=result) for result in results]
        answers = [
            Message(role="tool", tool_call_id=call.id, content=result)
            for call, result in zip(reply.tool_calls, results, strict=True)
        ]
        asked = Message(role="assistant", content=reply.text, tool_calls=reply.tool_calls)
        messages = (*messages, asked, *answers)
    code = place.files.get(PROGRAM, b"").decode("utf-8", "replace")
    if not code.strip() and OUTPUT not in place.files:
        return given_up(*_why_none(reply, place.calls), item, skill, said, turns, tools=True)
    trials = await _trials(item, code, place.files, bench)
    return judged(code, trials, skill, said, turns, in_force(bench.isolation), tools=True)


async def _trials(item: Item, code: str, files: Mapping[str, bytes], bench: Bench) -> list[Trial]:
    cases = item.data["cases"]
    if code.strip():
        beside = {name: content for name, content in files.items() if name not in (INPUT, OUTPUT)}
        return [await bench.try_case(item, case, code, beside) for case in cases]
    why = "exec-error: there is no solution.py for another workbook than the first"
    others = [Trial(no=case["no"], stage="exec", reason=why, printed="") for case in cases[1:]]
    return [await bench.judge(item, cases[0], files[OUTPUT]), *others]


def _why_none(reply: Reply, calls: int) -> tuple[Status, str]:
    if reply.finish_reason == "length":
        return "truncated", "the reply was cut off at the token limit before there was a program"
    if not calls and not reply.text.strip():
        return "no_answer", "the reply was empty and called no tool"
    return "unparsed", f"no {PROGRAM} and no {OUTPUT} were left in the working folder"


def _told(reply: Reply) -> str:
    calls = [f"{call.name}({call.arguments})" for call in reply.tool_calls]
    return "\n".join([*([reply.text] if reply.text.strip() else []), *calls])
