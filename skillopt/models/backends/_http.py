"""Sending JSON by POST to one address, over connections that are kept open.

Small on purpose: a phase is a process of its own and starts many times in a run, and this starts in a
fraction of the time of a whole HTTP client. Where a proxy is set, httpx2 does the work.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from skillopt.errors import ConfigError
from skillopt.models.base import CallError
from skillopt.redact import one_line

if TYPE_CHECKING:
    import httpx2

    from skillopt.models.backends._connection import Connection, Headers, Response


_UNPACKED = {"Accept-Encoding": "identity"}
"""Replies are small: nothing is gained by packing them, and nothing unpacked can grow without limit."""


_PROXY_SCHEMES = ("http", "https", "socks5", "socks5h")


class Poster(Protocol):
    """Something that posts to one address, or to other paths of its host."""

    async def post(self, content: bytes, *, target: str = "", headers: "Headers" = ()) -> "Response":
        """Send a body, return the response whatever its status; raises CallError without one.

        `target` is another path (with its query), `headers` come beside those of all calls.
        """
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...


def open_poster(url: str, headers: Mapping[str, str], env: Mapping[str, str], *, local: bool) -> Poster:
    """Return what posts to `url`, through a proxy when the environment names one (and not if `local`)."""
    names = ("ALL_PROXY", "HTTPS_PROXY" if urlsplit(url).scheme == "https" else "HTTP_PROXY")
    if not local and any(env.get(name) or env.get(name.lower()) for name in names):
        return Proxied(url, headers)
    return Direct(url, headers)


class Direct:
    """A pool of connections that grows with the number of calls at once."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        parts = urlsplit(url)
        self._host = parts.hostname or ""
        self._port = parts.port or (443 if parts.scheme == "https" else 80)
        self._tls = _tls() if parts.scheme == "https" else None
        self._target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._headers = [("Host", parts.netloc), *_UNPACKED.items(), *headers.items()]
        self._idle: list[Connection] = []

    async def post(self, content: bytes, *, target: str = "", headers: "Headers" = ()) -> "Response":
        """Send a body, return the response whatever its status; raises CallError without one."""
        from skillopt.models.backends._connection import BrokenConnection

        try:
            return await self._post(content, target or self._target, [*self._headers, *headers])
        except ssl.SSLCertVerificationError as error:
            raise CallError(f"the certificate of {self._host} is not trusted: {error}", code="tls") from error
        except (OSError, BrokenConnection) as error:
            said = str(error) or type(error).__name__
            raise CallError(
                f"no connection to {self._host}:{self._port}, or it broke: {said}",
                transient=True,
                code="connection",
            ) from error

    async def close(self) -> None:
        """Close all connections."""
        for connection in self._idle:
            connection.close()
        self._idle.clear()
        await asyncio.sleep(0)

    async def _post(self, content: bytes, target: str, headers: "Headers") -> "Response":
        connection = await self._connection()
        try:
            response = await connection.post(target, headers, content)
        except BaseException:
            connection.abort()
            raise
        if connection.reusable:
            self._idle.append(connection)
        else:
            connection.close()
        return response

    async def _connection(self) -> "Connection":
        # Late: a phase that replays all its calls starts faster without.
        from skillopt.models.backends._connection import Connection

        while self._idle:
            connection = self._idle.pop()
            if await connection.is_quiet():
                return connection
            connection.close()
        return await Connection.open(self._host, self._port, self._tls)


class Proxied:
    """Posts through the proxy that the environment names (NO_PROXY excepts addresses from it)."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        import httpx2

        self._httpx = httpx2
        self._url = httpx2.URL(url)
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=60.0)
        self._http = _open_client(headers={**_UNPACKED, **headers}, timeout=None, limits=limits)

    async def post(self, content: bytes, *, target: str = "", headers: "Headers" = ()) -> "Response":
        """Send a body, return the response whatever its status; raises CallError without one."""
        from skillopt.models.backends._connection import Response

        url = self._url.copy_with(raw_path=target.encode()) if target else self._url
        try:
            async with self._http.stream("POST", url, content=content, headers=list(headers)) as response:
                body = await _bounded(response.aiter_bytes())
        except (self._httpx.TransportError, self._httpx.DecodingError) as error:
            said = one_line(str(error), 200)
            raise CallError(
                f"no connection through the proxy, or it broke: {type(error).__name__}: {said}",
                transient=True,
                code="connection",
            ) from error
        return Response(response.status_code, dict(response.headers), body)

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()


def _open_client(**options: Any) -> "httpx2.AsyncClient":
    """Return httpx2's pool of connections, through the proxy that the environment names.

    Raises ConfigError for a proxy that cannot be; the message holds nothing of it, as there may be a
    password in it.
    """
    from urllib.request import getproxies

    import httpx2

    for scheme, address in getproxies().items():
        if scheme in ("http", "https", "all") and not _is_proxy(address):
            raise ConfigError(
                f"the environment variable {scheme.upper()}_PROXY: expected the address of a proxy "
                "such as http://host:8080, found something else"
            )
    try:
        return httpx2.AsyncClient(verify=_tls(), **options)
    except ImportError as error:
        raise ConfigError(
            "the environment names a SOCKS proxy: expected the package socksio, found none. Install it, or "
            "set HTTP_PROXY, HTTPS_PROXY or ALL_PROXY to an http:// proxy."
        ) from error
    except (ValueError, httpx2.InvalidURL):
        raise ConfigError(
            "HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY: expected addresses of proxies and hosts, found "
            "one that cannot be read"
        ) from None


def _is_proxy(address: str) -> bool:
    try:
        parts = urlsplit(address if "://" in address else f"http://{address}")
        usable = parts.port is None or parts.port > 0
    except ValueError:
        return False
    return usable and parts.scheme in _PROXY_SCHEMES and bool(parts.hostname)


async def _bounded(pieces: AsyncIterator[bytes]) -> bytes:
    """Return the whole body; raises CallError for one that is larger than is taken."""
    from skillopt.models.backends._connection import MOST_BODY, too_large

    body = bytearray()
    async for piece in pieces:
        body += piece
        if len(body) > MOST_BODY:
            raise too_large()
    return bytes(body)


def _tls() -> ssl.SSLContext:
    context = ssl.create_default_context()
    paths = ssl.get_default_verify_paths()
    if not paths.cafile and not paths.capath:  # a Python without the system's certificates
        import certifi

        context.load_verify_locations(certifi.where())
    return context
