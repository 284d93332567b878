"""Takes credentials out of text that is shown or kept.

Masks what looks like a credential (keys of known providers, tokens after `Bearer`, values of
settings named like one) and the very values of secrets that were in use. Prose about tokens,
keys and passwords stays as it is. The text may be anybody's: all patterns take time in proportion to its
length.
"""

import re
from collections.abc import Sequence

MASK = "[redacted]"

_SHORTEST_SECRET = 6
"""Characters: a shorter secret would mask ordinary text wherever it occurs."""

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

_SCHEMES = re.compile(r"(?i)\b(bearer|basic)(\s+)(?=[A-Za-z._~+/=-]{0,99}\d)[A-Za-z0-9._~+/=-]{8,}")

_NAME = (
    r"(?<![A-Za-z0-9_.-])[A-Za-z0-9_.-]*(?:api[_-]?key|access[_-]?key(?:[_-]?id)?|private[_-]?key|subscription[_-]?key"
    r"|(?:auth|access|refresh|session|id|bearer|github|gh)[_-]?token|[_-]token|secret|password|passwd"
    r"|authorization)"
)
_BARE_TOKEN = r"token"  # alone it is a word of prose: only `token=`, `"token":` count

_QUOTED = re.compile(rf"""(?i)((?:{_NAME}|\b{_BARE_TOKEN})["']?\s*[:=]\s*)(["'])((?:(?!\2)[^\\\n]|\\.)+)\2""")
_ASSIGNED = re.compile(rf"""(?i)((?:{_NAME}|\b{_BARE_TOKEN})=)([^\s"'&,;}})\]]{{4,}})""")
_LISTED = re.compile(rf"""(?i)((?:{_NAME})["']?:[ \t]*)(?=[^\s"',;]{{0,99}}\d)([^\s"',;}})\]\[]{{8,}})""")

_IN_URL = re.compile(r"(?<=://)[^/\s@]+(?=@)")


def redact(text: str, secrets: Sequence[str] = ()) -> str:
    """Return `text` with everything that looks like a credential, and each of `secrets`, masked."""
    text = mask_secrets(text, secrets)
    text = _TOKENS.sub(MASK, text)
    text = _SCHEMES.sub(rf"\1\2{MASK}", text)
    text = _IN_URL.sub(MASK, text)
    text = _QUOTED.sub(rf"\1\2{MASK}\2", text)
    text = _ASSIGNED.sub(rf"\1{MASK}", text)
    return _LISTED.sub(rf"\1{MASK}", text)


def looks_like_key(text: str) -> bool:
    """Whether text has something in it that has the shape of a key of a known provider."""
    return _TOKENS.search(text) is not None


def mask_secrets(text: str, secrets: Sequence[str]) -> str:
    """Return `text` with each of `secrets` masked, and nothing else changed."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, MASK)
    return text


def one_line(text: str, limit: int, secrets: Sequence[str] = ()) -> str:
    """Return redacted text for a message: on one line, at most `limit` characters and `...`.

    Redacts before it shortens: half a key is not seen as one.
    """
    text = " ".join(redact(text, secrets).split())
    text = text.encode("utf-8", "replace").decode("utf-8")
    return text if len(text) <= limit else f"{text[:limit]}..."
