"""What all tests rest on."""

import signal

from hypothesis import HealthCheck, settings

# How fast a machine is decides no test.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


def pytest_configure() -> None:
    """Undo what a shell does to programs in the background, as does `nohup`: tests send them signals."""
    for number, usual in (
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGQUIT, signal.SIG_DFL),
        (signal.SIGHUP, signal.SIG_DFL),
    ):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, usual)
