import json

import pytest
from fakeagents import line
from programs import claude_stream, codex_stream, copilot_stream, cursor_stream

from skillopt.models.agents import claude, codex, copilot, cursor, trace
from skillopt.models.agents.dialogue import one_text, prompt_text, task_text
from skillopt.models.agents.outcome import events
from skillopt.models.agents.settings import effort
from skillopt.models.base import Image, Message, Request, ToolCall
from skillopt.records import Usage

PIXEL = Image(data="")


def text(steps):
    return "".join(step["out"] for step in steps).encode()


def system(content):
    return Message(role="system", content=content)


def user(content, **more):
    return Message(role="user", content=content, **more)


def said(content, **more):
    return Message(role="assistant", content=content, **more)


# Streams of events


def test_events_pass_over_what_is_none():
    out = b'noise\n{"a": 1}\n[{"b": 2}, 3]\n"x"\n{"c": \n' + b"[" * 100_000 + b"\n\xff{}\n"
    assert list(events(out)) == [{"a": 1}, {"b": 2}]


@pytest.mark.parametrize(
    ("read", "stream"),
    [
        (claude.read, claude_stream),
        (codex.read, codex_stream),
        (cursor.read, cursor_stream),
        (copilot.read, copilot_stream),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_only_a_line_feed_ends_an_event(read, stream, end):
    said = "a\u2028b\u2029c\u0085d\x7fe"  # stand in JSON as they are
    out = "".join(
        json.dumps(json.loads(step["out"]), ensure_ascii=False) + end for step in stream(said)
    ).encode()
    assert said.encode() in out
    assert read(out).text == said


@pytest.mark.parametrize("read", [claude.read, codex.read, cursor.read, copilot.read])
def test_no_output_is_no_end(read):
    outcome = read(b"")
    assert (outcome.text, outcome.error, outcome.complete) == ("", "", False)
    assert outcome.usage.prompt is None


@pytest.mark.parametrize(
    ("read", "stream"),
    [
        (claude.read, claude_stream),
        (codex.read, codex_stream),
        (cursor.read, cursor_stream),
        (copilot.read, copilot_stream),
    ],
)
def test_values_of_the_wrong_kind_are_passed_over(read, stream):
    events_ = [json.loads(step["out"]) for step in stream("ok")]
    for event in events_:
        for name in list(event):
            for wrong in (None, 3, "x", [], {}, [1], {"type": 7}, True):
                out = "\n".join(json.dumps({**e, name: wrong} if e is event else e) for e in events_)
                read(out.encode())


def result(**fields):
    event = {"type": "result", "subtype": "success", "is_error": False, "result": "r"}
    return text([line({**event, **fields})])


def test_claude_reads_a_list_of_messages_too():
    whole = [json.loads(step["out"]) for step in claude_stream("the answer")]
    assert claude.read(json.dumps(whole).encode()).text == "the answer"


def test_claude_errors_are_no_answers():
    assert claude.read(result(is_error=True, result="API Error: 500")).error == "API Error: 500"
    ended = claude.read(result(subtype="error_max_turns", result=None, errors=["too many turns"]))
    assert (ended.text, ended.error) == ("", "too many turns")
    assert (
        claude.read(result(subtype="error_during_execution", result=None)).error == "error_during_execution"
    )


def test_claude_replies_that_were_cut_off_are_truncated():
    assert claude.read(result(stop_reason="max_tokens")).finish_reason == "length"
    message = "API Error: Claude's response exceeded the 512 output token maximum. To configure this..."
    cut = claude.read(result(is_error=True, result=message))
    assert (cut.finish_reason, cut.text, cut.error) == ("length", "", "")


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("model_context_window_exceeded", "length"),
        ("refusal", "content_filter"),
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("of_next_year", "stop"),
    ],
)
def test_claude_says_why_it_stopped(reason, finish):
    assert claude.read(result(stop_reason=reason)).finish_reason == finish


@pytest.mark.parametrize("read", [claude.read, cursor.read])
def test_the_model_is_the_one_that_the_run_began_with(read):
    began = line({"type": "system", "subtype": "init", "model": "asked"})
    other = line({"type": "system", "subtype": "task_started", "model": "of a task"})
    assert read(text([began, other]) + result()).model == "asked"


def test_claude_names_the_model_that_wrote_most_when_it_tells_no_other():
    used = {"small": {"outputTokens": 5}, "large": {"outputTokens": 90}, "odd": "x"}
    assert claude.read(result(modelUsage=used)).model == "large"


def test_claude_tool_calls_come_from_the_structured_output():
    calls = [{"name": "add", "arguments": '{"a": 1}'}, {"name": "sub", "arguments": {"b": 2}}]
    outcome = claude.read(result(structured_output={"content": "let me", "tool_calls": calls}))
    assert outcome.text == "let me"
    assert outcome.finish_reason == "tool_calls"
    assert outcome.tool_calls == (
        ToolCall(id="claude_tool_1", name="add", arguments='{"a": 1}'),
        ToolCall(id="claude_tool_2", name="sub", arguments='{"b": 2}'),
    )
    none = claude.read(result(structured_output={"content": "done", "tool_calls": []}))
    assert (none.text, none.finish_reason, none.tool_calls) == ("done", "stop", ())


def test_codex_reconnecting_is_no_error_when_the_turn_ends_well():
    steps = codex_stream("fine")
    steps.insert(2, line({"type": "error", "message": "Reconnecting... 1/5"}))
    assert codex.read(text(steps)).text == "fine"
    assert codex.read(text(steps[:-1])).error == "Reconnecting... 1/5"


def test_codex_turns_that_fail_or_do_not_end_after_one_that_did_are_no_answer():
    steps = codex_stream("early")
    failed_later = [*steps, line({"type": "turn.failed", "error": {"message": "boom"}})]
    assert (codex.read(text(failed_later)).text, codex.read(text(failed_later)).error) == ("", "boom")
    more = line({"type": "item.completed", "item": {"type": "agent_message", "text": "half"}})
    unfinished = codex.read(text([*steps, line({"type": "turn.started"}), more]))
    assert (unfinished.text, unfinished.complete) == ("", False)


def test_codex_messages_with_work_after_them_are_no_final_message():
    steps = codex_stream("early")
    change = {"type": "file_change", "changes": [{"path": "a.py", "kind": "add"}], "status": "completed"}
    steps.insert(-1, line({"type": "item.completed", "item": change}))
    outcome = codex.read(text(steps))
    assert outcome.text == ""
    assert outcome.trace[-3:] == ("said: early", "used file change: add a.py", "got: completed")


def test_codex_thoughts_do_not_take_the_final_message_away():
    steps = codex_stream("kept")
    steps.insert(-1, line({"type": "item.completed", "item": {"type": "reasoning", "text": "done"}}))
    assert codex.read(text(steps)).text == "kept"


def test_cursor_functions_and_failures_of_tools_are_in_the_trace():
    steps = [
        line(
            {
                "type": "tool_call",
                "subtype": "started",
                "tool_call": {"id": "x", "function": {"name": "grep", "arguments": '{"q": 1}'}},
            }
        ),
        line(
            {
                "type": "tool_call",
                "subtype": "completed",
                "tool_call": {"shellToolCall": {"result": {"rejected": {"reason": "no"}}}},
            }
        ),
        line({"type": "result", "subtype": "success", "result": "all of it"}),
    ]
    outcome = cursor.read(text(steps))
    assert outcome.trace == ('used grep: {"q": 1}', 'failed: {"rejected": {"reason": "no"}}')
    assert outcome.text == "all of it"
    assert cursor.read(text([line({"type": "result", "is_error": True, "result": "no"})])).error == "no"


def test_cursor_takes_nothing_that_comes_after_the_result():
    message = {"content": [{"type": "text", "text": " and more"}]}
    late = [line({"type": "assistant", "message": message}), *cursor_stream("other")]
    assert cursor.read(text([*cursor_stream("mine"), *late])).text == "mine"


@pytest.mark.parametrize(
    "mark", [{"agentId": "a1"}, {"data": {"parentToolCallId": "c1"}}], ids=["new", "old"]
)
def test_copilot_sub_agents_give_no_answer(mark):
    steps = copilot_stream("mine")
    sub = {"content": "theirs", "outputTokens": 5, **mark.get("data", {})}
    work = {"toolName": "view", **mark.get("data", {})}
    steps.insert(-1, line({"type": "assistant.message", **mark, "data": sub}))
    steps.insert(-1, line({"type": "tool.execution_start", **mark, "data": work}))
    outcome = copilot.read(text(steps))
    assert outcome.text == "mine"
    assert outcome.usage.completion == 12
    assert "sub-agent said: theirs" in outcome.trace


def test_copilot_exit_codes_and_errors():
    failed = [*copilot_stream("x")[:-1], line({"type": "result", "exitCode": 2})]
    assert copilot.read(text(failed)).error == "it reports exit code 2"
    error = line({"type": "session.error", "data": {"message": "quota exceeded"}})
    assert copilot.read(text([error, *copilot_stream("went on")])).text == "went on"
    assert copilot.read(text([error])).error == "quota exceeded"
    broken = copilot.read(text([*copilot_stream("I will look")[:-1], error]))
    assert (broken.text, broken.error) == ("", "quota exceeded")
    assert copilot.read(text([error, *failed])).error == "quota exceeded"


def test_copilot_messages_with_work_after_them_are_no_final_message():
    steps = copilot_stream("I will look")
    steps.insert(-1, line({"type": "tool.execution_start", "data": {"toolName": "view"}}))
    outcome = copilot.read(text(steps))
    assert (outcome.text, outcome.trace[-2:]) == ("", ("said: I will look", "used view"))


# Prompts


def test_one_message_is_the_prompt_as_it_is():
    messages = (system("S"), user("  Q\n"))
    assert prompt_text(messages) == "  Q\n"
    assert one_text(messages) == "S\n\n---\n\n  Q\n"
    assert task_text(messages) == "# Task\n\n## Instructions\n\nS\n\n## Request\n\n  Q\n\n"


def test_a_dialogue_is_a_record_with_what_is_common_first():
    call = ToolCall(id="c1", name="add", arguments="{}")
    messages = (
        system("S"),
        user("Q1", images=(PIXEL,)),
        said("A1", tool_calls=(call,)),
        Message(role="tool", content="5", tool_call_id="c1"),
        user("Q2", images=(PIXEL,)),
    )
    prompt = prompt_text(messages, ["a.png", "b.png"])
    parts = (
        "<user>\nQ1\n\n(image: a.png)",
        "(asked for the tool add with {}, id c1)",
        "(answers c1)\n\n5",
        "(image: b.png)",
    )
    places = [prompt.index(part) for part in parts]
    assert places == sorted(places)
    longer = prompt_text((*messages, said("A2"), user("Q3")), ["a.png", "b.png"])
    assert longer.startswith(prompt[: prompt.rindex("Above is the dialogue")])


# Account of what was done


def test_the_account_is_numbered_redacted_and_bounded():
    entries = [trace.used("shell", {"command": "cat /w/r/task.md"}), trace.got("A_API_KEY=abcd\n\n\n x")]
    shown = trace.render(entries, folders=("/w/r", "/w"), secrets=())
    assert shown == "[1] used shell: command=cat ./task.md\n[2] got: A_API_KEY=[redacted]\n x"
    long = trace.render(["start" + "x" * 5000 + "end"] * 100, folders=("/w/r",), secrets=())
    assert len(long) < 13_000
    assert "entries left out" in long
    assert long.startswith("[1] startx")
    assert long.rstrip().endswith("end")
    assert trace.render([], folders=("/w",), secrets=()) == ""


class Asked(list[str]):
    """Entries that count how often one is looked at."""

    looks = 0

    def __getitem__(self, key):
        Asked.looks += 1
        return super().__getitem__(key)

    def __iter__(self):
        raise AssertionError("all entries were looked at")


def test_only_the_entries_that_are_shown_are_made():
    shown = trace.render(Asked(["said: x"] * 300_000), folders=("/w",), secrets=())
    assert shown.endswith("\n[300000] said: x")
    assert Asked.looks < 2_000


# Reasoning effort


@pytest.mark.parametrize(
    ("own", "asked", "levels", "sent"),
    [
        ("", "", ("low", "high"), ""),
        ("", "none", ("low", "high"), ""),
        ("none", "high", ("low", "high"), ""),
        ("low", "high", ("low", "high"), "low"),
        ("", "high", ("low", "high"), "high"),
        ("", "max", ("minimal", "low", "xhigh"), "xhigh"),
        ("", "medium", ("low", "high"), "low"),
        ("", "minimal", ("low", "high"), "low"),
    ],
)
def test_effort_is_the_backends_own_else_the_requests_in_terms_of_the_program(own, asked, levels, sent):
    request = Request(messages=(), max_completion_tokens=1, reasoning_effort=asked)
    assert effort(own, request, levels) == sent


def test_what_skill_and_task_say_is_not_repeated():
    entries = [
        trace.used("Read", {"file_path": "/w/.agents/skills/skillopt-target/SKILL.md"}),
        trace.used("Read", {"file_path": "/w/task.md"}),
        trace.got("the skill"),
        trace.got("cannot", failed=True),
        trace.used("shell", "cat SKILL.md && cat task.md"),
        trace.got("both"),
        trace.used("shell", "cat task.md && python solve.py"),
        trace.got("42"),
        trace.used("shell", "cat task.md | wc"),
        trace.got("3"),
        trace.said("got: nothing"),
    ]
    left = trace.without_known(entries)
    results = [entry for entry in left if not entry.startswith("used")]
    known = "got: (what it says)"
    assert results == [known, "failed: cannot", known, "got: 42", "got: 3", "said: got: nothing"]


@pytest.mark.parametrize("odd", ["x", 1.5, -1, True, [], [1], {}, None, 10**30], ids=str)
def test_what_an_agent_says_beside_its_text_costs_no_reply(odd):
    usage = {
        "input_tokens": odd,
        "output_tokens": 5,
        "cached_input_tokens": odd,
        "cache_read_input_tokens": odd,
    }
    said = claude.read(result(result="four", usage=usage, modelUsage=odd, errors=odd, stop_reason=odd))
    assert (said.text, said.error, said.usage) == ("four", "", Usage(calls=1, completion=5))
    steps = [
        {"type": "item.completed", "item": {"type": "agent_message", "text": "four", "id": odd}},
        {"type": "turn.completed", "usage": usage},
    ]
    said = codex.read(text([line(step) for step in steps]))
    assert (said.text, said.error, said.usage) == ("four", "", Usage(calls=1, completion=5))
    assert claude.read(result(is_error=True, result="broken", errors=odd)).error == "broken"
