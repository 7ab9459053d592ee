"""A server that answers what it has begun to read before it ends."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import socket
from collections.abc import Callable
from typing import Any

from covey.serving._limits import Limits

# How long requests that are on their way when the server is told to end are still read.
_DRAIN_SECONDS = 0.3
_KEEP_ALIVE_SECONDS = 15
# Headers of a request, in bytes; browsers send one or two thousand.
_MOST_HEADER_BYTES = 32_768
# Sizes of the line of connections that the kernel keeps for us.
_BACKLOG = 512


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens on an address, or one sentence (`OSError`) that says why not."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (socket.gaierror, UnicodeError):
        raise OSError(f"there is no host {host!r}; 127.0.0.1 is this machine alone.") from None
    family, kind, protocol, _, address = found[0]
    sock = socket.socket(family, kind, protocol)
    try:
        # A server that has ended leaves its port in a state in which it can be used again.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        sock.listen(_BACKLOG)
    except OSError as error:
        sock.close()
        raise OSError(_sentence(error, host, port)) from None
    sock.set_inheritable(False)
    return sock


def _sentence(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"port {port} of {host} is in use; choose another one with --port, or 0 for any that "
            "is free."
        )
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"port {port} of {host} may not be used; choose one above 1023 with --port."
    if error.errno == errno.EADDRNOTAVAIL:
        return f"{host} is not an address of this machine; 127.0.0.1 is this machine alone."
    return f"{host}, port {port}: {error.strerror}."


def is_loopback(host: str) -> bool:
    """Whether an address reaches this machine from itself alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False


def run(
    app: Any,
    sock: socket.socket,
    limits: Limits | None = None,
    *,
    started: Callable[[], None] | None = None,
) -> None:
    """Serve an application until SIGINT (Ctrl-C) or SIGTERM; a second one ends it at once.

    Requests that are under way are answered; connections that come later are refused.

    Parameters
    ----------
    app : ASGI application
        As `make_app` gives it.
    sock : socket
        As `bind` gives it.
    limits : Limits, optional
    started : callable, optional
        Called when requests can be answered.
    """
    try:
        import uvicorn
        from uvicorn.protocols.http.h11_impl import H11Protocol
    except ImportError:
        raise ImportError(
            'A server needs FastAPI and uvicorn; install them with: pip install "covey[serve]".'
        ) from None
    limits = Limits() if limits is None else limits

    class Patient(H11Protocol):
        """Closes a connection on which no whole request comes, or no answer is taken, in time."""

        _timer: asyncio.TimerHandle | None = None
        _unread: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._wait()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._wait()

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            self._stop()
            self._taken()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            if self.transport.get_write_buffer_size():
                self._until_taken()

        def pause_writing(self) -> None:
            super().pause_writing()
            self._until_taken()

        def resume_writing(self) -> None:
            super().resume_writing()
            self._taken()

        def _until_taken(self) -> None:
            """Begin to wait until the client has taken what is written."""
            if self._unread is None:
                self._unread = self.loop.call_later(limits.seconds, self._drop)

        def _taken(self) -> None:
            if self._unread is not None:
                self._unread.cancel()
                self._unread = None

        def _drop(self) -> None:
            self._unread = None
            if self.transport.get_write_buffer_size():
                self.transport.abort()

        def _wait(self) -> None:
            """Begin to wait for the head of a request, unless one is being answered."""
            if self.cycle is not None and not self.cycle.response_complete:
                self._stop()
            elif self._timer is None and not self.transport.is_closing():
                self._timer = self.loop.call_later(limits.seconds, self._give_up)

        def _stop(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

        def _give_up(self) -> None:
            self._timer = None
            idle = self.cycle is None or self.cycle.response_complete
            if idle and not self.transport.is_closing():
                self.transport.close()

    class Server(uvicorn.Server):
        """Ends in order, whichever signal tells it to."""

        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            if started is not None and self.started:
                started()

        def handle_exit(self, sig: int, frame: Any) -> None:
            # The signal is not raised again: this is how a server ends.
            if self.should_exit:
                self.force_exit = True
            self.should_exit = True

        async def shutdown(self, sockets: Any = None) -> None:
            app.state.counts.draining = True
            for server in self.servers:
                server.close()
            # What clients had sent before is read and answered; then connections are closed.
            await asyncio.sleep(_DRAIN_SECONDS)
            await super().shutdown(sockets)

    config = uvicorn.Config(
        app,
        http=Patient,
        ws="none",
        lifespan="on",
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        proxy_headers=False,  # else a client could name its own address
        limit_concurrency=limits.connections,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=int(limits.seconds) + 1,
        h11_max_incomplete_event_size=_MOST_HEADER_BYTES,
        backlog=_BACKLOG,
    )
    Server(config).run(sockets=[sock])
