"""One connection on which requests follow each other: HTTP/1.1 by h11, bytes by asyncio streams."""

import asyncio
import ssl
import zlib
from collections.abc import Sequence
from typing import NamedTuple

import h11

from skillopt.models.base import CallError

MOST_HEAD = 2**17
"""Bytes of the head of a response, of a chunk's head, or of what follows the last chunk."""

MOST_BODY = 2**26
"""Bytes of the body of a response: 64 MiB."""

_PIECE = 2**16

Headers = Sequence[tuple[str, str]]


class Response(NamedTuple):
    """A whole response; the names of headers are in lower case."""

    status: int
    headers: dict[str, str]
    content: bytes


class BrokenConnection(Exception):
    """The connection ended too early, or what came was no HTTP/1.1. The message shows none of it."""


def too_large() -> CallError:
    """Return the error of a response whose body is larger than is taken."""
    return CallError(f"the endpoint's reply is larger than {MOST_BODY} bytes", code="too_large")


class Connection:
    """An open connection. One exchange at a time; `reusable` tells whether another may follow."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MOST_HEAD)

    @classmethod
    async def open(cls, host: str, port: int, tls: ssl.SSLContext | None) -> "Connection":
        """Connect; raises OSError."""
        return cls(*await asyncio.open_connection(host, port, ssl=tls))

    async def post(self, target: str, headers: Headers, content: bytes) -> Response:
        """Send a body and return the response, whatever its status.

        Raises OSError, BrokenConnection, or CallError for a response that is too large. The
        connection is of no use after an error.
        """
        try:
            await self._send(target, headers, content)
            return await self._receive()
        except h11.ProtocolError as error:
            # What is wrong comes before the colon; after it the bytes are quoted, which may be anything.
            raise BrokenConnection(f"what came is no HTTP: {str(error).partition(':')[0][:100]}") from None

    @property
    def reusable(self) -> bool:
        """Whether the last exchange ended so that another may follow; made ready for it then."""
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False
        if self._http.trailing_data != (b"", False):
            return False
        self._http.start_next_cycle()
        return True

    async def is_quiet(self) -> bool:
        """Tell whether nothing came while nothing was asked: no end, and no response to nobody.

        A server that gives up an idle connection may send a response (408) before it closes;
        that one must not be taken for the answer to the next request.
        """
        await asyncio.sleep(0)  # the event loop takes in what has arrived
        try:
            async with asyncio.timeout(0):
                await self._reader.read(1)
        except TimeoutError:
            return not self._writer.is_closing()
        except OSError:
            return False
        return False

    def close(self) -> None:
        """Close it in an orderly way."""
        self._writer.close()

    def abort(self) -> None:
        """Close it at once, whatever is on its way."""
        self._writer.transport.abort()

    async def _send(self, target: str, headers: Headers, content: bytes) -> None:
        length = ("Content-Length", str(len(content)))
        request = h11.Request(method="POST", target=target, headers=[*headers, length])
        for event in (request, h11.Data(data=content), h11.EndOfMessage()):
            self._writer.write(self._http.send(event) or b"")
        await self._writer.drain()

    async def _receive(self) -> Response:
        head: h11.Response | None = None
        pieces: list[bytes] = []
        size = 0
        while True:
            event = await self._next()
            if isinstance(event, h11.Response):
                head = event
            elif isinstance(event, h11.Data):
                pieces.append(bytes(event.data))
                size += len(event.data)
                if size > MOST_BODY:
                    raise too_large()
            elif isinstance(event, h11.EndOfMessage) and head is not None:
                headers = _as_text(head)
                content = _unpacked(b"".join(pieces), headers.get("content-encoding", ""))
                return Response(head.status_code, headers, content)
            elif not isinstance(event, h11.InformationalResponse):
                raise BrokenConnection("closed by the other side")

    async def _next(self) -> object:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            piece = await self._reader.read(_PIECE)
            if not piece and self._http.their_state is h11.SEND_RESPONSE:
                raise BrokenConnection("closed by the other side")
            self._http.receive_data(piece)
        return event


def _unpacked(content: bytes, packing: str) -> bytes:
    """Return a body as it was before it was packed, which some servers do unasked."""
    if packing.strip().lower() not in ("gzip", "x-gzip", "deflate") or not content:
        return content
    unpack = zlib.decompressobj(zlib.MAX_WBITS | 32)  # gzip or zlib, by its first bytes
    try:
        unpacked = unpack.decompress(content, MOST_BODY + 1)
    except zlib.error:
        raise BrokenConnection("the body is packed in another way than it says") from None
    if len(unpacked) > MOST_BODY:
        raise too_large()
    if not unpack.eof:
        raise BrokenConnection("the packed body is not whole")
    return unpacked


def _as_text(head: h11.Response) -> dict[str, str]:
    return {name.decode("ascii"): value.decode("latin-1") for name, value in head.headers}
