"""One fit as a line of a table, and a table that goes on where it was interrupted."""

import csv
import time
import warnings

import numpy as np
from joblib import Parallel, delayed
from sklearn.metrics import log_loss

MEASURES = ("accuracy", "log_loss", "brier", "fit_seconds", "predict_seconds", "error")


def scores(probabilities, decisions, y, y_test):
    """Accuracy, log-loss and Brier score; one certain error must not decide a mean."""
    probabilities = probabilities / probabilities.sum(axis=1, keepdims=True)
    cautious = np.clip(probabilities, 1e-6, 1)
    cautious /= cautious.sum(axis=1, keepdims=True)
    truth = np.eye(probabilities.shape[1])[y_test]
    return {
        "accuracy": (decisions == y_test).mean(),
        "log_loss": log_loss(y_test, cautious, labels=np.unique(y)),
        "brier": ((probabilities - truth) ** 2).sum(axis=1).mean(),
    }


def measured(model, X, X_test, y, y_test):
    """Scores and times of one fit; a rival that fails is a line that says so."""
    line = {"error": ""}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            started = time.perf_counter()
            model.fit(X, y)
            line["fit_seconds"] = time.perf_counter() - started
            started = time.perf_counter()
            probabilities = np.asarray(model.predict_proba(X_test), dtype=float)
            line["predict_seconds"] = time.perf_counter() - started
            decisions = np.asarray(model.predict(X_test)).ravel()
        except Exception as error:
            line["error"] = failure(error)
            return line
    return line | scores(probabilities, decisions, y, y_test)


def failure(error):
    return f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"


def fill(path, keys, measures, function, wanted, jobs=1):
    """Calls ``function`` on each wanted key and appends its lines to a table.

    ``function`` takes the values of ``keys`` and gives a line (a dict), or a list of them. Keys
    that have a line are not called again, so that a run goes on after an interruption.
    """
    fields = [*keys, *measures]
    done = set()
    if path.exists():
        with path.open() as file:
            done = {tuple(line[key] for key in keys) for line in csv.DictReader(file)}
    else:
        with path.open("w", newline="") as file:
            csv.DictWriter(file, fields, lineterminator="\n").writeheader()
    left = [key for key in wanted if tuple(map(str, key)) not in done]
    print(f"{len(left)} fits to make, {len(wanted) - len(left)} at hand", flush=True)
    started = time.perf_counter()
    results = Parallel(n_jobs=jobs, return_as="generator_unordered")(
        delayed(_lines)(function, keys, key) for key in left
    )
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, fields, lineterminator="\n")
        for number, lines in enumerate(results, start=1):
            for line in lines:
                writer.writerow({name: _short(line.get(name, "")) for name in fields})
            file.flush()
            if number % 25 == 0 or number == len(left):
                minutes = (time.perf_counter() - started) / 60
                rest = minutes / number * (len(left) - number)
                print(f"{number} of {len(left)}, {minutes:.1f} min, {rest:.1f} left", flush=True)


def _lines(function, keys, key):
    lines = function(*key)
    lines = lines if isinstance(lines, list) else [lines]
    return [dict(zip(keys, key, strict=True)) | line for line in lines]


def _short(value):
    return f"{value:.6g}" if isinstance(value, float) else value
