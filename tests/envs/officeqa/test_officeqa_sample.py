"""The sample of OfficeQA: made by its script, usable, and within a scripted target's reach."""

import asyncio
import json
import runpy
from pathlib import Path

import pytest

from skillopt.envs.base import CommonSettings
from skillopt.envs.officeqa import ENVIRONMENT, OfficeQASettings
from skillopt.models.base import Reply, ToolCall

SAMPLE = Path(__file__).parents[3] / "data" / "officeqa"
COUNTS = {"train": 16, "val": 12, "test": 12}
SETTINGS = OfficeQASettings(data_dirs=(str(SAMPLE / "documents"),), document_scope="corpus")
COMMON = CommonSettings(max_turns=12, max_completion_tokens=100)


def files_below(folder):
    return {
        p.relative_to(folder).as_posix(): p.read_bytes()
        for p in folder.rglob("*.*")
        if p.suffix not in (".py", ".yaml")  # the script and what it reads
    }


def test_the_script_makes_what_ships(tmp_path):
    runpy.run_path(str(SAMPLE / "make_sample.py"))["main"](tmp_path)
    made = files_below(tmp_path)
    assert len(made) == 28 + 3
    assert {name: made[name] for name in made if "__pycache__" not in name} == files_below(SAMPLE)


def test_items_and_documents():
    splits = {name: ENVIRONMENT.read(SAMPLE / name) for name in COUNTS}
    items = [item for found in splits.values() for item in found]
    assert {name: len(found) for name, found in splits.items()} == COUNTS
    assert len({item.id for item in items}) == len({item.data["question"] for item in items}) == 40
    assert [ENVIRONMENT.check(item) for item in items] == [""] * 40
    assert {item.task_type for item in items} == {"easy", "hard"}
    assert ENVIRONMENT.obstacles(SETTINGS, COMMON) == []
    named = OfficeQASettings(data_dirs=SETTINGS.data_dirs)
    assert {len(ENVIRONMENT.files(item, named)) for item in items} == {1, 2}


def test_plain_figures_stand_in_the_documents_that_the_items_name():
    for split in COUNTS:
        for item in ENVIRONMENT.read(SAMPLE / split):
            if item.task_type == "easy":
                (name,) = item.data["source_files"]
                text = (SAMPLE / "documents" / name).read_text(encoding="utf-8")
                assert f"| {item.data['answers'][0].replace(',', '')} |" in text


@pytest.mark.parametrize(("right", "score"), [(True, 1.0), (False, 0.0)])
def test_scripted_target(right, score):
    for item in ENVIRONMENT.read(SAMPLE / "test"):
        path = json.dumps({"path": item.data["source_files"][0]})
        said = item.data["answers"][0] if right else "-1"
        script = [
            Reply(text="", tool_calls=(ToolCall(id="1", name="read", arguments=path),)),
            Reply(text=f"<answer>{said}</answer>"),
        ]

        async def chat(messages, *, tools=(), tool_choice="", script=script):
            return script.pop(0)

        attempt = asyncio.run(ENVIRONMENT.attempt(item, "", chat, COMMON, SETTINGS, 0))
        assert (attempt.status, attempt.hard, attempt.soft) == ("scored", score, score)
