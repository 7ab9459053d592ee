"""A server that answers the requests that it has begun to read before it ends."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Callable
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from covey.serving._app import MOST_HEADER_BYTES
from covey.serving._batches import Limits

# How long requests that are on their way when the server is told to end are still read.
_DRAIN_SECONDS = 0.3
_KEEP_ALIVE_SECONDS = 15
# The most connections that the kernel keeps in line.
_BACKLOG = 512
_TICKS_A_SECOND = 10  # of uvicorn


def bind(host: str, port: int) -> socket.socket:
    """Open a socket on an address, or say in one sentence (`OSError`) why that is impossible.

    Examples
    --------
    >>> from covey.serving import bind
    >>> sock = bind("127.0.0.1", 0)
    >>> sock.getsockname()[0]
    '127.0.0.1'
    >>> sock.close()
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, *_, address = found[0]
        sock = socket.create_server(address, family=family, backlog=_BACKLOG)
        # Made again, it knows its protocol, without which asyncio would send with delays.
        return socket.socket(fileno=sock.detach())
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "there is no such host"
        reason = reason.partition(" (while")[0]
        raise OSError(
            f"port {port} of {host!r} cannot be used ({reason}); 127.0.0.1 is this machine alone, "
            "and port 0 is any that is free."
        ) from None


def is_loopback(host: str) -> bool:
    """Tell whether an address reaches this machine from itself alone.

    Examples
    --------
    >>> from covey.serving import is_loopback
    >>> is_loopback("127.0.0.1"), is_loopback("0.0.0.0")
    (True, False)
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False


class _Server(uvicorn.Server):
    """A server that ends in order on any signal, and closes connections that stand still."""

    def __init__(self, config: uvicorn.Config, seconds: float, started: Callable[[], None] | None):
        super().__init__(config)
        self._ticks = max(1, round(seconds * _TICKS_A_SECOND))
        self._started = started
        self._still: set[tuple[Any, Any]] = set()

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        if self._started is not None and self.started:
            self._started()

    async def on_tick(self, counter: int) -> bool:
        """Close connections whose client has for too long sent no head or taken no answer.

        These are connections that wait for their client in the same request as at the last look.
        The application refuses a late body itself.
        """
        if counter % self._ticks == 0:
            still = {
                (one, one.cycle)
                for one in self.server_state.connections
                if isinstance(one, H11Protocol)
                if one.transport.get_write_buffer_size()
                or (
                    one.timeout_keep_alive_task is None
                    and (one.cycle is None or one.cycle.response_complete)
                )
            }
            for connection, _ in still & self._still:
                connection.transport.abort()
            self._still = still
        return await super().on_tick(counter)

    def handle_exit(self, sig: int, frame: Any) -> None:
        # The signal is not raised again: this is the normal end of a server.
        self.force_exit = self.should_exit
        self.should_exit = True

    async def shutdown(self, sockets: Any = None) -> None:
        for server in self.servers:
            server.close()
        # Requests that clients had sent before are read and answered; then connections are closed.
        self.server_state.default_headers = [(b"connection", b"close")]
        await asyncio.sleep(_DRAIN_SECONDS)
        await super().shutdown(sockets)


def run(
    app: Any,
    sock: socket.socket,
    limits: Limits | None = None,
    *,
    started: Callable[[], None] | None = None,
) -> int:
    """Serve an application until SIGINT (Ctrl-C) or SIGTERM; a second one ends it at once.

    Requests that are under way are answered; later connections are refused.

    Parameters
    ----------
    app : ASGI application
        An application of `make_app`.
    sock : socket
        A socket of `bind`.
    limits : Limits, optional
    started : callable, optional
        Called when requests can be answered.

    Returns
    -------
    n_requests : int
        The number of requests that were answered, with any status.

    Examples
    --------
    >>> from covey.serving import bind, run
    >>> n_requests = run(app, bind("127.0.0.1", 8000))  # doctest: +SKIP
    """
    limits = Limits() if limits is None else limits
    config = uvicorn.Config(
        app,
        http="h11",
        ws="none",
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        proxy_headers=False,  # otherwise a client could name its own address
        limit_concurrency=limits.connections,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=int(limits.seconds) + 1,
        h11_max_incomplete_event_size=MOST_HEADER_BYTES,
        backlog=_BACKLOG,
    )
    server = _Server(config, limits.seconds, started)
    server.run(sockets=[sock])
    return server.server_state.total_requests
