"""The `skillopt` command, and `python -m skillopt`: what a Ctrl-C meets before the command line is there."""

import signal
import sys


def main() -> int:
    """Run the command line of this process; until its command is at work, Ctrl-C ends it without a word.

    The imports take a moment, in which nothing has begun that could be told of or put in order. A process
    that was started to ignore Ctrl-C goes on doing so.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from skillopt import cli

    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
