"""The `skillopt` command, and `python -m skillopt`: what a Ctrl-C meets before the command line is there."""

import logging
import os
import signal
import sys
from contextlib import suppress
from typing import NoReturn


def main() -> int:
    """Run the command line of this process; until its command is at work, Ctrl-C ends it without a word.

    The imports take a moment, in which nothing has begun that could be told of or put in order. A process
    that was started to ignore Ctrl-C goes on doing so.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from skillopt import cli

    code = cli.main()
    if sys.argv[1:] and sys.argv[1] in cli.PHASES:
        _leave(code)
    return code


def _leave(code: int) -> NoReturn:
    """End the process of a phase at once; all its files are closed, and what it started has ended.

    To take itself apart costs the interpreter 20 ms, in each of many jobs that wait for each other.
    """
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # nobody is left to be told
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    sys.exit(main())
