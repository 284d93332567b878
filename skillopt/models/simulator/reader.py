"""The simulated target's reading: which sentence speaks of the question, which span in it answers.

The reader has habits (it reads the beginning first, and likes names); rules of the skill replace them.
The weights were fitted once on general questions.
"""

from collections import Counter
from math import log
from typing import NamedTuple

from skillopt.models.simulator.asked import Kind, Task, head_stem, kind_of
from skillopt.models.simulator.spans import Span, spans
from skillopt.models.simulator.text import FUNCTION_WORDS, Token, sentences, tokens

_KIND_OF_SPAN = {"when": "date", "number": "number", "person": "name", "place": "place"}
_SENTENCES_READ = 6
_SENTENCE, _NEARNESS, _DECAY = 3.0, 3.0, 0.02
_REPEATED, _ANY_REPEATED = 2.7, 0.5
_RIGHT_KIND, _WRONG_KIND = 3.0, -1.0
_HEAD_INSIDE, _HEAD_NEAR = 0.7, 0.3
_LENGTH, _USUAL_LENGTH = 0.07, 4
_POSSESSIVE = 1.0
_NAME = 2.0


class Sentence(NamedTuple):
    """A sentence of the context, its words, its number in the whole, and how well it fits the question."""

    text: str
    words: list[Token]
    number: int
    score: float


class Pick(NamedTuple):
    """A candidate answer: its sentence, its text, and how well it fits."""

    sentence: Sentence
    text: str
    score: float


class Search(NamedTuple):
    """What is looked for: weights of the question's words, the kind and noun asked for, the rules."""

    weights: dict[str, float]
    kind: Kind
    head: str
    rules: frozenset[str]


def find(task: Task, rules: frozenset[str]) -> list[Pick]:
    """Rank candidate answers, best first: sentences that fit the question, then spans in them."""
    asked = {word.stem for word in tokens(task.question) if word.lower not in FUNCTION_WORDS}
    read = _read(task, asked, rules)
    best = max((sentence.score for sentence in read), default=0.0) or 1.0
    chosen = sorted(read, key=lambda sentence: (-sentence.score, sentence.number))[:_SENTENCES_READ]
    search = Search(_weights(read, asked), kind_of(task.question), head_stem(task.question), rules)
    picks = []
    for sentence in chosen:
        fitting = _SENTENCE * sentence.score / best
        near = [place for place, word in enumerate(sentence.words) if word.stem in search.weights]
        for span in spans(sentence.words):
            score = fitting + _fit(sentence.words, span, near, search)
            picks.append(Pick(sentence, _text(sentence, span), score))
    return sorted(picks, key=lambda pick: (-pick.score, pick.sentence.number, pick.text))


def _read(task: Task, asked: set[str], rules: frozenset[str]) -> list[Sentence]:
    texts = [(number, text) for number, passage in enumerate(task.passages) for text in sentences(passage)]
    words = [tokens(text) for _, text in texts]
    found = [{word.stem for word in line} for line in words]
    if "rare" in rules:
        scores = _by_rare_words(found, asked, [number for number, _ in texts])
    else:
        every = {word.stem for word in tokens(task.question)}
        scores = [len(line & every) / (1.0 + 0.15 * place) for place, line in enumerate(found)]
    return [
        Sentence(text, line, place, score)
        for place, ((_, text), line, score) in enumerate(zip(texts, words, scores, strict=True))
    ]


def _by_rare_words(found: list[set[str]], asked: set[str], passages: list[int]) -> list[float]:
    """Weigh shared words by rarity; a neighbour in the same passage lends a little."""
    counts = Counter(stem for line in found for stem in line & asked)
    own = [sum(log(1 + len(found) / counts[stem]) for stem in sorted(line & asked)) for line in found]
    scores = []
    for place, value in enumerate(own):
        near = [
            own[other]
            for other in (place - 1, place + 1)
            if 0 <= other < len(own) and passages[other] == passages[place]
        ]
        scores.append(value + 0.2 * max(near, default=0.0))
    return scores


def _weights(read: list[Sentence], asked: set[str]) -> dict[str, float]:
    counts = Counter(stem for sentence in read for stem in {word.stem for word in sentence.words} & asked)
    return {stem: log(1 + len(read) / counts[stem]) for stem in sorted(counts)}


def _fit(words: list[Token], span: Span, near: list[int], search: Search) -> float:
    inside = words[span.first : span.last + 1]
    score = _nearness(words, span, near, search.weights) + _fit_of_kind(words, span, search)
    if "no_repeat" in search.rules:
        repeated = sum(word.stem in search.weights and word.stem != search.head for word in inside)
        score -= _REPEATED * repeated / len(inside) + _ANY_REPEATED * (repeated > 0)
    if inside[-1].lower.endswith(("'s", "’s")):
        score -= _POSSESSIVE
    return score - _LENGTH * abs(len(inside) - _USUAL_LENGTH)


def _fit_of_kind(words: list[Token], span: Span, search: Search) -> float:
    if search.kind == "thing" and "kind" in search.rules:
        return _fit_of_thing(words, span, search.head)
    if search.kind not in search.rules:
        return _NAME if "name" in span.kinds else 0.0  # its habit: names first, whatever is asked
    score = _RIGHT_KIND if _KIND_OF_SPAN[search.kind] in span.kinds else _WRONG_KIND
    if search.kind == "place" and "name" in span.kinds:
        score += 2.0
    if search.kind == "person" and "place" in span.kinds:
        score -= 1.5
    if search.kind == "when":
        score += 0.4 * (span.last - span.first)  # the whole date rather than its month
    return score


def _fit_of_thing(words: list[Token], span: Span, head: str) -> float:
    score = _NAME if "name" in span.kinds else 0.0
    if not head:
        return score
    if span.last > span.first and any(word.stem == head for word in words[span.first : span.last + 1]):
        score += _HEAD_INSIDE
    if any(word.stem == head for word in words[max(0, span.first - 2) : span.last + 3]):
        score += _HEAD_NEAR
    return score


def _nearness(words: list[Token], span: Span, near: list[int], weights: dict[str, float]) -> float:
    closest: dict[str, int] = {}
    for place in near:
        distance = max(span.first - place, place - span.last)
        stem = words[place].stem
        if distance > 0 and distance < closest.get(stem, 1000):
            closest[stem] = distance
    total = sum(weights.values()) or 1.0
    return _NEARNESS * sum(weights[stem] / (1 + _DECAY * far) for stem, far in closest.items()) / total


def _text(sentence: Sentence, span: Span) -> str:
    return sentence.text[sentence.words[span.first].start : sentence.words[span.last].end]
