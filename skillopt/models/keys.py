"""Keys of providers: which environment variables may hold them, and which one does."""

import re
from collections.abc import Mapping, Sequence

import msgspec

from skillopt.models.base import Role

_PRINTABLE = re.compile(r"[!-~]+")


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """A key that is set, and the variable that holds it."""

    variable: str
    value: str

    @property
    def problem(self) -> str:
        """Say that the key cannot be one, "" when it can; it is never shown."""
        if _PRINTABLE.fullmatch(self.value):
            return ""
        return f"{self.variable}: a key holds printable ASCII without blanks; this one does not"


def for_each_role(*names: str) -> tuple[str, ...]:
    """Return the `secrets` of a backend whose provider or program calls them `names`.

    Each role may have a key of its own, which wins over one for both: `<ROLE>_<NAME>`, then `<NAME>`.
    """
    return (*(f"{{ROLE}}_{name}" for name in names), *names)


def key_variables(role: Role, secrets: Sequence[str]) -> list[str]:
    """Return the environment variables that may hold the key of a role, in the order they are tried."""
    return [name.format(ROLE=role.upper()) for name in secrets]


def find_key(variables: Sequence[str], env: Mapping[str, str]) -> Key | None:
    """Return the first key that is set; blanks around it, such as the end of a line, are no part of it."""
    for variable in variables:
        if value := env.get(variable, "").strip():
            return Key(variable=variable, value=value)
    return None
