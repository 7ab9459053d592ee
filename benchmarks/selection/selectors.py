"""Selectors in one form: functions of X, y and a seed that give rankings and choices.

An answer is a dict: ``ranking`` (columns, best first) and, of selectors that choose a number
themselves, ``chosen``. covey has these for both questions, "all" and "smallest"; what has one
answer gives it to both.
"""

import numpy as np
from scipy import linalg
from sklearn.covariance import LedoitWolf
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.feature_selection import RFE, f_classif, f_regression
from sklearn.feature_selection import mutual_info_classif as information_of_classes
from sklearn.feature_selection import mutual_info_regression as information_of_numbers
from sklearn.linear_model import (
    Lasso,
    LassoCV,
    LinearRegression,
    LogisticRegression,
)
from sklearn.preprocessing import StandardScaler

from covey import SubsetSelector

LEVEL = 0.05
# Seeds whose times are told.
TIMED = 3


def _is_number(y):
    return np.issubdtype(y.dtype, np.floating)


def _targets(y):
    """One column for numbers and for two classes, else one for each class."""
    if _is_number(y):
        return ((y - y.mean()) / y.std())[:, None]
    indicators = (y[:, None] == np.unique(y)).astype(float)
    indicators = indicators[:, 1:] if indicators.shape[1] == 2 else indicators
    return (indicators - indicators.mean(axis=0)) / indicators.std(axis=0)


def _first(values, seed):
    """The columns by falling values; which of equal ones comes first is drawn."""
    return np.lexsort((np.random.default_rng([seed, 2]).random(len(values)), -values))


def _standardized(X):
    return StandardScaler().fit_transform(X)


def covey(X, y, seed):
    # Resamples grow members; they change no test and no choice, but take most of the time.
    model = SubsetSelector(
        select="smallest", level=LEVEL, n_resamples=30 if seed < TIMED else 2, random_state=seed
    ).fit(X, y)
    return {
        "all": {
            "ranking": np.lexsort((model.pvalues_, -model.scores_)),
            "chosen": np.flatnonzero(model.support_all_),
        },
        "smallest": {
            "ranking": np.argsort(model.ranking_),
            "chosen": np.flatnonzero(model.support_smallest_),
        },
    }


def rfe(X, y, seed):
    """Recursive elimination with a linear model."""
    model = LinearRegression() if _is_number(y) else LogisticRegression()
    found = RFE(model, n_features_to_select=1).fit(_standardized(X), y)
    return {"ranking": np.argsort(found.ranking_)}


def f_test(X, y, seed):
    """Analysis of variance, or correlation, with Benjamini and Hochberg's procedure."""
    scores, p = (f_regression if _is_number(y) else f_classif)(X, y)
    order = np.argsort(-scores)
    below = np.flatnonzero(np.sort(p) <= LEVEL * np.arange(1, len(p) + 1) / len(p))
    return {"ranking": order, "chosen": order[: below[-1] + 1 if len(below) else 0]}


def mutual_information(X, y, seed):
    information = information_of_numbers if _is_number(y) else information_of_classes
    return {"ranking": np.argsort(-information(X, y, random_state=seed))}


def forest(X, y, seed):
    """Impurity importances."""
    model = RandomForestRegressor if _is_number(y) else RandomForestClassifier
    importance = model(200, random_state=seed).fit(X, y).feature_importances_
    return {"ranking": np.argsort(-importance)}


def lasso(X, y, seed):
    """Lasso of a number, or of the indicators of classes, by cross-validation."""
    X = _standardized(X)
    coef = sum(
        np.abs(LassoCV(cv=3, random_state=seed).fit(X, target).coef_) for target in _targets(y).T
    )
    return {"ranking": _first(coef, seed), "chosen": np.flatnonzero(coef)}


def stability(X, y, seed):
    """Stability selection: lasso on 50 halves; chosen is what 60 % of them keep.

    Meinshausen and Buehlmann (2010), with the penalty that cross-validation chooses.
    """
    X, targets = _standardized(X), _targets(y)
    rng = np.random.default_rng(seed)
    kept = np.zeros(X.shape[1])
    alphas = [LassoCV(cv=3, random_state=seed).fit(X, target).alpha_ for target in targets.T]
    for _ in range(50):
        rows = rng.permutation(len(X))[: len(X) // 2]
        coefs = [
            Lasso(alpha).fit(X[rows], target[rows]).coef_
            for alpha, target in zip(alphas, targets.T, strict=True)
        ]
        kept += np.any(coefs, axis=0)
    return {"ranking": _first(kept, seed), "chosen": np.flatnonzero(kept >= 30)}


def gaussian_knockoffs(X, seed):
    """Second-order model-X knockoffs, equally correlated (Candes and others 2018)."""
    X = _standardized(X)
    covariance = LedoitWolf().fit(X).covariance_
    spread = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(spread, spread)
    distance = min(1.0, 1.9 * linalg.eigvalsh(correlation)[0])
    apart = np.diag(distance * spread**2)
    shrunk = np.linalg.solve(covariance, apart)
    rest = 2 * apart - apart @ shrunk
    values, axes = linalg.eigh(rest)
    root = axes * np.sqrt(np.clip(values, 0, None))
    draws = np.random.default_rng([seed, 1]).normal(size=X.shape)
    return X, X - X @ shrunk + draws @ root.T


def knockoffs(X, y, seed, level=0.2):
    """Knockoff+ by differences of lasso coefficients.

    At a level of 0.05 it selects nothing or at least 20 columns, so that 0.2 is used.
    """
    X, copies = gaussian_knockoffs(X, seed)
    both = np.hstack([X, copies])
    size = sum(
        np.abs(LassoCV(cv=3, random_state=seed).fit(both, target).coef_)
        for target in _targets(y).T
    )
    differences = size[: X.shape[1]] - size[X.shape[1] :]
    chosen = np.array([], dtype=int)
    for limit in np.sort(np.abs(differences[differences != 0])):
        if (1 + (differences <= -limit).sum()) <= level * (differences >= limit).sum():
            chosen = np.flatnonzero(differences >= limit)
            break
    return {"ranking": _first(differences, seed), "chosen": chosen}


def boruta(X, y, seed):
    """Boruta: forests beside shuffled copies; its own choice, by p < 0.05."""
    from boruta import BorutaPy

    model = RandomForestRegressor if _is_number(y) else RandomForestClassifier
    found = BorutaPy(
        model(max_depth=5, n_jobs=1), n_estimators=50, max_iter=20, random_state=seed
    ).fit(X, y)
    return {
        "ranking": _first(-found.ranking_, seed),
        "chosen": np.flatnonzero(found.support_),
    }


# Each with the number of its seeds.
SELECTORS = {
    "covey": (covey, 100),
    "recursive elimination": (rfe, 10),
    "F-test, BH": (f_test, 100),
    "mutual information": (mutual_information, 3),
    "random forest": (forest, 2),
    "lasso, cross-validated": (lasso, 5),
    "stability selection": (stability, 5),
    "knockoffs, level 0.2": (knockoffs, 10),
    "Boruta": (boruta, 1),
}
