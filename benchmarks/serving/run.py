"""How many requests ``covey serve`` answers, how soon, and whether any is lost.

    python -m benchmarks.serving.run --minutes 60

fits a small flock to generated rows of mixed kinds, serves it in a process of its own on the
loopback address, and asks. Every answer is compared with what the model predicts in memory. Three
parts:

1. throughput: so many clients, each with one request at a time, for some seconds;
2. steady: one process under a mixed load (single rows, twenty rows, explanations, requests that
   are wrong), whose memory is read twice a second;
3. ends: the server is ended again and again under load, by turns with SIGTERM and SIGKILL, and
   started on the same port. What was sent before a SIGTERM must be answered.

The run ends with 1 if an answer is wrong, cut, or missing that was owed, or if memory grows by
more than 5 % from the second to the last fifth of the steady part. ``report.md`` has the figures.
"""

import argparse
import asyncio
import os
import platform
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import numpy as np

import covey
from benchmarks.serving.load import Outcome, load, make_requests, wrong_requests
from benchmarks.soak.run import Memory, make_table

COVEY = [sys.executable, "-m", "covey"]
HERE = Path(__file__).parent
CLIENTS = 32
GROWTH = 1.05


class Server:
    """A ``covey serve`` in a process of its own."""

    def __init__(self, folder, port):
        self.began = time.perf_counter()
        self.process = subprocess.Popen(
            [*COVEY, "serve", "flock.covey", "--port", str(port)],
            cwd=folder,
            stderr=subprocess.PIPE,
            text=True,
        )
        line = self.process.stderr.readline()
        if "http://" not in line:
            raise RuntimeError(line + self.process.stderr.read())
        self.start_seconds = time.perf_counter() - self.began

    def end(self, number):
        """Send a signal and wait: the seconds until the process is gone, and its status."""
        began = time.perf_counter()
        self.process.send_signal(number)
        _, text = self.process.communicate(timeout=60)
        if "Traceback" in text:
            raise RuntimeError(text)
        return time.perf_counter() - began, self.process.returncode


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return sock.getsockname()[1]


def throughput(port, model, table, seconds):
    """Rows of the report: clients, rows a request, requests a second, p50 and p99."""
    rows = []
    for path, n_clients, rows_each in (
        ("/predict", 1, 1),
        ("/predict", 8, 1),
        ("/predict", 32, 1),
        ("/predict", 128, 1),
        ("/predict", 8, 100),
        ("/explain", 8, 1),
    ):
        requests = make_requests(model, table, 300, rows_each, path=path)
        outcome = asyncio.run(load(port, requests, n_clients, seconds))
        check(outcome)
        rows.append((path, n_clients, rows_each, outcome.answered / seconds, *quantiles(outcome)))
        print(
            f"{path}, {n_clients} clients, {rows_each} rows each: {rows[-1][3]:,.0f} requests a "
            f"second, p50 {rows[-1][4]:.1f} ms, p99 {rows[-1][5]:.1f} ms",
            flush=True,
        )
    return rows


def quantiles(outcome):
    return outcome.quantile(0.5), outcome.quantile(0.99)


def check(outcome, since=None):
    """End the run if something was wrong; ``since`` is when the server was told to end."""
    owed = [sent for sent in outcome.lost if since is None or sent <= since]
    if outcome.wrong or outcome.cut or owed or outcome.refused:
        sys.exit(
            f"wrong: {outcome.wrong[:1]}, cut: {outcome.cut}, without an answer that was owed: "
            f"{len(owed)}, refused: {outcome.refused}"
        )


def mixture(model, table):
    """Requests of all kinds, in a fixed order that looks random."""
    made = [
        *make_requests(model, table, 400),
        *make_requests(model, table, 60, 20, seed=1),
        *make_requests(model, table, 8, seed=2, path="/explain"),
        *wrong_requests(),
    ]
    return [made[k] for k in np.random.default_rng(0).permutation(len(made))]


def steady(server, port, requests, seconds):
    """One process for long: the outcome, and the most memory in each fifth, in MB."""
    memory = Memory(server.process.pid)
    memory.start()
    total, counted, until = Outcome(), 0, time.perf_counter() + seconds
    while time.perf_counter() < until:
        # In pieces, so that this process does not remember all.
        piece = asyncio.run(load(port, requests, CLIENTS, min(20.0, seconds)))
        check(piece)
        total.seconds += piece.seconds[::50]
        total.refusals += piece.refusals
        counted += piece.answered
    # It was read at equal times.
    sizes = np.array_split([size for _, size in memory.seen], 5)
    parts = [float(part.max()) for part in sizes]
    print(
        f"steady: {counted:,} answers and {total.refusals:,} refusals in {seconds:,.0f} s; "
        "most memory in each fifth, MB: " + ", ".join(f"{part:.0f}" for part in parts),
        flush=True,
    )
    return total, counted, parts


def ends(folder, port, requests, seconds):
    """Servers that are ended under load: how many by which signal, and how long it took."""
    taken = {signal.SIGTERM: [], signal.SIGKILL: []}
    starts, answered, unanswered = [], 0, 0
    began, number = time.perf_counter(), 0
    while time.perf_counter() < began + seconds or number < 4:
        which = (signal.SIGTERM, signal.SIGKILL)[number % 2]
        number += 1
        server = Server(folder, port)
        starts.append(server.start_seconds)
        outcome, told, ended = asyncio.run(_ended(server, port, requests, which))
        if which == signal.SIGTERM:
            check(outcome, told)
            if ended[1] != 0:
                sys.exit(f"SIGTERM ended the server with {ended[1]}")
        elif outcome.wrong:
            check(outcome)
        taken[which].append(ended[0])
        answered += outcome.answered
        unanswered += len(outcome.lost)
    print(
        f"ends: {len(taken[signal.SIGTERM])} by SIGTERM (at most "
        f"{max(taken[signal.SIGTERM]):.1f} s), {len(taken[signal.SIGKILL])} by SIGKILL; "
        f"{answered:,} right answers, none wrong; {unanswered} requests sent when the server was "
        "going had none",
        flush=True,
    )
    return taken, starts, answered, unanswered


async def _ended(server, port, requests, which):
    """The outcome of clients around a signal, when it was sent, and how the server ended."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    clients = asyncio.create_task(load(port, requests, CLIENTS, 60, stop))
    await asyncio.sleep(1.5)
    told = time.perf_counter()
    ended = await loop.run_in_executor(None, server.end, which)
    stop.set()
    return await clients, told, ended


def processor():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def report(command, minutes, rows, steadily, found, busy):
    """The figures as Markdown."""
    total, counted, parts = steadily
    taken, starts, answered, unanswered = found
    terms, kills = taken[signal.SIGTERM], taken[signal.SIGKILL]
    paragraphs = [
        f"Written by `{command}`, which compares every answer with what the model predicts in "
        f"memory, on {os.cpu_count()} cores ({processor()}) that server and clients share. The "
        f"load average was {busy[0]:.1f} before and {busy[1]:.1f} after; what is above 2 is other "
        "work, so that quiet cores answer more and sooner.",
        "\n".join(
            [
                "| endpoint | clients | rows a request | requests a second | p50, ms | p99, ms |",
                "| --- | --- | --- | --- | --- | --- |",
                *(
                    f"| `{path}` | {clients} | {each} | {rate:,.0f} | {middle:.1f} | {high:.1f} |"
                    for path, clients, each, rate, middle, high in rows
                ),
            ]
        ),
        f"Steady, {minutes[0]:.1f} minutes of single rows, twenty rows, explanations and wrong "
        f"requests from {CLIENTS} clients: {counted:,} right answers and {total.refusals:,} "
        "refusals that were due, none lost, wrong or out of order; p50 "
        f"{total.quantile(0.5):.1f} ms, p99 {total.quantile(0.99):.1f} ms. The most memory of the "
        f"server in each fifth of the time: {', '.join(f'{part:.0f}' for part in parts)} MB.",
        f"Ended under load for {minutes[1]:.1f} minutes, {len(terms)} times by SIGTERM and "
        f"{len(kills)} times by SIGKILL, and started again on the same port (median "
        f"{np.median(starts):.1f} s until it answers): {answered:,} right answers, none wrong or "
        "cut. Every request that was sent before a SIGTERM was answered, and the server was gone "
        f"at most {max(terms):.1f} s later. {unanswered:,} requests that were sent later, or "
        "before a SIGKILL, got no answer, which their clients saw.",
    ]
    made = [
        part if part.startswith("|") else textwrap.fill(part, 105, break_on_hyphens=False)
        for part in paragraphs
    ]
    return "\n\n".join(["# `covey serve` under load", *made]) + "\n"


def main():
    """Fit, serve, ask, end and judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=5.0, help="of steady load and ends")
    parser.add_argument("--seconds", type=float, default=8.0, help="of each throughput")
    parser.add_argument("--out", type=Path, default=HERE / "report.md")
    given = parser.parse_args()
    busy = [os.getloadavg()[1]]
    with tempfile.TemporaryDirectory() as folder:
        make_table(2_000, 0).to_csv(f"{folder}/train.csv", index=False)
        fit = [*COVEY, "fit", "train.csv", "--target", "y", "--effort", "fast", "--quiet"]
        subprocess.run(fit, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        model = covey.load(f"{folder}/flock.covey")
        table = make_table(2_000, 1).drop(columns="y")
        port, requests = free_port(), mixture(model, table)
        server = Server(folder, port)
        try:
            rows = throughput(port, model, table, given.seconds)
            minutes = (0.7 * given.minutes, 0.3 * given.minutes)
            total, counted, parts = steady(server, port, requests, 60 * minutes[0])
            server.end(signal.SIGTERM)
            found = ends(folder, port, requests, 60 * minutes[1])
        finally:
            server.process.kill()
    busy.append(os.getloadavg()[1])
    command = f"python -m benchmarks.serving.run --minutes {given.minutes:g}"
    given.out.write_text(report(command, minutes, rows, (total, counted, parts), found, busy))
    if not parts[4] <= GROWTH * parts[1]:
        sys.exit("the memory grows")


if __name__ == "__main__":
    main()
