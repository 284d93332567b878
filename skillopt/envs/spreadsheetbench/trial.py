"""Trying a program on the workbooks of an item, in the sandbox, and judging what it wrote."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from skillopt.envs.spreadsheetbench import reader
from skillopt.envs.spreadsheetbench.items import areas_of, workbook
from skillopt.envs.spreadsheetbench.scoring import Mismatch, mismatches
from skillopt.records import Item
from skillopt.sandbox.program import MIB, Done, Isolation, Limits, Sandbox

PROGRAM, INPUT, OUTPUT = "solution.py", "input.xlsx", "output.xlsx"
_START = (
    "import os, runpy\n"
    f"paths = {{'INPUT_PATH': os.path.abspath({INPUT!r}), 'OUTPUT_PATH': os.path.abspath({OUTPUT!r})}}\n"
    f"runpy.run_path({PROGRAM!r}, init_globals=paths, run_name='__main__')"
)
_READER, _ASKED, _ANSWER, _GOLD = "reader.py", "read.json", "answer.json", "gold.xlsx"
_READING = Limits(memory=4096 * MIB)
"""More than a program has, since two workbooks are open at once."""


class FaultyItem(Exception):
    """The data set's own workbook cannot be used: nobody's failure but the data's."""


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """What a program came to in one test case.

    `stage` is `exec` when it gave no workbook, else `eval`; `reason` is "" when all is right.
    `printed` is what it printed; `right` counts the cells that are as expected.
    """

    no: str
    stage: str
    reason: str
    printed: str
    wrong: tuple[Mismatch, ...] = ()
    right: int = 0

    @property
    def ok(self) -> bool:
        """Whether everything is right."""
        return not self.reason


class Bench(msgspec.Struct, frozen=True, kw_only=True):
    """Where and within what limits programs run."""

    sandbox: Sandbox
    limits: Limits
    isolation: Isolation

    async def run(self, arguments: list[str], files: Mapping[str, bytes]) -> Done:
        """Run Python with these arguments in a folder with these files."""
        return await self.sandbox.run(arguments, files, limits=self.limits, isolation=self.isolation)

    async def _read(self, asked: dict[str, Any], files: Mapping[str, bytes]) -> dict[str, Any]:
        """Read workbooks in the sandbox, since the target made one; a failure is a `problem` of it."""
        given = {**files, _READER: _source(), _ASKED: msgspec.json.encode(asked)}
        done = await self.sandbox.run([_READER], given, limits=_READING, isolation=self.isolation)
        if done.code or done.problem:
            return {"problem": f"the file cannot be read: {done.problem or _last_line(done.output)}"}
        answer: dict[str, Any] = json.loads(done.files[_ANSWER])  # which may hold NaN
        return answer

    async def look(self, output: bytes) -> dict[str, Any]:
        """Return `preview` and `formulas` of a workbook, or its `problem`."""
        return await self._read({"look": {"path": OUTPUT}}, {OUTPUT: output})

    async def try_case(
        self, item: Item, case: dict[str, str], code: str, beside: Mapping[str, bytes]
    ) -> Trial:
        """Run a program on one test case and judge it; `beside` are files that it may need."""
        given = workbook(item, case["input"]).read_bytes()
        done = await self.run(
            ["-c", _START], {**beside, PROGRAM: code.encode("utf-8", "replace"), INPUT: given}
        )
        failed = _failed(done)
        if failed:
            return Trial(no=case["no"], stage="exec", reason=failed, printed=done.output)
        return await self.judge(item, case, done.files[OUTPUT], done.output)

    async def judge(self, item: Item, case: dict[str, str], output: bytes, printed: str = "") -> Trial:
        """Compare a workbook with the gold one of a test case; raises FaultyItem when that is broken."""
        areas = [msgspec.to_builtins(area) for area in areas_of(item)]
        asked = {"both": {"prediction": OUTPUT, "gold": _GOLD, "areas": areas}}
        gold = workbook(item, case["answer"])
        found = await self._read(asked, {OUTPUT: output, _GOLD: gold.read_bytes()})
        if "fault" in found:
            raise FaultyItem(f"{gold}: {found['fault']}")
        if "problem" in found:
            reason = f"eval-mismatch: {found['problem']}"
            return Trial(no=case["no"], stage="eval", reason=reason, printed=printed)
        expected, got = _decoded(found["expected"]), _decoded(found["got"])
        wrong = mismatches(got, expected, found["formulas"])
        return Trial(
            no=case["no"],
            stage="eval",
            reason=f"eval-mismatch: {len(wrong)} of {len(expected)} cells; {told(wrong[0])}" if wrong else "",
            printed=printed,
            wrong=wrong,
            right=len(expected) - len(wrong),
        )


def preview(item: Item) -> str:
    """Return the preview of an item's first input; raises FaultyItem."""
    path = workbook(item, item.data["cases"][0]["input"])
    try:
        return reader.preview(str(path))
    except reader.Unreadable as error:
        raise FaultyItem(f"{path}: {error}") from error


def told(wrong: Mismatch, *, expected: bool = True) -> str:
    """Say what is wrong with a cell, with or without what should stand there."""
    got = "a formula without a value" if wrong.formula else shown(wrong.got)
    return f"{wrong.cell}: got {got}" + (f", expected {shown(wrong.expected)}" if expected else "")


def shown(value: Any) -> str:
    """Return a cell's value as it is told: text in quotes, dates as such, nothing as (empty)."""
    if value in (None, ""):
        return "(empty)"
    text = repr(value) if isinstance(value, str | bool | int | float) else f"{type(value).__name__} {value}"
    return text if len(text) <= 100 else f"{text[:97]}..."


def _failed(done: Done) -> str:
    """Say why a program gave no workbook ("" when it did)."""
    if done.problem:
        return f"exec-error: the program {done.problem} and was ended"
    if done.code < 0:
        return f"exec-error: the program was ended by signal {-done.code}"
    if done.code:
        return f"exec-error: {_last_line(done.output) or f'exit code {done.code}'}"
    if OUTPUT not in done.files:
        refused = next((reason for reason in done.left if reason.startswith(f"{OUTPUT} ")), "")
        return (
            f"output-refused: {refused}" if refused else "output-not-found: nothing was saved to OUTPUT_PATH"
        )
    return ""


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""


def _decoded(cells: dict[str, Any]) -> dict[str, Any]:
    return {cell: reader.decoded(value) for cell, value in cells.items()}


@cache
def _source() -> bytes:
    return Path(reader.__file__).read_bytes()
