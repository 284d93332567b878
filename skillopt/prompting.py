"""Prompts of the optimizer: Jinja2 templates rendered to a system and a user message.

One file per call, with the blocks `system` and `user`. A benchmark's folder wins over the general
templates; its file may extend the general one by the name `general/<file>` and override a block
such as `taxonomy`. Skills and trajectories come in as values and are never evaluated as template.
"""

import functools
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from skillopt.errors import ConfigError
from skillopt.models.base import Message
from skillopt.records import Candidate, Edit, Patch, Suggestion, Turn
from skillopt.texts import single_line

if TYPE_CHECKING:
    from jinja2 import Environment

GENERAL = Path(__file__).parent / "prompts"
SUFFIX = ".md.j2"
_PART = {
    "system": "{% extends template %}{% block user %}{% endblock %}",
    "user": "{% extends template %}{% block system %}{% endblock %}",
}


class TrajectoryView(msgspec.Struct, frozen=True, kw_only=True):
    """What an analyst is shown of one row. `reference` is "" when the benchmark gives none."""

    id: str
    task_type: str
    reason: str
    turns: int
    reference: str
    trajectory: tuple[Turn, ...]


class PairView(msgspec.Struct, frozen=True, kw_only=True):
    """What the epoch-end calls are shown of one item done with the previous and the current skill."""

    id: str
    task_type: str
    reference: str
    previous_reason: str
    current_reason: str
    previous: tuple[Turn, ...]
    current: tuple[Turn, ...]


def render(name: str, *, folder: Path | None, **values: Any) -> tuple[Message, Message]:
    """Render the prompt `name` to its system and user message.

    `folder` holds a benchmark's own templates (None: general ones only). Raises ConfigError when
    there is no such prompt, the template is broken, or it uses a value that was not given.
    """
    import jinja2

    environment = _environment(folder)
    try:
        system, user = (
            environment.from_string(_PART[part]).render(values, template=name + SUFFIX).strip()
            for part in ("system", "user")
        )
    except jinja2.TemplateNotFound as error:
        raise ConfigError(f"prompt {name}: there is no template {error} in {_places(folder)}") from error
    except jinja2.TemplateError as error:
        raise ConfigError(f"prompt {name}, looked up in {_places(folder)}: {error}") from error
    return Message(role="system", content=system), Message(role="user", content=user)


def prompt_sources(name: str, folder: Path | None) -> dict[Path, str]:
    """Return the files that the prompt `name` is made of, with their texts as `render` uses them.

    Its own comes first, then what it refers to. Raises ConfigError when one is missing or cannot be parsed.
    """
    import jinja2
    from jinja2 import meta

    environment = _environment(folder)
    assert environment.loader is not None
    found: dict[Path, str] = {}
    waiting = [name + SUFFIX]
    while waiting:
        template = waiting.pop(0)
        try:
            source, path, _ = environment.loader.get_source(environment, template)
            referred = meta.find_referenced_templates(environment.parse(source))
        except jinja2.TemplateNotFound as error:
            raise ConfigError(f"prompt {name}: there is no template {error} in {_places(folder)}") from error
        except jinja2.TemplateError as error:
            raise ConfigError(f"prompt {name}, template {template}: {error}") from error
        known = Path(str(path))
        if known not in found:
            found[known] = source
            waiting += [other for other in referred if other]
    return found


def _places(folder: Path | None) -> str:
    return f"{folder}, {GENERAL}" if folder else str(GENERAL)


@functools.cache
def _environment(folder: Path | None) -> "Environment":
    """Build the template environment of one benchmark; nothing is ever escaped: prompts are no HTML."""
    import jinja2

    general = jinja2.FileSystemLoader(GENERAL)
    own = [jinja2.FileSystemLoader(folder)] if folder else []
    places = jinja2.ChoiceLoader([*own, general, jinja2.PrefixLoader({"general": general})])

    @functools.cache
    def read_once(name: str) -> tuple[str, str | None, None]:
        """A template edited after its hash was taken is not shown under that hash."""
        return *places.get_source(environment, name)[:2], None

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(read_once),
        undefined=jinja2.StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(fenced=fenced, line=single_line, changes=change_lines, listed=changes_of)
    return environment


def fenced(text: str, label: str) -> str:
    """Put text between fences that are longer than any run of backticks in it.

    So nothing inside can end the block, and the text stays as it is.
    """
    longest = max((len(run) for run in re.findall(r"`+", str(text))), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{label}\n{text}\n{fence}"


def changes_of(patch: Patch) -> tuple[Edit | Suggestion | Candidate, ...]:
    """All changes of a patch, whichever of its lists is filled."""
    return (*patch.edits, *patch.suggestions, *patch.candidates)


def change_lines(changes: Iterable[Edit | Suggestion | Candidate]) -> str:
    """One change a line, as JSON with its number from 0."""
    return "\n".join(
        json.dumps({"index": number} | _fields(change), ensure_ascii=False)
        for number, change in enumerate(changes)
    )


def _fields(change: Edit | Suggestion | Candidate) -> dict[str, Any]:
    return {field: getattr(change, field) for field in change.__struct_fields__}
