"""OfficeQA: items, tools over a folder of documents, and what comes of each kind of dialogue."""

import asyncio
import json

import pytest

from skillopt.config.resolve import load_run
from skillopt.envs.base import CommonSettings
from skillopt.envs.officeqa import ENVIRONMENT, OfficeQASettings
from skillopt.envs.officeqa.corpus import open_corpus
from skillopt.envs.officeqa.tools import MOST_CALLS, MOST_CHARS, MOST_HITS, MOST_NAMES, TOOLS, Shelf, use
from skillopt.errors import ConfigError, DataError
from skillopt.models.base import CallError, Reply, ToolCall

RAW = {
    "uid": "UID1",
    "question": "How much coal?",
    "ground_truth": "412.5",
    "category": "easy",
    "source_files": "b_1931.txt",
}


def call(name="read", id_="c1", **arguments):
    return ToolCall(id=id_, name=name, arguments=json.dumps(arguments))


def asks(*calls, text=""):
    return Reply(text=text, tool_calls=calls, finish_reason="tool_calls")


@pytest.fixture
def folder(tmp_path):
    documents = tmp_path / "documents"
    (documents / "sub").mkdir(parents=True)
    (documents / "b_1931.txt").write_text("Coal landed\n| Coal | 412.5 |\n", encoding="utf-8")
    (documents / "sub/c_1932.txt").write_bytes(b"caf\xe9 COAL\n")
    (documents / "answers.json").write_text("[]", encoding="utf-8")
    (tmp_path / "secret.txt").write_text("secret coal", encoding="utf-8")
    (documents / "link.txt").symlink_to(tmp_path / "secret.txt")
    return documents


@pytest.fixture
def shelf(folder):
    corpus = open_corpus((str(folder),))
    return Shelf(corpus=corpus, names=corpus.names)


def item_of(tmp_path, **changes):
    file = tmp_path / "items.json"
    file.write_text(json.dumps([RAW | changes]), encoding="utf-8")
    return ENVIRONMENT.read(file)[0]


def attempt(item, folder, *replies, skill="", max_turns=4, **settings):
    left, sent = list(replies), []

    async def chat(messages, *, tools=(), tool_choice=""):
        sent.append((messages, tools, tool_choice))
        reply = left.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply if isinstance(reply, Reply) else Reply(text=reply)

    common = CommonSettings(max_turns=max_turns, max_completion_tokens=100)
    own = OfficeQASettings(data_dirs=(str(folder),), **settings)
    return asyncio.run(ENVIRONMENT.attempt(item, skill, chat, common, own, 0)), sent


def test_documents_are_the_text_files_below_the_folder(shelf):
    assert shelf.names == ("b_1931.txt", "sub/c_1932.txt")


@pytest.mark.parametrize(
    "path",
    [
        "../secret.txt",
        "link.txt",
        "/etc/passwd",
        "sub/../../secret.txt",
        "answers.json",
        "",
        "sub",
        "b_1931.txt\0",
        "~/x.txt",
        "file:///etc/passwd",
        "%2e%2e/secret.txt",
    ],
)
@pytest.mark.parametrize("tool", ["read", "grep"])
def test_paths_that_are_no_document_are_refused(shelf, tool, path):
    more = {"pattern": "coal"} if tool == "grep" else {}
    if tool == "grep" and not path:
        return  # searches all documents
    found = use(shelf, call(tool, path=path, **more))
    assert (found.problem, "secret coal" in found.text, "root:" in found.text) == ("refused", False, False)


def test_absolute_name_of_the_folder_is_no_way_out(shelf, folder):
    assert use(shelf, call(path=str(folder.parent / "secret.txt"))).problem == "refused"
    assert use(shelf, call("glob", pattern="../*")).text == "no document matches '../*'"


@pytest.mark.parametrize(
    ("name", "arguments", "problem"),
    [
        ("read", "{", "bad_arguments"),
        ("read", "[]", "bad_arguments"),
        ("read", "{}", "bad_arguments"),
        ("read", '{"path": "b_1931.txt", "start": "x"}', "bad_arguments"),
        ("read", '{"path": "b_1931.txt", "start": 0}', "bad_arguments"),
        ("read", '{"path": "b_1931.txt", "limit": -1}', "bad_arguments"),
        ("read", '{"path": ["b_1931.txt"]}', "bad_arguments"),
        ("read", '{"path": "b_1931.txt", "lines": 3}', "bad_arguments"),
        ("grep", '{"pattern": ""}', "bad_arguments"),
        ("grep", "[" * 100_000, "bad_arguments"),
        ("bash", '{"cmd": "ls"}', "unknown_tool"),
        ("", "", "unknown_tool"),
        ("read", '{"path": "b_1931.txt", "start": "2"}', ""),
        ("glob", "", ""),
    ],
)
def test_broken_calls_are_answered(shelf, name, arguments, problem):
    found = use(shelf, ToolCall(id="c", name=name, arguments=arguments))
    assert found.problem == problem
    assert found.text.startswith("error: ") is bool(problem)
    assert len(found.text) < 500


def test_glob_grep_and_read(shelf):
    assert use(shelf, call("glob", pattern="*1932*")).text == "sub/c_1932.txt"
    assert use(shelf, call("glob", pattern="sub/*")).text == "sub/c_1932.txt"
    assert use(shelf, call("grep", pattern="coal")).text == (
        "b_1931.txt:1: Coal landed\nb_1931.txt:2: | Coal | 412.5 |\nsub/c_1932.txt:1: caf\ufffd COAL"
    )
    assert use(shelf, call("grep", pattern="COAL L", path="./b_1931.txt")).text == "b_1931.txt:1: Coal landed"
    assert use(shelf, call("grep", pattern="co.l")).text.startswith("no line holds 'co.l'")
    read = use(shelf, call(path="c_1932.txt")).text
    assert read == "1: caf\ufffd COAL\n[sub/c_1932.txt: lines 1 to 1 of 1]"
    first = use(shelf, call(path="b_1931.txt", limit=1)).text
    assert first.endswith("\n[b_1931.txt: lines 1 to 1 of 2; read on with start 2]")
    assert use(shelf, call(path="b_1931.txt", start=9)).text.startswith("b_1931.txt has 2 lines")


def test_long_outputs_are_cut(tmp_path):
    (tmp_path / "long.txt").write_text("\n".join(["word " * 30] * 100), encoding="utf-8")
    (tmp_path / "wide.txt").write_text("word " * 100_000, encoding="utf-8")
    for number in range(60):
        (tmp_path / f"small_{number:02d}.txt").write_text("x", encoding="utf-8")
    corpus = open_corpus((str(tmp_path),))
    shelf = Shelf(corpus=corpus, names=corpus.names)
    long = use(shelf, call(path="long.txt", limit=1000)).text
    assert len(long) < MOST_CHARS + 100
    assert long.endswith("[long.txt: lines 1 to 25 of 100; read on with start 26]")
    wide = use(shelf, call(path="wide.txt")).text
    assert len(wide) < MOST_CHARS + 100
    hits = use(shelf, call("grep", pattern="word")).text.splitlines()
    assert (len(hits), hits[-1]) == (MOST_HITS + 1, "[stopped after 20 lines]")
    names = use(shelf, call("glob", pattern="small*")).text.splitlines()
    assert (len(names), names[-1]) == (MOST_NAMES + 1, "[10 more are left out]")


def test_search_read_answer(tmp_path, folder):
    item = item_of(tmp_path)
    result, sent = attempt(
        item,
        folder,
        asks(call("grep", pattern="coal")),
        asks(call(path="b_1931.txt", id_="c2"), text="I read it."),
        "So.\n<answer>412.50</answer>",
        skill="- Read on.",
    )
    assert (result.status, result.hard, result.soft, result.answer) == ("scored", 1.0, 1.0, "412.50")
    assert (result.turns, result.reason) == (3, "")
    assert [turn.role for turn in result.trajectory] == [
        *("system", "user", "assistant", "tool", "assistant", "tool", "assistant", "note")
    ]
    assert result.trajectory[2].content == 'grep {"pattern": "coal"}'
    assert result.trajectory[4].content == 'I read it.\nread {"path": "b_1931.txt"}'
    assert "- Read on." in sent[0][0][0].content
    assert "Read on" not in result.trajectory[0].content
    assert [(tools, choice) for _, tools, choice in sent] == [(TOOLS, "auto")] * 3
    roles = [(message.role, message.tool_call_id) for message in sent[2][0]]
    assert roles[2:] == [("assistant", ""), ("tool", "c1"), ("assistant", ""), ("tool", "c2")]
    assert result.extra["tool_calls"] == {"grep": 1, "read": 1}
    assert result.extra["tool_problems"] == {}


def test_sources_are_told_and_nothing_else_is_open(tmp_path, folder):
    item = item_of(tmp_path)
    calls = (call(path="sub/c_1932.txt"), call("glob", pattern="*"), call("grep", pattern="caf"))
    result, sent = attempt(item, folder, asks(*calls), "<answer>1</answer>")
    assert sent[0][0][1].content.startswith("## Documents\n")
    assert "- b_1931.txt\n" in sent[0][0][1].content
    tools = [turn.content for turn in result.trajectory if turn.role == "tool"]
    assert tools[0].startswith("error: there is no document")
    assert tools[1] == "b_1931.txt"
    assert tools[2].startswith("no line holds")
    assert result.extra["tool_problems"] == {"refused": 1}
    open_to_all, sent = attempt(item, folder, asks(*calls), "<answer>1</answer>", document_scope="corpus")
    assert sent[0][0][1].content == "## Question\n\nHow much coal?"
    assert open_to_all.extra["tool_problems"] == {}


@pytest.mark.parametrize(
    ("reply", "status", "why"),
    [
        (Reply(text="Let me", finish_reason="length"), "truncated", "cut off"),
        (Reply(text="<answer>412", finish_reason="length"), "truncated", "cut off"),
        (Reply(text=" \n"), "no_answer", "empty"),
        (Reply(text="<answer>412.5"), "unparsed", "never closed"),
        (Reply(text="<answer> </answer>"), "unparsed", "tags were empty"),
        (Reply(text="It is\n412.5"), "unparsed", "neither called a tool"),
        (Reply(text="<answer>5</answer>"), "scored", "wrong answer: predicted '5', accepted '412.5'"),
    ],
)
def test_own_failures_of_the_target(tmp_path, folder, reply, status, why):
    result, _ = attempt(item_of(tmp_path), folder, asks(call()), reply)
    assert (result.status, result.hard, result.soft) == (status, 0.0, 0.0)
    assert why in result.reason
    assert "accepted answers: 412.5" in result.trajectory[-1].content


def test_the_last_turn_is_announced_and_may_call_nothing(tmp_path, folder):
    item = item_of(tmp_path)
    searching = asks(call("grep", pattern="coal"))
    result, sent = attempt(item, folder, searching, searching, "<answer>412.5</answer>", max_turns=3)
    assert (result.hard, result.turns) == (1.0, 3)
    assert [choice for _, _, choice in sent] == ["auto", "auto", "none"]
    assert sent[2][0][-1].role == "user"
    assert "last reply" in sent[2][0][-1].content
    stubborn, _ = attempt(item, folder, *[searching] * 3, max_turns=3)
    assert (stubborn.status, stubborn.hard, stubborn.turns) == ("no_answer", 0.0, 3)
    assert "spent on another tool call" in stubborn.reason
    assert stubborn.extra["tool_calls"] == {"grep": 2}


def test_a_flood_of_calls_is_answered_and_not_carried_out(tmp_path, folder):
    flood = asks(*(call("grep", id_=f"c{number}", pattern="coal") for number in range(50)))
    result, sent = attempt(item_of(tmp_path), folder, flood, "<answer>412.5</answer>")
    assert result.hard == 1.0
    assert result.extra["tool_problems"] == {"too_many_calls": 50 - MOST_CALLS}
    assert [message.tool_call_id for message in sent[1][0][3:]] == [f"c{number}" for number in range(50)]


def test_broken_calls_do_not_end_the_item(tmp_path, folder):
    broken = ToolCall(id="x", name="read", arguments='{"path": "b_19')
    result, _ = attempt(item_of(tmp_path), folder, asks(broken), "<answer>412.5</answer>")
    assert (result.hard, result.extra["tool_problems"]) == (1.0, {"bad_arguments": 1})


def test_failed_call_is_left_to_the_phase(tmp_path, folder):
    with pytest.raises(CallError):
        attempt(item_of(tmp_path), folder, asks(call()), CallError("too slow", kind="timeout"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, ""),
        ({"question": " "}, "`question`"),
        ({"ground_truth": None}, "expected answers"),
        ({"ground_truth": "$"}, "expected answers"),
        ({"ground_truth": 5}, "expected answers"),
        ({"source_files": 3}, "`source_files`"),
        ({"source_docs": [1]}, "`source_docs`"),
        ({"question": None, "ground_truth": None}, "manifest of ids"),
    ],
)
def test_items(tmp_path, changes, message):
    found = ENVIRONMENT.check(item_of(tmp_path, **changes))
    assert message in found and bool(found) == bool(message)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("a.txt", ["a.txt"]),
        ("a.txt, b.txt", ["a.txt", "b.txt"]),
        ("a.txt\r\nb, c.txt\r\n", ["a.txt", "b, c.txt"]),
        ('["a.txt", "b.txt"]', ["a.txt", "b.txt"]),
        (["a.txt"], ["a.txt"]),
        (None, []),
    ],
)
def test_forms_of_lists(tmp_path, given, expected):
    assert item_of(tmp_path, source_files=given).data["source_files"] == expected


def test_names_of_fields(tmp_path):
    file = tmp_path / "plain.json"
    file.write_text('[{"id": 7, "question": "Why?", "answers": ["5", "five"], "difficulty": "hard"}]')
    plain = ENVIRONMENT.read(file)[0]
    assert (plain.id, plain.task_type, plain.data["answers"]) == ("7", "hard", ["5", "five"])
    file.write_text('[{"question": "Why?"}]')
    with pytest.raises(DataError, match="entry 1"):
        ENVIRONMENT.read(file)


def test_the_published_table(tmp_path):
    file = tmp_path / "officeqa_full.csv"
    head, row = (
        "uid,question,answer,source_docs,source_files,difficulty",
        'UID9,Why?,"1,234",,"a.txt\r\nb.txt",hard',
    )
    file.write_text(f"{head}\n{row}\n", encoding="utf-8", newline="")
    (item,) = ENVIRONMENT.read(file)
    assert (item.id, item.task_type, ENVIRONMENT.check(item)) == ("UID9", "hard", "")
    assert item.data["answers"] == ["1,234"]
    assert (item.data["source_files"], item.data["source_docs"]) == (["a.txt", "b.txt"], [])


def test_what_keeps_a_run_from_starting(tmp_path, folder):
    def found(**changes):
        common = CommonSettings(max_turns=changes.pop("max_turns", 24), max_completion_tokens=1)
        return ENVIRONMENT.obstacles(OfficeQASettings(**{"data_dirs": (str(folder),), **changes}), common)

    assert found() == []
    assert "found none at 'nowhere'" in found(data_dirs=("nowhere",))[0]
    assert "at least one folder" in found(data_dirs=())[0]
    assert "env.max_turns: expected at least 2" in found(max_turns=1)[0]


def test_a_corpus_that_cannot_be_used(tmp_path, folder):
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="expected documents"):
        open_corpus((str(tmp_path / "empty"),))
    (tmp_path / "twin").mkdir()
    (tmp_path / "twin" / "b_1931.txt").write_text("other", encoding="utf-8")
    with pytest.raises(DataError, match=r"each document once, found 'b_1931\.txt'"):
        open_corpus((str(folder), str(tmp_path / "twin")))
    with pytest.raises(DataError, match=r"expected the document 'gone\.txt'"):
        ENVIRONMENT.files(
            item_of(tmp_path, source_files="gone.txt"), OfficeQASettings(data_dirs=(str(folder),))
        )


def test_folder_of_transformed_documents_stands_for_its_parent(tmp_path, folder):
    (folder / "transformed").mkdir()
    (folder / "transformed" / "t.txt").write_text("text", encoding="utf-8")
    assert open_corpus((str(folder), str(folder))).names == ("t.txt",)


def test_settings_of_the_original_project(tmp_path, folder):
    file = tmp_path / "run.yaml"
    own = f"name: officeqa, split_dir: d, split_mode: split_dir, data_dirs: [{folder}]"
    file.write_text(f"env: {{{own}, max_tool_turns: 24, search_mode: offline, use_local_tools: true}}\n")
    resolved = load_run(file, [], {})
    assert resolved.settings.env.max_turns == 24
    assert resolved.env_settings["data_dirs"] == [str(folder)]
    assert "env.data_dirs" in resolved.undecisive
    with pytest.raises(ConfigError, match=r"env\.search_mode has no effect here"):
        load_run(file, ["env.search_mode=azure_search"], {})
