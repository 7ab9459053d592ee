"""Fusers by name, and one function over saved predictions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from covey.fusers._base import FUSERS, Fuser
from covey.fusers._fixed import FunctionRule
from covey.fusers._predictions import as_predictions

Rule = str | Fuser | Callable[[np.ndarray], np.ndarray]


def make_fuser(rule: Rule, parameter: str = "fuser", **parameters: Any) -> Fuser:
    """An unfitted fuser from its name and its own parameters, or a copy of the one given.

    A function becomes a `FunctionRule`. The message of an error names the user's ``parameter``.

    Examples
    --------
    >>> from covey.fusers import make_fuser
    >>> make_fuser("knora_e", n_neighbors=5)
    DynamicSelection(method='knora_e', n_neighbors=5)
    """
    if isinstance(rule, Fuser):
        if parameters:
            raise ValueError(
                f"{', '.join(parameters)} cannot be set on the {type(rule).__name__} given; "
                "give the rule by name, or set it there."
            )
        return clone(rule)
    if isinstance(rule, type):
        raise ValueError(
            f"{parameter} must be an object and not a class; write {rule.__name__}(...)."
        )
    if callable(rule) and not hasattr(rule, "predict"):  # a model is no rule
        if parameters:
            raise ValueError(
                f"{', '.join(parameters)} cannot be set on a function; give one that has them, "
                "such as functools.partial(function, ...)."
            )
        return FunctionRule(rule)
    if not (isinstance(rule, str) and rule in FUSERS):
        listed = ", ".join(repr(name) for name in sorted(FUSERS))
        raise ValueError(
            f"{parameter} must be one of {listed}, a Fuser or a function, got {rule!r}."
        )
    fuser = FUSERS[rule]()
    known = fuser.get_params()
    for name in parameters:
        if name not in known:
            listed = ", ".join(known) or "none"
            raise ValueError(f"The rule {rule!r} has no parameter {name!r}; it has {listed}.")
    return fuser.set_params(**parameters)


def make_value_fuser(rule: Rule, parameter: str = "fuser") -> Fuser:
    """An unfitted fuser of numbers; refused if it fuses classes only.

    Examples
    --------
    >>> from covey.fusers import make_value_fuser
    >>> make_value_fuser("median")
    Median()
    """
    fuser = make_fuser(rule, parameter)
    if "value" not in fuser.kinds:
        known = [name for name in sorted(FUSERS) if "value" in FUSERS[name]().kinds]
        raise ValueError(
            f"{parameter}={rule!r} fuses what classifiers predict; regressors are fused by "
            f"{', '.join(map(repr, known))} or another Fuser of kind 'value'."
        )
    return fuser


def fuse(
    P: Any,
    rule: Rule = "mean",
    weights: ArrayLike | None = None,
    *,
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    kind: str | None = None,
    **parameters: Any,
) -> np.ndarray:
    """Fuse saved predictions into one probability a class, or one number; no model is needed.

    Parameters
    ----------
    P : Predictions, array, data frame, mapping or list
        An array of shape (n_samples, n_members, n_classes) holds probabilities, one of shape
        (n_samples, n_members) labels. A list, or a mapping from names, holds one array a
        member: (n_samples, n_classes), or (n_samples,) of labels. A data frame holds labels,
        one column a member. NaN throughout means that a member is not available.
    rule : str, Fuser or callable, default="mean"
        A fixed rule: "mean", "product", "median", "trimmed_mean", "max", "min", "majority",
        "k_of_n", "and", "or", "borda" or "oracle"; a fuser of any kind, fitted if it
        learns; or a function, see `covey.fusers.FunctionRule`.
    weights : array of shape (n_members,) or (n_samples, n_members), optional
        How much each member counts, for the rules that weigh: "mean", "product", "majority",
        "borda" and "k_of_n". Weights of each sample are importances ``i_k(x)`` of your own.
    X : array of shape (n_samples, n_features), optional
        Features, for dynamic selection.
    y : array of shape (n_samples,), optional
        True labels, for the oracle.
    classes : array of shape (n_classes,), optional
        The labels.
    kind : {"probability", "score", "label", "value"}, optional
        What the predictions are, where it is not as above. "value" are the numbers of
        regressors, one for each sample and member; "mean", "median", "trimmed_mean" and a
        fitted fuser of `covey.FusionRegressor` fuse them.
    **parameters
        The rule's own, such as ``k`` and ``positive_class`` of "k_of_n".

    Returns
    -------
    fused : ndarray of shape (n_samples, n_classes)
        Rows sum to one; the decision is their argmax. With ``kind="value"`` an array of shape
        (n_samples,).

    Examples
    --------
    >>> import covey
    >>> forest = [[0.8, 0.2], [0.4, 0.6]]
    >>> boosting = [[0.6, 0.4], [0.1, 0.9]]
    >>> covey.fuse([forest, boosting])
    array([[0.7 , 0.3 ],
           [0.25, 0.75]])
    >>> covey.fuse([["cat", "dog"], ["dog", "dog"], ["dog", "cat"]], "majority").round(2)
    array([[0.33, 0.67],
           [0.33, 0.67]])
    >>> covey.fuse([[1.0, 7.0], [2.0, 8.0], [9.0, 0.0]], "median", kind="value")
    array([2., 7.])
    """
    P = as_predictions(P, classes=classes, kind=kind)
    if weights is not None:
        parameters["weights"] = weights
    fitted = isinstance(rule, Fuser) and hasattr(rule, "n_members_")
    fuser = rule if fitted and not parameters else make_fuser(rule, "rule", **parameters)
    if fuser.learns and not fitted:
        raise ValueError(
            f"{fuser.title} learns how to fuse: fit it on held-out predictions first, "
            "fuser.fit(P, y, X), and give the fitted fuser as rule."
        )
    return fuser.fuse(P, X, y)
