"""What holds for any edits on any document."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from skillopt.records import Edit
from skillopt.skill import (
    SkillDocument,
    appendix_notes,
    apply_edits,
    replace_body,
    visible,
    with_appendix,
    with_slow_update,
)
from skillopt.skill.edits import _find
from skillopt.skill.markers import _MARKER, clean_lines, has_marker, lines_of, without_blocks, without_markers

PIECES = [
    "<!--",
    "-->",
    "SLOW_UPDATE_START",
    "APPENDIX_END",
    "<!-- SLOW_UPDATE_START -->",
    "<!-- slow_update_end -->",
    "<!--  APPENDIX_START-->",
    "<!-- APPENDIX_END -->",
    "\n",
    "\r\n",
    "\r",
    " ",
    "- rule",
    "a",
]
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=8).map("".join)
bodies = texts.filter(lambda text: not has_marker(text))
contents = st.lists(st.sampled_from(["- g", "", "a", "  b", "x\r"]), max_size=3)


@st.composite
def documents(draw):
    end = draw(st.sampled_from(["\n", "\r\n"]))
    body = draw(bodies)
    regions = ""
    for kind in draw(st.permutations(["SLOW_UPDATE", "APPENDIX"]))[: draw(st.integers(0, 2))]:
        inner = "".join(line + end for line in draw(contents))
        regions += f"<!-- {kind}_START -->{end}{inner}<!-- {kind}_END -->{end}"
    if regions and body and not body.endswith("\n"):
        body += end
    return body + regions.removesuffix(draw(st.sampled_from(["", end]))), regions


@st.composite
def edits_of(draw, text):
    start = draw(st.integers(0, len(text)))
    target = draw(texts | st.just(text[start : start + draw(st.integers(0, 20))]))
    op = draw(st.sampled_from(["append", "insert_after", "replace", "delete"]))
    return Edit(op=op, target=target, content=draw(texts))


@st.composite
def cases(draw):
    text, _ = draw(documents())
    return text, draw(st.lists(edits_of(text), max_size=5))


def tail(text):
    return text[len(SkillDocument.parse(text).body) :]


@given(cases())
def test_edits_leave_regions_alone_and_the_document_valid(case):
    text, edits = case
    result, reports = apply_edits(text, edits)
    assert tail(result) == tail(text)
    assert [report.edit for report in reports] == edits
    assert not has_marker(SkillDocument.parse(result).body)
    assert not has_marker(visible(result))


@given(cases())
def test_one_edit_touches_only_the_lines_of_its_target(case):
    text, edits = case
    for edit in edits[:1]:
        result, (report,) = apply_edits(text, [edit])
        before, after = lines_of(text), lines_of(result)
        if report.status.startswith("skipped"):
            assert result == text
        elif edit.op in ("append", "insert_after"):
            assert is_insertion(before, after)
        else:
            touched = edit.target.replace("\r\n", "\n").count("\n") + 1
            assert len(before) - common(before, after) <= touched


@given(cases())
def test_equal_input_gives_equal_output(case):
    assert apply_edits(*case) == apply_edits(*case)


def is_insertion(before, after):
    """Whether `after` is `before` with lines put in; the last one may have got a line end."""
    at = 0
    while at < len(before) and at < len(after) and before[at] == after[at]:
        at += 1
    rest = before[at:]
    if len(rest) == 1 and after[at : at + 1] in ([rest[0] + "\n"], [rest[0] + "\r\n"]):
        return True
    return not rest or after[-len(rest) :] == rest


def common(before, after):
    """Return how many lines of `before` stand unchanged at the two ends of `after`."""
    shorter = min(len(before), len(after))
    first = next((i for i in range(shorter) if before[i] != after[i]), shorter)
    last = next((i for i in range(shorter - first) if before[-1 - i] != after[-1 - i]), shorter - first)
    return first + last


@given(documents(), texts)
def test_guidance_stays_in_its_region(document, content):
    text, _ = document
    result = with_slow_update(text, content)
    before, after = SkillDocument.parse(text), SkillDocument.parse(result)
    assert result.startswith(before.body)
    assert after.body.rstrip() == before.body.rstrip()
    assert after.appendix == before.appendix
    assert with_slow_update(result, content) == result


@given(documents(), st.lists(texts, max_size=4))
def test_notes_stay_in_their_region_and_come_back(document, notes):
    text, _ = document
    result = with_appendix(text, notes)
    before, after = SkillDocument.parse(text), SkillDocument.parse(result)
    assert result.startswith(before.body)
    assert after.slow_update == before.slow_update
    written = appendix_notes(result)
    assert with_appendix(result, written) == result
    assert len(written) <= len(notes)


@given(documents(), texts)
def test_a_new_body_cannot_reach_the_regions(document, new_body):
    text, _ = document
    result = replace_body(text, new_body)
    assert tail(result) == tail(text)
    assert replace_body(result, new_body) == result


@given(bodies)
def test_an_empty_region_is_invisible(body):
    assert visible(with_slow_update(body, "")) == visible(body)


PARTS = [
    *PIECES,
    "<!--\u00a0",
    "<",
    "!--",
    "--",
    ">",
    "\u017fLOW_UPDATE_\u017fTART",
    "_",
    "<!-- APPEND\u0131X_END\t-->",
]
lines = st.lists(st.sampled_from(PARTS), max_size=12).map("".join)


@given(lines)
@example("<!-- APPENDIX_<!-- APPENDIX_END -->END -->")
@example("<!-<!-- APPENDIX_END -->- SLOW_UPDATE_END --<!-- APPENDIX_END -->>")
def test_markers_are_removed_until_none_is_left(line):
    expected = line
    while has_marker(expected):
        expected = _MARKER.sub("", expected)
    assert without_markers(line) == expected


ends = st.lists(st.sampled_from(["a", "b", "\r", "\n", "\r\n", "\r\r\n"]), max_size=10).map("".join)


@given(ends, ends)
def test_a_target_is_found_where_its_lines_stand_first(text, target):
    pattern = r"\r?\n".join(re.escape(part) for part in re.split(r"\r?\n", target))
    found = re.search(pattern, text)
    assert _find(text, target) == (found.span() if found else None)


@pytest.mark.parametrize(
    "content",
    [
        "<!-- SLOW_" * 20_000 + "<!-- APPENDIX_END -->" + "UPDATE_END -->" * 20_000,
        "<!-- APPENDIX_START --><!-- APPENDIX_END -->" * 20_000,
        "<!--" + " " * 400_000 + "-->" * 1000,
        "\n" * 400_000 + "x",
    ],
    ids=["nested", "many", "blanks", "lines"],
)
def test_text_of_any_kind_takes_no_long_time(content):
    assert clean_lines(content) in ([], ["x"], [content])
    assert without_blocks(content) in ("", content)
    target = content.replace("\n", "a\n")
    assert apply_edits("a\n" * 100_000, [Edit(op="delete", target=target)])[0] == "a\n" * 100_000
