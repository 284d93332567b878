"""A dashboard that runs, and requests to it as they are: every header is the test's."""

import http.client
import os
import re
import signal
import subprocess
import sys
import weakref
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from loop import KEYS, ROOT


@dataclass(frozen=True)
class Got:
    """An answer."""

    code: int
    headers: http.client.HTTPMessage
    text: str


class Dashboard:
    """`skillopt dashboard` of a folder, from its start to `close`."""

    def __init__(self, folder: Path, *arguments: str, **env: str) -> None:
        folder.mkdir(exist_ok=True)
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "skillopt", "dashboard", "--port", "0", *arguments],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=os.environ | KEYS | {"PATH": path, "PYTHONPATH": str(ROOT)} | env,
        )
        weakref.finalize(self, self.process.kill)  # of a test that failed before `close`
        line = self.process.stdout.readline()
        assert line.startswith("dashboard: http://"), line + self.process.stdout.read()
        self.link = line.split()[1]
        self.address = "http://" + urlsplit(self.link).netloc
        self.port = urlsplit(self.link).port
        self.cookie = ""

    def close(self) -> None:
        self.process.send_signal(signal.SIGINT)
        assert self.process.wait(timeout=60) == 0
        self.process.stdout.close()

    def ask(self, method: str, path: str, form: dict[str, str] | None = None, **headers: str | None) -> Got:
        """Send a request. Headers are those of a browser on the right page; None takes one out."""
        known = {"Host": urlsplit(self.address).netloc, "Cookie": self.cookie or None}
        if form is not None:
            known |= {"Origin": self.address, "Content-Type": "application/x-www-form-urlencoded"}
        body = None if form is None else urlencode(form).encode()
        sent = {n: v for n, v in (known | headers).items() if v is not None}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.putrequest(method, path, skip_host=True)
        for name, value in (sent | ({"Content-Length": str(len(body))} if body else {})).items():
            connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        got = Got(answer.status, answer.headers, answer.read().decode(errors="replace"))
        connection.close()
        if cookie := got.headers.get("Set-Cookie"):
            self.cookie = cookie.partition(";")[0]
        return got

    def get(self, path: str, **headers: str | None) -> Got:
        return self.ask("GET", path, **headers)

    def sign_in(self) -> None:
        got = self.get(self.link.removeprefix(self.address))
        assert (got.code, got.headers["Location"]) == (303, "/")

    def token(self) -> str:
        """The token of this session's forms."""
        return re.search(r'name="form_token" value="([^"]+)"', self.get("/new").text)[1]

    def seen(self, run: str, **headers: str) -> str:
        """What the page that confirms a start says that it has shown."""
        return re.search(r'name="seen" value="([^"]+)"', self.get(f"/runs/{run}/start", **headers).text)[1]

    def post(self, path: str, form: dict[str, str] | None = None, **headers: str | None) -> Got:
        """Send a form of this session."""
        return self.ask("POST", path, {"form_token": self.token(), **(form or {})}, **headers)
