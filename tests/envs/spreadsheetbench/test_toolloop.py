"""The target with tools: what they do, what they refuse, and that it is the program that counts."""

import pytest
from sheets import DOUBLE, attempt, fenced, item_at, needs_isolation, tool

from skillopt.models.base import Reply, ToolCall

pytestmark = needs_isolation
PROGRAM = f'INPUT_PATH = "input.xlsx"\nOUTPUT_PATH = "output.xlsx"\n{DOUBLE}'
WRITE = tool("write_file", path="solution.py", content=PROGRAM)
RUN = tool("bash", cmd="python solution.py")
END = Reply(text="It is done.")


def work(item, *replies, max_turns=9, **settings):
    return attempt(item, *replies, max_turns=max_turns, mode="react", **settings)


def told(sent):
    """What the target was answered last."""
    return [message.content for message in sent[-1] if message.role == "tool"]


def test_a_whole_task(tmp_path):
    item = item_at(tmp_path, cases=((1, 2, 3), (5, 6, 7)))
    look = tool("bash", cmd="python -c \"import os; print(os.listdir('.'))\"")
    done, sent = work(item, look, WRITE, RUN, END, skill="Be brave.")
    assert (done.status, done.hard, done.soft, done.turns, done.answer) == ("scored", 1.0, 1.0, 4, PROGRAM)
    assert "Be brave." in sent[0][0].content
    assert "Be brave." not in str(done.trajectory)
    first, second, third = told(sent)
    assert first == "['input.xlsx']"
    assert second == f"solution.py: {len(PROGRAM)} bytes written"
    assert third.startswith(
        "(nothing was printed)\nCheck of output.xlsx, first sheet:\n### Sheet 'Data': A1:B3"
    )
    roles = [turn.role for turn in done.trajectory]
    assert roles == ["system", "user", *["assistant", "tool"] * 3, "assistant", "note"]
    assert sent[-1][2].tool_calls == look.tool_calls
    assert sent[-1][3].tool_call_id == look.tool_calls[0].id


def test_the_check_names_formulas_without_a_value(tmp_path):
    code = PROGRAM.replace("row[0].value * 2", '"=A1*2"')
    done, sent = work(item_at(tmp_path), tool("write_file", path="solution.py", content=code), RUN, END)
    assert told(sent)[-1].endswith(
        "Formulas without a value, which read as empty: Data!B1, Data!B2, Data!B3. Write values instead."
    )
    assert done.hard == 0.0


def test_the_program_counts_and_not_what_was_left_beside_it(tmp_path):
    last = tool("write_file", path="solution.py", content="1/0")
    done, _ = work(item_at(tmp_path), WRITE, RUN, last, END)
    assert (done.status, done.hard, done.answer) == ("scored", 0.0, "1/0")
    assert done.reason == "case 1: exec-error: ZeroDivisionError: division by zero"


def test_helper_files_go_along_and_an_old_output_does_not(tmp_path):
    helper = tool("write_file", path="lib/twice.py", content="def twice(n): return 2 * n")
    code = PROGRAM.replace("row[0].value * 2", "twice(row[0].value)").replace(
        "import openpyxl", "import openpyxl\nfrom lib.twice import twice", 1
    )
    write = tool("write_file", path="solution.py", content=code)
    done, _ = work(item_at(tmp_path), helper, write, RUN, END)
    assert (done.hard, done.reason) == (1.0, "")
    nothing = tool("write_file", path="solution.py", content="pass")
    done, _ = work(item_at(tmp_path), WRITE, RUN, nothing, END)
    assert done.reason == "case 1: output-not-found: nothing was saved to OUTPUT_PATH"


def test_a_workbook_without_a_program_counts_for_the_first_case_alone(tmp_path):
    item = item_at(tmp_path, cases=((1, 2, 3), (5, 6, 7)))
    inline = DOUBLE.replace("INPUT_PATH", "'input.xlsx'").replace("OUTPUT_PATH", "'output.xlsx'")
    done, _ = work(item, tool("bash", cmd=f'python -c "{inline}"'.replace('"Data"', "'Data'")), END)
    assert (done.status, done.hard, done.soft, done.answer) == ("scored", 0.0, 0.5, "")
    assert done.reason == "case 2: exec-error: there is no solution.py for another workbook than the first"


REFUSED = {
    "shell": (tool("bash", cmd="ls -la"), "Blocked: only python can be run"),
    "chained": (tool("bash", cmd="cat /etc/passwd; python x.py"), "Blocked: only python can be run"),
    "not python": (tool("bash", cmd="/tmp/python-like x"), "Blocked: only python can be run"),
    "nothing": (tool("bash", cmd=""), "Blocked: only python can be run"),
    "quotes": (tool("bash", cmd="python -c 'x"), "The command cannot be read: No closing quotation"),
    "zero": (tool("bash", cmd="python -c 'x\0'"), "it holds a zero byte"),
    "absolute": (tool("write_file", path="/etc/x", content=""), "Nothing was written: expected a path below"),
    "up": (tool("write_file", path="a/../../x", content=""), "Nothing was written: expected a path below"),
    "backslash": (tool("write_file", path="..\\x", content=""), "Nothing was written: expected a path below"),
    "a folder": (tool("write_file", path="input.xlsx/x", content=""), "is, or lies below, something else"),
    "large": (tool("write_file", path="x", content="x" * (65 << 20)), "would become too large"),
    "no JSON": (
        Reply(text="", tool_calls=(ToolCall(id="1", name="bash", arguments="{cmd"),)),
        "cannot be used",
    ),
    "no argument": (tool("write_file", path="x"), "cannot be used: Object missing required field `content`"),
    "another type": (tool("bash", cmd=["python"]), "cannot be used: Expected `str`, got `array`"),
    "one too many": (
        tool("bash", cmd="python x.py", cwd="/"),
        "cannot be used: Object contains unknown field",
    ),
    "no such tool": (
        tool("delete", path="x"),
        "There is no tool 'delete'; the tools are bash and write_file.",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_tools_refuse_is_told_and_the_task_goes_on(tmp_path, name):
    call, answer = REFUSED[name]
    done, sent = work(item_at(tmp_path), call, WRITE, END)
    assert answer in told(sent)[0]
    assert (done.status, done.hard) == ("scored", 1.0)


def test_links_that_a_program_leaves_lead_nowhere(tmp_path):
    link = tool(
        "bash", cmd="python -c \"import os; os.symlink('/etc', 'etc'); os.symlink('/etc/passwd', 'x')\""
    )
    through = tool("write_file", path="etc/written", content="x")
    done, sent = work(item_at(tmp_path), link, through, WRITE, END)
    assert told(sent)[0].splitlines()[-2:] == [
        "not kept: etc (not a regular file)",
        "not kept: x (not a regular file)",
    ]
    assert told(sent)[1] == "etc/written: 1 bytes written"
    assert done.hard == 1.0


def test_long_output_and_programs_that_do_not_end(tmp_path):
    loud = tool("bash", cmd="python -c \"print('x' * 9000)\"")
    flood = tool("bash", cmd="python -c \"while True: print('x' * 999)\"")
    done, sent = work(item_at(tmp_path), loud, flood, WRITE, END)
    first, second, _ = told(sent)
    assert first == "x" * 3800 + "\n[cut off]"
    assert "The program printed more than 1048576 bytes and was ended." in second
    assert done.hard == 1.0
    slow = tool("bash", cmd='python3 -c "import time; time.sleep(99)"')
    _, sent = work(item_at(tmp_path), slow, END, program_seconds=0.2)
    assert told(sent)[0].endswith("The program did not end within 0.2 s and was ended.\nexit code -9")


def test_the_end_of_the_budget_is_announced_and_its_calls_are_not_carried_out(tmp_path):
    done, sent = work(
        item_at(tmp_path), WRITE, RUN, tool("write_file", path="solution.py", content="x"), max_turns=3
    )
    assert told(sent)[-1].endswith("One reply is left, and its tool calls are not carried out.")
    assert not told(sent)[0].endswith("carried out.")
    assert (done.turns, done.hard, done.answer) == (3, 1.0, PROGRAM)


@pytest.mark.parametrize(
    ("reply", "status", "why"),
    [
        (Reply(text=""), "no_answer", "the reply was empty and called no tool"),
        (Reply(text=fenced(DOUBLE)), "unparsed", "no solution.py and no output.xlsx were left"),
        (Reply(text="I", finish_reason="length"), "truncated", "cut off at the token limit"),
    ],
)
def test_without_a_program(tmp_path, reply, status, why):
    done, _ = work(item_at(tmp_path), reply)
    assert (done.status, done.hard, done.answer) == (status, 0.0, "")
    assert why in done.reason
