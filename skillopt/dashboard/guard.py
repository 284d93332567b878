"""Who may do what: addresses, logins, forms of other sites, and the headers of every answer."""

import hmac
import ipaddress
import re
import secrets
import socket
from dataclasses import dataclass, field

from flask import Flask, Response, abort, request, session

from skillopt.dashboard.guesses import EVERY, Guesses

_LOCAL = ("127.0.0.1", "localhost", "::1")
_WILDCARDS = ("0.0.0.0", "::")
_HOST = re.compile(r"(?:\[([0-9a-fA-F:.]+)\]|([^\s:\[\]@/,]+))(?::\d{1,5})?")
PAGES = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
UNTRUSTED = (
    "sandbox allow-same-origin; default-src 'none'; style-src 'unsafe-inline'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Of a report: the text of models and data in it can do nothing: no scripts, no forms, nothing is loaded.

It has this site's origin, without which a browser sends no cookie with the link back to the dashboard.
"""
_HEADERS = {
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # with no-referrer a browser hides the Origin of a form
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def is_local(host: str) -> bool:
    """Whether an address can be reached from this machine only."""
    return host in _LOCAL


@dataclass(frozen=True)
class Access:
    """How one process of the dashboard may be used.

    With `user` and `password` every request needs them. Without them anybody on this machine may
    read, and only who opened the link with `token` may write, start and stop.
    """

    host: str
    user: str = ""
    password: str = field(default="", repr=False)
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)

    @property
    def local(self) -> bool:
        """Whether only this machine can reach it: who uses it owns the keys of its environment."""
        return is_local(self.host)

    @property
    def by_password(self) -> bool:
        """Whether a user name and a password are asked for."""
        return bool(self.password)

    def serves(self, host: str) -> bool:
        """Whether a request may name this host: another site's name may point here (DNS rebinding)."""
        name = _name(host)
        if not name:
            return False
        if name == self.host.lower() or (is_local(self.host) and name in _LOCAL):
            return True
        if self.host not in _WILDCARDS:
            return False
        own = {*_LOCAL, socket.gethostname().lower(), socket.getfqdn().lower()}
        return name in own or _is_address(name)

    def knows(self, user: str, password: str) -> bool:
        """Compare a login; takes as long for a wrong one as for the right one."""
        right_user = hmac.compare_digest(user.encode(), self.user.encode())
        right_password = hmac.compare_digest(password.encode(), self.password.encode())
        return right_user and right_password

    def opens(self, token: str) -> bool:
        """Compare the token of the link."""
        return hmac.compare_digest(token.encode(), self.token.encode())

    @property
    def may_act(self) -> bool:
        """Whether the visitor may write, start and stop."""
        return self.by_password or session.get("signed_in") is True


def _name(host: str) -> str:
    """Return the host without its port, in lower case; `[::1]:80` is `::1`; "" for what is no host."""
    found = _HOST.fullmatch(host)
    return (found[1] or found[2]).lower() if found else ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def form_token() -> str:
    """Return the visitor's token, which every form carries."""
    if "form" not in session:
        session["form"] = secrets.token_urlsafe(24)
    return str(session["form"])


def protect(app: Flask, access: Access) -> None:
    """Check every request before it is looked at, and add headers to every answer."""
    guesses = Guesses()

    @app.before_request
    def check() -> Response | None:
        if not access.serves(request.headers.get("Host", "")):
            abort(403, "This address is not one of the dashboard's. Open it by the address that it printed.")
        if _is_part_of_another_site():
            abort(403, "Another site asked for this. Open it by a link, or by the address that was printed.")
        if access.by_password and (refused := _refused_login(access, guesses)):
            return refused
        if request.method not in ("GET", "HEAD"):
            _check_form(access)
        return None

    @app.after_request
    def add_headers(response: Response) -> Response:
        response.headers.setdefault("Content-Security-Policy", PAGES)
        response.headers.update(_HEADERS)
        return response


def _is_part_of_another_site() -> bool:
    """Whether a browser says that a page of another site loads this as a part of it, not as a page.

    The other site could not read it, but have plans made and folders read as often as it likes, and time it.
    """
    if request.headers.get("Sec-Fetch-Site", "none") in ("none", "same-origin"):
        return False
    page = request.headers.get("Sec-Fetch-Mode") == "navigate"
    return not (page and request.headers.get("Sec-Fetch-Dest", "document") == "document")


def _refused_login(access: Access, guesses: Guesses) -> Response | None:
    """Return what is said to who gives no login, a wrong one, or has given too many wrong ones.

    A browser that was let in once is known by its cookie, and kept out by no guesses of others that share
    its address, as behind a proxy.
    """
    given = request.authorization
    client = request.remote_addr or ""
    if given is not None:
        known = session.get("logged_in") is True
        if not known and not guesses.allowed(client):
            text = f"Too many wrong logins from this address. Try again in {EVERY:.0f} seconds.\n"
            return Response(text, 429, {"Retry-After": f"{EVERY:.0f}"}, mimetype="text/plain")
        if given.type == "basic" and access.knows(given.username or "", given.password or ""):
            if not known:
                guesses.was_right(client)
                session["logged_in"] = True
            return None
        session.pop("logged_in", None)
    headers = {"WWW-Authenticate": 'Basic realm="skillopt", charset="UTF-8"'}
    return Response("A user name and a password are needed.\n", 401, headers, mimetype="text/plain")


def _check_form(access: Access) -> None:
    """Refuse what no form of this site sent, and who may only read."""
    host = request.headers.get("Host", "")  # the scheme is the visitor's: a proxy may speak TLS for us
    if request.headers.get("Origin") not in (f"http://{host}", f"https://{host}"):
        abort(403, "This request comes from another site, or does not say where from. Nothing was done.")
    if not access.may_act:
        abort(401, "Only reading is allowed. Open the link that the terminal shows, then try again.")
    sent, known = request.form.get("form_token", ""), session.get("form", "")
    if not known or not hmac.compare_digest(sent.encode(), str(known).encode()):
        abort(403, "This form is not from this session. Open its page again. Nothing was done.")
