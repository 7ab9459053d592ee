"""Selectors on data with known answers: ``make bench-selection``.

For each set and selector: how many of the true features are among as many as there are (recall
at that number, which is also the precision), what the selectors that choose a number themselves
find, and the time as a multiple of `SubsetSelector`'s. Prints a table in Markdown.
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import (
    RFE,
    SelectKBest,
    SequentialFeatureSelector,
    mutual_info_classif,
)
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from covey import SubsetEnsembleClassifier, SubsetSelector, make_quarter_circle

warnings.simplefilter("ignore")


# -- sets: X, y and the true features ----------------------------------------------------------


def quarter_circle(seed):
    X, y = make_quarter_circle(250, n_dummy_features=6, random_state=seed)
    return X, y, [0, 1]


def linear_effects(seed):
    """200 normal columns, 10 of them in a logistic model with |beta| = 0.7."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1000, 200))
    true = rng.choice(200, 10, replace=False)
    odds = X[:, true] @ (0.7 * rng.choice([-1, 1], 10))
    return X, (rng.random(1000) < 1 / (1 + np.exp(-odds))).astype(int), true


def informative(seed):
    """scikit-learn's generator; only what a linear model of the true columns uses is visible."""
    X, y = make_classification(
        1000, 200, n_informative=10, n_redundant=0, shuffle=False, random_state=seed
    )
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[:, :10], y)
    rng = np.random.default_rng(seed)
    coefs = []
    for _ in range(50):
        rows = rng.integers(0, 1000, 1000)
        coefs.append(model.fit(X[rows, :10], y[rows])[-1].coef_[0])
    coefs = np.array(coefs)
    visible = np.abs(coefs.mean(axis=0)) > 1.96 * coefs.std(axis=0)
    return X, y, np.flatnonzero(visible)


def copies(seed):
    """Five true columns, a noisy copy of each (r = 0.8), and 90 irrelevant ones."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(800, 100))
    X[:, 5:10] = 0.8 * X[:, :5] + 0.6 * X[:, 5:10]
    odds = X[:, :5] @ np.array([1.0, -1, 1, -1, 1])
    return X, (rng.random(800) < 1 / (1 + np.exp(-odds))).astype(int), np.arange(5)


def parity(seed):
    """Like Madelon: clusters on the corners of a cube of 5, labelled by chance, among 100."""
    rng = np.random.default_rng(seed)
    corners = rng.integers(0, 2, (1000, 5))
    labels = rng.permutation(np.arange(32) % 2)
    X = rng.normal(size=(1000, 100))
    X[:, :5] = 0.4 * X[:, :5] + 2 * corners - 1
    return X, labels[corners @ 2 ** np.arange(5)], np.arange(5)


SETS = {
    "quarter circle, 2 of 8": quarter_circle,
    "linear effects, 10 of 200": linear_effects,
    "make_classification, visible of 200": informative,
    "correlated copies, 5 of 100": copies,
    "parity, 5 of 100": parity,
}


# -- selectors: a ranking, best first, and the features of their own choice or None ------------


def ours(seed, **parameters):
    settings = {"flip_probability": 0.05, "tol": -np.inf, "max_iter": 150, **parameters}
    recipe = SubsetEnsembleClassifier(settings.pop("n_estimators", 1), **settings)

    def select(X, y, n_true):
        model = SubsetSelector(recipe, random_state=seed).fit(X, y)
        return np.argsort(model.ranking_), np.flatnonzero(model.support_)

    return select


def mutual_information(seed):
    def select(X, y, n_true):
        filter_ = SelectKBest(lambda X, y: mutual_info_classif(X, y, random_state=seed), k=n_true)
        return np.argsort(-filter_.fit(X, y).scores_), None

    return select


def l1_logistic(seed):
    def select(X, y, n_true):
        model = LogisticRegressionCV(
            Cs=10, cv=3, l1_ratios=(1.0,), solver="liblinear", scoring="neg_log_loss"
        )
        coef = np.abs(model.fit(StandardScaler().fit_transform(X), y).coef_[0])
        return np.argsort(-coef, kind="stable"), np.flatnonzero(coef)

    return select


def rfe(seed):
    def select(X, y, n_true):
        model = RFE(LogisticRegression(), n_features_to_select=1)
        return np.argsort(model.fit(StandardScaler().fit_transform(X), y).ranking_), None

    return select


def sequential(seed):
    def select(X, y, n_true):
        model = SequentialFeatureSelector(LogisticRegression(), n_features_to_select=n_true)
        chosen = model.fit(StandardScaler().fit_transform(X), y).get_support(indices=True)
        return chosen, None

    return select


def forest_permutation(seed):
    def select(X, y, n_true):
        X, X_test, y, y_test = train_test_split(X, y, random_state=seed, stratify=y)
        forest = RandomForestClassifier(200, random_state=seed).fit(X, y)
        drop = permutation_importance(forest, X_test, y_test, n_repeats=5, random_state=seed)
        return np.argsort(-drop.importances_mean), None

    return select


SELECTORS = {
    "SubsetSelector": lambda seed: ours(seed, subset_penalty=0.003),
    "- without penalty (as printed)": ours,
    "- 5 members a half": lambda seed: ours(seed, subset_penalty=0.003, n_estimators=5),
    "- Metropolis acceptance": lambda seed: ours(
        seed, subset_penalty=0.003, acceptance="metropolis"
    ),
    "mutual information": mutual_information,
    "L1 logistic regression, CV": l1_logistic,
    "recursive elimination": rfe,
    "sequential selection": sequential,
    "forest, permutation importance": forest_permutation,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    seeds = range(parser.parse_args().seeds)
    print("| selector | " + " | ".join(SETS) + " | time |")
    print("|" + " --- |" * (len(SETS) + 2))
    reference = None
    for name, make in SELECTORS.items():
        cells, seconds = [], []
        for draw in SETS.values():
            recall, own = [], []
            for seed in seeds:
                X, y, true = draw(seed)
                started = time.perf_counter()
                ranking, chosen = make(seed)(X, y, len(true))
                seconds.append(time.perf_counter() - started)
                recall.append(np.isin(ranking[: len(true)], true).mean())
                if chosen is not None:
                    hits = np.isin(chosen, true).sum()
                    own.append((hits / len(true), len(chosen) - hits))
            cell = f"{np.mean(recall):.2f}"
            if own:
                found, false = np.mean(own, axis=0)
                cell += f" ({found:.2f}, {false:.1f})"
            cells.append(cell)
        total = np.sum(seconds)
        reference = total if reference is None else reference
        print(f"| {name} | " + " | ".join(cells) + f" | {total / reference:.1f} |", flush=True)


if __name__ == "__main__":
    main()
