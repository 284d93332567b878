"""OfficeQA's answers: the published text rule, and numbers compared as numbers."""

import pytest

from skillopt.envs.officeqa.scoring import judge


def judged(said, gold, match="numeric", tolerance=0.0001):
    return judge(said, [gold], match=match, tolerance=tolerance)


@pytest.mark.parametrize(
    ("said", "gold", "em", "f1"),
    [
        ("$1,234.5 million", "1234.5", 1, 1.0),
        ("1234.50", "1234.5", 0, 0.0),
        ("12.3%", "12.3", 0, 0.0),
        ("12.3 %", "12.3%", 0, 0.0),
        ("(5.2)", "5.2", 1, 1.0),
        ("-5.2", "5.2", 0, 0.0),
        ("[1, 2]", "1 2", 1, 1.0),
        ("$507.0", "507", 0, 0.0),
        ("3 thousand", "3", 0, 2 / 3),
        ("Increase", "increase.", 0, 0.0),
        ("", "5", 0, 0.0),
        ("", "million", 1, 1.0),
    ],
)
def test_published_text_rule(said, gold, em, f1):
    found = judged(said, gold, match="text")
    assert (found.em, found.f1) == (em, pytest.approx(f1))
    assert (found.hard, found.soft, found.how) == (em, pytest.approx(f1), "text")


@pytest.mark.parametrize(
    ("said", "gold"),
    [
        ("1234.50", "1234.5"),
        ("$507.0", "507"),
        ("12.3%", "12.3"),
        ("12.3 per cent", "12.3 %"),
        ("(5.2)", "-5.2"),
        ("−5.2", "-5.2"),
        ("- 5.2", "-5.2"),
        ("$(5.2) million", "-5.2"),
        ("507,000,000", "507 million"),
        ("0.507 billion", "507 million"),
        ("507", "507 million"),
        ("$507 million dollars", "507"),
        (".5", "0.5"),
        ("1,234,567.", "1234567"),
        ("[1,2]", "1; 2"),
        ("1.0 and 2.0", "[1, 2]"),
        ("1,234, 5,678", "[1234, 5678]"),
        ("100.009", "100"),
        ("Coal.", "coal."),
    ],
)
def test_the_same_number_in_another_form(said, gold):
    assert (judged(said, gold).hard, judged(said, gold).soft) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("said", "gold", "soft"),
    [
        ("-5.2", "5.2", 0.0),
        ("(5.2)", "5.2", 0.0),
        ("507 thousand", "507 million", 0.0),
        ("1954", "1953", 0.0),
        ("100.02", "100", 0.0),
        ("0.123", "12.3%", 0.0),
        ("1, 3", "1, 2", 0.5),
        ("1", "1, 2", 0.0),
        ("about 5", "5", 2 / 3),
        ("coal and iron", "coal", 0.5),
        ("", "5", 0.0),
        ("1" * 5000, "5", 0.0),
        ("0", "million", 0.0),
        ("0", "-", 0.0),
    ],
)
def test_another_answer(said, gold, soft):
    assert (judged(said, gold).hard, judged(said, gold).soft) == (0.0, pytest.approx(soft))


def test_the_tolerance_is_relative_and_may_be_nothing():
    assert judged("101", "100", tolerance=0.01).hard == 1.0
    assert judged("100.0001", "100", tolerance=0.0).hard == 0.0
    assert judged("100.0", "100", tolerance=0.0).hard == 1.0
    assert judged("0.0001", "0").hard == 0.0


def test_the_best_of_several_accepted_answers_counts():
    assert judge("7", ["5", "seven", "7.0"], match="numeric", tolerance=0.0).hard == 1.0
