"""The web application: which address shows what, and which form does what."""

import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from flask import Flask, Response, abort, redirect, request, session, url_for
from werkzeug.exceptions import HTTPException
from werkzeug.routing import BaseConverter
from werkzeug.wrappers import Response as AnyResponse

from skillopt.config.keys import installed
from skillopt.dashboard import drafting, form, pages
from skillopt.dashboard.guard import UNTRUSTED, Access, form_token, protect
from skillopt.dashboard.launch import LOG, Launcher, log_tail, secret_values
from skillopt.dashboard.runs import NAME, Runs
from skillopt.envs.registry import own_names
from skillopt.errors import ConfigError, SkillOptError
from skillopt.redact import redact
from skillopt.report.figures import as_csv, figures_of
from skillopt.report.page import render_report
from skillopt.report.record import RunRecord
from skillopt.report.render import picture
from skillopt.tools.train import run_file
from skillopt.tools.workflow import workflow_root

_LARGEST_FORM = 256 * 1024
_TAIL_LINES = 20
_BODY = "<body>"
_PIECE = 1024 * 1024
"""Bytes of a report that are sent at once; its body begins in the first ones."""
_KINDS = {".svg": "image/svg+xml", ".csv": "text/plain"}
Answer = str | Response | AnyResponse


class _RunName(BaseConverter):
    regex = NAME.pattern


def make_app(access: Access, results: Path, port: int) -> Flask:
    """Return the application for the runs of the working directory."""
    app = Flask(__name__, static_folder=None)
    app.config.update(
        SECRET_KEY=secrets.token_bytes(32),
        SESSION_COOKIE_NAME=f"skillopt_{port}",  # cookies do not tell ports apart
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Strict",
        MAX_CONTENT_LENGTH=_LARGEST_FORM,
        MAX_FORM_MEMORY_SIZE=_LARGEST_FORM,
    )
    app.url_map.converters["run"] = _RunName
    protect(app, access)
    _add_errors(app)
    pages_of = _Pages(access, results)
    for rule, methods, view in pages_of.routes():
        app.add_url_rule(rule, view.__name__, view, methods=methods)
    return app


def _add_errors(app: Flask) -> None:
    @app.errorhandler(HTTPException)
    def refused(error: HTTPException) -> AnyResponse:
        if error.code is None or error.code < 400:  # a redirect
            return error.get_response()
        text = pages.page("message.html.j2", title=error.name, message=error.description or "")
        return Response(text, error.code)

    @app.errorhandler(SkillOptError)
    def wrong(error: SkillOptError) -> AnyResponse:
        return told(str(error), 409 if request.method == "POST" else 422)

    @app.errorhandler(OSError)
    def failed(error: OSError) -> AnyResponse:
        """Tell of a full disk, a folder without permission and the like."""
        return told(str(error), 500)

    def told(message: str, code: int) -> AnyResponse:
        shown = redact(message, secret_values(os.environ))
        return Response(pages.page("message.html.j2", title="This cannot be done", message=shown), code)


class _Pages:
    """The views. Each is named as its endpoint."""

    def __init__(self, access: Access, results: Path) -> None:
        self._access = access
        self._launcher = Launcher(results)
        self._runs = Runs(results, self._launcher)
        self._results = results

    def routes(self) -> list[tuple[str, list[str], Callable[..., Answer]]]:
        """Return the addresses with their methods and views."""
        read, write = ["GET"], ["POST"]
        return [
            ("/", read, self.index),
            ("/sign-in", read, self.sign_in),
            ("/static/page.css", read, self.styles),
            ("/static/live.js", read, self.script),
            ("/compare", read, self.side_by_side),
            ("/new", read, self.new),
            ("/new", write, self.create),
            ("/runs/<run:name>", read, self.run),
            ("/runs/<run:name>/live", read, self.live),
            ("/runs/<run:name>/report.html", read, self.report),
            ("/runs/<run:name>/figures/<file>", read, self.figure),
            ("/runs/<run:name>/start", read, self.confirm_start),
            ("/runs/<run:name>/start", write, self.start),
            ("/runs/<run:name>/stop", read, self.confirm_stop),
            ("/runs/<run:name>/stop", write, self.stop),
        ]

    # reading

    def index(self) -> Answer:
        return self._page("list.html.j2", runs=self._runs.all(), folder=Path.cwd().name)

    def sign_in(self) -> Answer:
        if not self._access.opens(request.args.get("token", "")):
            abort(401, "This link is not the one that the terminal shows.")
        session.clear()
        session["signed_in"] = True
        return redirect(url_for("index"), 303)

    def styles(self) -> Answer:
        return Response(pages.stylesheet(), mimetype="text/css")

    def script(self) -> Answer:
        return Response(pages.script(), mimetype="text/javascript")

    def side_by_side(self) -> Answer:
        chosen = dict.fromkeys(name for name in request.args.getlist("run") if NAME.fullmatch(name))
        known = [name for name in chosen if self._runs.has_results(name)]
        if not request.args.getlist("run"):
            known = [run.name for run in self._runs.all() if run.view]  # one that is broken hides no others
        if not known:
            abort(404, "None of these runs has results.")
        return _untrusted(_with_way_back(self._runs.side_by_side(known)), "text/html")

    def run(self, name: str) -> Answer:
        return self._page("run.html.j2", **self._state(name))

    def live(self, name: str) -> Answer:
        return self._page("live.html.j2", **self._state(name))

    def _state(self, name: str) -> dict[str, Any]:
        if name not in self._runs.names():
            abort(404, "There is no run of this name.")
        listed = self._runs.listed(name)
        watched = self._runs.watched(name) if listed.view else None
        return {
            "run": listed,
            "curve": watched.curve() if watched else None,
            "spending": watched.spending(listed.view) if watched and listed.view else None,
            "printed": self._printed(name),
            "log": self._results / name / LOG,
            "code": self._launcher.code(name),
            "can_start": self._runs.can_start(name),
            "ours": self._launcher.process(name) is not None,
        }

    def _printed(self, name: str) -> str:
        try:
            return log_tail(self._runs.file(name, LOG), _TAIL_LINES, secret_values(os.environ))
        except FileNotFoundError:
            return ""

    def report(self, name: str) -> Answer:
        """Show report.html, or what it would say now: of a run that is done again, the file is of before."""
        record = self._record(name)
        try:
            file = self._runs.file(name, "report.html") if record.finished else None
        except FileNotFoundError:
            file = None
        if file is None:
            text = render_report(record, figures_of(record))
            return _untrusted(_with_way_back(text, name), "text/html")
        return _untrusted(_file_with_way_back(file, name), "text/html")

    def figure(self, name: str, file: str) -> Answer:
        found = figures_of(self._record(name)).get(Path(file).stem)
        kind = _KINDS.get(Path(file).suffix)
        if found is None or kind is None:
            abort(404)
        return _untrusted(
            picture(found.chart) if kind == "image/svg+xml" else as_csv(found.header, found.rows), kind
        )

    def _record(self, name: str) -> RunRecord:
        if not self._runs.has_results(name):
            abort(404, "This run has no results yet.")
        return self._runs.record(name)

    # a new run

    def new(self) -> Answer:
        draft = form.Draft(owner=self._access.local)
        if start := request.args.get("like", ""):
            file = _file_of(start)
            secrets = secret_values(os.environ)
            draft = form.draft_of(file, installed(own_names()), secrets, owner=self._access.local)
        return self._form(draft, None)

    def create(self) -> Answer:
        """Show the form again with its problems or its plan, or write the file."""
        catalog = installed(own_names())
        like = request.form.get("like", "")
        kept = form.kept_of(_file_of(like)) if like else {}
        draft = form.read_draft(
            request.form, catalog, secret_values(os.environ), owner=self._access.local, kept=kept
        )
        if request.form.get("do") == "fields":
            return self._form(draft, None)
        planned = drafting.check(draft, catalog, self._results)
        if planned is None:
            return Response(self._form(draft, None), 422)
        if request.form.get("do") != "write":
            return self._form(draft, planned)
        drafting.write(draft, planned.text)
        return redirect(url_for("run", name=draft.name), 303)

    def _form(self, draft: form.Draft, planned: drafting.Planned | None) -> str:
        catalog = installed(own_names())
        return self._page("new.html.j2", draft=draft, planned=planned, groups=form.groups(draft, catalog))

    # starting and stopping

    def confirm_start(self, name: str) -> Answer:
        self._runs.checked(name)
        planned = drafting.plan_of(name, self._results)
        return self._page(
            "start.html.j2", name=name, planned=planned, begun=self._runs.has_results(name), log=LOG
        )

    def start(self, name: str) -> Answer:
        self._runs.checked(name)  # its log is written there
        planned = drafting.plan_of(name, self._results)  # refused here, not in a log
        if request.form.get("seen") != planned.digest:
            raise ConfigError(
                f"{name}: expected the settings whose plan was shown, found others: its configuration has "
                "changed since. Nothing was started. Go back to the run, and look at its plan again."
            )
        self._launcher.start(name, self._runs.busy())
        return redirect(url_for("run", name=name), 303)

    def confirm_stop(self, name: str) -> Answer:
        if self._launcher.process(name) is None:
            raise ConfigError(f"{name} is not at work, or was not started by a dashboard on this machine.")
        return self._page("stop.html.j2", name=name)

    def stop(self, name: str) -> Answer:
        self._runs.folder(name)
        self._launcher.stop(name)
        return redirect(url_for("run", name=name), 303)

    def _page(self, template: str, **values: Any) -> str:
        acting = self._access.may_act
        token = form_token() if acting else ""
        return pages.page(template, may_act=acting, form_token=token, **values)


def _file_of(name: str) -> Path:
    """Return the configuration of a run that a form is a copy of."""
    if not NAME.fullmatch(name):
        abort(404)
    return run_file(workflow_root(), name)


def _way_back(run: str) -> str:
    return pages.page("back.html.j2", run=run)


def _with_way_back(text: str, run: str = "") -> str:
    """Put a way back to the dashboard into a page that knows nothing of it: where its body begins."""
    head, body, rest = text.partition(_BODY)
    return f"{head}{body}{_way_back(run)}{rest}" if body else text


def _file_with_way_back(file: Path, run: str) -> Iterator[bytes]:
    """Do so with a file, which may be large, piece by piece."""
    with file.open("rb") as content:
        head, body, rest = content.read(_PIECE).partition(_BODY.encode())
        yield head + body + (_way_back(run).encode() if body else b"") + rest
        while piece := content.read(_PIECE):
            yield piece


def _untrusted(text: str | Iterator[bytes], kind: str) -> Response:
    response = Response(text, mimetype=kind)
    response.headers["Content-Security-Policy"] = UNTRUSTED
    return response
