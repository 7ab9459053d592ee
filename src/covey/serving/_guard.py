"""What stands before the application: who may ask, how often, how much, and what leaves it."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable, Collection
from typing import Any

from covey.serving._counts import Counts
from covey.serving._limits import Limits, TokenBuckets, client_key
from covey.serving._schema import BadRequestError

Send = Callable[[dict[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Application = Callable[[dict[str, Any], Receive, Send], Awaitable[None]]

# For every answer: nothing of it is guessed, framed, kept or told to other hosts.
_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
    (b"cache-control", b"no-store"),
]
_CLOSE = (b"connection", b"close")


class Guard:
    """An ASGI application around another one.

    It refuses a client that asks too often, a host name that is not this machine's, and bodies
    that are too long, too slow or no JSON; it reads the body, so that the application inside
    never waits for one. Whatever goes wrong inside becomes a sentence, and every answer gets the
    headers that keep browsers careful.

    Parameters
    ----------
    app : ASGI application
    limits : Limits
    counts : Counts
    paths : collection of str
        Those that are counted by name.
    hosts : collection of str, optional
        The names by which this machine may be asked. A page of another host could otherwise
        reach a server on the loopback address by a name that it lets point there.
    """

    def __init__(
        self,
        app: Application,
        limits: Limits,
        counts: Counts,
        paths: Collection[str],
        hosts: Collection[str] | None = None,
    ):
        self._app, self._limits, self._counts = app, limits, counts
        self._paths, self._hosts = frozenset(paths), hosts
        self._buckets = TokenBuckets(limits.rate)

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            elif scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1000})
            return
        began = time.perf_counter()
        status = 0

        async def counted(message: dict[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *_HEADERS]
                if self._counts.draining:
                    message["headers"].append(_CLOSE)
            await send(message)

        try:
            self._check(scope)
            body = await self._body(scope, receive)
            await self._app(scope, _replay(body, receive), counted)
        except BadRequestError as error:
            if not status:
                await answer(counted, error.status, str(error), error.headers)
        except Exception as error:
            print(f"covey: a request failed: {_line(error)}", file=sys.stderr, flush=True)
            if not status:
                sentence = "The server failed to answer; its terminal says why."
                await answer(counted, 500, sentence)
        finally:
            path = scope["path"] if scope["path"] in self._paths else "other"
            self._counts.add(path, status, time.perf_counter() - began)

    def _check(self, scope: dict[str, Any]) -> None:
        headers = dict(scope["headers"])
        if self._hosts is not None and _host(headers) not in self._hosts:
            raise BadRequestError(
                "This server is asked by a name that is not this machine's; use 127.0.0.1 or "
                "localhost.",
                421,
            )
        client = scope.get("client")
        wait = self._buckets.wait(client_key(client[0]) if client else "")
        if wait:
            raise BadRequestError(
                f"More than {self._limits.rate:g} requests a second from one client; wait a "
                "moment.",
                429,
                {"Retry-After": str(max(1, round(wait)))},
            )
        if scope["method"] != "POST":
            return
        kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        if kind != b"application/json":
            raise BadRequestError(
                "The body must be JSON; send it with the header Content-Type: application/json.",
                415,
            )
        if headers.get(b"content-encoding", b"identity").lower() != b"identity":
            raise BadRequestError("The body must not be compressed.", 415)
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length[:20]) > self._limits.bytes:
            self._too_long()

    async def _body(self, scope: dict[str, Any], receive: Receive) -> bytes:
        """The whole body; of methods that have none it is dropped."""
        try:
            async with asyncio.timeout(self._limits.seconds):
                parts, size = [], 0
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise BadRequestError("The client has gone.", 400)
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > self._limits.bytes:
                        self._too_long()
                    if not message.get("more_body", False):
                        return b"".join(parts)
        except TimeoutError:
            raise BadRequestError(
                f"The body took longer than {self._limits.seconds:g} seconds to arrive.",
                408,
                {"Connection": "close"},
            ) from None

    def _too_long(self) -> None:
        # The rest is not read, so that the connection is of no more use.
        raise BadRequestError(
            f"The body is longer than {self._limits.bytes:,} bytes; send fewer rows at a time.",
            413,
            {"Connection": "close"},
        )


async def answer(
    send: Send, status: int, sentence: str, headers: dict[str, str] | None = None
) -> None:
    """Send a refusal as JSON: an object with one sentence, ``error``."""
    body = json.dumps({"error": sentence}, ensure_ascii=False).encode("utf-8", "replace")
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [
                (b"content-type", b"application/json"),
                (b"content-length", str(len(body)).encode()),
                *(
                    (name.lower().encode(), text.encode())
                    for name, text in (headers or {}).items()
                ),
            ],
        }
    )
    await send({"type": "http.response.body", "body": body})


def _replay(body: bytes, receive: Receive) -> Receive:
    """The body once more, for the application; then what comes after it."""
    given = False

    async def again() -> dict[str, Any]:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def _host(headers: dict[bytes, bytes]) -> str:
    """The name in the header Host, without a port."""
    name = headers.get(b"host", b"").decode("latin-1").lower()
    if name.startswith("["):
        return name.partition("]")[0][1:]
    return name.partition(":")[0]


def _line(error: Exception) -> str:
    # In ASCII and quoted: names in it could be orders to a terminal.
    return ascii(error)[:300]
