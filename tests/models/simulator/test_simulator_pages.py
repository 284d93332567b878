"""The simulated target before pages: it reads the words that an image carries, and nothing without them."""

import base64
import zlib
from pathlib import Path

import pytest
from simulated import attempts, mean_hard

from skillopt.envs.docvqa import ENVIRONMENT
from skillopt.models.base import Image
from skillopt.models.simulator.briefs import Attempt
from skillopt.models.simulator.diagnosis import causes_of
from skillopt.models.simulator.pages import words_on
from skillopt.models.simulator.wordings import RULES
from skillopt.records import Item

SAMPLE = Path(__file__).parents[3] / "data" / "docvqa"
READING = ("short", "bare", "exact", "when", "number", "person", "rare", "no_repeat")


def chunk(kind, data):
    return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")


def png(*chunks):
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def image(content):
    return Image(data=base64.b64encode(content).decode("ascii"))


def accuracy(skill, items=None):
    return mean_hard(attempts(ENVIRONMENT, items or ENVIRONMENT.read(SAMPLE / "val"), skill))


def test_words_of_a_chunk():
    other, words = chunk(b"tEXt", b"Title\0no"), chunk(b"tEXt", b"Description\0caf\xe9\ntwo")
    assert words_on(image(png(chunk(b"IHDR", b"x" * 13), other, words))) == "café\ntwo"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"GIF89a",
        png(),
        png(chunk(b"IHDR", b"x" * 13)),
        png(chunk(b"tEXt", b"Description")[:-8]),
        png(b"\xff\xff\xff\xfftEXt"),
        png()[:5],
    ],
)
def test_images_without_words_are_blank(content):
    assert words_on(image(content)) == ""


def test_data_that_is_no_base64_is_blank():
    assert words_on(Image(data="not base64!")) == ""


@pytest.mark.parametrize("number", [0, 1, 2])
def test_any_wording_lifts_the_score(number):
    skill = "\n".join(f"- {RULES[rule][number]}" for rule in READING)
    assert accuracy(skill) >= 0.9
    assert accuracy(f"{skill}\n- Always explain your answer in full sentences.") == 0.0


def test_an_empty_skill_and_the_initial_one_fail():
    assert accuracy("") == accuracy(ENVIRONMENT.initial_skill.read_text(encoding="utf-8")) == 0.0


def test_without_words_in_the_image_it_finds_nothing(tmp_path):
    (tmp_path / "a.png").write_bytes(png(chunk(b"IHDR", b"x" * 13)))
    data = {"question": "Who signed?", "answers": ["Olaf Rehn"], "image_path": "a.png"}
    skill = "\n".join(f"- {RULES[rule][0]}" for rule in READING)
    assert accuracy(skill, [Item(id="a", data=data, folder=str(tmp_path))]) == 0.0


def test_a_hedge_shows_in_the_answer_where_the_page_is_not_shown():
    assert "exact" in causes_of(Attempt("How many lamps?", "", "about 36", ("36",)))
    assert "exact" not in causes_of(Attempt("How many lamps?", "", "63", ("36",)))
