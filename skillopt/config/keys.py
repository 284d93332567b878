"""The keys that a run file may have: of all runs, of one benchmark, of one backend."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Literal, get_args

import msgspec
import msgspec.inspect as mi

from skillopt.config.settings import Settings
from skillopt.envs.base import EnvSettings
from skillopt.models.base import BackendSpec, Role, Setting

ROLES: tuple[Role, ...] = get_args(Role)
_PLAIN: dict[str, Any] = {"str": str, "int": int, "float": float, "bool": bool}


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """One key: `section.name`.

    `decides`: it can change an output; `path`: it holds paths; `form`: what its text has to be;
    `beside`: the key of the same section, and its value, beside which alone it has an effect.
    """

    section: str
    name: str
    type: Any
    default: Any
    description: str
    decides: bool = True
    path: bool = False
    form: Literal["text", "address", "variable"] = "text"
    beside: tuple[str, str] | None = None

    @property
    def dotted(self) -> str:
        """Return the key as it is written on the command line."""
        return f"{self.section}.{self.name}"


class BackendKey(msgspec.Struct, frozen=True, kw_only=True):
    """What a key of the section `model` means: a setting of a backend, for one role or for both."""

    spec: BackendSpec
    setting: Setting
    role: Role | None

    @property
    def dotted(self) -> str:
        """Return the key under the backend's own name, whatever alias it was written with."""
        return backend_key(self.spec, self.setting, self.role)


class Catalog(msgspec.Struct, frozen=True, kw_only=True):
    """The backends and benchmarks that a configuration may name, each loaded when it is asked for.

    `aliases` returns every accepted backend name with the name it stands for.
    """

    backends: Mapping[str, Callable[[], BackendSpec]]
    environments: Mapping[str, Callable[[], type[EnvSettings]]]
    aliases: Callable[[], Mapping[str, str]]

    def backend(self, name: str) -> BackendSpec | None:
        """Return the backend of that name or alias, None when there is none."""
        wanted = name.strip().lower()
        if wanted not in self.backends:
            wanted = self.aliases().get(wanted, "")
        return self.backends[wanted]() if wanted in self.backends else None


def installed(own: Sequence[str] = ()) -> Catalog:
    """Return what is installed with the package, and a project's `own` benchmarks."""
    from skillopt.envs.registry import environment, environment_names
    from skillopt.models.registry import aliases, backend_names, backend_spec

    def backend(name: str) -> Callable[[], BackendSpec]:
        return lambda: backend_spec(name)

    def settings(name: str) -> Callable[[], type[EnvSettings]]:
        return lambda: environment(name).settings

    return Catalog(
        backends={name: backend(name) for name in backend_names()},
        environments={name: settings(name) for name in [*environment_names(), *own]},
        aliases=aliases,
    )


def sections() -> dict[str, type[msgspec.Struct]]:
    """Return the sections of a run file, in their order."""
    return {field.name: field.type for field in msgspec.structs.fields(Settings)}


@cache
def common_keys() -> Mapping[str, Key]:
    """Return the keys that all runs have, by their dotted name."""
    keys = [key for section, kind in sections().items() for key in _struct_keys(section, kind)]
    return {key.dotted: key for key in keys}


def environment_keys(settings: type[EnvSettings]) -> dict[str, Key]:
    """Return the keys that a benchmark adds to the section `env`, by their dotted name."""
    return {key.dotted: key for key in _struct_keys("env", settings)}


def backend_keys(spec: BackendSpec) -> dict[str, Key]:
    """Return the keys that a backend adds to the section `model`: shared, then one per role."""
    keys = [setting_key(spec, setting, role) for setting in spec.settings for role in (None, *spec.roles)]
    return {key.dotted: key for key in keys}


def backend_key(spec: BackendSpec, setting: Setting, role: Role | None) -> str:
    """Return the dotted key of a backend's setting, for one role or for both."""
    return f"model.{f'{role}_' if role else ''}{spec.name}_{setting.name}"


def setting_key(spec: BackendSpec, setting: Setting, role: Role | None) -> Key:
    """Return a backend's setting as a key."""
    kind = Literal[setting.choices] if setting.choices else _PLAIN[setting.type]
    if setting.least is not None:
        kind = Annotated[kind, msgspec.Meta(ge=setting.least)]
    if setting.default is None:
        kind = kind | None
    return Key(
        section="model",
        name=backend_key(spec, setting, role).partition(".")[2],
        type=Annotated[kind, msgspec.Meta(description=setting.description)],
        default=setting.default,
        description=setting.description,
        decides=setting.decides,
        form=setting.form,
    )


def find_backend_key(name: str, catalog: Catalog) -> BackendKey | None:
    """Return what a name of the section `model` means as a backend's setting, None when it is none."""
    for role in (None, *ROLES):
        rest = name.removeprefix(f"{role}_") if role else name
        if role and rest == name:
            continue
        for spec, setting_name in _readings(rest, catalog):
            for setting in spec.settings:
                if setting.name == setting_name:
                    return BackendKey(spec=spec, setting=setting, role=role)
    return None


def _readings(name: str, catalog: Catalog) -> Iterator[tuple[BackendSpec, str]]:
    """Yield the ways to read `<backend>_<setting>`: own names first (loads few), then aliases."""
    for known in sorted(catalog.backends, key=len, reverse=True):
        if name.startswith(f"{known}_"):
            yield catalog.backends[known](), name[len(known) + 1 :]
    for alias, known in sorted(catalog.aliases().items(), key=lambda entry: -len(entry[0])):
        if name.startswith(f"{alias}_") and known in catalog.backends:
            yield catalog.backends[known](), name[len(alias) + 1 :]


def _struct_keys(section: str, kind: type[msgspec.Struct]) -> Iterator[Key]:
    for field in msgspec.structs.fields(kind):
        info = mi.type_info(field.type)
        metadata = info if isinstance(info, mi.Metadata) else mi.Metadata(type=info)
        default = field.default
        if default is msgspec.NODEFAULT and field.default_factory is not msgspec.NODEFAULT:
            default = field.default_factory()
        yield Key(
            section=section,
            name=field.encode_name,
            type=field.type,
            default=default,
            description=(metadata.extra_json_schema or {}).get("description", ""),
            decides=(metadata.extra or {}).get("decides", True),
            path=(metadata.extra or {}).get("path", False),
            beside=(metadata.extra or {}).get("beside"),
        )
