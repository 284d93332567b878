"""Carries the requests of the package `openai` over this project's own connections.

So all endpoints are reached alike: the same limits, certificates and proxies, no response taken for that of
another request, and no header that nobody configured (the package takes some from the environment).
"""

import httpx2

from skillopt.models.backends._http import Poster

_SENT = frozenset(
    {
        *("authorization", "api-key", "accept", "content-type", "user-agent"),
        *("openai-organization", "openai-project"),
    }
)
_OF_THE_WIRE = frozenset({"content-encoding", "content-length", "transfer-encoding"})
"""Headers of a response that say how its body came, which is unpacked and whole here."""


class Transport(httpx2.AsyncBaseTransport):
    """Sends each request with `poster`, to the path that it names."""

    def __init__(self, poster: Poster) -> None:
        self._poster = poster

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the whole response; raises CallError."""
        response = await self._poster.post(
            await request.aread(),
            target=request.url.raw_path.decode("ascii"),
            headers=[(name, value) for name, value in request.headers.items() if name in _SENT],
        )
        headers = [
            (name.encode(), value.encode("latin-1"))
            for name, value in response.headers.items()
            if name not in _OF_THE_WIRE
        ]
        return httpx2.Response(response.status, headers=headers, content=response.content)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._poster.close()
