"""The reader: what it answers depends on the skill in its prompt, in the direction the rules say."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.models.simulator.asked import Task, kind_of, read_task
from skillopt.models.simulator.rules import HARMFUL, HELPFUL
from skillopt.models.simulator.target import answer, answer_again
from skillopt.models.simulator.wordings import FOR_GAMES, FOR_PROGRAMS

PASSAGES = (
    "The festival of Lorvale is loved by painters. Its square holds a market with 40 stalls.",
    "The lighthouse of Cape Arn was finished on 4 March 1871. It was designed by the engineer Ilse Korven. "
    "The lighthouse stands near Port Hale and has 212 steps.",
)
EVERYTHING = frozenset(HELPFUL)


def said(question, rules=EVERYTHING, passages=PASSAGES):
    reply = answer(Task("", passages, question), frozenset(rules))
    return re.search(r"<answer>(.*)</answer>", reply, re.DOTALL).group(1)


@pytest.mark.parametrize(
    ("question", "right"),
    [
        ("When was the lighthouse of Cape Arn finished?", "4 March 1871"),
        ("Who designed the lighthouse of Cape Arn?", "Ilse Korven"),
        ("How many steps does the lighthouse have?", "212"),
        ("Where does the lighthouse stand?", "Port Hale"),
        ("This engineer designed the lighthouse of Cape Arn", "Ilse Korven"),
    ],
)
def test_with_all_rules_it_answers_like_a_careful_reader(question, right):
    assert said(question) == right


@pytest.mark.parametrize(
    ("question", "lost", "right"),
    [
        ("When did Ilse Korven leave?", "when", "1902"),
        ("How many boats did Ilse Korven see?", "number", "17"),
        ("When did Ilse Korven leave?", "short", "1902"),
    ],
)
def test_without_a_rule_it_fails_where_the_rule_helps(question, lost, right):
    passages = (
        "In 1902 Ilse Korven had to leave for Grand Marsh. Korven could see 17 boats near Port Hale.",
    )
    assert said(question, EVERYTHING, passages) == right
    assert said(question, EVERYTHING - {lost}, passages) != right


def test_with_no_rules_it_puts_a_whole_sentence_between_the_tags():
    text = said("Who designed the lighthouse of Cape Arn?", ())
    assert text.startswith("Based on the passages")
    assert len(text.split()) > 10


OF_OTHERS = {"full_sentence", "unsure", *FOR_PROGRAMS, *FOR_GAMES}


@pytest.mark.parametrize("harmful", sorted({*HARMFUL} - OF_OTHERS))
def test_harmful_rules_hurt(harmful):
    question = "Who designed the lighthouse of Cape Arn?"
    assert said(question, EVERYTHING | {harmful}) != "Ilse Korven"


def test_unsure_gives_up_when_candidates_are_close():
    twins = ("The prize went to Anna Bell. The prize went to Carl Dorn.",)
    assert said("Who got the prize?", EVERYTHING | {"unsure"}, twins) == "unknown"
    assert said("Who got the prize?", EVERYTHING, twins) in {"Anna Bell", "Carl Dorn"}


def test_padding_and_comments_stop_when_the_skill_says_so():
    questions = [f"Who designed the lighthouse of Cape Arn in round {n}?" for n in range(40)]
    exact = [said(question) for question in questions]
    loose = [said(question, EVERYTHING - {"exact"}) for question in questions]
    chatty = [said(question, EVERYTHING - {"bare"}) for question in questions]
    assert set(exact) == {"Ilse Korven"}
    assert set(loose) == {"Ilse Korven", "Ilse Korven or similar"}
    assert set(chatty) == {"Ilse Korven", "Ilse Korven, because the passage says so"}


def test_a_check_gives_the_same_answer():
    task = Task("", PASSAGES, "Who designed the lighthouse of Cape Arn?")
    assert answer_again(task, EVERYTHING).endswith(answer(task, EVERYTHING))


def test_nothing_to_read():
    assert said("Who?", passages=()) == "I could not find it in the passages."


def test_the_prompt_is_taken_apart_by_its_headings():
    task = read_task(
        "Role.\n\n## Skill\n\nNotes.\n\n## Task rules\n\n- Be brief.\n\n## Task\n\nAnswer briefly.",
        "## Context\n\n[DOC] one [DOC] two\n\n## Question\n\nWho?",
    )
    assert task == Task("Notes.\n\n## Task rules\n\n- Be brief.", ("one", "two"), "Who?")
    assert read_task("Be brief.", "Some text.\nWho?") == Task("", ("Some text.",), "Who?")


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("In what year did it end?", "when"),
        ("How much does it cost?", "number"),
        ("Which scientist found it?", "person"),
        ("This river flows through Cologne", "place"),
        ("What is it made of?", "thing"),
    ],
)
def test_kinds_of_questions(question, kind):
    assert kind_of(question) == kind


@given(st.text(), st.lists(st.text(), max_size=3), st.frozensets(st.sampled_from([*HELPFUL, *HARMFUL])))
def test_any_text_gets_one_answer(question, passages, rules):
    task = Task("", tuple(passage for passage in passages if passage.strip()), question)
    reply = answer(task, rules)
    assert reply == answer(task, rules)
    assert reply.endswith("</answer>")
