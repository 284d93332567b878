import base64
import html

import pytest

from skillopt.redact import MASK, mask_secrets, one_line, redact

KEYS = [
    "sk-proj-abcDEF0123456789abcDEF",
    "sk-ant-api03-ABCdef_0123456789-xyz",
    "ghp_abcdefghijklmnopqrst0123",
    "github_pat_11ABCDEFG0abcdefghijkl",
    "AKIAIOSFODNN7EXAMPLE",
    "AIzaSyA0123456789abcdefghijklmnopqrstuv",
    "xoxb-123456789012-abcdefABCDEF",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-DEF_123",
]


@pytest.mark.parametrize("key", KEYS)
def test_known_forms_of_keys_are_masked_wherever_they_stand(key):
    for text in (key, f"error ({key}).", f"https://host/?x={key}&y=1", f'{{"a":"{key}"}}'):
        assert key not in redact(text)
        assert MASK in redact(text)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("AZURE_OPENAI_API_KEY=abcdef", "AZURE_OPENAI_API_KEY=[redacted]"),
        ("export FOO_TOKEN='a b c' now", "export FOO_TOKEN='[redacted]' now"),
        ('{"authToken": "q w", "n": 1}', '{"authToken": "[redacted]", "n": 1}'),
        ('{"access_token":"a\\"b"}', '{"access_token":"[redacted]"}'),
        ("Authorization: Bearer abcdef123456", "Authorization: Bearer [redacted]"),
        ("x-api-key: 0123456789abcdef", "x-api-key: [redacted]"),
        ("?token=abcdef&b=2", "?token=[redacted]&b=2"),
        ("proxy http://me:pw@host:8080/", "proxy http://[redacted]@host:8080/"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----\nrest", "[redacted]\nrest"),
        ("-----BEGIN PRIVATE KEY-----\nMII, cut off", "[redacted]"),
    ],
)
def test_values_with_a_telling_name_are_masked_and_the_rest_stays(text, left):
    assert redact(text) == left


@pytest.mark.parametrize(
    "prose",
    [
        "The token budget was exceeded: 4000 tokens, max_tokens=16384.",
        "Read the key facts first; the secret of success is patience.",
        "Basic internationalization, bearer of good news.",
        "The password must be changed; a token: one word.",
        "Set the environment variable OPENAI_API_KEY or run `codex login`.",
        "task-force sk-learn risk-averse; key-value stores; whisky-barrel",
        "{'prompt_tokens': 12, 'completion_tokens': 3}",
        "see https://example.org/a@b and me@example.org",
    ],
)
def test_prose_stays(prose):
    assert redact(prose) == prose


def test_the_very_values_of_secrets_are_masked_longest_first():
    assert redact("a hunter2-and-more b hunter2 c", ("hunter2", "hunter2-and-more")) == (
        "a [redacted] b [redacted] c"
    )


def test_masking_secrets_alone_leaves_what_only_looks_like_one():
    text = "sk-proj-abcDEF0123456789abcDEF and own-secret"
    assert mask_secrets(text, ("own-secret", "a")) == "sk-proj-abcDEF0123456789abcDEF and [redacted]"


def test_a_message_is_redacted_before_it_is_cut():
    key = "sk-proj-abcDEF0123456789abcDEF"
    shown = one_line(f"word\n {key} end", 12)
    assert shown == "word [redact..."
    assert one_line("half a pair \ud800", 50) == "half a pair ?"


def test_redacting_twice_changes_nothing():
    once = redact(f"A_KEY=1 api_key='x1234567' Bearer abcdefgh1 {KEYS[0]}")
    assert redact(once) == once


@pytest.mark.parametrize(
    "piece",
    [
        "x",
        "sk-",
        "eyJaaaaaaaaa.",
        "-eyJaaaaaaaaa.",
        "api_key",
        "password:",
        "bearer ",
        "a.b-",
        "://a:",
        '"token":"',
    ],
)
def test_long_texts_of_any_kind_take_no_long_time(piece):
    assert redact(piece * (400_000 // len(piece)))


SECRET = "canary/7e21+c9"


def in_base64(text):
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("canary%2F7e21%2Bc9", MASK),
        ("canary%2f7e21%2bc9", MASK),
        ("canary/7e21%2Bc9", MASK),
        ("canary\\/7e21+c9", MASK),
        (in_base64(SECRET), MASK),
        ("Y2FuYXJ5LzdlMjErYzk", MASK),
        ("canary/7e21 c9", "canary/7e21 c9"),
    ],
)
def test_encoded_forms_of_secrets_are_masked(text, left):
    assert mask_secrets(f"a {text} b", (SECRET,)) == f"a {left} b"


@pytest.mark.parametrize("secret", [SECRET, SECRET + "x", SECRET + "xy", "\xfe??>>~~~~"])
@pytest.mark.parametrize("user", ["", "u", "us", "use"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_secrets_within_something_in_base64_are_masked(secret, user, encode):
    encoded = encode(f"{user}{secret}:more".encode()).decode()
    shown = mask_secrets(encoded, (secret,))
    assert MASK in shown
    assert len(shown) - len(MASK) <= len(encode(f"{user}:more".encode())) + 4


def test_what_a_secret_looks_like_needs_no_care_of_short_ones():
    assert mask_secrets("a short one", ("short",)) == "a short one"


@pytest.mark.parametrize("place", range(99_960, 100_010, 7))
def test_a_secret_at_the_end_of_what_is_looked_at_is_not_cut_in_two(place):
    text = " " * place + "key sk-proj-abcDEF0123456789abcDEF and own-secret-1" + " more" * 100
    shown = one_line(text, 300, ("own-secret-1",))
    assert shown.endswith("...")
    assert "sk-" not in shown
    assert "own" not in shown


def test_a_message_holds_no_control_characters():
    said = "\x1b]0;owned\x07\x1b[2Jred\r\nnext \u202etxt \x9b1m \u2028 é 中 😀"
    shown = one_line(said, 200)
    mark = "\N{REPLACEMENT CHARACTER}"
    assert shown == f"{mark}]0;owned{mark}{mark}[2Jred next {mark}txt {mark}1m é 中 😀"


def test_a_login_without_a_password_is_masked():
    assert (
        redact("at http://CANARY@host/v1 and http://host/a@b")
        == "at http://[redacted]@host/v1 and http://host/a@b"
    )


@pytest.mark.parametrize("gap", ["\n", "\r\n    ", "\n\n\t", "\\n", "\\r\\n  "])
def test_a_secret_that_is_broken_over_lines_is_masked(gap):
    secret = "canary-7e21c9+/key"
    broken = f"sent {secret[:5]}{gap}{secret[5:12]}{gap}{secret[12:]} to you"
    assert mask_secrets(broken, [secret]) == "sent [redacted] to you"
    assert "21c9" not in one_line(broken, 300, [secret])


def test_a_secret_in_html_is_masked():
    secret = "canary&7e<21>'c9\"key"
    for escaped in (html.escape(secret), html.escape(secret, quote=False)):
        assert mask_secrets(f"<p>{escaped}</p>", [secret]) == "<p>[redacted]</p>"


def test_a_text_of_many_line_ends_takes_no_longer_than_its_length():
    """It would not end at all if the gaps could be read in more than one way."""
    text = "canary-7e21c" + "\n \\n" * 100_000
    assert mask_secrets(text, ["canary-7e21c9-key"]) == text
