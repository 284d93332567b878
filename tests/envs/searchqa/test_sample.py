"""The sample that ships with the project."""

import asyncio
from pathlib import Path

import pytest

from skillopt.envs.base import CommonSettings
from skillopt.envs.searchqa import ENVIRONMENT, SearchQASettings
from skillopt.envs.searchqa.prompt import cut_context
from skillopt.envs.searchqa.scoring import judge, normalise
from skillopt.models.base import Reply

FOLDER = Path(__file__).parents[3] / "data" / "searchqa"
COUNTS = {"train": 60, "val": 40, "test": 80}


@pytest.fixture(scope="module")
def splits():
    return {name: ENVIRONMENT.read(FOLDER / name) for name in COUNTS}


def passages(item):
    return [passage.strip() for passage in item.data["context"].split("[DOC]")[1:]]


def test_counts_and_ids(splits):
    assert {name: len(items) for name, items in splits.items()} == COUNTS
    ids = [item.id for items in splits.values() for item in items]
    assert len(set(ids)) == sum(COUNTS.values())


def test_every_item_is_usable_and_has_its_answers_in_its_context(splits):
    for item in (item for items in splits.values() for item in items):
        assert ENVIRONMENT.check(item) == ""
        assert set(item.data) == {"id", "question", "context", "answers"}
        for answer in item.data["answers"]:
            assert answer in item.data["context"], item.id
            assert normalise(answer), item.id
            assert len(answer.split()) <= 5, item.id
            assert judge(answer, item.data["answers"]).exact == 1


def test_contexts_have_distractors_and_fit_the_budget(splits):
    for item in (item for items in splits.values() for item in items):
        assert item.data["context"].startswith("[DOC] ")
        assert 4 <= len(passages(item)) <= 6, item.id
        assert len(set(passages(item))) == len(passages(item)), item.id
        assert 450 <= len(item.data["context"]) <= 1200, item.id
        assert cut_context(item.data["context"], 6000) == item.data["context"]
        without = [text for text in passages(item) if item.data["answers"][0] not in text]
        assert without, item.id


def test_no_passage_and_no_question_in_two_splits(splits):
    texts = {
        name: {text for item in items for text in [*passages(item), item.data["question"]]}
        for name, items in splits.items()
    }
    assert not texts["train"] & texts["val"]
    assert not texts["train"] & texts["test"]
    assert not texts["val"] & texts["test"]


def test_no_question_twice(splits):
    questions = [item.data["question"] for items in splits.values() for item in items]
    assert len(set(questions)) == len(questions)


def test_questions_of_many_kinds(splits):
    for name, items in splits.items():
        questions = [item.data["question"] for item in items]
        for start in ("Who", "When", "How many", "Where", "Which", "What"):
            assert any(question.startswith(start) for question in questions), (name, start)
        statements = [question for question in questions if not question.endswith("?")]
        assert len(statements) >= len(questions) // 10, name


@pytest.mark.parametrize(("right", "score"), [(True, 1.0), (False, 0.0)])
def test_scripted_target(splits, right, score):
    for item in splits["test"]:

        async def chat(messages, *, tools=(), tool_choice="", item=item):
            return Reply(text=f"<answer>{item.data['answers'][0] if right else 'zzzz'}</answer>")

        common = CommonSettings(max_turns=1, max_completion_tokens=100)
        made = asyncio.run(ENVIRONMENT.attempt(item, "", chat, common, SearchQASettings(), 0))
        assert (made.status, made.hard, made.soft) == ("scored", score, score)


def test_readme_states_the_counts_and_the_licence():
    readme = (FOLDER.parent / "README.md").read_text(encoding="utf-8")
    for name, count in COUNTS.items():
        assert any(
            f"searchqa/{name}/items.json" in line and f"| {count} |" in line for line in readme.split("\n")
        )
    assert "CC0 1.0" in readme
