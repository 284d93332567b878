"""Which model plays which role: resolved here, once, from what the user set and where."""

from collections.abc import Iterator, Mapping

import msgspec

from skillopt.config import legacy
from skillopt.config.history import Entry, History, canonical_backend, unavailable
from skillopt.config.keys import ROLES, backend_key, setting_key
from skillopt.config.layers import Layer
from skillopt.models.base import BackendSpec, Role, RoleModel, Setting

_VARIABLE = "environment variable"
"""How the origin of what an environment variable says begins."""


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """The backend that plays a role, and the layer that chose it."""

    role: Role
    spec: BackendSpec
    rank: int


def environment_layer(env: Mapping[str, str]) -> Layer:
    """Return what the environment says about backends and models (OPTIMIZER_BACKEND, TARGET_MODEL ...).

    OPTIMIZER_DEPLOYMENT and TARGET_DEPLOYMENT are older names of the models.
    """
    values, origins = {}, {}
    for role in ROLES:
        model = f"model.{role}"
        for what, dotted in (("BACKEND", f"{model}_backend"), ("DEPLOYMENT", model), ("MODEL", model)):
            name = f"{role.upper()}_{what}"
            if env.get(name, "").strip():
                values[dotted] = env[name].strip()
                origins[dotted] = _variable(name)
    return Layer(values=values, origins=origins)


def resolve_parts(history: History) -> list[Part]:
    """Return the backend of each role; what cannot be resolved is noted as a problem and left out."""
    parts = []
    for role in ROLES:
        entry, skipped = _choice(history, role, None)
        spec = history.catalog.backend(canonical_backend(history.catalog, entry.value))
        if skipped:
            history.problems.append(
                f"{skipped.origin}: backend {skipped.value} can only be the target; set model.{role}_backend"
            )
        elif spec is None:
            name = canonical_backend(history.catalog, entry.value)
            history.problems.append(f"{entry.origin or 'default'}: {unavailable(name, history.catalog)}")
        elif role not in spec.roles:
            history.problems.append(
                f"{entry.origin}: model.{role}_backend: backend {spec.name} can only be the "
                f"{' or '.join(spec.roles)}"
            )
        else:
            parts.append(Part(role=role, spec=spec, rank=entry.rank))
    return parts


def add_environment(history: History, part: Part, env: Mapping[str, str], rank: int) -> None:
    """Take over a backend's settings from variables.

    For one role `<ROLE>_<BACKEND>_<SETTING>` or `<BACKEND>_<ROLE>_<SETTING>`, for both
    `<BACKEND>_<SETTING>`. Values may be spelt as in files.
    """
    for setting in part.spec.settings:
        for role in (part.role, None):
            key = setting_key(part.spec, setting, role)
            if any(entry.rank == rank for entry in history.entries(key.dotted)):
                continue
            for variable, name in _spellings(part.spec, setting, role):
                text = env.get(variable, "").strip()
                if text:
                    _, value = legacy.respelt(f"model.{part.spec.name}_{name}", text)
                    history.add(key, value, _variable(variable), rank, text=True)
                    break


def variables(spec: BackendSpec, setting: Setting, role: Role | None) -> list[str]:
    """Return the environment variables of a setting, in the order they are tried."""
    return [variable for variable, _ in _spellings(spec, setting, role)]


def _spellings(spec: BackendSpec, setting: Setting, role: Role | None) -> Iterator[tuple[str, str]]:
    """Yield the environment variables of a setting, each with the name of the setting that is in it."""
    for named in legacy.names_of(spec.name, setting.name):
        for alias in (spec.name, *spec.aliases):
            backend = alias.replace("-", "_")
            for prefix in (f"{role}_{backend}", f"{backend}_{role}") if role else (backend,):
                yield f"{prefix}_{named}".upper(), named


def role_model(history: History, part: Part) -> RoleModel:
    """Return a role's model with all settings of its backend, defaults included."""
    said = {setting.name: _said(history, part, setting) for setting in part.spec.settings}
    return RoleModel(
        role=part.role,
        backend=part.spec.name,
        model=_model_name(history, part),
        reasoning_effort=_effort(history, part.role),
        settings={name: entry.value for name, (_, entry) in said.items()},
        named={
            name: entry.origin if entry.origin.startswith(_VARIABLE) else key
            for name, (key, entry) in said.items()
            if entry.origin.startswith(_VARIABLE) or key.startswith(f"model.{part.role}_")
        },
    )


def _effort(history: History, role: Role) -> str:
    """Return the effort asked of a role: the higher layer wins, in one layer the key of the role."""
    shared, own = history.last("model.reasoning_effort"), history.last(f"model.{role}_reasoning_effort")
    return str(own.value if own.value and own.rank >= shared.rank else shared.value)


def undecisive(part: Part) -> list[str]:
    """Return the settings of a role's backend that decide no reply, as `<role>.<setting>`."""
    return [f"{part.role}.{setting.name}" for setting in part.spec.settings if not setting.decides]


def unused_settings(history: History, parts: list[Part]) -> list[str]:
    """Return what is wrong with settings of backends that play no role.

    A setting that stands in a lower layer than the choice of the backend is let be: the choice
    was changed for this run.
    """
    used = {key for part in parts for setting in part.spec.settings for key in _keys(part, setting)}
    chosen = max((part.rank for part in parts), default=0)
    return [
        f"{entry.origin}: {dotted} has no effect: {_backends(parts)}. Set model.backend or remove it."
        for dotted, entry in history.backend_entries()
        if dotted not in used
        and entry.value != history.keys[dotted].default
        and entry.rank >= chosen
        and not legacy.came_with_the_base_file(dotted.removeprefix("model."), entry.value)
    ]


def _backends(parts: list[Part]) -> str:
    return " and ".join(f"the {part.role} is played by {part.spec.name}" for part in parts)


def _keys(part: Part, setting: Setting) -> tuple[str, str]:
    return backend_key(part.spec, setting, None), backend_key(part.spec, setting, part.role)


def _said(history: History, part: Part, setting: Setting) -> tuple[str, Entry]:
    """Return the key that says what a setting is for a role, and what it says.

    The higher layer wins, in one layer the key of the role. Where none says it, the default holds.
    """
    shared, own = _keys(part, setting)
    said = [(key, entry) for key in (shared, own) for entry in history.entries(key)[-1:]]
    default = shared, Entry(value=setting.default, origin="", rank=0)
    # The order is stable: within one layer the key of the role comes last.
    return sorted(said, key=lambda pair: pair[1].rank)[-1] if said else default


def _choice(history: History, role: Role, limit: int | None) -> tuple[Entry, Entry | None]:
    """Return what chose the role's backend, up to a layer; the key of the role wins over the label.

    A label that cannot play the role leaves it to the lower layers; when none of them chose, it
    is returned second.
    """
    said = [(entry, True) for entry in history.entries(f"model.{role}_backend")]
    said += [(entry, False) for entry in history.entries("model.backend")]
    said = [(entry, own) for entry, own in said if limit is None or entry.rank <= limit]
    default = history.keys["model.backend"].default
    skipped: Entry | None = None
    for entry, own in sorted(said, key=lambda pair: (pair[0].rank, pair[1]), reverse=True):
        spec = history.catalog.backend(canonical_backend(history.catalog, entry.value))
        if not own and spec is not None and role not in spec.roles:
            skipped = skipped or entry
        elif own or not skipped or entry.value != default:
            return entry, None
    return Entry(value=default, origin="", rank=0), skipped


def _model_name(history: History, part: Part) -> str:
    """Return the model the user named for this backend, else the backend's default.

    A name that was given together with another backend is not this backend's: a layer that
    changes the backend starts from the new one's default.
    """
    named = history.last(f"model.{part.role}")
    if not named.value:
        return part.spec.default_model
    simulated = "simulated" in part.spec.capabilities
    if simulated and named.value != part.spec.default_model:
        if named.rank >= part.rank:
            history.problems.append(
                f"{named.origin}: model.{part.role} has no effect: the {part.role} is played by "
                f"{part.spec.name}, which has no models. Set model.{part.role}_backend or remove it."
            )
        return part.spec.default_model
    return named.value if _written_for(history, part, named) else part.spec.default_model


def _written_for(history: History, part: Part, named: Entry) -> bool:
    entry, _ = _choice(history, part.role, named.rank)
    then = history.catalog.backend(canonical_backend(history.catalog, entry.value))
    if entry.rank == 0 or (then and "simulated" in then.capabilities):
        return True
    return (then.name if then else canonical_backend(history.catalog, entry.value)) == part.spec.name


def _variable(name: str) -> str:
    return f"{_VARIABLE} {name}"
