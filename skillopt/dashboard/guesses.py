"""How often a client may guess a password."""

import ipaddress
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

AT_ONCE = 10
"""Wrong logins of a client that are looked at without a wait: people mistype."""
EVERY = 5.0
"""Seconds after which a client that used them up may try once more."""
_MOST_CLIENTS = 10_000
_NETWORK = 64
"""Bits of an IPv6 address that tell clients apart: whoever has one has all of its network."""


class Guesses:
    """Counts wrong logins by client; of the others, and of browsers that are logged in, nobody waits."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._free: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """By client: how many tries were left, and when that was."""

    def allowed(self, client: str) -> bool:
        """Take one try of a client; False when it has none left, and the login is not to be looked at."""
        with self._lock:
            name, now = _network(client), self._now()
            left, since = self._free.pop(name, (float(AT_ONCE), now))
            left = min(left + (now - since) / EVERY, float(AT_ONCE))
            may = left >= 1.0
            self._free[name] = (left - 1.0 if may else left), now
            if len(self._free) > _MOST_CLIENTS:
                self._free.popitem(last=False)
            return may

    def was_right(self, client: str) -> None:
        """Give back all tries of a client: it knows the password."""
        with self._lock:
            self._free.pop(_network(client), None)


def _network(client: str) -> str:
    try:
        address = ipaddress.ip_address(client.partition("%")[0])
    except ValueError:
        return client
    if address.version == 4:
        return client
    return str(ipaddress.ip_network((address, _NETWORK), strict=False))
