"""Stacking by any model, in one layer or several, learnt out of fold under any splitter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax
from sklearn.utils.metaestimators import available_if

from covey.fusers import Predictions, member_output, member_values
from covey.fusers.encoding import CLASS_OUTPUTS, VALUE_OUTPUTS, ranks_of_classes
from covey.members import Classifiers, FusedClassifier, FusedRegressor, Regressors
from covey.stacking._layers import Layered


def _final_has(*methods: str) -> Callable[[Any], bool]:
    """Whether the model on top, fitted or to be, has one of some methods."""

    def check(self: Any) -> bool:
        final = self.final_estimator_ if hasattr(self, "fuser_") else self._final()
        return any(hasattr(final, method) for method in methods)

    return check


class GeneralStackingClassifier(Layered, FusedClassifier):
    r"""Any classifier on top of any classifiers, learnt from out-of-fold outputs.

    .. math:: f(x) = A_\theta\big(z(f_1(x)), \ldots, z(f_K(x)), x_S, t(x)\big)

    z encodes what a member predicts (``outputs``), :math:`x_S` are chosen columns
    (``passthrough``) and t generated ones (``features``). :math:`\theta` is learnt from what
    members, and t, fitted without a row give for it; they are then fitted again on all rows.
    Stacked generalisation of Wolpert (1992).

    With probabilities (or scores of two classes), one layer and folds that are a partition, this
    is scikit-learn's `StackingClassifier` to rounding, which also drops the first of two classes;
    layers are then
    what nesting it as ``final_estimator`` gives, and logits of all members what a transformer
    before the final model gives. Different are: any splitter (`TimeSeriesSplit`, repeated or
    overlapping folds), outputs for each member, chosen and generated columns, members that lack
    a class in a fold, names across layers in ``set_params``, and who decided.

    *Layers.* The members of a layer see the outputs of the layer before and the columns
    beside, not X. All layers use the same folds: a member of layer 2 that predicts a fold is
    fitted on the out-of-fold predictions of layer 1 for the other folds' rows. Layer 1 was then
    fitted with the held-out fold among its rows, so a trace of its labels remains, as in
    every scheme that does not nest folds in folds; no model ever predicts a row that it was
    itself fitted on.

    *Rows.* Those without an out-of-fold output are left out, with a warning, and under a
    time-ordered splitter each layer loses a block more. The mean is taken of several outputs
    for a row.

    Take it where members are strong and many rows are there to learn from. With few rows, or to
    know who decided, weights are safer: `FusionClassifier` with ``fuser="linear_stacking"``.

    Parameters
    ----------
    estimators : list of (str, estimator) tuples, of estimators, or of lists of those
        The members, or layers of members, the first one on X. Names differ across layers. They,
        and "drop", are as for `FusionClassifier`.
    final_estimator : classifier, optional
        A; by default a `LogisticRegression`. Only with one that has ``predict_proba`` there
        are probabilities.
    outputs : str, list of str or dict from members' names, default="auto"
        How each member's output is encoded: "probabilities", "scores" (its
        ``decision_function``, less its mean over the classes), "one_hot" (needs ``predict``
        only), "logits" or "ranks" (average ranks of the classes; needs ``predict_proba`` or
        ``decision_function``). "auto": the first of these that it can give. A list has one entry
        a member, over all layers, those that are dropped included; for members that a dict does
        not name it is "auto".
    passthrough : bool, column, list of columns, mask, slice or callable, default=False
        The columns of X that later layers and A see too: True is all of them, others by name
        or position, or by a selector such as scikit-learn's `make_column_selector`. They must
        be numbers.
    features : transformer, optional
        Makes further columns of X for later layers and A. It is fitted without the rows that
        it makes them for, so it may look at y; it gets sample weights if its ``fit`` takes
        them. Its columns must mean the same in each fold, which principal components, whose
        signs are arbitrary, do not.
    clip : float, default=1e-6
        Probabilities are kept this far from 0 and 1 before logits are taken.
    cv : int, splitter, iterable or "prefit", default=5
        How out-of-fold outputs are made. "prefit": all members, and ``features``, are fitted
        already and used as they are, and the rows given to ``fit``, from which A learns, are
        **taken as held out** from them.
    n_jobs : int or None, default=None
        Processes that fit the members.
    verbose : int, default=0
        As for `FusionClassifier`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    layers_ : list of lists of estimators
        All members, fitted: the first layer on all rows, others on the outputs that are out of
        fold.
    estimators_ : list of estimators
        The last layer, whose outputs A reads.
    named_estimators_ : Bunch
        The members of all layers by name; "drop" for those that are dropped.
    outputs_ : list of lists of str
        How each member's output is encoded, by layer.
    features_ : transformer or None
        Fitted on all rows.
    fuser_ : Stacking
        The fitted fuser.
    final_estimator_ : classifier
        A, fitted.
    out_of_fold_ : Bunch
        What A was fitted on: ``rows`` (their numbers), ``columns`` (n_rows, n_columns), named by
        ``get_feature_names_out``, and ``members`` (n_rows, n_members, n_classes), what the last
        layer predicts of these rows. Not in saved files.
    n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from covey.stacking import GeneralStackingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> stack = GeneralStackingClassifier(
    ...     [[GaussianNB(), DecisionTreeClassifier(random_state=0)], [LogisticRegression()]],
    ...     outputs={"gaussiannb": "ranks"},
    ...     passthrough=[2, 3],
    ... )
    >>> stack.fit(X, y).predict(X[::50])
    array([0, 1, 2])
    """

    kind_ = "probability"
    _models = Classifiers
    _choices = ("auto", *CLASS_OUTPUTS)

    def __init__(
        self,
        estimators: list,
        final_estimator: Any = None,
        *,
        outputs: str | list[str] | Mapping[str, str] = "auto",
        passthrough: Any = False,
        features: Any = None,
        clip: float = 1e-6,
        cv: Any = 5,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimators = estimators
        self.final_estimator = final_estimator
        self.outputs = outputs
        self.passthrough = passthrough
        self.features = features
        self.clip = clip
        self.cv = cv
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _output_of(self, name: str, member: Any, wanted: str) -> str:
        if wanted == "auto":
            return next(output for output in _METHODS_FOR if _can_give(member, output))
        if not _can_give(member, wanted):
            raise ValueError(
                f"outputs={wanted!r} needs the {' or '.join(_METHODS_FOR[wanted])} of each "
                f"member, which {name!r} does not have; calibrate it, or use outputs='auto' for "
                "it."
            )
        return wanted

    def _predict_layer(
        self, names: list[str], members: list, X: Any, outputs: list[str]
    ) -> np.ndarray:
        predicted = []
        for name, member, output in zip(names, members, outputs, strict=True):
            self._output_of(name, member, output)  # a fitted one may lack what it promised
            predicted.append(_probabilities(member, X, self.classes_, output, name))
        values = np.stack(predicted, axis=1)
        Predictions(values, self.classes_, names, "probability").check_probabilities()
        return values

    def _fused_log(self, X: Any) -> np.ndarray:
        return self.fuser_.fuse_log(*self._forward(X))

    predict_proba = available_if(_final_has("predict_proba"))(FusedClassifier.predict_proba)
    predict_log_proba = available_if(_final_has("predict_proba"))(
        FusedClassifier.predict_log_proba
    )

    @available_if(_final_has("predict_proba", "decision_function"))
    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Log-odds or logarithms of probabilities, or the scores of a model without these."""
        if hasattr(self, "predict_proba"):
            return super().decision_function(X)
        return self._by_blocks(self._scores, self._check_rows(X))

    def _scores(self, X: Any) -> np.ndarray:
        scores, _ = member_output(
            self.final_estimator_, self._as_columns(X), self.classes_, "score", "final_estimator"
        )
        if len(self.classes_) == 2:
            return (scores[:, 1] - scores[:, 0]) / 2
        # A class that the model on top never saw comes last.
        return np.maximum(scores, np.finfo(np.float64).min)


# The methods that can give what is encoded; "auto" is the first that a member has.
_METHODS_FOR = {
    "probabilities": ("predict_proba",),
    "scores": ("decision_function",),
    "one_hot": ("predict",),
    "logits": ("predict_proba",),
    "ranks": ("predict_proba", "decision_function"),
}


def _can_give(member: Any, output: str) -> bool:
    return any(hasattr(member, method) for method in _METHODS_FOR[output])


def _probabilities(member: Any, X: Any, classes: np.ndarray, output: str, name: str) -> np.ndarray:
    """What a member predicts, as numbers that sum to one over the classes.

    A member of which less than probabilities is encoded gives what is left of them: a one for
    the class that it decides for, or shares in the order of its scores. Scores are found again
    in the logarithms of shares that are proportional to their exponentials.
    """
    if output == "scores":
        scores, seen = member_output(member, X, classes, "decision", name)
        # A class that the member never saw is as unlikely as its last.
        last = scores[:, seen].min(axis=1, keepdims=True)
        return softmax(np.where(seen, scores, last).astype(np.float64), axis=1)
    if output == "one_hot":
        codes, _ = member_output(member, X, classes, "label", name)
        return np.eye(len(classes))[codes]
    if output == "ranks" and not hasattr(member, "predict_proba"):
        scores, _ = member_output(member, X, classes, "score", name)
        ranks = ranks_of_classes(scores)
        return ranks / ranks.sum(axis=1, keepdims=True)
    return member_output(member, X, classes, "probability", name)[0]


class GeneralStackingRegressor(Layered, FusedRegressor):
    r"""Any regressor on top of any regressors, learnt from out-of-fold predictions.

    .. math:: f(x) = A_\theta\big(z(f_1(x)), \ldots, z(f_K(x)), x_S, t(x)\big)

    The regressor's `GeneralStackingClassifier`, which explains how layers, folds, chosen and
    generated columns work. With one layer, values and folds that are a partition this is
    scikit-learn's `StackingRegressor` to rounding, within ``y_range_``.

    Take it where regressors are strong and rows are many; with few rows ``FusionRegressor(...,
    fuser="linear_stacking")`` is safer.

    Parameters
    ----------
    estimators
        As for `GeneralStackingClassifier`.
    final_estimator : regressor, optional
        A; by default a `RidgeCV`.
    outputs : str, list of str or dict from members' names, default="values"
        How each member's output is encoded. "values": as it is. "ranks": the (weighted)
        share of the member's own out-of-fold predictions that are lower, ties by half; a wild
        prediction is then no more than the highest one.
    passthrough, features, cv, n_jobs, verbose
        As for `GeneralStackingClassifier`.

    Attributes
    ----------
    layers_, estimators_, named_estimators_, outputs_, features_, out_of_fold_
        As of `GeneralStackingClassifier`.
    final_estimator_, n_features_in_, feature_names_in_
        As of `GeneralStackingClassifier`.
    y_range_ : ndarray of shape (2,)
        The least and the greatest number that is predicted, as of `FlockRegressor`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import LinearRegression
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from covey.stacking import GeneralStackingRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> stack = GeneralStackingRegressor(
    ...     [LinearRegression(), KNeighborsRegressor(20)], passthrough=["bmi"]
    ... )
    >>> stack.fit(X, y).explain_fusion(X[:1], as_frame=True).round(1)
       linearregression  kneighborsregressor
    0               0.6                  0.4
    """

    kind_ = "value"
    _models = Regressors
    _choices = VALUE_OUTPUTS
    clip = 1e-6  # numbers have no logits

    def __init__(
        self,
        estimators: list,
        final_estimator: Any = None,
        *,
        outputs: str | list[str] | Mapping[str, str] = "values",
        passthrough: Any = False,
        features: Any = None,
        cv: Any = 5,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimators = estimators
        self.final_estimator = final_estimator
        self.outputs = outputs
        self.passthrough = passthrough
        self.features = features
        self.cv = cv
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _predict_layer(
        self, names: list[str], members: list, X: Any, outputs: list[str]
    ) -> np.ndarray:
        return member_values(members, names, X)[:, :, None]

    def _member_values(self, X: Any) -> np.ndarray:
        return self._forward(X)[0].values[:, :, 0]
