"""Reading YAML as people mean it: `2:1:7` and `0042` stay text, a key given twice is an error."""

import re
from functools import cache
from pathlib import Path
from typing import Any

from skillopt.config.values import FLOAT, INT
from skillopt.errors import ConfigError
from skillopt.files import read_text


def read_yaml(path: Path) -> Any:
    """Read one document; raises ConfigError naming file, line and column.

    The message holds nothing of the file's content, which may be a secret.
    """
    import yaml

    try:
        return yaml.load(read_text(path), Loader=_loader())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise ConfigError(f"{path}{where}: expected YAML, found: {_without_content(error.problem)}") from None
    except yaml.YAMLError:
        raise ConfigError(f"{path}: expected YAML, found characters that are not allowed in it") from None


def _without_content(problem: str | None) -> str:
    """Return what the parser says, without the words of the file that it quotes."""
    return re.sub(r"'(?!<)[^']{3,}'", "...", problem or "a mistake")


@cache
def _loader() -> Any:
    """Return a safe loader with the scalars of YAML 1.2: no base 60, no octal, no dates."""
    import yaml

    class Loader(yaml.SafeLoader):
        yaml_implicit_resolvers = {
            first: [
                (tag, pattern)
                for tag, pattern in resolvers
                if tag.rpartition(":")[2] not in ("int", "float", "timestamp")
            ]
            for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
        }

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
            _refuse_repeated(node)
            found: dict[Any, Any] = super().construct_mapping(node, deep)
            return found

    for tag, pattern in (("int", INT), ("float", FLOAT)):
        exact = re.compile(f"^(?:{pattern.pattern})$")
        Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", exact, list("-+.0123456789"))
    return Loader


def _refuse_repeated(node: Any) -> None:
    import yaml

    seen: set[str] = set()
    for key, _ in node.value:
        if key.value in seen and key.tag != "tag:yaml.org,2002:merge":
            raise yaml.constructor.ConstructorError(
                None, None, f"the key {key.value} for the second time", key.start_mark
            )
        if isinstance(key.value, str):
            seen.add(key.value)
