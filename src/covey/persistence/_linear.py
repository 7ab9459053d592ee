"""scikit-learn's linear models and naive Bayes: a few numbers for each column and class."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeCV
from sklearn.naive_bayes import GaussianNB, MultinomialNB

from covey.persistence._errors import NotCoveredError
from covey.persistence._features import read_features, write_features
from covey.persistence._formats import estimator_format
from covey.persistence._reading import Node
from covey.persistence._writing import Writer

# Squared distances in units of the variance stay finite.
_FARTHEST = 1e90
_NARROWEST = 1e-90


def read_classes(model: Any, node: Node, fewest: int = 2) -> int:
    """Set ``classes_``; how many there are."""
    model.classes_ = node.labels("classes")
    node.check(len(model.classes_) >= fewest, "classes", "are too few.")
    return len(model.classes_)


def _write_logistic(model: LogisticRegression, out: Writer) -> dict[str, Any]:
    return {
        **write_features(model, out),
        "classes": out.labels(model.classes_),
        "coef": out.array(model.coef_),
        "intercept": out.array(model.intercept_),
        "n_iter": out.array(np.asarray(model.n_iter_, dtype=np.int64), "whole"),
    }


def _read_logistic(model: LogisticRegression, node: Node) -> None:
    n_features, n_classes = read_features(model, node), read_classes(model, node)
    n_rows = 1 if n_classes == 2 else n_classes
    model.coef_ = node.array("coef", (n_rows, n_features))
    model.intercept_ = node.array("intercept", (n_rows,))
    model.n_iter_ = node.array("n_iter", (None,), "whole", low=0).astype(np.int32)


def _write_line(model: Any, out: Writer) -> dict[str, Any]:
    if np.ndim(model.coef_) != 1 or np.size(model.intercept_) != 1:
        raise NotCoveredError(f"a {type(model).__name__} of several outputs")
    return {
        **write_features(model, out),
        "coef": out.array(model.coef_),
        "intercept": float(np.squeeze(model.intercept_)),
        # The penalty that cross-validation has chosen.
        "alpha": float(model.alpha_) if hasattr(model, "alpha_") else None,
        "score": float(model.best_score_) if hasattr(model, "best_score_") else None,
    }


def _read_line(model: Any, node: Node) -> None:
    n_features = read_features(model, node)
    model.coef_ = node.array("coef", (n_features,))
    model.intercept_ = node.number("intercept")
    for name, attribute in (("alpha", "alpha_"), ("score", "best_score_")):
        if not node.none(name):
            setattr(model, attribute, node.number(name))


def _write_gaussian(model: GaussianNB, out: Writer) -> dict[str, Any]:
    return {
        **write_features(model, out),
        "classes": out.labels(model.classes_),
        "mean": out.array(model.theta_),
        "variance": out.array(model.var_),
        "prior": out.array(model.class_prior_),
        "count": out.array(model.class_count_),
        "epsilon": float(model.epsilon_),
    }


def _read_gaussian(model: GaussianNB, node: Node) -> None:
    n_features, n_classes = read_features(model, node), read_classes(model, node, 1)
    shape = n_classes, n_features
    model.theta_ = node.array("mean", shape, low=-_FARTHEST, high=_FARTHEST)
    model.var_ = node.array("variance", shape, low=_NARROWEST, high=_FARTHEST)
    model.class_prior_ = node.shares("prior", n_classes)
    model.class_count_ = node.array("count", (n_classes,), low=0.0)
    model.epsilon_ = node.number("epsilon", 0.0)


def _write_multinomial(model: MultinomialNB, out: Writer) -> dict[str, Any]:
    return {
        **write_features(model, out),
        "classes": out.labels(model.classes_),
        "log_prior": out.array(model.class_log_prior_),
        "log_probability": out.array(model.feature_log_prob_),
        "class_count": out.array(model.class_count_),
        "feature_count": out.array(model.feature_count_),
    }


def _read_multinomial(model: MultinomialNB, node: Node) -> None:
    n_features, n_classes = read_features(model, node), read_classes(model, node, 1)
    shape = n_classes, n_features
    model.class_log_prior_ = node.array("log_prior", (n_classes,), high=1e-9)
    model.feature_log_prob_ = node.array("log_probability", shape, high=1e-9)
    model.class_count_ = node.array("class_count", (n_classes,), low=0.0)
    model.feature_count_ = node.array("feature_count", shape, low=0.0)


FORMATS = {
    cls.__name__: estimator_format(cls, fitted, write, read)
    for cls, fitted, write, read in (
        (LogisticRegression, "coef_", _write_logistic, _read_logistic),
        (LinearRegression, "coef_", _write_line, _read_line),
        (Ridge, "coef_", _write_line, _read_line),
        (RidgeCV, "coef_", _write_line, _read_line),
        (GaussianNB, "theta_", _write_gaussian, _read_gaussian),
        (MultinomialNB, "feature_log_prob_", _write_multinomial, _read_multinomial),
    )
}
