"""The simulated target in household games: rules in any wording lift it, each loss shows its cause."""

from pathlib import Path

import pytest
import simulated
from hypothesis import given
from hypothesis import strategies as st

from skillopt.envs.alfworld import ENVIRONMENT, ALFWorldSettings
from skillopt.envs.alfworld.commands import find_command
from skillopt.envs.alfworld.prompt import Step, user_message
from skillopt.models.simulator.briefs import read_brief
from skillopt.models.simulator.diagnosis import causes_of
from skillopt.models.simulator.play_causes import causes_of_game
from skillopt.models.simulator.playing import RULES, is_game, play, read_chore
from skillopt.models.simulator.rules import rules_in, sentences_of
from skillopt.models.simulator.wordings import FOR_GAMES, HARMFUL
from skillopt.models.simulator.wordings import RULES as WORDINGS

SAMPLE = Path(__file__).parents[3] / "data" / "alfworld"
ALL = frozenset(RULES)


def attempts(skill, split="val", max_turns=30):
    settings = ALFWorldSettings(engine="household", history=30)
    items = ENVIRONMENT.read(SAMPLE / split)
    return simulated.attempts(ENVIRONMENT, items, skill, settings=settings, max_turns=max_turns)


def skill_of(rules, number=0):
    return "\n".join(f"- {WORDINGS[rule][number]}" for rule in rules)


def accuracy(skill, **options):
    return simulated.mean_hard(attempts(skill, **options))


@pytest.mark.parametrize("number", [0, 1, 2])
def test_any_wording_lifts_the_score(number):
    assert accuracy(skill_of(RULES, number)) == 1.0


@pytest.mark.parametrize("missing", RULES)
def test_each_rule_is_needed_and_its_lack_is_seen(missing):
    made = attempts(skill_of([rule for rule in RULES if rule != missing]), "train")
    lost = [attempt for attempt in made if not attempt.hard]
    assert lost
    found = set()
    for attempt in lost:
        entries = "\n".join(f"[{turn.role}]\n{turn.content}" for turn in attempt.trajectory)
        (seen,) = read_brief(f"```trajectory\n{entries}\n```").attempts("trajectory")
        found.update(causes_of(seen))
    assert missing in found
    assert found & {"wash", "warm", "chill", "under_lamp"} <= {missing}


def test_an_empty_skill_and_the_initial_one_win_next_to_nothing():
    assert accuracy("") == accuracy(ENVIRONMENT.initial_skill.read_text(encoding="utf-8")) < 0.2


def test_harm_shows():
    for way in HARMFUL["look_often"]:
        assert accuracy(f"{skill_of(RULES)}\n- {way}", max_turns=15) < accuracy(skill_of(RULES), max_turns=15)
    assert accuracy(f"{skill_of(RULES)}\n- {HARMFUL['full_sentence'][0]}") == 0.0


def test_each_wording_states_its_rule_alone():
    ways = {rule: WORDINGS[rule] for rule in RULES} | {rule: HARMFUL[rule] for rule in FOR_GAMES}
    for rule, said in ways.items():
        for way in said:
            assert {name for sentence in sentences_of(way) for name in rules_in(sentence)} == {rule}


def test_other_rules_say_nothing_about_games():
    for rule, said in {**WORDINGS, **HARMFUL}.items():
        if rule not in ALL | FOR_GAMES:
            stated = {name for way in said for sentence in sentences_of(way) for name in rules_in(sentence)}
            assert stated.isdisjoint(ALL | FOR_GAMES)


@pytest.mark.parametrize(
    ("task", "chore"),
    [
        ("put a clean mug in the cabinet.", ("mug", "cabinet", "wash", False)),
        ("heat some egg and put it in diningtable.", ("egg", "diningtable", "warm", False)),
        ("put two soapbar in garbagecan.", ("soapbar", "garbagecan", "", True)),
        ("look at book under the desklamp.", ("book", "desklamp", "", False)),
        ("find two pen and put them in drawer", ("pen", "drawer", "", True)),
        ("", ("", "", "", False)),
    ],
)
def test_what_a_task_asks(task, chore):
    assert tuple(read_chore(task)) == chore


def told(*steps, commands, task="put a mug in cabinet"):
    made = [Step(command=command, seen=seen) for command, seen in steps]
    return user_message(task, "A room.", made, commands, 50).content


def command(prompt, rules=ALL):
    return find_command(play(prompt, frozenset(rules)), ()).text


def test_it_goes_by_what_it_is_shown():
    ways = ("go to desk 1", "go to shelf 1", "look")
    assert is_game(told(commands=ways))
    assert command(told(commands=ways)) == "go to desk 1"
    at_desk = ("go to desk 1", "On the desk 1, you see a pen 1.")
    assert command(told(at_desk, commands=("go to shelf 1", "look"))) == "go to shelf 1"
    assert command(told(at_desk, commands=("take mug 1 from desk 1", "look"))) == "take mug 1 from desk 1"
    taken = ("take mug 1 from desk 1", "You pick up the mug 1.")
    assert command(told(at_desk, taken, commands=("go to cabinet 2", "look"))) == "go to cabinet 2"
    there = ("go to cabinet 2", "The cabinet 2 is closed.")
    assert command(told(at_desk, taken, there, commands=("open cabinet 2",))) == "open cabinet 2"
    failed = ("take mug 1 from desk 1", "Nothing happens.")
    assert command(told(at_desk, failed, commands=("go to cabinet 2", "look"))) == "go to cabinet 2"
    assert command(told(commands=())) == "look"


NAMES = st.sampled_from(["mug 1", "desk 1", "cabinet 2", "desklamp 1", "1", "mug", ""])
SEEN = st.sampled_from(["Nothing happens.", "On it, you see a mug 1.", "", "-> - 1. a -> b", "[note]", "##"])
VERBS = st.sampled_from(["go to {}", "take {} from {}", "move {} to {}", "open {}", "use {}", "{}", "look"])
COMMANDS = st.builds(lambda verb, one, two: verb.format(one, two), VERBS, NAMES, NAMES)
TASKS = st.sampled_from(
    ["put two mugs in cabinet", "put a hot mug in desk", "look at mug under desklamp", "x", ""]
)


@given(
    st.lists(st.tuples(COMMANDS, SEEN), max_size=6),
    st.lists(COMMANDS, max_size=5),
    st.sets(st.sampled_from([*RULES, *HARMFUL])),
    TASKS,
)
def test_nothing_it_is_shown_breaks_it(steps, commands, rules, task):
    reply = play(told(*steps, commands=tuple(commands), task=task), frozenset(rules))
    assert reply.endswith("</action>")
    entries = [f"[user]\n{seen}\n\ncommands:\n- {said}" for said, seen in steps]
    entries += [f"[assistant]\n<action>{said}</action>" for said in commands]
    assert set(causes_of_game("\n".join([*entries, f"[note]\ntask: {task}"]))) <= ALL
