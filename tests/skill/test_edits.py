import pytest

from skillopt.records import Edit
from skillopt.skill import apply_edits

START, END = "<!-- SLOW_UPDATE_START -->", "<!-- SLOW_UPDATE_END -->"
TEXT = "# Skill\n\n- one\n- two\n\n## More\n- three\n"
GUIDED = f"{TEXT}\n{START}\n- guide one\n{END}\n"


def run(text, op, target="", content=""):
    result, (report,) = apply_edits(text, [Edit(op=op, target=target, content=content)])
    return result, report.status


def test_append_goes_to_the_end_of_the_body_before_the_first_region():
    assert run(TEXT, "append", content="- four") == (TEXT + "- four\n", "applied")
    assert run(GUIDED, "append", content="- four\n") == (
        GUIDED.replace("- three\n", "- three\n- four\n"),
        "applied",
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "x\ny\n"),
        ("a", "a\nx\ny"),
        ("a\n\n\n", "a\nx\ny\n\n\n"),
        ("a\r\nb\r\n", "a\r\nb\r\nx\r\ny\r\n"),
        ("a\r\nb", "a\r\nb\r\nx\r\ny"),
        (f"{START}\r\n{END}\r\n", f"x\r\ny\r\n{START}\r\n{END}\r\n"),
    ],
)
def test_content_takes_the_line_ends_of_the_document(text, expected):
    assert run(text, "append", content="\n\nx\ny\r\n\n") == (expected, "applied")


@pytest.mark.parametrize("target", ["- one", "one", "- o", "# Skill\n\n- one", "- one\n"])
def test_insert_after_goes_below_the_line_where_the_target_ends(target):
    expected = TEXT.replace("- one\n", "- one\n- new\n")
    assert run(TEXT, "insert_after", target, "- new") == (expected, "applied")


@pytest.mark.parametrize("target", ["", " \n", "- nowhere", "- ONE"])
def test_insert_after_without_its_target_is_appended(target):
    assert run(GUIDED, "insert_after", target, "- new") == (
        GUIDED.replace("- three\n", "- three\n- new\n"),
        "applied_at_end",
    )


def test_insert_after_the_last_line_without_a_line_end():
    assert run("a\nb", "insert_after", "b", "c") == ("a\nb\nc", "applied")


def test_replace_changes_the_first_occurrence_only():
    assert run("a b a\n", "replace", "a", "c") == ("c b a\n", "applied")
    assert run(TEXT, "replace", "- one\n- two", "- 1\n- 2\n- 3") == (
        TEXT.replace("- one\n- two\n", "- 1\n- 2\n- 3\n"),
        "applied",
    )


def test_replace_never_joins_lines_at_the_ends_of_its_target():
    assert run("a\nb\nc\n", "replace", "\nb\n", "x") == ("a\nx\nc\n", "applied")
    assert run("a\nb\nc\n", "replace", "b", "\n\nx\n\n") == ("a\nx\nc\n", "applied")


def test_line_ends_in_a_target_match_both_forms():
    assert run("a\r\nb\r\nc\r\n", "replace", "a\nb", "x\ny") == ("x\r\ny\r\nc\r\n", "applied")
    assert run("a\nb\nc\n", "delete", "a\r\nb") == ("c\n", "applied")


@pytest.mark.parametrize(
    ("text", "target", "expected"),
    [
        ("a\nb\nc\n", "b", "a\nc\n"),
        ("a\nb\nc\n", "b\n", "a\nc\n"),
        ("a\n  b \nc\n", "b", "a\nc\n"),
        ("a\nb\n\nc\n", "b\n\n", "a\nc\n"),
        ("a\nb", "b", "a\n"),
        ("a\n- b c\nd\n", " c\n", "a\n- b\nd\n"),
        ("a\nb c\nd\n", "\nb", "a\n c\nd\n"),
        ("a one\ntwo b\nc\n", "one\ntwo", "a  b\nc\n"),
        ("a", "a", ""),
    ],
)
def test_delete_takes_out_the_target_and_a_line_left_blank(text, target, expected):
    assert run(text, "delete", target) == (expected, "applied")


@pytest.mark.parametrize("op", ["replace", "delete"])
def test_missing_and_empty_targets_are_skipped(op):
    assert run(TEXT, op, "- nowhere", "x") == (TEXT, "skipped_target_missing")
    assert run(TEXT, op, "", "x") == (TEXT, "skipped_no_target")
    assert run(TEXT, op, " \r\n", "x") == (TEXT, "skipped_no_target")


@pytest.mark.parametrize("op", ["replace", "delete", "insert_after"])
@pytest.mark.parametrize(
    "target", ["guide one", START, END, "- three\n\n<!--", f"- three\n\n{START}\n", "- guide one\n<"]
)
def test_a_target_in_or_reaching_into_a_region_is_protected(op, target):
    assert run(GUIDED, op, target, "x") == (GUIDED, "skipped_protected")


def test_the_body_is_searched_before_the_regions():
    assert run(GUIDED, "replace", "one", "1") == (GUIDED.replace("- one", "- 1"), "applied")


@pytest.mark.parametrize("op", ["append", "insert_after", "replace"])
@pytest.mark.parametrize("content", ["", " \n\t", START, f"\n{START.lower()}\n<!--APPENDIX_END  -->\n"])
def test_edits_with_nothing_to_add_are_skipped(op, content):
    assert run(GUIDED, op, "one", content) == (GUIDED, "skipped_empty")


def test_a_replacement_that_changes_nothing_is_skipped():
    assert run(TEXT, "replace", "- one\n", "- one") == (TEXT, "skipped_empty")


@pytest.mark.parametrize(
    "content",
    [
        f"- a\n{START}\n{END}",
        "- a<!-- slow_update_end -->",
        "<!--\tAPPENDIX_START\t-->- a",
        "- a<!-- SLOW_<!-- APPENDIX_END -->UPDATE_START -->",
    ],
)
def test_markers_in_content_are_removed(content):
    assert run("x\n", "append", content=content) == ("x\n- a\n", "applied")
    assert run("x\n", "replace", "x", content) == ("- a\n", "applied")


@pytest.mark.parametrize(
    ("text", "op", "target", "content"),
    [
        ("<!-- SLOW_UPDATE_XSTART -->\n", "delete", "X", ""),
        ("<!-- SLOW_UPDATE_\nSTART -->\n", "replace", "_\nSTART", "_START"),
        ("<!-- X -->\n", "replace", "X", "APPENDIX_END"),
    ],
)
def test_a_marker_cannot_be_put_together_from_pieces(text, op, target, content):
    assert run(text, op, target, content) == (text, "skipped_protected")


def test_later_edits_see_what_earlier_ones_left():
    edits = [
        Edit(op="append", content="- four"),
        Edit(op="insert_after", target="- four", content="- five"),
        Edit(op="delete", target="- four"),
        Edit(op="replace", target="- four", content="- six"),
    ]
    text, reports = apply_edits(GUIDED, edits)
    assert text == GUIDED.replace("- three\n", "- three\n- five\n")
    assert [report.status for report in reports] == ["applied"] * 3 + ["skipped_target_missing"]
    assert [report.edit for report in reports] == edits


def test_a_long_document_keeps_every_line_that_no_edit_touches():
    text = "".join(f"- rule {n}: {'x' * 30}\n" for n in range(1000))
    edited, _ = apply_edits(text, [Edit(op="replace", target="- rule 500: ", content="- changed ")])
    before, after = text.splitlines(), edited.splitlines()
    assert after[500] == "- changed " + "x" * 30
    assert before[:500] + before[501:] == after[:500] + after[501:]
