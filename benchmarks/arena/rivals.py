"""The rivals of the arena: defaults, and boosting tuned by twenty draws, the best five averaged.

A function of the kind of answer and of the seed gives a model.
"""

import time

import numpy as np
from scipy.stats import loguniform, randint
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.metrics import log_loss, root_mean_squared_error
from sklearn.model_selection import KFold, ParameterSampler, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from benchmarks.accuracy.rivals import BOOSTED, explainable
from benchmarks.arena.tables import NUMBERS
from covey import FlockClassifier, FlockRegressor

N_DRAWS, N_AVERAGED, SECONDS = 20, 5, 20
CATEGORIES = make_column_selector(dtype_include="category")
OTHERS = make_column_selector(dtype_exclude="category")
GAP = "(gap)"


def flock(**how):
    def make(kind, seed):
        return (FlockRegressor if kind == NUMBERS else FlockClassifier)(random_state=seed, **how)

    return make


def lightgbm(kind, seed, **how):
    from lightgbm import LGBMClassifier, LGBMRegressor

    of_kind = LGBMRegressor if kind == NUMBERS else LGBMClassifier
    return of_kind(random_state=seed, verbosity=-1, n_jobs=1, **how)


def xgboost(kind, seed):
    from xgboost import XGBClassifier, XGBRegressor

    of_kind = XGBRegressor if kind == NUMBERS else XGBClassifier
    return of_kind(random_state=seed, n_jobs=1, enable_categorical=True)


class CatBoost:
    """CatBoost's default, which is told its columns of categories, gaps written out."""

    def __init__(self, kind, seed, **how):
        self.kind, self.seed, self.how = kind, seed, how

    def fit(self, X, y):
        from catboost import CatBoostClassifier, CatBoostRegressor

        of_kind = CatBoostRegressor if self.kind == NUMBERS else CatBoostClassifier
        self.model = of_kind(
            random_seed=self.seed,
            verbose=False,
            allow_writing_files=False,
            thread_count=1,
            cat_features=CATEGORIES(X),
            **self.how,
        ).fit(_written(X), y)
        return self

    def predict(self, X):
        return np.ravel(self.model.predict(_written(X)))

    def predict_proba(self, X):
        return self.model.predict_proba(_written(X))


def _written(X):
    return X.assign(**{name: X[name].astype(object).fillna(GAP) for name in CATEGORIES(X)})


class Explainable:
    """Explainable boosting as in the benchmark of accuracy, which reads categories as text."""

    def __init__(self, kind, seed):
        self.kind, self.seed = kind, seed

    def fit(self, X, y):
        from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

        kinds = (ExplainableBoostingClassifier, ExplainableBoostingRegressor)
        kind = kinds[self.kind == NUMBERS]
        self.model = explainable(kind, X.shape[1], self.seed).fit(_written(X), y)
        return self

    def predict(self, X):
        return self.model.predict(_written(X))

    def predict_proba(self, X):
        return self.model.predict_proba(_written(X))


class Torch:
    """A network or feature machine of pytabkit, five folds averaged, on a GPU if there is one."""

    def __init__(self, name, kind, seed):
        self.name, self.kind, self.seed = name, kind, seed

    def fit(self, X, y):
        import torch
        from pytabkit.models.sklearn import sklearn_interfaces

        kind = "Regressor" if self.kind == NUMBERS else "Classifier"
        self.columns = make_column_transformer(
            (SimpleImputer(strategy="median", add_indicator=True), OTHERS),
            (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), CATEGORIES),
            verbose_feature_names_out=False,
        ).set_output(transform="pandas")
        self.columns.fit(X)
        device = "cuda" if torch.cuda.is_available() else "cpu"
        make = getattr(sklearn_interfaces, f"{self.name}_{kind}")
        self.model = make(device=device, random_state=self.seed, n_cv=5)
        self.model.fit(self._made(X), y, cat_col_names=CATEGORIES(X))
        return self

    def _made(self, X):
        made = self.columns.transform(X)
        words = CATEGORIES(X)
        # Gaps are a value of their own.
        return made.assign(
            **{name: made[name].fillna(-2).astype(int).astype(str) for name in words}
        )

    def predict(self, X):
        return np.ravel(self.model.predict(self._made(X)))

    def predict_proba(self, X):
        return self.model.predict_proba(self._made(X))


def forest(of_classes, of_numbers):
    def make(kind, seed):
        codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
        columns = make_column_transformer((codes, CATEGORIES), remainder="passthrough")
        trees = (of_numbers if kind == NUMBERS else of_classes)(300, random_state=seed)
        return make_pipeline(columns, SimpleImputer(strategy="median"), trees)

    return make


def linear(kind, seed):
    words = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=10)
    numbers = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    columns = make_column_transformer((words, CATEGORIES), (numbers, OTHERS))
    if kind == NUMBERS:
        return make_pipeline(columns, RidgeCV(np.logspace(-3, 4, 15)))
    scoring = "neg_log_loss"
    return make_pipeline(columns, LogisticRegressionCV(Cs=10, cv=5, max_iter=500, scoring=scoring))


class Tuned:
    """Twenty draws by three folds, of which the five best are fitted again and averaged.

    The defaults are the first draw. No other is begun after some seconds of the processor.
    """

    def __init__(self, make, space, kind, seed):
        self.make, self.space, self.kind, self.seed = make, space, kind, seed

    def fit(self, X, y):
        started = time.process_time()
        tried = []
        for how in [{}, *ParameterSampler(self.space, N_DRAWS - 1, random_state=self.seed)]:
            if tried and time.process_time() - started > SECONDS:
                break
            tried.append((self._loss(how, X, y), len(tried), how))
        best = sorted(tried)[:N_AVERAGED]
        self.models = [self.make(self.kind, self.seed, **how).fit(X, y) for _, _, how in best]
        return self

    def _loss(self, how, X, y):
        if self.kind == NUMBERS:
            folds = KFold(3, shuffle=True, random_state=self.seed).split(X)
        else:
            folds = StratifiedKFold(3, shuffle=True, random_state=self.seed).split(X, y)
        losses = []
        for train, test in folds:
            model = self.make(self.kind, self.seed, **how).fit(X.iloc[train], y[train])
            if self.kind == NUMBERS:
                losses.append(root_mean_squared_error(y[test], model.predict(X.iloc[test])))
            else:
                known = model.predict_proba(X.iloc[test])
                losses.append(log_loss(y[test], known, labels=np.unique(y[train])))
        return np.mean(losses)

    def predict(self, X):
        return np.mean([model.predict(X) for model in self.models], axis=0)

    def predict_proba(self, X):
        return np.mean([model.predict_proba(X) for model in self.models], axis=0)


GROWN = {"learning_rate": loguniform(0.02, 0.3), "iterations": randint(100, 600),
         "depth": randint(3, 8), "l2_leaf_reg": loguniform(1, 30)}  # fmt: skip

RIVALS = {
    "covey": flock(),
    "covey, fast": flock(effort="fast"),
    "covey, mixed": flock(members="mixed"),
    "CatBoost": CatBoost,
    "CatBoost, tuned": lambda kind, seed: Tuned(CatBoost, GROWN, kind, seed),
    "LightGBM": lightgbm,
    "LightGBM, tuned": lambda kind, seed: Tuned(lightgbm, BOOSTED, kind, seed),
    "XGBoost": xgboost,
    "explainable boosting": Explainable,
    "random forest": forest(RandomForestClassifier, RandomForestRegressor),
    "extra trees": forest(ExtraTreesClassifier, ExtraTreesRegressor),
    "linear": linear,
}
# They need the package pytabkit with its models, and are slow without a GPU.
TORCH = {
    "RealMLP": lambda kind, seed: Torch("RealMLP_TD", kind, seed),
    "TabM": lambda kind, seed: Torch("TabM_D", kind, seed),
    "xRFM": lambda kind, seed: Torch("XRFM_D", kind, seed),
}
