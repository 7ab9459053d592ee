"""The rivals, each as a careful user would run it: scaled, and tuned where that is normal.

A function of the seed gives an unfitted regressor. Two rivals are limited so that they end on
every table, as for classes: tuned LightGBM by seconds, explainable boosting by its settings.
"""

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPRegressor
from sklearn.svm import SVR

from benchmarks.accuracy.rivals import BOOSTED, TimedSearch, explainable, scaled
from covey import FlockRegressor

ERROR = "neg_mean_squared_error"


class OfScaledTarget:
    """A regressor of y in standard deviations from its mean."""

    def __init__(self, estimator):
        self.estimator = estimator

    def fit(self, X, y):
        self.mean, self.scale = y.mean(), y.std()
        self.estimator.fit(X, (y - self.mean) / self.scale)
        return self

    def predict(self, X):
        return self.estimator.predict(X) * self.scale + self.mean


def svr(seed):
    grid = {"svr__C": [0.1, 1, 10, 100], "svr__gamma": ["scale", 0.01, 0.1]}
    return OfScaledTarget(GridSearchCV(scaled(SVR()), grid, cv=3, scoring=ERROR))


def mlp(seed):
    grid = {"mlpregressor__alpha": [1e-4, 1e-2, 1]}
    model = MLPRegressor(hidden_layer_sizes=(100,), max_iter=500, random_state=seed)
    return OfScaledTarget(GridSearchCV(scaled(model), grid, cv=3, scoring=ERROR))


def lightgbm(seed):
    from lightgbm import LGBMRegressor

    return LGBMRegressor(random_state=seed, verbosity=-1, n_jobs=1)


def catboost(seed):
    from catboost import CatBoostRegressor

    return CatBoostRegressor(
        random_seed=seed, verbose=False, allow_writing_files=False, thread_count=1
    )


class ExplainableBoosting:
    """Explainable boosting; see `explainable`."""

    def __init__(self, seed):
        self.seed = seed

    def fit(self, X, y):
        from interpret.glassbox import ExplainableBoostingRegressor

        return explainable(ExplainableBoostingRegressor, X.shape[1], self.seed).fit(X, y)


RIVALS = {
    "covey": lambda seed: FlockRegressor(random_state=seed),
    "covey, fast": lambda seed: FlockRegressor(effort="fast", random_state=seed),
    "covey, mixed": lambda seed: FlockRegressor(members="mixed", random_state=seed),
    "ridge": lambda seed: scaled(RidgeCV(np.logspace(-3, 3, 13))),
    "SVR, tuned": svr,
    "MLP, tuned": mlp,
    "random forest": lambda seed: RandomForestRegressor(300, random_state=seed),
    "extra trees": lambda seed: ExtraTreesRegressor(300, random_state=seed),
    "LightGBM": lightgbm,
    "LightGBM, tuned": lambda seed: TimedSearch(
        lightgbm(seed), BOOSTED, scoring=ERROR, random_state=seed
    ),
    "CatBoost": catboost,
    "explainable boosting": ExplainableBoosting,
}
