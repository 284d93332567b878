"""Programs without tools: what comes of right, wrong and misbehaving ones, for real in the sandbox."""

import msgspec
import pytest
from openpyxl import load_workbook
from sheets import DOUBLE, attempt, fenced, item_at, needs_isolation

from skillopt.envs.spreadsheetbench.extraction import find_program
from skillopt.envs.spreadsheetbench.trial import FaultyItem
from skillopt.models.base import CallError, Reply

pytestmark = needs_isolation


def test_right_on_every_workbook(tmp_path):
    item = item_at(tmp_path, cases=((1, 2, 3), (5, 6, 7)))
    done, sent = attempt(item, fenced(DOUBLE), skill="Be brave.")
    assert (done.status, done.hard, done.soft, done.reason, done.turns) == ("scored", 1.0, 1.0, "", 1)
    assert done.answer == DOUBLE.lstrip()
    assert (done.extra["n_cases"], done.extra["n_exec_pass"], done.extra["n_pass"]) == (2, 2, 2)
    assert done.extra["sandbox"][0] == "no network"
    system, user = sent[0]
    assert "Be brave." in system.content
    assert "A1=1" in user.content
    assert "Be brave." not in str(done.trajectory)
    assert [turn.role for turn in done.trajectory] == ["system", "user", "assistant", "note"]
    assert done.trajectory[-1].content == "test case 1: PASS\n\ntest case 2: PASS"


def test_right_on_one_of_two(tmp_path):
    item = item_at(tmp_path, cases=((1, 2, 3), (5, 6, 7)))
    code = DOUBLE.replace("row[0].value * 2", "{1: 2, 2: 4, 3: 6}.get(row[0].value)")
    done, _ = attempt(item, fenced(code))
    assert (done.status, done.hard, done.soft) == ("scored", 0.0, 0.5)
    assert done.reason == "case 2: eval-mismatch: 3 of 3 cells; Data!B1: got (empty), expected 10"


def test_a_formula_reads_as_empty_and_is_told(tmp_path):
    done, _ = attempt(item_at(tmp_path), fenced(DOUBLE.replace("row[0].value * 2", 'f"=A{row[0].row}*2"')))
    assert (done.status, done.hard) == ("scored", 0.0)
    assert "Data!B1: got a formula without a value, expected 2" in done.reason
    assert done.trajectory[-1].content.endswith(
        "3 wrong cells hold a formula that nobody computes, such as Data!B1, Data!B2, Data!B3"
    )


EVERYTHING_ELSE = {
    "raises": ("raise KeyError('Data')", "exec-error: KeyError: 'Data'"),
    "syntax": ("def (:", "exec-error: SyntaxError: invalid syntax"),
    "exits": ("import sys; sys.exit(4)", "exec-error: exit code 4"),
    "saves nothing": ("print('done')", "output-not-found: nothing was saved to OUTPUT_PATH"),
    "ends early": ("exit(0)", "output-not-found: nothing was saved to OUTPUT_PATH"),
    "no workbook": ("open(OUTPUT_PATH, 'w').write('x')", "the file cannot be read: BadZipFile"),
    "link": (
        "import os; os.symlink('/etc/passwd', OUTPUT_PATH)",
        "output-refused: output.xlsx (not a regular",
    ),
    "links to the input": (
        "import os; os.link(INPUT_PATH, OUTPUT_PATH)",
        "output-refused: output.xlsx (another",
    ),
    "elsewhere": ("open('/var/output.xlsx', 'w')", "No such file or directory: '/var/output.xlsx'"),
    "network": ("import socket; socket.create_connection(('192.0.2.1', 80))", "Network is unreachable"),
    "too large": ("f = open(OUTPUT_PATH, 'wb'); f.write(b'x' * (65 << 20))", "File too large"),
    "prints": ("while True: print('x' * 999)", "the program printed more than 1048576 bytes and was ended"),
    "memory": ("x = bytearray(10**10)", "exec-error: MemoryError"),
    "forks": (
        "import os, time\nfor n in range(99):\n    if not os.fork(): time.sleep(99)\ntime.sleep(99)",
        "Resource temporarily unavailable",
    ),
    "fills the disk": (
        "for n in range(99): open(f'{n}', 'wb').write(b'x' * (8 << 20))",
        "exec-error: OSError: [Errno 28] No space left on device",
    ),
    "writes outside": ("open('/usr/x', 'w')", "Read-only file system: '/usr/x'"),
    "other sheet": (
        "import openpyxl; b = openpyxl.Workbook(); b.save(OUTPUT_PATH)",
        "eval-mismatch: the sheet 'Data' is missing",
    ),
}


@pytest.mark.parametrize("name", EVERYTHING_ELSE)
def test_failures_of_the_program_are_scored_zero(tmp_path, name):
    code, reason = EVERYTHING_ELSE[name]
    done, _ = attempt(item_at(tmp_path), fenced(code))
    assert (done.status, done.hard, done.soft, done.error) == ("scored", 0.0, 0.0, None)
    assert reason in done.reason
    assert done.trajectory[-1].content.startswith("test case 1: FAIL: ")


def test_a_time_out_is_the_programs_own_failure(tmp_path):
    code = "import time\nprint('so far', flush=True)\ntime.sleep(99)"
    done, _ = attempt(item_at(tmp_path), fenced(code), program_seconds=2)
    assert (done.status, done.hard) == ("scored", 0.0)
    assert done.reason == "case 1: exec-error: the program did not end within 2 s and was ended"
    assert "it printed:\nso far" in done.trajectory[-1].content


def test_a_packed_giant_is_not_unpacked(tmp_path):
    code = """
import shutil, zipfile
shutil.copy(INPUT_PATH, OUTPUT_PATH)
with zipfile.ZipFile(OUTPUT_PATH, "a", zipfile.ZIP_DEFLATED) as archive:
    archive.writestr("xl/giant.xml", "x")
    archive.getinfo("xl/giant.xml").file_size = 1 << 31
"""
    done, _ = attempt(item_at(tmp_path), fenced(code))
    assert (done.status, done.hard) == ("scored", 0.0)
    assert done.reason == "case 1: eval-mismatch: the file cannot be read: it unpacks to more than is read"


def test_the_program_runs_as_it_is(tmp_path):
    """Its strings keep their lines, future imports work, `__main__` holds, its own paths may be set."""
    code = f'''from __future__ import annotations
INPUT_PATH = "input.xlsx"
if INPUT_PATH:
    OUTPUT_PATH = "output.xlsx"
text = """a
b"""
if __name__ == "__main__" and text == "a\\nb":
{"".join(f"    {line}" + chr(10) for line in DOUBLE.strip().splitlines())}'''
    done, _ = attempt(item_at(tmp_path), fenced(code))
    assert (done.hard, done.reason) == (1.0, "")


def test_secrets_stay_outside(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-0123456789abcdef")
    done, _ = attempt(item_at(tmp_path), fenced("import os; raise ValueError(dict(os.environ))"))
    assert "ValueError: {" in done.reason
    assert "canary" not in str(msgspec.to_builtins(done))


REPLIES = {
    "empty": (Reply(text=" \n"), "no_answer", "the reply was empty"),
    "prose": (Reply(text="I cannot do that."), "unparsed", "the reply holds no program"),
    "empty block": (
        Reply(text="```python\n\n```"),
        "unparsed",
        "empty-code-block: the block of code was empty",
    ),
    "cut off": (
        Reply(text="```python\nx = 1", finish_reason="length"),
        "truncated",
        "cut off at the token limit",
    ),
    "cut off in prose": (
        Reply(text="Let me", finish_reason="length"),
        "truncated",
        "cut off at the token limit",
    ),
}


@pytest.mark.parametrize("name", REPLIES)
def test_replies_without_a_program(tmp_path, name):
    reply, status, why = REPLIES[name]
    done, _ = attempt(item_at(tmp_path), reply)
    assert (done.status, done.hard, done.soft, done.answer) == (status, 0.0, 0.0, "")
    assert why in done.reason
    assert done.trajectory[-1].content == f"problem: {done.reason}"


def test_a_complete_program_counts_though_the_reply_was_cut_off(tmp_path):
    done, _ = attempt(item_at(tmp_path), Reply(text=fenced(DOUBLE), finish_reason="length"))
    assert done.hard == 1.0


def test_a_failed_call_is_not_caught(tmp_path):
    item = item_at(tmp_path)
    with pytest.raises(CallError):
        attempt(item, CallError("down", kind="timeout"))


def test_a_broken_gold_workbook_is_nobodys_failure(tmp_path):
    item = item_at(tmp_path, answer_position="Missing!A1")
    with pytest.raises(FaultyItem, match=r"1_x_answer\.xlsx: the sheet 'Missing' is missing"):
        attempt(item, fenced(DOUBLE))
    (tmp_path / "spreadsheet/1-1/1_x_input.xlsx").write_text("no workbook")
    with pytest.raises(FaultyItem, match=r"1_x_input\.xlsx: BadZipFile"):
        attempt(item, fenced(DOUBLE))


def test_whole_columns_and_what_lies_below(tmp_path):
    item = item_at(tmp_path, answer_position="B:B")
    assert attempt(item, fenced(DOUBLE))[0].hard == 1.0
    below = DOUBLE.replace("book.save", "book['Data']['B9'] = 'left over'\nbook.save")
    done, _ = attempt(item, fenced(below))
    assert done.reason == "case 1: eval-mismatch: 1 of 9 cells; Data!B9: got 'left over', expected (empty)"


def test_other_turns_tell_errors_and_end_with_a_program_that_runs(tmp_path):
    wrong = DOUBLE.replace("* 2", "* 3")
    done, sent = attempt(
        item_at(tmp_path), "What?", fenced("1/0"), fenced(wrong), fenced(DOUBLE), max_turns=9
    )
    assert len(sent) == done.turns == 3
    assert [message.role for message in sent[2]] == [
        "system",
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
    ]
    assert sent[1][-1].content.startswith("Your reply holds no complete program.")
    assert "exec-error: ZeroDivisionError: division by zero" in sent[2][-1].content
    assert (done.status, done.hard) == ("scored", 0.0)
    assert "expected" not in str(sent)
    assert len(done.trajectory) == 8


def test_feedback_in_training_tells_what_is_wrong_and_not_what_is_right(tmp_path):
    wrong = DOUBLE.replace("* 2", "* 333")
    done, sent = attempt(item_at(tmp_path), fenced(wrong), fenced(DOUBLE), max_turns=9, feedback=True)
    assert (done.turns, done.hard, done.reason) == (2, 1.0, "")
    assert sent[1][-1].content == (
        "The program ran. 0 cells are right and 3 are wrong:\n- Data!B1: got 333\n- Data!B2: got 666\n"
        "- Data!B3: got 999\n\nFind out why, and reply with the whole program, mended."
    )


def test_the_last_program_is_judged_and_single_asks_once(tmp_path):
    done, sent = attempt(item_at(tmp_path), fenced("1/0"), fenced("2/0"), max_turns=2)
    assert (len(sent), done.answer) == (2, "2/0\n")
    done, sent = attempt(item_at(tmp_path), fenced("1/0"), fenced(DOUBLE), max_turns=9, mode="single")
    assert (len(sent), done.hard) == (1, 0.0)
    done, sent = attempt(item_at(tmp_path), fenced("1/0"), " ", max_turns=9)
    assert (len(sent), done.turns, done.answer) == (2, 2, "1/0\n")


@pytest.mark.parametrize(
    ("reply", "code", "where"),
    [
        ("```python\na = 1\n```", "a = 1\n", "fence"),
        ("x\n```\na = 1\n```\n```py\nb = 2\n```", "b = 2\n", "fence"),
        ("~~~python\na = '```'\n~~~", "a = '```'\n", "fence"),
        ("````python\na = '''\n```\n'''\n````", "a = '''\n```\n'''\n", "fence"),
        ("```python\na = 1", "a = 1\n", "unclosed"),
        ("import os\nprint(os.name)", "import os\nprint(os.name)\n", "plain"),
        ("print(1)", "print(1)\n", "plain"),
        ("Yes", "", "nowhere"),
        ("It is done, more or less.", "", "nowhere"),
        ("(" * 5000, "", "nowhere"),
    ],
)
def test_programs_in_replies(reply, code, where):
    found = find_program(reply)
    assert (found.code, found.where) == (code, where)


def test_nothing_of_the_data_changes(tmp_path):
    item = item_at(tmp_path)
    path = tmp_path / "spreadsheet/1-1/1_x_input.xlsx"
    before = path.read_bytes()
    attempt(item, fenced(DOUBLE.replace("book.save(OUTPUT_PATH)", "book.save(INPUT_PATH)")))
    assert path.read_bytes() == before
    assert load_workbook(path)["Data"].max_column == 1
