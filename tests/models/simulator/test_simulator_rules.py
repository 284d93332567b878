"""Rules are recognised by what a sentence means, and later rules win over earlier ones."""

import pytest

from skillopt.models.simulator import wordings
from skillopt.models.simulator.rules import HARMFUL, HELPFUL, RULES, rules_in, rules_of


@pytest.mark.parametrize(
    ("sentence", "rule"),
    [
        ("Answer with the shortest span.", "short"),
        ("Give only the name, nothing else.", "short"),
        ("Use one to five words.", "short"),
        ("The answer should be a concise noun phrase", "short"),
        ("Do not answer in full sentences.", "short"),
        ("Do not answer in full sentences.", "bare"),
        ("No explanation inside the tags.", "bare"),
        ("Keep any explanation out of the answer tags", "bare"),
        ("Strip any explanation from the final answer", "bare"),
        ("Copy the words of the passage exactly.", "exact"),
        ("Do not paraphrase the answer.", "exact"),
        ("For when-questions, answer with a date or a year.", "when"),
        ("If asked 'when', return the year.", "when"),
        ("A number for how many.", "number"),
        ("For 'how many' questions, return only a number", "number"),
        ("Who wants a person.", "person"),
        ("For where-questions, name a place.", "place"),
        ("Match the type of thing that the question asks for.", "kind"),
        ("Prefer the passage that shares the question's rare words.", "rare"),
        ("Prefer sentences whose words overlap with the question", "rare"),
        ("Never repeat a phrase of the question.", "no_repeat"),
        ("Avoid restating the question.", "no_repeat"),
        ("Always explain your answer in full sentences.", "full_sentence"),
        ("Answer with the first words of the passage.", "first_words"),
    ],
)
def test_a_rule_is_known_by_its_meaning(sentence, rule):
    assert rule in rules_in(sentence)


@pytest.mark.parametrize("sentence", [*wordings.USELESS, "# Skill", "Nothing has been learned yet.", ""])
def test_sentences_that_state_no_rule(sentence):
    assert rules_in(sentence) == ()


def test_every_wording_of_the_optimizer_is_understood_as_meant():
    assert set(wordings.RULES) == set(HELPFUL)
    assert set(wordings.HARMFUL) == set(wordings.TOPICS) == set(HARMFUL)
    assert {rule.name for rule in RULES} == {*HELPFUL, *HARMFUL}
    for rule, ways in (wordings.RULES | wordings.HARMFUL).items():
        for way in ways:
            assert rules_in(way) == (rule,), way


def test_the_later_of_two_contradicting_rules_holds():
    short, long = "Keep the answer brief.", "Answer in full sentences."
    assert rules_of(f"- {short}\n- {long}") == {"full_sentence"}
    assert rules_of(f"- {long}\n- {short}") == {"short"}


def test_a_negated_rule_is_not_the_rule():
    assert "exact" not in rules_in("Do not copy words of the question.")
    assert "list_all" not in rules_in("Never list several candidates.")
    assert "unsure" not in rules_in("Never answer unknown.")


def test_negation_ends_with_its_clause():
    assert set(rules_in("Do not repeat the question, copy the words of the passage.")) == {
        "no_repeat",
        "exact",
    }
