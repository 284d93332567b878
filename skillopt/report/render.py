"""HTML and SVG from templates. Every value is escaped: skills, items and replies are untrusted text."""

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillopt.models.prices import dollars
from skillopt.report.chart import Chart

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).parent / "templates"


def page(template: str, **values: Any) -> str:
    """Render a page."""
    return environment().get_template(template).render(values)


def picture(chart: Chart) -> str:
    """Render a chart as an SVG file of its own."""
    draw = getattr(environment().get_template("chart.svg.j2").module, "draw")  # noqa: B009
    return str(draw(chart, "figure", True)).strip() + "\n"


@functools.cache
def environment() -> "Environment":
    """Build the template environment; all that is put in is escaped, whatever the file's name."""
    import jinja2

    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(score=score, count=count, words=words, dollars=dollars, cut=cut, seconds=seconds)
    return made


def score(value: float | None) -> str:
    """Write a score with three digits, a dash for none."""
    return "–" if value is None else f"{value:.3f}"


def count(value: float | None) -> str:
    """Write a number with separators; None is unknown."""
    return "unknown" if value is None else f"{value:,.0f}"


def seconds(value: float | None) -> str:
    """Write a time span, a dash where it is not known."""
    return "–" if value is None else f"{value:,.1f} s"


def cut(content: str, limit: int) -> str:
    """Cut a text to `limit` characters in its middle: paths and addresses differ at both ends."""
    if len(content) <= limit:
        return content
    head = (limit - 1) // 2
    return f"{content[:head]}…{content[len(content) - (limit - 1 - head) :]}"


def words(name: str) -> str:
    """Write a name of a status or an action as words."""
    return name.replace("_", " ")
