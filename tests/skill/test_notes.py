import pytest

from skillopt.skill import SkillDocument, appendix_notes, merge_notes, with_appendix

START, END = "<!-- APPENDIX_START -->", "<!-- APPENDIX_END -->"


def test_notes_are_written_as_a_list_and_read_back():
    text = with_appendix("- rule\n", ["Check the unit.", "Answer\n  in one word"])
    assert text == f"- rule\n\n{START}\n- Check the unit.\n- Answer in one word\n{END}\n"
    assert appendix_notes(text) == ("Check the unit.", "Answer in one word")


def test_notes_replace_the_earlier_ones_and_nothing_else():
    text = f"- rule\n{START}\n- old\n{END}\n\n<!-- SLOW_UPDATE_START -->\n- old\n<!-- SLOW_UPDATE_END -->"
    assert with_appendix(text, ["new"]) == text.replace("- old", "- new", 1)
    assert with_appendix(text, []) == text.replace("- old\n", "", 1)


def test_no_notes_make_no_region():
    assert with_appendix("- rule", ["", " \n"]) == "- rule"
    assert appendix_notes("- rule") == ()


@pytest.mark.parametrize(
    "note",
    [
        f"a {END} b",
        "- a b",
        "* - a\n\n b ",
        "a <!-- APPENDIX_<!-- APPENDIX_END -->END --> b",
        "a <!--\nAPPENDIX_END\n--> b",
    ],
)
def test_markers_and_list_marks_in_notes_are_removed(note):
    assert appendix_notes(with_appendix("x\n", [note])) == ("a b",)


def test_a_hand_written_appendix_is_read():
    notes = "Loose line\n* first\n  goes on\n\n- second\n  - nested\n+ **bold** third\nplain again\n"
    text = f"{START}\n{notes}{END}\n"
    expected = ("Loose line", "first goes on", "second", "nested", "**bold** third", "plain again")
    assert appendix_notes(text) == expected


def test_list_marks_of_any_number_are_removed():
    assert merge_notes((), ["- * " * 200_000 + "<!-- APPENDIX_END -->- a b"]) == ("a b",)


def test_merging_drops_near_duplicates_and_keeps_the_order():
    old = ("Check the unit.", "Be brief")
    new = ["be  BRIEF!", "Read twice", "check the unit", "read twice ...", "- Read twice.", "", "!!"]
    assert merge_notes(old, new) == ("Check the unit.", "Be brief", "Read twice")


def test_merging_never_loses_an_old_note():
    assert merge_notes(("a", "A."), ["b", "a!"]) == ("a", "A.", "b")


def test_writing_the_same_notes_again_changes_nothing():
    text = f"- rule\n{START}\n\n- a\n\n{END}\n"
    assert with_appendix(text, appendix_notes(text)) == text
    assert SkillDocument.parse(text).appendix == "- a"
