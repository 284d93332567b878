"""What a skill tells the reader to do: rules in plain language, known by their meaning.

A rule is recognised by the words that carry its meaning, in any phrasing: one word of each group
must stand in the sentence. Whether its key word (of the first group) is negated decides between a
rule and its opposite. Of two rules that contradict each other the later one in the document holds.
"""

import re
from typing import NamedTuple

from skillopt.models.simulator.text import stem

_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_WORD = re.compile(r"[a-z]+(?:['’][a-z]+)*|[,;:]")
_NEGATIONS = frozenset(
    {
        "not",
        "never",
        "no",
        "avoid",
        "without",
        "don't",
        "don’t",
        "neither",
        "nor",
        "omit",
        "skip",
        "strip",
        "remove",
        "drop",
    }
)
_CLAUSE_END = frozenset({",", ";", ":", "but"})
_REVERSALS = re.compile(r"\b(?:instead of|rather than|free of)\b")
_LEAVE_OUT = re.compile(r"\b(?:leave|keep|strip|cut|left|kept)\b[^;]*\b(?:out|off|away)\b")

Group = frozenset[str]


class Rule(NamedTuple):
    """A rule of the reader: its name and the ways to say it.

    `negative`: it is said by negating its key words. `opposite`: the rule that its contrary is.
    `against`: the rules that it switches off.
    """

    name: str
    phrasings: tuple[tuple[Group, ...], ...]
    negative: bool = False
    opposite: str = ""
    against: tuple[str, ...] = ()


def _say(*groups: str) -> tuple[Group, ...]:
    return tuple(frozenset(stem(word) for word in group.split()) for group in groups)


_ANSWERING = "answer reply respond give write state return tag output name use put"
_WORDS = "words word terms term names phrases"
RULES = (
    Rule(
        "short",
        (
            _say("shortest brief concise minimal short smallest terse", _ANSWERING + " span phrase words"),
            _say("only just bare", "span phrase name fact itself entity"),
            _say("few one two three", "words", _ANSWERING),
            _say("nothing", "but else more beyond", _ANSWERING),
        ),
        opposite="full_sentence",
        against=("full_sentence", "list_all", "context"),
    ),
    Rule(
        "full_sentence",
        (
            _say("full complete whole entire", "sentence sentences"),
            _say("explain elaborate lengthy detailed longer thorough", _ANSWERING),
        ),
        opposite="short",
        against=("short", "bare"),
    ),
    Rule(
        "bare",
        (
            _say("explanation reasoning explain comment introduction lead preamble", "tags answer"),
            _say("sentence sentences", "tags answer"),
        ),
        negative=True,
    ),
    Rule(
        "exact",
        (_say("copy exact exactly verbatim literally letter", "passage text words wording context source"),),
    ),
    Rule(
        "exact",
        (_say("hedge about approximate round paraphrase reword probably", _ANSWERING + " words numbers"),),
        negative=True,
    ),
    Rule(
        "when",
        (
            _say("when", "date dates year day century"),
            _say("date dates year years", "question", _ANSWERING),
        ),
    ),
    Rule(
        "number",
        (
            _say("many much count amount quantity number", "number figure digits numeral", "how question"),
            _say("quantity amount count", "question", _ANSWERING),
        ),
    ),
    Rule(
        "person",
        (_say("who whose whom", "person people name group"), _say("person people", "question", "name")),
    ),
    Rule(
        "place",
        (
            _say("where", "place location city country region"),
            _say("place location city country", "question", "name"),
        ),
    ),
    Rule(
        "kind",
        (
            _say(
                "kind type category sort class", "question asked named", "fit match name belong answer choose"
            ),
            _say("what which", "noun thing kind", "near next close beside after fit match"),
        ),
    ),
    Rule(
        "rare",
        (
            _say(
                "rare rarest unusual distinctive specific uncommon key", _WORDS, "question sentence passage"
            ),
            _say("overlap share shares sharing", _WORDS, "question", "sentence passage"),
        ),
    ),
    Rule(
        "no_repeat",
        (_say("repeat repeating restate restating echo echoing reuse copy already", "question question's"),),
        negative=True,
    ),
    Rule(
        "first_words",
        (_say("first opening beginning", "words sentence", "passage context document text"),),
        against=("rare",),
    ),
    Rule(
        "frequent",
        (_say("frequent frequently common often", "name words term passages answer"),),
        against=("rare",),
    ),
    Rule(
        "list_all",
        (_say("all every several multiple", "possible plausible candidate alternatives options"),),
        against=("short",),
    ),
    Rule("label", (_say("label letter", "only just bare nothing alone", "option choice choose chosen"),)),
    Rule("equality", (_say("equality", "case cases holds hold", "option statement"),)),
    Rule("both_ways", (_say("directions equivalence both", "option statement", "if direction directions"),)),
    Rule(
        "unique", (_say("exactly unique uniqueness", "one unique uniqueness", "option statement existence"),)
    ),
    Rule("condition", (_say("condition conditions hypothesis hypotheses", "option statement"),)),
    Rule(
        "search_again",
        (
            _say("search searches look try", "again another", "word words synonym result nothing phrase"),
            _say("again", "search searches", "word words synonym other"),
        ),
    ),
    Rule(
        "source", (_say("document bulletin file source", "year", "place office asked right belongs meant"),)
    ),
    Rule("table", (_say("column columns head heads heading header", "table"),)),
    Rule("unit", (_say("unit units", "convert converted conversion scale thousands millions"),)),
    Rule(
        "operands",
        (_say("calculate compute", "figure figures operands operand", "each every both all two"),),
    ),
    Rule(
        "values",
        (_say("formula formulas", "value values cell cells compute computed python result results"),),
        negative=True,
    ),
    Rule("all_rows", (_say("row rows", "last every number all end", "preview sheet data"),)),
    Rule("iso", (_say("date dates", "iso yyyy year", "text string form"),)),
    Rule("header", (_say("header headers heading", "row rows top", "move sort stay stays keep first data"),)),
    Rule("numeric", (_say("convert turn cast", "number numbers float", "text texts string cells"),)),
    Rule(
        "normalise",
        (_say("compare group match same ignore", "case", "space spaces blank blanks"),),
    ),
    Rule(
        "program",
        (_say("program code", "block fence", "reply answer write put"),),
        against=("full_sentence",),
    ),
    Rule("new_book", (_say("new fresh empty", "workbook workbooks", "build create start result output"),)),
    Rule(
        "look_inside",
        (
            _say(
                "open",
                "closed shut container containers receptacle receptacles cabinet cabinets drawer drawers",
            ),
        ),
    ),
    Rule(
        "new_places", (_say("back return revisit", "place places", "searched visited seen"),), negative=True
    ),
    Rule("new_places", (_say("new unvisited unsearched", "place places", "go search visit look"),)),
    Rule("as_listed", (_say("command commands", "list listed admissible offered"),)),
    Rule("wash", (_say("clean wash rinse", "sink sinkbasin basin"),)),
    Rule("warm", (_say("heat warm hot", "microwave"),)),
    Rule("chill", (_say("cool chill cold", "fridge refrigerator"),)),
    Rule("under_lamp", (_say("lamp lamps", "use switch turn", "hold holding carry carrying take"),)),
    Rule(
        "second",
        (_say("two second both", "thing things object objects", "bring carry fetch deliver"),),
    ),
    Rule("look_often", (_say("look", "each every", "step steps command commands"),)),
    Rule("unsure", (_say("unknown unanswerable", _ANSWERING + " say"),)),
    Rule(
        "context",
        (_say("add include append mention", "context background source citation"),),
        against=("short", "bare"),
    ),
)
HELPFUL = (
    *("short", "bare", "exact", "when", "number", "person", "place", "kind", "rare", "no_repeat"),
    *("label", "equality", "both_ways", "unique", "condition"),
    *("search_again", "source", "table", "unit", "operands"),
    *("values", "all_rows", "iso", "header", "numeric", "normalise", "program"),
    *("as_listed", "look_inside", "new_places", "wash", "warm", "chill", "under_lamp", "second"),
)
HARMFUL = (
    *("full_sentence", "first_words", "frequent", "list_all", "unsure", "context"),
    *("new_book", "look_often"),
)
_BY_NAME = {rule.name: rule for rule in RULES}


def sentences_of(skill: str) -> list[str]:
    """Split a document into the sentences that may each hold rules."""
    return [sentence.strip() for sentence in _SENTENCE.split(skill) if sentence.strip()]


def rules_in(sentence: str) -> tuple[str, ...]:
    """Name the rules that one sentence states, in a fixed order."""
    lower = _REVERSALS.sub("without", sentence.lower())
    everywhere = bool(_LEAVE_OUT.search(lower))
    plain, negated = _split(_WORD.findall(lower), everywhere)
    found: dict[str, None] = {}
    for rule in RULES:
        said, contrary = (negated, plain) if rule.negative else (plain, negated)
        if _states(rule, said, plain | negated):
            found[rule.name] = None
        elif rule.opposite and _states(rule, contrary, plain | negated):
            found[rule.opposite] = None
    return tuple(found)


def rules_of(skill: str) -> frozenset[str]:
    """Name the rules that a whole skill leaves in force."""
    active: dict[str, None] = {}
    for sentence in sentences_of(skill):
        for name in rules_in(sentence):
            for other in _BY_NAME[name].against:
                active.pop(other, None)
            active[name] = None
    return frozenset(active)


def _split(words: list[str], everywhere: bool) -> tuple[Group, Group]:
    """Separate the stems that stand under a negation from those that do not."""
    plain: set[str] = set()
    negated: set[str] = set()
    under = everywhere
    for word in words:
        if word in _CLAUSE_END:
            under = everywhere
        elif word in _NEGATIONS:
            under = True
        else:
            (negated if under else plain).add(stem(word))
    return frozenset(plain), frozenset(negated)


def _states(rule: Rule, keys: Group, everything: Group) -> bool:
    return any(
        groups[0] & keys and all(group & everything for group in groups[1:]) for groups in rule.phrasings
    )
