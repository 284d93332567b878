"""Errors that stop a phase, each with the exit code its process ends with."""

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of every `skillopt` command."""

    OK = 0
    UNEXPECTED = 1
    BAD_CONFIG = 2
    PROVIDER_DEAD = 3
    LOW_COVERAGE = 4
    CORRUPT_FILE = 5
    CAP_REACHED = 6
    ALL_REJECTED = 10
    NOTHING_PROPOSED = 11
    UNFINISHED = 12
    NONE_BETTER = 13
    INTERRUPTED = 130


class SkillOptError(Exception):
    """Base of all errors that are shown to the user without a traceback."""

    exit_code = ExitCode.UNEXPECTED


class ConfigError(SkillOptError):
    """A configuration, data set, skill file or command line that the user must correct."""

    exit_code = ExitCode.BAD_CONFIG


class DataError(ConfigError):
    """A data set that cannot be used; the message names the file and the item."""


class ProviderDead(SkillOptError):
    """The provider fails in a way that waiting does not heal (wrong key, no such model, refused)."""

    exit_code = ExitCode.PROVIDER_DEAD


class LowCoverage(SkillOptError):
    """Too few rows of a phase have a score (`evaluation.min_coverage`)."""

    exit_code = ExitCode.LOW_COVERAGE


class CorruptFile(SkillOptError):
    """A file of a run cannot be read back; the message says what to delete."""

    exit_code = ExitCode.CORRUPT_FILE


class CapReached(SkillOptError):
    """A limit of the `budget` section would be passed by the next call."""

    exit_code = ExitCode.CAP_REACHED


class Interrupted(SkillOptError):
    """The phase was asked to stop (Ctrl-C, or the process that started it is gone)."""

    exit_code = ExitCode.INTERRUPTED


def changed(what: str) -> str:
    """Say what comes of inputs that changed between the planning of a job and its run."""
    return (
        f"The {what} changed after this command had planned its jobs, so no result was made of them. "
        f"Run the same command again: it reads the {what} anew."
    )
