"""The sample of DocVQA: its pages carry what is drawn on them, and a scripted target reaches both ends."""

import asyncio
import base64
import runpy
import struct
from pathlib import Path

import pytest

from skillopt.envs.base import CommonSettings
from skillopt.envs.docvqa import ENVIRONMENT, DocVQASettings
from skillopt.models.base import Image, Reply
from skillopt.models.simulator.pages import words_on

SAMPLE = Path(__file__).parents[3] / "data" / "docvqa"
COUNTS = {"train": 16, "val": 12, "test": 12}
SCRIPT = runpy.run_path(str(SAMPLE / "make_sample.py"))


def items_of(split):
    return ENVIRONMENT.read(SAMPLE / split)


def test_items():
    items = [item for split in COUNTS for item in items_of(split)]
    assert {split: len(items_of(split)) for split in COUNTS} == COUNTS
    assert len({item.id for item in items}) == 40
    assert [ENVIRONMENT.check(item) for item in items] == [""] * 40
    assert len({item.task_type for item in items}) == 4


def test_no_page_is_in_two_splits():
    pages = [page.name for split in SCRIPT["SPLITS"].values() for page in split]
    assert len(set(pages)) == len(pages) == 20


@pytest.mark.parametrize("split", list(COUNTS))
def test_pages_are_those_of_the_script_and_hold_the_answers(split):
    pages = {page.name: SCRIPT["words_of"](page) for page in SCRIPT["SPLITS"][split]}
    files = sorted((SAMPLE / split / "pages").iterdir())
    assert [file.stem for file in files] == sorted(pages)
    for file in files:
        content = file.read_bytes()
        assert words_on(Image(data=base64.b64encode(content).decode())) == pages[file.stem]
        assert struct.unpack(">II", content[16:24]) == SCRIPT["SIZE"]
        assert len(content) < 10_000
    raw = [
        {"id": i.id, "question": i.data["question"], "answers": i.data["answers"]} for i in items_of(split)
    ]
    made = [{key: item[key] for key in ("id", "question", "answers")} for item in SCRIPT["items"](split)]
    assert raw == made
    for item in items_of(split):
        assert item.data["answers"][0] in pages[Path(item.data["image_path"]).stem]


def test_the_script_draws_what_ships(tmp_path):
    pillow = pytest.importorskip("PIL.Image", reason="Pillow draws the sample; it is in the extra dev")
    SCRIPT["main"](tmp_path)
    for split in COUNTS:
        assert (tmp_path / split / "items.json").read_bytes() == (SAMPLE / split / "items.json").read_bytes()
        for file in (tmp_path / split / "pages").iterdir():
            drawn, shipped = pillow.open(file), pillow.open(SAMPLE / split / "pages" / file.name)
            assert drawn.convert("L").tobytes() == shipped.convert("L").tobytes()
            assert drawn.text == shipped.text


@pytest.mark.parametrize(("right", "score"), [(True, 1.0), (False, 0.0)])
def test_scripted_target(right, score):
    for item in items_of("test"):

        async def chat(messages, *, tools=(), tool_choice="", item=item):
            said = item.data["answers"][0] if right else "z" * 40
            return Reply(text=f"<answer>{said}</answer>")

        common = CommonSettings(max_turns=1, max_completion_tokens=100)
        made = ENVIRONMENT.attempt(item, "", chat, common, DocVQASettings(), 0)
        attempt = asyncio.run(made)
        assert (attempt.status, attempt.hard, attempt.soft) == ("scored", score, score)
