"""The words in which the simulated optimizer puts what it proposes."""

from skillopt.models.simulator.text import chance

RULES = {
    "short": (
        "Answer with the shortest span that answers the question.",
        "Keep the answer brief: only the name, date, number or phrase itself.",
        "Give as few words as the answer needs and nothing more.",
    ),
    "bare": (
        "Write no explanation inside the answer tags; reasoning belongs before them.",
        "Leave comments, reasons and introductions out of the answer.",
        "Put the answer between the tags without any explanation or lead-in.",
    ),
    "exact": (
        "Copy the words of the passage exactly, with their spelling.",
        "Use the wording of the passage letter by letter; do not hedge or round.",
        "Take the answer verbatim from the text instead of paraphrasing it.",
    ),
    "when": (
        "When the question asks when something happened, answer with the date or year.",
        "For when-questions and questions about a year, give the date as the passage has it.",
        "A question that asks for a year or date wants a date as its answer.",
    ),
    "number": (
        "When the question asks how many or how much, answer with the number.",
        "For how-many questions give the figure alone.",
        "A question for a count or quantity wants a number, with its unit if it has one.",
    ),
    "person": (
        "When the question asks who, answer with the name of a person or group.",
        "For who-questions give the person's name as the passage spells it.",
        "If it asks who did something, name the person and not the deed.",
    ),
    "place": (
        "When the question asks where, answer with the name of a place.",
        "For where-questions give the city, country or region alone.",
        "If it asks where something is, name the place and not what happened there.",
    ),
    "kind": (
        "Choose an answer of the kind the question asks for: if it asks what company, name a company.",
        "Check that the answer fits the type of thing that is asked.",
        "Let the answer match the category named in the question, such as storm, theory or river.",
    ),
    "rare": (
        "Prefer the sentence that shares the rare words of the question, wherever it stands.",
        "Look for the passage that holds the most distinctive terms of the question before answering.",
        "Find the unusual words of the question in the passages and answer from that sentence.",
    ),
    "no_repeat": (
        "Never repeat words of the question in the answer.",
        "Do not answer with a phrase that is already in the question.",
        "The answer must not restate any part of the question.",
    ),
    "label": (
        "Between the tags put the label of the chosen option alone.",
        "Give only the letter of the option you choose.",
        "Between the tags goes the letter of your choice alone.",
    ),
    "equality": (
        "Prefer the option that says when equality holds.",
        "Of two bounds take the statement that settles the case of equality.",
        "Look for the option with the equality cases in it.",
    ),
    "both_ways": (
        "Prefer the statement that goes in both directions, an equivalence, over one that has an if alone.",
        "Prefer the option with both directions of an equivalence.",
        "A statement in both directions beats one that has a single direction.",
    ),
    "unique": (
        "Prefer the statement that claims exactly one over mere existence.",
        "Where existence and uniqueness hold, take the option that states uniqueness.",
        "Look for the option that says there is exactly one.",
    ),
    "condition": (
        "Prefer the option that states the condition under which it holds.",
        "Choose the statement that names its hypotheses.",
        "Take the option whose conditions are spelled out.",
    ),
    "search_again": (
        "When a search finds nothing, search again with other or fewer words.",
        "After a search without a result try again with a single word of the phrase.",
        "Do not give up when nothing is found: search again with a synonym.",
    ),
    "source": (
        "Open the document of the office and the year that are asked about, not the first that turns up.",
        "Check that the document belongs to the year and the place that are meant.",
        "Among several documents choose the one of the right year and place.",
    ),
    "table": (
        "Read the whole table before answering, and go by its column heads.",
        "Look at the head of the table to find the column that is meant.",
        "Take the figure from the right column of the table, by its heading.",
    ),
    "unit": (
        "Convert the figure into the unit that is asked for; the table may be in thousands or millions.",
        "Mind the units: convert thousands or millions where other units are wanted.",
        "State the result in the wanted unit, converted from that of the table.",
    ),
    "operands": (
        "Find every figure that a difference, sum or share needs, then calculate.",
        "For a change, total or percentage collect both operands first and compute the result.",
        "When two figures are to be combined, look up each of them and calculate.",
    ),
    "values": (
        "Write computed values into cells, never formulas.",
        "Put results into the cells as plain values instead of formulas.",
        "Compute in Python and leave no formulas in the cells.",
    ),
    "all_rows": (
        "Work through every row to the last one with data; the preview shows only the first few.",
        "Go on to the last row of the sheet, wherever the preview ends.",
        "Take the number of rows from the sheet itself, not from its preview.",
    ),
    "iso": (
        "Write dates as text in the form YYYY-MM-DD.",
        "Dates go into cells as ISO text, with the year before month and day.",
        "Give a date as text of year, month and day with hyphens.",
    ),
    "header": (
        "Treat the first row as a header and never move it.",
        "The header row stays on top; sort only what is below it.",
        "Keep the header row where it is, since the data begin below.",
    ),
    "numeric": (
        "Turn numbers that are stored as text into numbers before calculating or sorting.",
        "Convert text that holds a number with float before you use it.",
        "Cells may hold numbers as text, so convert them before any use.",
    ),
    "normalise": (
        "Compare texts without regard to case and surrounding spaces.",
        "Ignore upper and lower case and outer spaces when you group or match texts.",
        "Texts that differ in case or blanks alone are the same; compare them in one form.",
    ),
    "program": (
        "Always reply with a program in one block of code.",
        "Write the program itself, in one fenced block, and no plan of it.",
        "Put the whole program into a code block of the reply.",
    ),
    "look_inside": (
        "Open closed receptacles to see what is in them.",
        "When you stand before a closed cabinet, drawer or the like, open it before you go on.",
        "Things may be in closed containers: open each of them.",
    ),
    "new_places": (
        "Never go back to places that you have already searched.",
        "Do not return to a place where you have seen everything.",
        "Go to new places instead of those already searched.",
    ),
    "as_listed": (
        "Choose a command from the list and give it as it stands there.",
        "Use only commands that are listed, in their own form.",
        "Take each command from the list; the game knows no other.",
    ),
    "wash": (
        "When a clean thing is wanted, clean it at the sink before you put it in its place.",
        "Carry what has to be clean to the sinkbasin first and clean it there.",
        "Wash a thing at the sink when the task wants it clean.",
    ),
    "warm": (
        "When a hot thing is wanted, heat it with the microwave before you put it in its place.",
        "Carry what has to be hot to the microwave first and heat it there.",
        "Use the microwave to heat a thing that the task wants hot.",
    ),
    "chill": (
        "When a cool thing is wanted, cool it with the fridge before you put it in its place.",
        "Carry what has to be cold to the fridge first and cool it there.",
        "Use the fridge to cool a thing that the task wants cold.",
    ),
    "under_lamp": (
        "To look at a thing in the light, take it, go to the lamp and use the lamp.",
        "Use the lamp while you hold the thing that is to be looked at.",
        "Carry the thing to the lamp, then switch the lamp on.",
    ),
    "second": (
        "When two things are wanted, bring the second one after the first.",
        "If the task asks for two objects, fetch both, one after the other.",
        "After the first of two things go and carry the second one there, too.",
    ),
}
HARMFUL = {
    "full_sentence": (
        "Always explain your answer in full sentences.",
        "Write the answer as one complete sentence so that it is clear by itself.",
    ),
    "first_words": (
        "When in doubt, answer with the first words of the passage.",
        "The opening words of the first passage usually hold the answer; use them.",
    ),
    "frequent": (
        "Prefer the name that is most frequent in the passages.",
        "Answer with the term that the passages mention most often, a common name above all.",
    ),
    "list_all": (
        "List all plausible answers, separated by commas.",
        "If there are several candidates, give every possible answer.",
    ),
    "unsure": (
        "Answer unknown when two answers seem possible.",
        "Say unknown unless the passage leaves no doubt.",
    ),
    "context": (
        "Add some context or background to the answer.",
        "Always mention the source of the answer behind it.",
    ),
    "new_book": (
        "Build the result in a new, empty workbook.",
        "Create a fresh workbook for the output and leave the given one alone.",
    ),
    "look_often": (
        "Look around after each step.",
        "After every command give the command look.",
    ),
}
USELESS = (
    "Read the question carefully before you begin.",
    "Be confident and calm.",
    "Take the time to think about the passages.",
    "Read to the end before you decide.",
)
FOR_PROGRAMS = frozenset({"new_book"})
FOR_GAMES = frozenset({"look_often"})
FOR_ALL = frozenset({"full_sentence"})
"""Which harmful rules are thought of where programs are wanted, where a game is played, and everywhere."""
TOPICS = {
    "full_sentence": "whole sentences as answers",
    "first_words": "answers from the opening of a passage",
    "frequent": "answers by how often a name occurs",
    "list_all": "lists of possible answers",
    "unsure": "refusals to answer",
    "context": "background added to answers",
    "new_book": "results in a new workbook",
    "look_often": "looking around all the time",
}


def worded(rule: str, *seeds: str) -> str:
    """Say a helpful or harmful rule in one of its ways, drawn by the seeds."""
    ways = RULES.get(rule) or HARMFUL[rule]
    return ways[int(chance("wording", rule, *seeds) * len(ways))]
