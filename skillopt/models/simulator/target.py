"""The simulated target's replies: what it found, put into words as its skill wants it.

With an empty skill it writes like a chatty model: a whole sentence between the tags.
"""

from collections import Counter

from skillopt.models.simulator.asked import Task
from skillopt.models.simulator.choosing import choose, read_choice
from skillopt.models.simulator.reader import Pick, find
from skillopt.models.simulator.text import FUNCTION_WORDS, chance, tokens

_DOUBT = 0.93  # a second candidate this near to the best one leaves doubt
_PADS = 0.3  # share of answers that it pads unless told to copy
_COMMENTS = 0.5  # share of answers that it comments on unless told not to


def answer(task: Task, rules: frozenset[str]) -> str:
    """Return the whole reply to a task under the rules in force."""
    choice = read_choice(task.question)
    if choice:
        return choose(choice, rules)
    picks = find(task, rules)
    if not picks:
        return "The passages do not say.\n<answer>I could not find it in the passages.</answer>"
    said = _phrase(task, picks, rules)
    return f"The passages speak of it here: {picks[0].sentence.text}\n<answer>{said}</answer>"


def answer_again(task: Task, rules: frozenset[str]) -> str:
    """Return the reply to a request to check an earlier answer: reading again gives the same."""
    return f"I have read the passages once more. {answer(task, rules)}"


def _phrase(task: Task, picks: list[Pick], rules: frozenset[str]) -> str:
    if "first_words" in rules:
        return " ".join(task.passages[0].split()[:4])
    if "unsure" in rules and len(picks) > 1 and picks[1].score > _DOUBT * picks[0].score:
        return "unknown"
    if "list_all" in rules:
        return ", ".join(dict.fromkeys(pick.text for pick in picks[:3]))
    said = _most_frequent_name(task) if "frequent" in rules else picks[0].text
    if "exact" not in rules and chance("pads", task.question) < _PADS:
        said = f"about {said}" if said[0].isdigit() else f"{said} or similar"
    return _wrapped(said, picks[0].sentence.text, task.question, rules)


def _wrapped(said: str, sentence: str, question: str, rules: frozenset[str]) -> str:
    if "short" not in rules and "bare" in rules:
        return sentence
    if "short" not in rules:
        return f"Based on the passages, the answer seems to be {said}: {sentence}"
    if "context" in rules:
        return f"{said} ({sentence})"
    if "bare" not in rules and chance("comments", question) < _COMMENTS:
        return f"{said}, because the passage says so"
    return said


def _most_frequent_name(task: Task) -> str:
    counts = Counter(
        word.text
        for passage in task.passages
        for word in tokens(passage)
        if word.text[0].isupper() and word.lower not in FUNCTION_WORDS
    )
    return max(counts, key=lambda text: (counts[text], text), default="nothing")
