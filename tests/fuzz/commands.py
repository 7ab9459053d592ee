"""Commands on random files: an exit of 0, or of 1 or 2 with one sentence."""

import os
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from covey.cli import app
from tests.fuzz.outcomes import OutcomeError, wrong_words
from tests.fuzz.tables import chance, one_of

NAMES = ["a", "b", "größe", "a b", "=1+1", "\x1b[31mred", "y", "", "1", "prediction", "x" * 300]
TEXTS = [
    "Rome",
    "Oslo",
    "",
    "NA",
    "=cmd|x",
    '"',
    "a,b",
    "1,5",
    "\x1b[2J",
    "2024-01-05",
    "é",
    "0x1",
]


def _column(rng, n_rows):
    values = rng.normal(size=n_rows)
    makes = [
        lambda: values.round(3),
        lambda: values.round(3),
        lambda: values * 10.0 ** rng.integers(-300, 300),
        lambda: rng.integers(4, size=n_rows),
        lambda: rng.choice(TEXTS, n_rows),
        lambda: rng.choice(["Rome", "Oslo"], n_rows),
        lambda: pd.date_range("2024-01-01", periods=n_rows).astype(str),
        lambda: np.where(values > 1, np.nan, values),
        lambda: np.where(values > 1, np.inf, values),
        lambda: np.full(n_rows, 3),
        lambda: np.arange(n_rows),
        lambda: [f"text {k} of many words" for k in range(n_rows)],
    ]
    return one_of(rng, makes)()


def table(rng):
    """A data frame such as strangers have."""
    n_rows = one_of(rng, [*([40] * 7), 60, 60, 25, 3, 1, 0])
    names = rng.choice(
        NAMES[2:7] if chance(rng, 0.8) else NAMES[2:], one_of(rng, [0, 1, 2]), False
    )
    made = {name: _column(rng, n_rows) for name in ["a", "b", *names]}
    made["target"] = one_of(
        rng,
        [
            rng.choice(["ill", "well"], n_rows),
            rng.choice(["ill", "well"], n_rows),
            rng.normal(size=n_rows).round(3),
            _column(rng, n_rows),
        ],
    )
    return pd.DataFrame(made)


def written(rng, frame, folder):
    """The frame as a file; sometimes one that is damaged."""
    name = one_of(rng, ["t.csv", "t.csv", "t.csv", "t.tsv", "t.csv.gz", "t.parquet"])
    path = Path(folder) / name
    if name.endswith("parquet"):
        frame.astype(str).to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if name.endswith("tsv") else ",")
    if chance(rng, 0.08):
        content = bytearray(path.read_bytes())
        for place in rng.integers(max(1, len(content)), size=4) if content else ():
            content[place] = rng.integers(256)
        path.write_bytes(content[: one_of(rng, [None, 0, 20])])
    return name


def run(rng):
    """One command: its name, and "answer" or "refused"."""
    with tempfile.TemporaryDirectory() as folder:
        before = os.getcwd()
        os.chdir(folder)
        try:
            return _run(rng, folder)
        finally:
            os.chdir(before)


def _run(rng, folder):
    frame = table(rng)
    name = written(rng, frame, folder)
    target = one_of(rng, ["target"] * 9 + ["a", "nobody"])
    commands = {
        "fit": ["fit", name, "--target", target, "--effort", "fast", "--model", "m.covey"],
        "select": ["select", name, "--target", target, "--resamples", "2"],
        "fuse": ["fuse", "o1.csv", "o2.csv", "--rule", one_of(rng, ["mean", "majority", "borda"])],
        "predict": [
            "predict",
            "m.covey",
            name,
            "--out",
            one_of(rng, ["o.csv", name, "o.parquet"]),
        ],
        "report": ["report", "m.covey", name, "--out", "page.html"],
        "check": ["check", "m.covey", name, "--report", "page.html"],
        "refit": ["refit", "m.covey", name, "--out", "n.covey"],
        "export": ["export", "m.covey", "--onnx", "m.onnx"],
        "edit": [
            *("edit", "m.covey", "--out", one_of(rng, ["e.covey", "e.covey", "m.covey"])),
            *one_of(rng, [("--drop", "a"), ("--effect", "a=0:0.1,1:-0.1"), ("--merge", "b=x,y")]),
            *(("--table", name) if chance(rng, 0.7) else ()),
            *(("--refit",) if chance(rng, 0.2) else ()),
        ],
    }
    every = ["fit", "predict", "predict", "predict", "select", "fuse", "report", "edit"]
    chosen = one_of(rng, [*every, "check", "refit"])
    if chosen in ("predict", "report", "edit", "check", "refit") and chance(rng, 0.9):
        outcome = _invoke(commands["fit"] + ["--quiet"])
        if outcome == "refused":
            return "fit", outcome
    if chosen == "fuse":
        for number in (1, 2):
            shares = rng.random(len(frame)).round(3)
            if chance(rng, 0.2):
                shares = _column(rng, len(frame))
            made = pd.DataFrame({"probability_a": shares, "probability_b": 0.5})
            made.to_csv(f"o{number}.csv", index=False)
    extra = {
        "fit": [
            *(["--json"], ["--group", "b"], ["--time", "a"], ["--drop", "a"], ["--quiet"]),
            ["--by", "b"],
        ],
        "report": [["--by", "a"], ["--by", "b"]],
        "predict": [
            *(["--proba"], ["--explain"], ["--copy", "a"], ["--raw"], ["--json"]),
            *(["--level", "0.8"], ["--reject", "0.2"]),
        ],
    }
    options = extra.get(chosen, [])
    more = [part for option in options if chance(rng, 0.3) for part in option]
    if chosen in ("check", "refit") and chance(rng, 0.7):
        # Columns of the same names with other values, and perhaps others.
        commands[chosen][2] = written(
            rng, frame.assign(**dict(table(rng).iloc[: len(frame)])), folder
        )
    outcome = _invoke(commands[chosen] + more)
    if chosen == "predict" and outcome == "answer":
        _check_rows(frame, "o.csv")
    return chosen, outcome


def _invoke(arguments):
    result = CliRunner().invoke(app, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        error = result.exception
        raise OutcomeError(type(error).__name__, f"{arguments[0]}: {error!r}"[:300]) from error
    said = result.stderr
    if "Traceback" in said or "\x1b[2J" in result.output or "\x1b[31m" in result.output:
        raise OutcomeError("raw output", f"{arguments[0]}: {said[-200:]!r}")
    if result.exit_code == 3 and arguments[0] == "check":
        return "answer"  # something has changed
    if result.exit_code and ("covey: " not in said or "COVEY_DEBUG" in said):
        raise OutcomeError("no sentence", f"{arguments[0]}: {said[-200:]!r}")
    # Names of columns may be long, and are not ours.
    sentence = said.rpartition("covey: ")[2].replace("x" * 300, "x").strip()
    if result.exit_code and (wrong := wrong_words(sentence)) is not None:
        raise OutcomeError(wrong, f"{arguments[0]}: {sentence[:300]!r}")
    if result.exit_code not in (0, 1, 2):
        raise OutcomeError("exit", f"{arguments[0]} ended with {result.exit_code}")
    return "refused" if result.exit_code else "answer"


def _check_rows(frame, out):
    if Path(out).exists():
        found = pd.read_csv(out, keep_default_na=False)
        if len(found) != len(frame.dropna(how="all")) and len(found) != len(frame):
            raise OutcomeError("rows lost", f"{len(found)} predictions of {len(frame)} rows")
