"""Try all public estimators, fusers, functions, commands and model files on random inputs.

    python -m tests.fuzz --seconds 600

goes through seeds until the time is over, and prints a table: cases, answers, refusals, and what
was neither. Every answer is checked (finite, of the right shape, rows sum to one, inputs as they
were, the same bits when repeated), every refusal must be a sentence of a check. It ends with 1 and
the seeds of what went wrong, if anything did, and keeps them in tests/fuzz/failures.txt;
``python -m tests.fuzz --kind estimators --seed 17`` tries one of them again.
"""

import argparse
import json
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

from tests.fuzz import commands, estimators, functions
from tests.fuzz.outcomes import OutcomeError
from tests.persistence import fuzz as files

MEMORY = 6 << 30
# Processor seconds that one case may take.
SECONDS = 60
# Seconds of one process, so that memory which is not given back is seen.
BATCH = 60
KEPT = Path(__file__).with_name("failures.txt")


def _files(rng):
    path = files.GOLDEN[int(rng.integers(len(files.GOLDEN)))]
    with tempfile.TemporaryDirectory() as folder:
        outcome = files.attempt(path, int(rng.integers(2**31)), folder)
    return "load", "refused" if outcome == "refused" else "answer"


KINDS = {
    "estimators": estimators.run,
    "functions": functions.run,
    "commands": commands.run,
    "files": _files,
}


def case(kind, seed):
    """What one seed leads to: the name of what is called, and how it ends."""
    return KINDS[kind](np.random.default_rng([list(KINDS).index(kind), seed]))


def _expired(number, frame):
    raise TimeoutError(f"more than {SECONDS} seconds")


def run_batch(kind, first, seconds, count=None):
    """Try seeds one after another until the time is over; print what goes wrong."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGPROF, _expired)
    found, end, seed = Counter(), time.monotonic() + seconds, first
    while time.monotonic() < end and (count is None or seed < first + count):
        print(f"{kind}, seed {seed}", file=sys.stderr, flush=True)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            name, outcome = case(kind, seed)
            found[f"{name}\t{outcome}"] += 1
        except Exception as error:
            what = error.kind if isinstance(error, OutcomeError) else type(error).__name__
            found[f"{kind}\twrong: {what}"] += 1
            print(f"{kind}, seed {seed}: {error}"[:400].replace("\n", " "), flush=True)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        seed += 1
    print(json.dumps([seed - first, found]), flush=True)


def _batch(kind, first, seconds, total):
    """Run seeds in a process of their own; how many there were."""
    command = [sys.executable, "-m", "tests.fuzz", "--batch", "--kind", kind]
    command += ["--seed", str(first), "--seconds", str(seconds)]
    run = subprocess.run(command, capture_output=True, text=True, errors="replace")
    lines = run.stdout.splitlines()
    wrong, last = (lines, "") if run.returncode or not lines else (lines[:-1], lines[-1])
    if not last:
        at = (run.stderr.splitlines() or [""])[-1]
        wrong.append(f"a process ended with {run.returncode}: {at}")
        total[kind, "wrong: crash"] += 1
    n_cases, found = json.loads(last) if last else (1, {})
    for key, count in found.items():
        total[tuple(key.split("\t"))] += count
    if wrong:
        print(*wrong, sep="\n", flush=True)
        with KEPT.open("a") as file:
            file.writelines(f"{line}\n" for line in wrong)
    return n_cases


def show(total):
    """Print the table, and return how many cases went wrong."""
    names = sorted({name for name, _ in total})
    print(f"{'':42}{'cases':>8}{'answers':>9}{'refused':>9}{'wrong':>7}")
    for name in names:
        counts = {outcome: count for (of, outcome), count in total.items() if of == name}
        wrong = sum(count for outcome, count in counts.items() if outcome.startswith("wrong"))
        row = (sum(counts.values()), counts.get("answer", 0), counts.get("refused", 0), wrong)
        print(f"{name:42}{row[0]:8,}{row[1]:9,}{row[2]:9,}{wrong:7,}")
    kinds = Counter()
    for (_, outcome), count in total.items():
        kinds[outcome] += count
    print(f"{'all':42}{kinds.total():8,}{kinds['answer']:9,}{kinds['refused']:9,}", end="")
    n_wrong = kinds.total() - kinds["answer"] - kinds["refused"]
    print(f"{n_wrong:7,}")
    for outcome, count in sorted(kinds.items()):
        if outcome.startswith("wrong"):
            print(f"    {outcome}: {count}")
    return n_wrong


def main():
    """Go through all kinds in turn until the time is over."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("--seed", type=int, help="with --kind: try this one alone")
    parser.add_argument("--first", type=int, default=0, help="the first of all seeds")
    parser.add_argument("--batch", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.batch:
        run_batch(given.kind, given.seed, given.seconds)
        return
    if given.seed is not None:
        print(*case(given.kind, given.seed))
        return
    kinds = [given.kind] if given.kind else list(KINDS)
    seeds, total = dict.fromkeys(kinds, given.first), Counter()
    end = time.monotonic() + given.seconds
    while (left := end - time.monotonic()) > 0:
        for kind in kinds:
            share = min(BATCH, max(1.0, left / len(kinds)))
            seeds[kind] += _batch(kind, seeds[kind], share, total)
    print(", ".join(f"{kind}: seeds {given.first} to {last - 1}" for kind, last in seeds.items()))
    sys.exit(1 if show(total) else 0)


if __name__ == "__main__":
    main()
