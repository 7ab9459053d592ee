"""What is raced: covey's flocks and their rivals, one small function each, as unfitted models."""

import numpy as np
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from covey import FlockClassifier, SubsetEnsembleClassifier

# Twenty members by a better ascent than the printed one.
BETTER_ASCENT = {
    "learning_rate": "newton",
    "flip_probability": 0.01,
    "init_scale": 0.1,
    "tol": -np.inf,
    "max_iter": 2,
}

# 125 fits and the last one; and the grid of the accuracy benchmark, 36 and the last one.
WIDE_GRID = {"svc__C": [0.1, 1, 10, 100, 1000], "svc__gamma": ["scale", 0.001, 0.01, 0.1, 1]}
SMALL_GRID = {"svc__C": [0.1, 1, 10, 100], "svc__gamma": ["scale", 0.01, 0.1]}


def printed(n_estimators=20, max_iter=300):
    """Algorithm 1 as printed, but that every member takes all its steps and is kept."""
    return SubsetEnsembleClassifier.paper(
        n_estimators=n_estimators,
        max_iter=max_iter,
        tol=-np.inf,
        n_iter_no_change=None,
        select_size=None,
        random_state=0,
    )


def better_ascent(n_estimators=20):
    return SubsetEnsembleClassifier(
        n_estimators=n_estimators, fuser="product", random_state=0, **BETTER_ASCENT
    )


def default():
    return FlockClassifier(random_state=0)


def bagged_logistic(n_estimators=20, n_jobs=1):
    return BaggingClassifier(
        LogisticRegression(max_iter=1000),
        n_estimators,
        max_features=0.5,
        n_jobs=n_jobs,
        random_state=0,
    )


def svc(grid, folds, n_jobs):
    return GridSearchCV(make_pipeline(StandardScaler(), SVC()), grid, cv=folds, n_jobs=n_jobs)


def logistic_cv(n_jobs):
    model = LogisticRegressionCV(Cs=10, cv=5, max_iter=2000, scoring="neg_log_loss", n_jobs=n_jobs)
    return make_pipeline(StandardScaler(), model)


def forest(n_jobs):
    return RandomForestClassifier(500, n_jobs=n_jobs, random_state=0)


def boosting(n_jobs):
    from lightgbm import LGBMClassifier

    return LGBMClassifier(random_state=0, verbosity=-1, n_jobs=n_jobs)
