"""What went wrong, in the terms of the call layer, from what a program says about it."""

import re
import tempfile

import msgspec

from skillopt.models.base import CallError
from skillopt.redact import one_line

_SHOWN = 300
"""Characters of a program's message that are shown."""

_JUDGED = 4_000
"""Characters of its start and of its end that tell the kind of failure: the text may be of any size."""

_QUOTA = re.compile(
    r"usage limit|credit balance|insufficient[_ ]quota|quota (?:is )?exceeded"
    r"|(?:hit|reached|exceeded) your (?![\w -]{0,30}\brate\b)[\w -]{0,30}?\b(?:limit|quota|allowance)\b"
    r"|out of (?:credits|premium requests)|(?:billing|spending) (?:hard )?limit"
    r"|(?:weekly|session|5-hour) limit",
    re.IGNORECASE,
)
_LOGIN = re.compile(
    r"not (?:logged|signed) in|(?:please )?(?:run|use) [`'\"/\w -]{0,60}\blogin\b|log in (?:again|first|to)"
    r"|(?:please|and) (?:log|sign) in\b|(?:session|login|credentials?) (?:has |have |is |are )?expired"
    r"|invalid (?:api|x-api)[ -]?key|invalid_api_key|incorrect api key"
    r"|authentication[_ ](?:error|failed|required)"
    r"|unauthori[sz]ed|no authentication|bad credentials|(?:oauth )?token (?:has |is )?expired"
    r"|(?:status|http|error|code)\W{0,3}40[13]\b",
    re.IGNORECASE,
)
_MODEL = re.compile(
    r"(?:unknown|invalid|unsupported|unrecogni[sz]ed|unavailable) model|model_not_found"
    r"|issue with the selected model|\bmodel\b[^.\n]{0,80}?"
    r"(?:not found|does not exist|not supported|isn't supported|not available|unavailable|is invalid)",
    re.IGNORECASE,
)
_PASSING = re.compile(
    r"rate[ _-]?limit|too many requests|overloaded|internal server error|service unavailable|bad gateway"
    r"|gateway time-?out|temporarily|try again later|stream (?:disconnected|error)"
    r"|socket hang up|fetch failed"
    r"|connection (?:reset|closed|error|refused|timed out)|network error|timed out"
    r"|\b(?:ECONNRESET|ECONNREFUSED|ETIMEDOUT|EAI_AGAIN|ENOTFOUND|EPIPE)\b"
    r"|(?:status|http|error|code)\W{0,3}(?:408|409|429|5\d\d)\b",
    re.IGNORECASE,
)


class Advice(msgspec.Struct, frozen=True, kw_only=True):
    """What a user is told about a program: its name, how to get it, how to log in, where the model is set."""

    program: str
    install: str
    login: str
    path_setting: str
    model_setting: str


def binary_missing(advice: Advice, binary: str) -> CallError:
    """Return the error of a program that is not there."""
    return CallError(missing_text(advice, binary), code="binary_missing")


def missing_text(advice: Advice, binary: str) -> str:
    """Say that a program is not there, and what to do."""
    return (
        f"{advice.program}: no program {binary!r} found. Install it ({advice.install}), or set "
        f"{advice.path_setting} to where it is."
    )


def not_started(advice: Advice, problem: str, secrets: tuple[str, ...]) -> CallError:
    """Return the error of a program that is there and cannot be run."""
    shown = one_line(problem, _SHOWN, secrets)
    return CallError(
        f"{advice.program} cannot be started: {shown}. Reinstall it ({advice.install}), or correct "
        f"{advice.path_setting}.",
        code="binary_unusable",
    )


def no_folder(advice: Advice, problem: OSError) -> CallError:
    """Return the error of a call whose folders or pipes could not be made, or be filled."""
    return CallError(
        f"{advice.program} cannot be given its files: {problem.strerror or problem}. They lie in "
        f"{tempfile.gettempdir()}: make room there, or let TMPDIR name another folder.",
        code="no_folder",
    )


def too_long(advice: Advice, seconds: float, last: str) -> CallError:
    """Return the error of a program that was ended after its time; `last` is what it did last."""
    doing = f"; the last it did: {last}" if last else ""
    return CallError(
        f"{advice.program} did not end within {seconds:g} s{doing}",
        kind="timeout",
        transient=True,
        code="timeout",
    )


def too_much(advice: Advice, problem: str) -> CallError:
    """Return the error of a program that was ended because of what it printed."""
    return CallError(f"{advice.program} was stopped: {problem}", code="output_limit")


def empty(advice: Advice, *, again: bool) -> CallError:
    """Return the error of a run without a final message; the second one is no longer tried again."""
    message = f"{advice.program} ended without a final message"
    return CallError(f"{message}, twice" if again else message, transient=not again, code="empty_reply")


def failed(advice: Advice, said: str, exit_code: int, secrets: tuple[str, ...]) -> CallError:
    """Return the error of a program that failed, by what it `said`."""
    shown = one_line(said, _SHOWN, secrets) or "it says nothing about it"
    where = f"{advice.program} failed (exit code {exit_code}): {shown}"
    if len(said) > 2 * _JUDGED:
        said = f"{said[:_JUDGED]}\n{said[-_JUDGED:]}"
    if _QUOTA.search(said):
        return CallError(where, code="insufficient_quota")
    if _LOGIN.search(said):
        return CallError(f"{where}. {advice.login}", code="not_logged_in")
    if _MODEL.search(said):
        return CallError(
            f"{where}. Set {advice.model_setting} to a model that it offers", code="unknown_model"
        )
    if _PASSING.search(said):
        return CallError(where, transient=True, code="overloaded")
    return CallError(where, code=f"exit_{exit_code}" if exit_code else "agent_error")
