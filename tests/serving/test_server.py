"""A real server on the loopback address: signals, load, and clients that misbehave."""

import asyncio
import json
import os
import signal
import socket
import threading
import time
from contextlib import suppress

import pytest

from benchmarks.serving.load import load, make_requests
from covey.serving import bind, is_loopback
from tests.serving.conftest import serving


@pytest.fixture(scope="module")
def requests(model, table):
    return make_requests(model, table, 60)


def connected(port):
    return socket.create_connection(("127.0.0.1", port), timeout=20)


def all_of(sock):
    """What comes until the other side closes."""
    parts = []
    while True:
        try:
            part = sock.recv(65536)
        except ConnectionError:
            break
        if not part:
            break
        parts.append(part)
    return b"".join(parts)


HEAD = b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


# -- one server for all that it survives -----------------------------------------------------


def test_many_clients_get_their_own_answers(server, requests):
    """A hundred requests a second at least, on whatever else the machine does."""
    outcome = asyncio.run(load(server.port, requests, 16, 1.5))
    assert outcome.wrong == []
    assert outcome.refused == {}
    assert (outcome.cut, outcome.lost) == (0, [])
    assert outcome.answered > 150


def test_a_client_that_sends_nothing_is_left(server):
    """The limit is two seconds."""
    began = time.perf_counter()
    with connected(server.port) as silent, connected(server.port) as slow:
        slow.sendall(b"GET /health HTTP/1.1\r\nHost: ")
        assert all_of(silent) == all_of(slow) == b""
    assert 1 < time.perf_counter() - began < 15


def test_a_client_that_sends_a_byte_now_and_then_is_left(server):
    """Each byte is progress, but a request must come whole in time."""
    with connected(server.port) as slow:
        began = time.perf_counter()
        with suppress(OSError):  # reset, or a broken pipe
            while time.perf_counter() - began < 15:
                slow.sendall(b"G")
                time.sleep(0.1)
    assert time.perf_counter() - began < 10


def test_a_body_that_stays_away_is_told_so(server):
    with connected(server.port) as slow:
        slow.sendall(HEAD + b"Content-Length: 10\r\n\r\n{")
        answer = all_of(slow)
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"longer than 2 seconds" in answer


def test_a_client_that_takes_no_answers_is_left(server, rows):
    """It sends requests one behind the other, and never reads."""
    body = json.dumps({"rows": (rows * 5)[:1000]}).encode()
    data = HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body
    with socket.socket() as greedy:
        greedy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        greedy.settimeout(20)
        greedy.connect(("127.0.0.1", server.port))
        began = time.perf_counter()
        with suppress(ConnectionError):
            while time.perf_counter() - began < 15:
                greedy.sendall(data)
        taken = time.perf_counter() - began
    assert taken < 15
    assert json.loads(server.get("/health"))["status"] == "ok"


def test_headers_without_end_are_refused(server):
    with connected(server.port) as sock:
        sock.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ")
        answer = b""
        with suppress(OSError):
            for _ in range(100):
                sock.sendall(b"x" * 10_000)
            answer = all_of(sock)
        assert not answer or answer.startswith(b"HTTP/1.1 400")
    assert json.loads(server.get("/health"))["status"] == "ok"


@pytest.mark.parametrize(
    "data",
    [
        b"\0" * 100,
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # TLS
        b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
)
def test_what_is_no_request_ends_its_connection_alone(server, data):
    with connected(server.port) as sock:
        sock.sendall(data)
        sock.shutdown(socket.SHUT_WR)
        answer = all_of(sock)
    assert not answer or answer.split()[1] in (b"400", b"408", b"413", b"421", b"422")
    assert json.loads(server.get("/health"))["status"] == "ok"


def test_requests_to_open_a_web_socket_are_refused(server):
    with connected(server.port) as sock:
        sock.sendall(
            b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, close\r\n"
            b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: x\r\n\r\n"
        )
        assert b"101 Switching" not in all_of(sock)


# -- servers that end ------------------------------------------------------------------------


def load_and(action, server, requests, seconds=20.0):
    """The outcome of clients, while something is done to the server after half a second."""
    moment = []

    def later():
        time.sleep(0.5)
        moment.append(time.perf_counter())
        action()

    async def both():
        stop = asyncio.Event()

        async def watch():
            while server.process.poll() is None:
                await asyncio.sleep(0.02)
            stop.set()

        thread = threading.Thread(target=later)
        thread.start()
        outcome, _ = await asyncio.gather(
            load(server.port, requests, 8, seconds, stop), asyncio.wait_for(watch(), seconds)
        )
        thread.join()
        return outcome

    return asyncio.run(both()), moment[0]


@pytest.mark.slow
def test_a_killed_server_starts_again_and_a_terminated_one_answers_what_is_under_way(
    model_file, requests
):
    """SIGKILL under load, the same port again at once, and then SIGTERM under load."""
    with serving(model_file, "--port", "0") as server:
        outcome, _ = load_and(
            lambda: os.kill(server.process.pid, signal.SIGKILL), server, requests
        )
        assert outcome.wrong == []
        port = server.port
    with serving(model_file, "--port", str(port)) as server:
        assert server.port == port
        outcome, when = load_and(server.process.terminate, server, requests)
        assert outcome.wrong == []
        assert outcome.cut == 0
        # Whatever was sent before the signal has its answer.
        assert [sent for sent in outcome.lost if sent <= when] == []
        assert outcome.answered > 20
        _, text = server.process.communicate(timeout=30)
        assert server.process.returncode == 0
        assert "requests were answered." in text
        assert "Traceback" not in text


# -- addresses -------------------------------------------------------------------------------


def test_a_port_in_use_is_one_sentence():
    with bind("127.0.0.1", 0) as sock:
        port = sock.getsockname()[1]
        with pytest.raises(
            OSError, match=rf"port {port} of '127.0.0.1' cannot be used \(Address already in use"
        ):
            bind("127.0.0.1", port)


@pytest.mark.parametrize(
    ("host", "sentence"),
    [
        ("no.such.host.invalid", "'no.such.host.invalid' cannot be used"),
        ("a" * 300, "there is no such host"),
        ("192.0.2.1", "'192.0.2.1' cannot be used"),
    ],
)
def test_an_address_of_another_machine_is_one_sentence(host, sentence):
    with pytest.raises(OSError, match=sentence):
        bind(host, 0)


def test_the_loopback_address_has_several_forms():
    assert all(map(is_loopback, ("127.0.0.1", "127.3.2.1", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "10.0.0.1", "example.org", "")))
