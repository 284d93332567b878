"""The call store: every paid reply is kept under what decided it, and never bought twice."""

import contextlib
import hashlib
import logging
import os
import secrets
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from skillopt.errors import SkillOptError
from skillopt.files import canonical, read_given, write_through
from skillopt.models.base import BackendSpec, Reply, Request, RoleModel, SettingValue
from skillopt.models.registry import backend_spec

log = logging.getLogger(__name__)


class StoreError(SkillOptError):
    """The call store cannot be read or written; the phase stops before it pays for more."""


class About(msgspec.Struct, frozen=True, kw_only=True):
    """Who asked first. It plays no part in finding a reply."""

    backend: str
    model: str
    run: str
    role: str
    phase: str
    label: str


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One file of the store. `when` is the time of the reply in UTC."""

    key: str
    when: str
    about: About
    reply: Reply


def call_key(role: RoleModel, request: Request) -> str:
    """Return the SHA-256 of all that decides the reply to `request` by `role`'s model.

    That is the backend, the model, those settings of the backend that decide, act on the request and differ
    from their default (so a setting that is added later changes no key), and the request as far as the
    backend sends it. The role itself, its place in the run, the time and secrets play no part.
    """
    return key_maker(role)(request)


def key_maker(role: RoleModel) -> Callable[[Request], str]:
    """Return `call_key` for one role."""
    spec = backend_spec(role.backend)

    def key(request: Request) -> str:
        asked = spec.sent(role, with_effort(role, request))
        settings = _deciding(spec, spec.acting(role, asked))
        shared = {"backend": role.backend, "model": role.model, "settings": settings}
        return hashlib.sha256(f"{canonical(shared)}\n{canonical(asked)}".encode()).hexdigest()

    return key


def with_effort(role: RoleModel, request: Request) -> Request:
    """Return the request with the reasoning effort that is in force: its own, else the role's."""
    if request.reasoning_effort or not role.reasoning_effort:
        return request
    return msgspec.structs.replace(request, reasoning_effort=role.reasoning_effort)


def _deciding(spec: BackendSpec, acting: Mapping[str, SettingValue]) -> dict[str, SettingValue]:
    chosen: dict[str, SettingValue] = {}
    for setting in spec.settings:
        value = acting.get(setting.name, setting.default)
        if setting.type == "float" and isinstance(value, int):
            value = float(value)  # 0 and 0.0 are one setting
        if setting.decides and not setting.in_request and value != setting.default:
            chosen[setting.name] = value
    return chosen


class Store:
    """Replies in files, one each: `replies/ab/<key>.json`, `ab` being the start of the key.

    Any number of processes, on any number of machines, may share it: a reply appears at once or
    not at all, and of two replies to one request the first is kept by all.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._replies = root / "replies"

    def get(self, key: str) -> Reply | None:
        """Return the kept reply, or None when there is none.

        A file that holds no reply (a machine that crashed while it was written) is put aside as
        `<key>.json.corrupt`, and the call counts as never made.
        """
        path = self._path(key)
        try:
            content = read_given(path)  # a pipe would be waited for
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreError(f"call store: cannot read {path}: {error}") from error
        try:
            entry = msgspec.json.decode(content, type=Entry)
        except (msgspec.DecodeError, RecursionError) as error:
            self._put_aside(path, str(error))
            return None
        if entry.key != key:
            self._put_aside(path, f"it holds the reply to {entry.key}")
            return None
        return entry.reply

    def put(self, key: str, reply: Reply, about: About) -> Reply:
        """Keep a reply at once; return the one that is kept.

        That is another one when another process kept a reply to the same request meanwhile:
        whoever asked goes on with the same reply then. Raises StoreError.
        """
        entry = Entry(key=key, when=_now(), about=about, reply=reply)
        content = msgspec.json.format(msgspec.json.encode(entry), indent=2) + b"\n"
        path = self._path(key)
        partial = path.with_name(f".{key}.{secrets.token_hex(8)}.partial")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_through(partial, content)  # a power cut must not take back what was paid for
            return self._publish(partial, path, key) or reply
        except OSError as error:
            raise StoreError(
                f"call store: cannot keep a reply that was paid for in {path.parent}: {error}. No further "
                "call is made. Make room there, then run the same command again: it repeats this call and, "
                "at most, those that were on their way with it."
            ) from error
        finally:
            with contextlib.suppress(OSError):
                partial.unlink()

    def require_writable(self) -> None:
        """Raise StoreError when nothing can be kept here: asked before the first call is paid for."""
        probe = self._replies / ".probe.partial"
        try:
            self._replies.mkdir(parents=True, exist_ok=True)
            probe.write_bytes(bytes(4096))
        except OSError as error:
            raise StoreError(
                f"call store: cannot write in {self._replies}: {error}. No call was made."
            ) from error
        finally:
            with contextlib.suppress(OSError):
                probe.unlink()

    def _publish(self, partial: Path, path: Path, key: str) -> Reply | None:
        """Give the file its name; return the reply that already had it."""
        try:
            os.link(partial, path)
        except FileExistsError:
            earlier = self.get(key)
            if earlier is None:
                partial.replace(path)
            return earlier
        except OSError:  # a file system without hard links
            partial.replace(path)
        return None

    def _path(self, key: str) -> Path:
        return self._replies / key[:2] / f"{key}.json"

    def _put_aside(self, path: Path, why: str) -> None:
        aside = path.with_name(f"{path.name}.corrupt")
        with contextlib.suppress(FileNotFoundError):  # another process was faster
            path.replace(aside)
        log.warning(
            "call store: %s holds no reply (%s); kept as %s, the call is made again", path, why, aside.name
        )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
