"""Sending JSON by POST to one address, over connections that are kept open.

Plain HTTP/1.1 on asyncio streams: a phase is a process of its own and starts many times in a run,
and this starts in a tenth of the time of an HTTP package. Where a proxy is set, httpx2 does the work.
"""

import asyncio
import ssl
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol
from urllib.parse import SplitResult, urlsplit

from skillopt.models.base import CallError

_MOST_HEADERS = 2**17
"""Bytes: a longer head of a response is refused."""


class Response(NamedTuple):
    """A whole response; the names of headers are in lower case."""

    status: int
    headers: dict[str, str]
    content: bytes


class Poster(Protocol):
    """Something that posts to one address."""

    async def post(self, content: bytes) -> Response:
        """Send a body, return the response whatever its status; raises CallError without one."""
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...


def open_poster(url: str, headers: Mapping[str, str], env: Mapping[str, str], *, local: bool) -> Poster:
    """Return what posts to `url`, through a proxy when the environment names one (and not if `local`)."""
    names = ("ALL_PROXY", "HTTPS_PROXY" if url.startswith("https:") else "HTTP_PROXY")
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
        self._head = _head(parts, headers)
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def post(self, content: bytes) -> Response:
        """Send a body, return the response whatever its status; raises CallError without one."""
        try:
            return await self._post(content)
        except ssl.SSLCertVerificationError as error:
            raise CallError(f"the certificate of {self._host} is not trusted: {error}", code="tls") from error
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError) as error:
            said = str(error) or "closed by the other side"
            raise CallError(
                f"no connection to {self._host}:{self._port}, or it broke: {type(error).__name__}: {said}",
                transient=True,
                code="connection",
            ) from error

    async def close(self) -> None:
        """Close all connections."""
        for _, writer in self._idle:
            writer.close()
        self._idle.clear()
        await asyncio.sleep(0)

    async def _post(self, content: bytes) -> Response:
        reader, writer = await self._connection()
        try:
            writer.write(b"%sContent-Length: %d\r\n\r\n%s" % (self._head, len(content), content))
            await writer.drain()
            response, ended = await _read(reader)
        except BaseException:
            writer.transport.abort()
            raise
        if ended:
            writer.close()
        else:
            self._idle.append((reader, writer))
        return response

    async def _connection(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        while self._idle:
            reader, writer = self._idle.pop()
            if not reader.at_eof() and not writer.is_closing() and reader.exception() is None:
                return reader, writer
            writer.close()  # the other side closed it while nothing was asked
        return await asyncio.open_connection(self._host, self._port, ssl=self._tls, limit=_MOST_HEADERS)


class Proxied:
    """Posts through the proxy that the environment names."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        import httpx2

        self._httpx = httpx2
        self._url = url
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=60.0)
        self._http = httpx2.AsyncClient(headers=dict(headers), timeout=None, limits=limits)

    async def post(self, content: bytes) -> Response:
        """Send a body, return the response whatever its status; raises CallError without one."""
        try:
            response = await self._http.post(self._url, content=content)
        except (self._httpx.TransportError, self._httpx.DecodingError) as error:
            raise CallError(
                f"no connection through the proxy, or it broke: {type(error).__name__}: {error}",
                transient=True,
                code="connection",
            ) from error
        return Response(response.status_code, dict(response.headers), response.content)

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()


def _head(parts: SplitResult, headers: Mapping[str, str]) -> bytes:
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    lines = [f"POST {target} HTTP/1.1", f"Host: {parts.netloc}", "Accept-Encoding: identity"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "".join(f"{line}\r\n" for line in lines).encode("ascii")


def _tls() -> ssl.SSLContext:
    context = ssl.create_default_context()
    paths = ssl.get_default_verify_paths()
    if not paths.cafile and not paths.capath:  # a Python without the system's certificates
        import certifi

        context.load_verify_locations(certifi.where())
    return context


async def _read(reader: asyncio.StreamReader) -> tuple[Response, bool]:
    """Read one response; also tell whether the connection ends with it. Raises ValueError, EOFError."""
    status = 100
    while 100 <= status < 200:  # interim responses come before the real one
        head = await reader.readuntil(b"\r\n\r\n")
        version, status, headers = _parse(head)
    ended = version == "HTTP/1.0" or "close" in headers.get("connection", "").lower()
    if status in (204, 304):
        return Response(status, headers, b""), ended
    if "chunked" in headers.get("transfer-encoding", "").lower():
        return Response(status, headers, await _read_chunks(reader)), ended
    if "content-length" in headers:
        content = await reader.readexactly(int(headers["content-length"]))
        return Response(status, headers, content), ended
    return Response(status, headers, await reader.read()), True


def _parse(head: bytes) -> tuple[str, int, dict[str, str]]:
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    version, _, rest = first.partition(" ")
    if not version.startswith("HTTP/1."):
        raise ValueError(f"expected an HTTP/1.1 response, found {first[:60]!r}")
    pairs: list[tuple[str, Any, str]] = [line.partition(":") for line in lines]
    return version, int(rest[:3]), {name.strip().lower(): value.strip() for name, _, value in pairs}


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    chunks: list[bytes] = []
    while size := int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16):
        chunks.append((await reader.readexactly(size + 2))[:-2])
    while (await reader.readuntil(b"\r\n")) != b"\r\n":
        pass  # headers after the last chunk
    return b"".join(chunks)
