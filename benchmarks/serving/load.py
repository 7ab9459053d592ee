"""Many clients at once, on the loopback address, that check every answer.

Each client has one connection, on which it sends one request after another, and compares what
comes back with what the model predicts in memory for just these rows: so an answer that is lost,
false, or given to another request is noticed. A client whose connection is closed opens another
one.
"""

import asyncio
import json
import time
from dataclasses import dataclass, field

import numpy as np


@dataclass
class Outcome:
    """What became of all requests."""

    seconds: list = field(default_factory=list)  # of those answered with 200
    began: list = field(default_factory=list)  # when each of these was sent
    refused: dict = field(default_factory=dict)  # other statuses
    refusals: int = 0  # that were right
    wrong: list = field(default_factory=list)
    cut: int = 0  # answers of which a part came
    lost: list = field(default_factory=list)  # when requests were sent that got no answer
    unsent: int = 0  # connections that were refused

    def quantile(self, share):
        """Milliseconds within which such a share of answers came."""
        return float(np.quantile(self.seconds, share)) * 1000 if self.seconds else float("nan")

    @property
    def answered(self):
        """Answers with 200."""
        return len(self.seconds)


def request(path, body, host="127.0.0.1"):
    """A request as bytes."""
    data = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(data)}\r\n\r\n"
    )
    return head.encode() + data


async def read_answer(reader):
    """Status, whether the connection stays open, and the body; None for no answer at all."""
    head = b""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise
        return None
    lines = head.decode("latin-1").split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines[1:] if ": " in line)
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return int(lines[0].split()[1]), headers.get("connection") != "close", body


def agrees(body, expected):
    """Whether an answer is that for these rows, in their order."""
    told = json.loads(body)
    found = [told["answer"]] if "answer" in told else told["predictions"]
    if len(found) != len(expected):
        return False
    for one, (label, probability) in zip(found, expected, strict=True):
        # How many rows are predicted together may change the last digits.
        value = one.get("probability", one["prediction"])
        same = label is None or one["prediction"] == label
        if not same or abs(value - probability) > 1e-9 * max(1.0, abs(probability)):
            return False
    return True


async def client(port, requests, first, step, until, outcome, stop):
    """Send requests, each (bytes, expected), from one connection until a time.

    Where nothing is expected, the right answer is a refusal, 422.
    """
    position, reader, writer = first, None, None
    while time.perf_counter() < until and not stop.is_set():
        if writer is None:
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                outcome.unsent += 1
                await asyncio.sleep(0.02)
                continue
        data, expected = requests[position % len(requests)]
        position += step
        began = time.perf_counter()
        try:
            writer.write(data)
            answer = await read_answer(reader)
        except (ConnectionError, asyncio.IncompleteReadError) as error:
            if getattr(error, "partial", b""):
                outcome.cut += 1
            answer = None
        if answer is None:
            outcome.lost.append(began)
        else:
            status, open_, body = answer
            if expected is None and status == 422:
                outcome.refusals += 1
            elif status != 200 or expected is None:
                outcome.refused[status] = outcome.refused.get(status, 0) + 1
            elif not agrees(body, expected):
                outcome.wrong.append(body[:200])
            else:
                outcome.seconds.append(time.perf_counter() - began)
                outcome.began.append(began)
        if answer is None or not open_:
            writer.close()
            writer = None
    if writer is not None:
        writer.close()


async def load(port, requests, n_clients, seconds, stop=None):
    """The outcome of so many clients for so long."""
    outcome, stop = Outcome(), asyncio.Event() if stop is None else stop
    until = time.perf_counter() + seconds
    await asyncio.gather(
        *(
            client(port, requests, number * 7, n_clients, until, outcome, stop)
            for number in range(n_clients)
        )
    )
    return outcome


def make_requests(model, table, n_requests, rows_each=1, seed=0, path="/predict"):
    """Requests of rows of a table, and the labels and probabilities that a model gives them."""
    rng = np.random.default_rng(seed)
    plain = json.loads(table.to_json(orient="records", date_format="iso"))
    if hasattr(model, "classes_"):
        probabilities = model.predict_proba(table)
        best = probabilities.argmax(axis=1)
        answers = [
            (model.classes_.tolist()[code], probabilities[row, code])
            for row, code in enumerate(best.tolist())
        ]
    else:
        answers = [(None, value) for value in model.predict(table).tolist()]
    made = []
    for _ in range(n_requests):
        rows = rng.integers(len(plain), size=rows_each).tolist()
        given = [plain[row] for row in rows]
        body = {"rows": given} if path == "/predict" else {"row": given[0]}
        made.append((request(path, body), [answers[row] for row in rows]))
    return made


def wrong_requests():
    """Requests that are refused in a sentence."""
    bodies = [{}, [], {"rows": []}, {"rows": [{}]}, {"rows": [[1]]}, {"rows": "x" * 5000}]
    return [(request("/predict", body), None) for body in bodies]
