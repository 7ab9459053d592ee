"""Change model files at random and see that each is refused, or predicts finite numbers.

    python -m tests.persistence.fuzz 100000

tries so many changes of the golden files, in processes of limited memory, each change within a
limit of time. It ends with 1 and the seeds of what went wrong, if anything did; one seed alone is
tried again by ``--seed``.
"""

import argparse
import io
import json
import resource
import signal
import subprocess
import sys
import tempfile
import tokenize
import warnings
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

from covey.persistence import ModelFileError, load

GOLDEN = sorted((Path(__file__).parents[1] / "golden").glob("*-*.covey"))
MEMORY = 3 << 30
SECONDS = 10
BATCH = 2_000
ODD_VALUES = [
    *(None, True, False, 0, 1, -1, 2, 3, 7, 2**31, 2**63, 10**30, 0.5, -1.5, 1e300, 1e-300),
    *("", "x", "nan", "__class__", "mean", "UTC", "\x00", "é" * 300),
    *([], {}, [1], [[]], {"list": []}, {"dict": [[1, 2]]}, {"float": "nan"}, {"model": {}}),
]
ODD_NUMBERS = [0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 1e16]
ODD_INTEGERS = [0, 1, -1, 2, 127, 2**31 - 1, -(2**31), 2**62, -(2**63), 10**6]

# A changed model may want other columns than those of its rows.
REFUSED_TABLES = ("lacks the column", "X has", "holds neither numbers nor categories")


def changed(path, rng):
    """The bytes of a file with a random change."""
    with zipfile.ZipFile(path) as archive:
        entries = [(entry.filename, archive.read(entry)) for entry in archive.infolist()]
    changes = [_document, _document, _text, _array, _array, _array, _bytes, _entries, _archive]
    for _ in range(int(rng.choice([1, 1, 1, 2, 4]))):
        change = changes[rng.integers(len(changes))]
        if change is _archive:
            return _archive(_packed(entries, rng), rng)
        entries = change(entries, rng)
    return _packed(entries, rng)


def _packed(entries, rng):
    buffer = io.BytesIO()
    kind = zipfile.ZIP_DEFLATED if rng.integers(2) else zipfile.ZIP_STORED
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with zipfile.ZipFile(buffer, "w", kind) as archive:
            for name, content in entries:
                archive.writestr(name, content)
    return buffer.getvalue()


def _document(entries, rng):
    """One value of the document becomes another, is dropped, or is copied to another place."""
    entries = dict(entries)
    try:
        document = json.loads(entries.get("model.json", b"{}"))
    except ValueError:
        return list(entries.items())
    places = list(_places(document))
    if places:
        (holder, key), (source, other) = (places[rng.integers(len(places))] for _ in range(2))
        choice = rng.integers(4)
        if choice == 0:
            del holder[key]
        elif choice == 1:
            holder[key] = json.loads(json.dumps(source[other]))
        elif choice == 2 and isinstance(holder, dict):
            holder[f"{key}_"] = holder.pop(key)
        else:
            holder[key] = ODD_VALUES[rng.integers(len(ODD_VALUES))]
    entries["model.json"] = json.dumps(document).encode()
    return list(entries.items())


def _places(part):
    items = part.items() if isinstance(part, dict) else enumerate(part)
    for key, value in items:
        yield part, key
        if isinstance(value, dict | list):
            yield from _places(value)


def _text(entries, rng):
    """Some bytes of the document are others."""
    return [
        (name, _other_bytes(content, rng) if name == "model.json" else content)
        for name, content in entries
    ]


def _array(entries, rng):
    """One array holds an odd number, is cut, or has another shape or type."""
    place = int(rng.integers(len(entries)))
    name, content = entries[place]
    try:
        values = np.load(io.BytesIO(content)).copy()
    except (ValueError, EOFError, OSError, tokenize.TokenError):
        return entries  # an earlier change has damaged it
    choice = rng.integers(5)
    if choice < 3 and values.size:
        odd = ODD_NUMBERS if values.dtype.kind == "f" else ODD_INTEGERS
        with np.errstate(all="ignore"):
            at = rng.integers(values.size, size=int(rng.choice([1, 1, 3])))
            values.flat[at] = np.array(odd[rng.integers(len(odd))]).astype(values.dtype)
    elif choice == 3:
        values = np.concatenate([values, values])[: rng.integers(2 * len(values) + 1)]
    else:
        values = values.astype(rng.choice(["f8", "f4", "i8", "u1", "?", "U3", "O", ">f8", "c16"]))
    packed = io.BytesIO()
    np.save(packed, values)
    return [*entries[:place], (name, packed.getvalue()), *entries[place + 1 :]]


def _bytes(entries, rng):
    """Some bytes of any entry are others."""
    place = int(rng.integers(len(entries)))
    name, content = entries[place]
    return [*entries[:place], (name, _other_bytes(content, rng)), *entries[place + 1 :]]


def _entries(entries, rng):
    """An entry is dropped, repeated, renamed or swapped with another."""
    entries = list(entries)
    one, other = rng.integers(len(entries), size=2)
    choice = rng.integers(4)
    if choice == 0:
        del entries[one]
    elif choice == 1:
        entries.append(entries[one])
    elif choice == 2:
        entries[one] = (f"{rng.integers(99)}.npy", entries[one][1])
    else:
        first, second = entries[one], entries[other]
        entries[one], entries[other] = (first[0], second[1]), (second[0], first[1])
    return entries or [("model.json", b"{}")]


def _archive(data, rng):
    """Bytes of the archive itself are others, or some are missing."""
    if rng.integers(2):
        return _other_bytes(data, rng)
    start = int(rng.integers(len(data)))
    return data[:start] + data[start + int(rng.integers(1, 50)) :]


def _other_bytes(content, rng):
    content = bytearray(content)
    for place in rng.integers(len(content), size=int(rng.choice([1, 1, 2, 8]))) if content else ():
        content[place] = rng.integers(256)
    return bytes(content)


def rows_for(path):
    """Rows that a golden file's model predicts."""
    said = json.loads(path.with_suffix(".json").read_text())
    return pd.DataFrame(said["rows"], columns=said["columns"])


def attempt(path, seed, folder):
    """What a change leads to: "refused" or "predicts"; raises for anything else."""
    file = Path(folder) / "model.covey"
    file.write_bytes(changed(path, np.random.default_rng(seed)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = load(file)
        except ModelFileError:
            return "refused"
        rows = rows_for(path)
        wanted = list(getattr(model, "feature_names_in_", rows.columns))
        if len(wanted) == len(rows.columns):
            # Columns may have other names now.
            rows = rows.set_axis(wanted, axis=1)
        try:
            predicted = model.predict_proba(rows) if hasattr(model, "predict_proba") else None
        except ValueError as error:
            # A table of other columns is refused as any such table is.
            if any(words in str(error) for words in REFUSED_TABLES):
                return "refused"
            raise
        if predicted is None:
            predicted = model.predict(rows)
        # Of several targets there is a list.
        for part in predicted if isinstance(predicted, list) else [predicted]:
            if part.dtype.kind == "f" and not np.isfinite(part).all():
                raise AssertionError("a prediction is not finite")
        if getattr(model, "_seen_columns", None) is not None:
            found = model.contributions(rows[:1])
            if not np.isfinite(found.values).all():
                raise AssertionError("a contribution is not finite")
    return "predicts"


def _expired(number, frame):
    raise TimeoutError(f"more than {SECONDS} seconds")


def run_batch(first, count):
    """Try seeds one after another; print what goes wrong."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGALRM, _expired)
    found = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            print(f"seed {seed}", file=sys.stderr, flush=True)
            path = GOLDEN[seed % len(GOLDEN)]
            signal.alarm(SECONDS)
            try:
                found[attempt(path, seed, folder)] += 1
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt):
                    raise
                found["wrong"] += 1
                print(f"{path.name}, seed {seed}: {error!r}"[:400], flush=True)
            finally:
                signal.alarm(0)
    print(json.dumps(found), flush=True)


def main():
    """Try many seeds in processes of their own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("count", type=int, nargs="?", default=BATCH)
    parser.add_argument("--seed", type=int, default=0, help="the first one")
    parser.add_argument("--batch", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.batch:
        run_batch(given.seed, given.count)
        return
    total = Counter()
    for first in range(given.seed, given.seed + given.count, BATCH):
        count = min(BATCH, given.seed + given.count - first)
        command = [sys.executable, "-m", "tests.persistence.fuzz", f"{count}", "--batch"]
        run = subprocess.run([*command, "--seed", f"{first}"], capture_output=True, text=True)
        *wrong, last = run.stdout.splitlines() or [""]
        if run.returncode:
            total["crashed"] += 1
            print(f"a process ended with {run.returncode}: {run.stderr.splitlines()[-1:]}")
        else:
            total.update(json.loads(last))
        print(*wrong, sep="\n", end="\n" if wrong else "")
        print(f"{first + count - given.seed:,} files: {dict(total)}", flush=True)
    sys.exit(1 if total["wrong"] or total["crashed"] else 0)


if __name__ == "__main__":
    main()
