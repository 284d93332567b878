import json

import pytest

from skillopt.cli import FailureNote, main
from skillopt.errors import ExitCode

ESCAPES = "\x1b]0;owned\x07 \x1b[2J\u202e"
SHOWN = "?]0;owned? ?[2J?".replace("?", "\N{REPLACEMENT CHARACTER}")


def test_no_message_sends_control_characters_to_a_terminal_or_log(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    note = tmp_path / "x.failure.json"
    assert main(["status", f"configs/{ESCAPES}.yaml", "--log", "x.log"]) != 0
    err = capsys.readouterr().err
    for text in (err, (tmp_path / "x.log").read_text(), json.loads(note.read_text())["message"]):
        assert SHOWN in text
        assert "\x1b" not in text


@pytest.mark.parametrize("text", ["two\nlines\tand é 中", "plain"])
def test_other_text_of_a_failure_stays(tmp_path, text):
    FailureNote("status", tmp_path / "x.log").leave(ExitCode.UNEXPECTED, text)
    assert json.loads((tmp_path / "x.failure.json").read_text())["message"] == text
