"""Finding the answer in a reply."""

import pytest

from skillopt.envs.answers import Found, find_answer


@pytest.mark.parametrize(
    ("reply", "text", "where"),
    [
        ("I think so.\n<answer> Paris </answer>", "Paris", "tag"),
        ("<answer>Rome</answer> no, <ANSWER>Paris</Answer> it is", "Paris", "tag"),
        ("<answer>Paris</answer> and then <answer>Ro", "Paris", "tag"),
        ("<answer>one <answer>two</answer>", "two", "tag"),
        ("<answer>one</answer> stray </answer>", "one", "tag"),
        ("<answer>two\nlines</answer>", "two\nlines", "tag"),
        ("<answer ></answer >", "", "tag"),
        ("so: <answer>first <answer> second \n", "second", "unclosed"),
        ("<answer>", "", "unclosed"),
        ("Some thought.\n\nParis, France\n \n", "Paris, France", "line"),
        (" \n\t\n", "", "nowhere"),
        ("", "", "nowhere"),
    ],
)
def test_place_and_text(reply, text, where):
    assert find_answer(reply) == Found(text=text, where=where)


def test_many_open_tags_are_read_in_linear_time():
    assert find_answer("<answer>" * 50_000 + "x").text == "x"
