"""How much one request, and one client, may ask for."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, fields

from covey._validation import check_number

# The clients that are remembered; the one that has been silent for longest is forgotten first.
_MOST_CLIENTS = 10_000


@dataclass(frozen=True)
class Limits:
    """What a server takes before it refuses, in one sentence.

    Parameters
    ----------
    rows : int, default=1000
        The most rows of one request.
    bytes : int, default=1_048_576
        The most bytes of one request's body.
    rate : float, default=500.0
        The most requests a second of one client (an address), of which as many as a second has
        may come at once; 0 is no limit.
    seconds : float, default=10.0
        How long a request may take to arrive, and then to be answered.
    waiting : int, default=20_000
        The most rows that wait for an answer, of all clients together.
    connections : int, default=500
        The most connections at a time.

    Examples
    --------
    >>> from covey.serving import Limits
    >>> Limits(rows=100).rows
    100
    """

    rows: int = 1000
    bytes: int = 1 << 20
    rate: float = 500.0
    seconds: float = 10.0
    waiting: int = 20_000
    connections: int = 500

    def __post_init__(self):
        for one in fields(self):
            whole = isinstance(one.default, int)
            check_number(getattr(self, one.name), one.name, low=int(whole), whole=whole)
        if self.seconds == 0:
            raise ValueError("seconds must be above 0, got 0.")


class TokenBuckets:
    """A bucket of tokens for each client: a request takes one, and time fills it again.

    Parameters
    ----------
    rate : float
        Tokens a second, and the most that a bucket holds; 0 is no limit.
    clock : callable, optional
        Gives seconds; for tests.
    """

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic):
        self._rate, self._clock = rate, clock
        self._full = max(rate, 1.0)
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, client: str) -> float:
        """Take a token of a client: 0, or the seconds until there is one."""
        if not self._rate:
            return 0.0
        now = self._clock()
        tokens, since = self._buckets.pop(client, (self._full, now))
        tokens = min(self._full, tokens + (now - since) * self._rate)
        granted = tokens >= 1.0
        self._buckets[client] = (tokens - granted, now)
        if len(self._buckets) > _MOST_CLIENTS:
            self._buckets.popitem(last=False)
        return 0.0 if granted else (1.0 - tokens) / self._rate


def client_key(address: str) -> str:
    """Who counts as one client: an address, of which IPv6 gives everybody 2**64."""
    if ":" not in address:
        return address
    import ipaddress

    try:
        number = ipaddress.IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    if number.ipv4_mapped is not None:
        return str(number.ipv4_mapped)
    return f"{int(number) >> 64:x}::/64"
