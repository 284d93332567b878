"""The dashboard's pages from templates, in the style of the report. Every value is escaped."""

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillopt.models.ledger import Totals
from skillopt.report import render
from skillopt.texts import span
from skillopt.tools import plan, watch
from skillopt.tools.live import View
from skillopt.tools.status import again_in_words

if TYPE_CHECKING:
    from jinja2 import Environment

_HERE = Path(__file__).parent
_BADGES = {
    "finished": "improved",
    "running": "running",
    "starting": "running",
    "failed": "failed",
    "dead": "failed",
    "unreadable": "failed",
    "unusable": "failed",
    "ready": "",
}


def page(template: str, **values: Any) -> str:
    """Render a page."""
    return _environment().get_template(template).render(values)


@functools.cache
def stylesheet() -> str:
    """Return the report's styles with the dashboard's own."""
    files = (render.TEMPLATES / "page.css", render.TEMPLATES / "chart.css", _HERE / "static/dashboard.css")
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


@functools.cache
def script() -> str:
    """Return the few lines that keep the live view fresh."""
    return (_HERE / "static/live.js").read_text(encoding="utf-8")


@functools.cache
def _environment() -> "Environment":
    import jinja2

    loader = jinja2.FileSystemLoader([_HERE / "templates", render.TEMPLATES])
    made = render.environment().overlay(loader=loader)
    made.filters = {**made.filters, "span": span, "badge": _badge}
    made.globals = {
        **made.globals,
        "epoch_of": watch.epoch,
        "again": again_in_words,
        "caps_of": watch.caps,
        "spent": spent,
        "plan_head": plan.HEAD,
        "plan_rows": plan.cells,
        "plan_notes": plan.notes,
        "plan_line": plan.headline,
    }
    return made


def _badge(state: str) -> str:
    return _BADGES.get(state, "unfinished")


def spent(view: View) -> list[tuple[str, ...]]:
    """Return what each role has used: calls made and replayed, tokens in and out, USD."""
    by_role: dict[str, list[Totals]] = {}
    for total in view.totals:
        by_role.setdefault(total.role, []).append(total)
    return [(role, *watch.amounts(totals)) for role, totals in sorted(by_role.items())]
