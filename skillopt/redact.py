"""Takes credentials out of text that is shown or kept.

Masks what looks like a credential (keys of known providers, tokens after `Bearer`, values of
settings named like one) and the very values of secrets that were in use. Prose about tokens,
keys and passwords stays as it is. The text may be anybody's: all patterns take time in proportion to its
length.
"""

import html
import json
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator, Sequence
from urllib.parse import quote

from skillopt.texts import plain, single_line

MASK = "[redacted]"

_SHORTEST_SECRET = 6
"""Characters: a shorter secret would mask ordinary text wherever it occurs."""

_LOOKED_AT = 100_000
"""Characters at the start of a text that a message is made of; the patterns are slow."""

_BREAK = r"(?:\s|\\[nrt])*+"
"""Where a text may be broken over lines, also as JSON writes it; never tried in two ways."""

_ESCAPE = re.compile("%[0-9A-F]{2}")

_TOKENS = re.compile(
    r"""
    -----BEGIN[ ][A-Z ]*PRIVATE[ ]KEY-----[\s\S]*?(?:-----END[ ][A-Z ]*PRIVATE[ ]KEY-----|\Z)
    | \b(?:sk|pk|rk)[-_](?=[A-Za-z_-]{0,99}\d)[A-Za-z0-9_-]{16,}  # OpenAI, Anthropic, Stripe ...
    | \bkey[-_](?=[A-Za-z_-]{0,99}\d)[A-Za-z0-9]{16,}
    | \b(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}|glpat-[A-Za-z0-9_-]{16,})
    | \b(?:AKIA|ASIA)[0-9A-Z]{16}\b                                # AWS
    | \bAIza[0-9A-Za-z_-]{30,}                                     # Google
    | \bxox[abeoprs]-[A-Za-z0-9-]{10,}                             # Slack
    | \b(?:hf|npm|pypi|dop_v1)[_-](?=[A-Za-z_-]{0,99}\d)[A-Za-z0-9_-]{20,}
    | (?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*    # JSON Web Token
    """,
    re.VERBOSE,
)

_NAME = (
    r"(?<![A-Za-z0-9_.-])[A-Za-z0-9_.-]*(?:api[_-]?key|access[_-]?key(?:[_-]?id)?|private[_-]?key|subscription[_-]?key"
    r"|(?:auth|access|refresh|session|id|bearer|github|gh)[_-]?token|[_-]token|secret|password|passwd"
    r"|authorization)"
)
_BARE_TOKEN = r"token"  # alone it is a word of prose: only `token=`, `"token":` count

_MASKED = (
    (r"(?i)\b(bearer|basic)(\s+)(?=[A-Za-z._~+/=-]{0,99}\d)[A-Za-z0-9._~+/=-]{8,}", rf"\1\2{MASK}"),
    (r"(?<=://)[^/\s@]+(?=@)", MASK),
    (
        rf"""(?i)((?:{_NAME}|\b{_BARE_TOKEN})["']?\s*[:=]\s*)(["'])((?:(?!\2)[^\\\n]|\\.)+)\2""",
        rf"\1\2{MASK}\2",
    ),
    (rf"""(?i)((?:{_NAME}|\b{_BARE_TOKEN})=)([^\s"'&,;}})\]]{{4,}})""", rf"\1{MASK}"),
    (rf"""(?i)((?:{_NAME})["']?:[ \t]*)(?=[^\s"',;]{{0,99}}\d)([^\s"',;}})\]\[]{{8,}})""", rf"\1{MASK}"),
)
"""Patterns and what is put in their place, in this order. Compiled at the first use: few phases have one."""


def redact(text: str, secrets: Sequence[str] = ()) -> str:
    """Return `text` with everything that looks like a credential, and each of `secrets`, masked."""
    text = mask_secrets(text, secrets)
    text = _TOKENS.sub(MASK, text)
    for pattern, replacement in _MASKED:
        text = re.sub(pattern, replacement, text)
    return text


def looks_like_key(text: str) -> bool:
    """Whether text has something in it that has the shape of a key of a known provider."""
    return _TOKENS.search(text) is not None


def mask_secrets(text: str, secrets: Sequence[str]) -> str:
    """Return `text` with each of `secrets` masked in all its forms, and nothing else changed.

    A secret that is broken over lines is masked too.
    """
    for form in secret_forms(secrets):
        text = text.replace(form, MASK)
    for secret in secrets:
        if len(secret) >= _SHORTEST_SECRET:
            text = re.sub(_BREAK.join(map(re.escape, secret)), MASK, text)
    return text


def secret_forms(secrets: Sequence[str]) -> list[str]:
    """Return what each secret looks like in text, longest first.

    As it is, as a part of JSON or HTML, percent-encoded, and in base64, alone or as a part of something
    longer.
    """
    forms = {form for secret in secrets if len(secret) >= _SHORTEST_SECRET for form in _forms(secret)}
    return sorted(forms, key=lambda form: (-len(form), form))


def _forms(secret: str) -> Iterator[str]:
    yield secret
    in_json = json.dumps(secret)[1:-1]
    yield from (in_json, in_json.replace("/", "\\/"))
    for safe in ("", "/"):
        encoded = quote(secret, safe=safe, errors="replace")
        yield from (encoded, _ESCAPE.sub(lambda found: found[0].lower(), encoded))
    yield from (html.escape(secret, quote=False), html.escape(secret))
    raw = secret.encode("utf-8", "replace")
    for encode in (b64encode, urlsafe_b64encode):
        whole = encode(raw).decode()
        yield from (whole, whole.rstrip("="))
    for before in range(3):
        # Within something longer the characters at both ends also hold bits of what stands beside.
        start = (0, 2, 3)[before]
        stop = (len(raw) + before) * 4 // 3
        for encode in (b64encode, urlsafe_b64encode):
            yield encode(bytes(before) + raw).decode()[start:stop]


def one_line(text: str, limit: int, secrets: Sequence[str] = ()) -> str:
    """Return redacted text for a message: on one line, at most `limit` characters and `...`.

    Control characters are replaced by a visible mark: the text may be anybody's, and goes to a terminal.
    Redacts before it shortens: half a key is not seen as one. Only of a very long text, of which the
    start is looked at, the word at which it is cut is left out.
    """
    text = mask_secrets(text, secrets)
    cut = len(text) > _LOOKED_AT
    if cut:
        text = text[:_LOOKED_AT]
        text = text[: max(text.rfind(end) for end in " \n") + 1] or text
    text = plain(single_line(redact(text)).encode("utf-8", "replace").decode("utf-8"))
    return text if len(text) <= limit and not cut else f"{text[:limit]}..."
