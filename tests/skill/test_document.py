import pytest

from skillopt.errors import ConfigError
from skillopt.skill import SkillDocument, replace_body, sha256, visible, with_slow_update

START, END = "<!-- SLOW_UPDATE_START -->", "<!-- SLOW_UPDATE_END -->"
NOTES, NOTES_END = "<!-- APPENDIX_START -->", "<!-- APPENDIX_END -->"
REGIONS = f"{START}\nguide\n{END}\n\n{NOTES}\n- note\n{NOTES_END}\n"


def test_parts_of_a_document_are_found():
    text = f"# Skill\n\n- rule\n\n{REGIONS}"
    document = SkillDocument.parse(text)
    assert (document.text, document.body) == (text, "# Skill\n\n- rule\n\n")
    assert (document.slow_update, document.appendix) == ("guide", "- note")


def test_regions_are_kept_in_either_order():
    document = SkillDocument.parse(f"body\n{NOTES}\n{NOTES_END}\n{START}\n\n  a\n  b\n\n{END}")
    assert (document.body, document.slow_update, document.appendix) == ("body\n", "  a\n  b", "")


@pytest.mark.parametrize("text", ["", "\n", "text without line end", "a\r\nb\r\n", "\x00\u2028\x0c\r"])
def test_a_document_without_regions_is_all_body(text):
    document = SkillDocument.parse(text)
    assert (document.body, document.slow_update, document.appendix) == (text, None, None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"a\n{START}\ng\n", "line 2: .* never ends"),
        (f"a\nb\n{END}\n", "line 3: .* was not opened"),
        (f"{START}\n{NOTES}\n{NOTES_END}\n{END}\n", "line 2: .* inside the region opened in line 1"),
        (f"{START}\n{START}\n{END}\n", "line 2: .* inside the region opened in line 1"),
        (f"{START}\n{NOTES_END}\n", "line 2: .* was not opened"),
        (f"{START}\n{END}\n{START}\n{END}\n", "line 3: a second region"),
        (f"{START}\n{END}\n\nmore\n", "line 4: expected no text after a protected region, found 'more'"),
        (f"{START}\n{END}\nmore\n{NOTES}\n{NOTES_END}\n", "line 3: expected no text after"),
        (f"see {START}\n", "line 1: expected a region marker alone on its line"),
        (f"a\n{START}{END}\n", "line 2: expected a region marker alone on its line"),
        ("a\n<!--slow_update_start-->\n", "line 2: expected a region marker alone"),
    ],
)
def test_broken_markers_are_refused_with_their_line(text, message):
    with pytest.raises(ConfigError, match=message):
        SkillDocument.parse(text)


def test_a_target_sees_body_and_filled_regions_without_markers():
    assert visible(f"# Skill\n\n- rule\n\n{REGIONS}") == "# Skill\n\n- rule\n\nguide\n\n- note\n"


@pytest.mark.parametrize("text", ["", "\n\n", "x", "x\n", "x\n\n\n", "a\r\nb\r\n", "a\r\nb", "  x  \n"])
def test_an_empty_region_leaves_no_trace(text):
    assert visible(with_slow_update(text, "")) == visible(text)
    assert visible(visible(text)) == visible(text)


def test_visible_text_keeps_a_plain_document_as_it_is():
    assert visible("# A\n\n- b\n") == "# A\n\n- b\n"
    assert visible(" \n\n") == ""


def test_guidance_makes_its_region_at_the_end():
    assert with_slow_update("- rule", "do\nthis") == f"- rule\n\n{START}\ndo\nthis\n{END}\n"
    assert with_slow_update("", "") == f"{START}\n{END}\n"
    text = f"- rule\r\n\r\n{NOTES}\r\n- n\r\n{NOTES_END}\r\n"
    assert with_slow_update(text, "g\nh") == text + f"\r\n{START}\r\ng\r\nh\r\n{END}\r\n"


def test_guidance_replaces_only_what_lies_in_its_region():
    text = f"- rule \n\n  {START}  \nold\n{END}\n{NOTES}\n- n\n{NOTES_END}"
    assert with_slow_update(text, "new\n") == text.replace("old", "new")
    assert with_slow_update(text, "\nold\n\n") == text


@pytest.mark.parametrize(
    "content",
    [
        f"a\n{END}\nb",
        f"a\n<!--{' ' * 5}Appendix_Start-->\nb",
        "a\n<!-- SLOW_<!-- APPENDIX_END -->UPDATE_END -->\nb",
        f"{START}\na\nb\n{END}",
    ],
)
def test_markers_in_guidance_are_removed(content):
    assert SkillDocument.parse(with_slow_update("x\n", content)).slow_update == "a\nb"


def test_a_new_body_keeps_the_regions_byte_for_byte():
    text = f"old\r\n{START}\r\ng \n{END}\n \n{NOTES}\n{NOTES_END}"
    regions = text[len("old\r\n") :]
    assert replace_body(text, "# New\n- rule\n") == "# New\r\n- rule\r\n\r\n" + regions
    assert replace_body(text, f"new {END.lower()}") == "new \r\n\r\n" + regions
    assert replace_body(text, "\nold\n") == text


def test_a_new_body_that_brings_regions_along_loses_them():
    text = f"old\n\n{START}\nguide\n{END}\n"
    assert replace_body(text, f"new\n\n{START}\nother guide\n{END}\n") == text.replace("old", "new")
    assert replace_body("old", f"{START}\nall of it\n{END}") == "all of it\n"


def test_sha256_is_that_of_the_bytes():
    assert sha256("ü\r\n") == "992ec2a46da99aa00c19af2df453d0e3328a348e1011e55fe12d17b1a8e24463"


@pytest.mark.parametrize("first", [END, START])
def test_text_between_markers_that_make_no_region_stays(first):
    second = START if first == END else NOTES_END
    assert replace_body("old\n", f"a\n{first}\nkept\n{second}\nb\n") == "a\nkept\nb\n"
