"""What all tests rest on."""

import signal


def pytest_configure() -> None:
    """Undo what a shell does to programs in the background: tests send SIGINT to those they start."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
