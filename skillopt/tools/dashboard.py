"""Show the runs of this folder as a web page, and start and stop them. Needs the extra `dashboard`.

config/ and results/ are read; configurations from the form are written to config/, and a run is started as
`skillopt train` does it.
"""

import argparse
import importlib.util
import ipaddress
import os
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from skillopt.errors import ConfigError

if TYPE_CHECKING:
    from skillopt.dashboard.guard import Access

_THREADS = 8
_MOST_OPEN = 1000
"""Connections at a time. Slow ones cost little, and with few allowed they would keep everybody else out."""
_SILENCE = 30
"""Seconds after which a connection on which nothing comes is closed."""
_LARGEST = 1024 * 1024
"""Bytes of a request; what the forms may hold is less."""
_HIGHEST_PORT = 65535
_NEEDED = ("flask", "waitress")
_PASSWORD, _USER = "SKILLOPT_WEBUI_PASS", "SKILLOPT_WEBUI_USER"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line of `skillopt dashboard`."""
    parser.add_argument("--port", type=int, default=7860, help="port to listen on; 0: any that is free")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on; others need a login")
    parser.add_argument("--auth-user", default="", help=f"user name that is asked for (or {_USER})")
    parser.add_argument(
        "--auth-pass", default="", help=f"password (better in {_PASSWORD}: others see it here)"
    )


def main(args: argparse.Namespace) -> None:
    """Serve until Ctrl-C."""
    require_packages()
    user = args.auth_user or os.environ.get(_USER, "")
    password = args.auth_pass or os.environ.get(_PASSWORD, "")
    from skillopt.dashboard.guard import Access, is_local

    if bool(user) != bool(password):
        raise ConfigError(
            "expected a user name and a password (--auth-user with --auth-pass, or "
            f"{_USER} with {_PASSWORD}), found one of them"
        )
    _check_login(user, password)
    if not 0 <= args.port <= _HIGHEST_PORT:
        raise ConfigError(f"--port: expected a number from 0 to {_HIGHEST_PORT}, found {args.port}")
    if not is_local(args.host) and not password:
        raise ConfigError(
            f"--host {args.host}: others could read and start runs. Give --auth-user and --auth-pass (or "
            f"{_USER} and {_PASSWORD}), or stay with 127.0.0.1 and forward the port with ssh -L."
        )
    serve(Access(host=args.host, user=user, password=password), args.port)


def _check_login(user: str, password: str) -> None:
    """Raise ConfigError for a login that no browser could send."""
    if ":" in user:
        raise ConfigError("--auth-user: expected a name without a colon, which HTTP cannot carry; found one")
    try:
        f"{user}{password}".encode()
    except UnicodeEncodeError:
        raise ConfigError(
            f"--auth-user and --auth-pass (or {_USER} and {_PASSWORD}): expected UTF-8, found other bytes"
        ) from None


def require_packages(installed: Callable[[str], object] = importlib.util.find_spec) -> None:
    """Raise ConfigError with the install command when a package of the extra is missing."""
    missing = [name for name in _NEEDED if installed(name) is None]
    if missing:
        raise ConfigError(
            f"skillopt dashboard needs {', '.join(missing)}, which this Python ({sys.executable}) has not. "
            "Install it: python -m pip install 'skillopt[dashboard]'"
        )


def serve(access: "Access", port: int) -> None:
    """Print the address and answer until Ctrl-C; raises ConfigError when the address is taken."""
    from waitress.server import create_server

    from skillopt.dashboard.app import make_app

    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
    family = socket.AF_INET6 if ":" in access.host else socket.AF_INET
    try:
        listening = socket.create_server((access.host, port), family=family)
    except OSError as error:
        raise ConfigError(
            f"{access.host}, port {port}: cannot listen there: {error.strerror}. Try another --port"
        ) from None
    with listening:
        bound, port, *_ = listening.getsockname()
        if ipaddress.ip_address(bound).is_unspecified:  # however that was written
            access = replace(access, host=bound)
        app = make_app(access, Path("results"), port)
        server = create_server(
            app,
            sockets=[listening],
            threads=_THREADS,
            ident=None,
            max_request_body_size=_LARGEST,
            connection_limit=_MOST_OPEN,
            channel_timeout=_SILENCE,
            cleanup_interval=_SILENCE // 3,
            asyncore_use_poll=True,  # select() knows no more than 1024 files
        )
        print(f"dashboard: {address(access, port)}", flush=True)
        print("Ctrl-C ends it; runs that it started go on.", flush=True)
        server.run()


def address(access: "Access", port: int) -> str:
    """Return the link to open; without a login it carries the token that lets its owner start runs."""
    host = f"[{access.host}]" if ":" in access.host else access.host
    return f"http://{host}:{port}/" + ("" if access.by_password else f"sign-in?token={access.token}")
