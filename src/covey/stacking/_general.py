"""Stacking by any model, in one layer or several, learnt out of fold under any splitter."""

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import RidgeCV
from sklearn.utils import check_array
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from covey._blocks import as_table, in_blocks
from covey._core.fusion.rules import normalised, uniform
from covey._models import fit_member, regresses
from covey._validation import check_number, check_sample_weight
from covey.fusers import Predictions, Stacking, member_output
from covey.fusers._model_stacking import (
    OUTPUTS,
    changes_without,
    contributions,
    encode_outputs,
    join_columns,
    linear_coefficients,
    ranks_of_classes,
)
from covey.members import FusionClassifier
from covey.members._fused import said
from covey.stacking._layers import Layered


def _final_has(*methods):
    """Whether the model on top, fitted or to be, has one of some methods."""

    def check(self):
        final = self.final_estimator_ if hasattr(self, "fuser_") else self.final_estimator
        final = self._default_final() if final is None else final
        return any(hasattr(final, method) for method in methods)

    return check


class GeneralStackingClassifier(Layered, FusionClassifier):
    r"""Any classifier on top of any classifiers, learnt from out-of-fold outputs.

    .. math:: f(x) = A_\theta\big(z(f_1(x)), \ldots, z(f_K(x)), x_S, t(x)\big)

    z writes down what a member says (``outputs``), :math:`x_S` are chosen columns
    (``passthrough``) and t generated ones (``features``). :math:`\theta` is learnt from what
    members, and t, fitted without a row say of it; they are then fitted again on all rows.
    Stacked generalisation of Wolpert (1992).

    With probabilities, one layer and folds that are a partition, this is scikit-learn's
    `StackingClassifier` to rounding, which also drops the first of two classes; layers are then
    what nesting it as ``final_estimator`` gives, and logits of all members what a transformer
    before the final model gives. Different are: any splitter (`TimeSeriesSplit`, repeated or
    overlapping folds), outputs for each member, chosen and generated columns, members that lack
    a class in a fold, names across layers in ``set_params``, and who decided. No member is
    dropped or prefitted here: `FusionClassifier` with the fuser `Stacking` learns from members
    that are fitted already.

    *Layers.* The members of a layer see the outputs of the layer before and the columns
    beside, not X. All layers use the same folds: a member of layer 2 that speaks of a fold is
    fitted on what layer 1 said out of fold of the other folds' rows. What layer 1 said of those
    was fitted with the held-out fold among its rows, so a trace of its labels remains, as in
    every scheme that does not nest folds in folds; no model is ever asked about a row that it
    was itself fitted on.

    *Rows.* Those without an out-of-fold output are left out, with a warning, and under a
    time-ordered splitter each layer loses a block more. The mean is taken of several outputs
    for a row.

    Parameters
    ----------
    estimators : list of (str, estimator) tuples, of estimators, or of lists of those
        The members, or layers of members, the first one on X. Names differ across layers.
    final_estimator : classifier, optional
        A; by default a `LogisticRegression`. Only with one that has ``predict_proba`` there
        are probabilities.
    outputs : str, list of str or dict from members' names, default="probabilities"
        How each member's output is written down: "probabilities", "one_hot" (asks for
        ``predict`` only), "logits" or "ranks" (average ranks of the classes; asks for
        ``predict_proba`` or ``decision_function``). A list has one entry a member, over all
        layers; members that a dict does not name give probabilities.
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
    cv : int, splitter or iterable, default=5
        How out-of-fold outputs are made.
    n_jobs : int or None, default=None
        Processes that fit the members.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    layers_ : list of lists of estimators
        All members, fitted: the first layer on all rows, others on the outputs that are out of
        fold.
    estimators_ : list of estimators
        The last layer, which A listens to.
    named_estimators_ : dict
        The members of all layers by name.
    outputs_ : list of lists of str
        How each member's output is written down, by layer.
    features_ : transformer or None
        Fitted on all rows.
    fuser_ : Stacking
        The fitted fuser.
    final_estimator_ : classifier
        A, fitted.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only where X has names.

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

    # The members are always fitted here.
    prefit = False
    kind_ = "probability"
    _choices = OUTPUTS

    def __init__(
        self,
        estimators,
        final_estimator=None,
        *,
        outputs="probabilities",
        passthrough=False,
        features=None,
        clip=1e-6,
        cv=5,
        n_jobs=None,
    ):
        self.estimators = estimators
        self.final_estimator = final_estimator
        self.outputs = outputs
        self.passthrough = passthrough
        self.features = features
        self.clip = clip
        self.cv = cv
        self.n_jobs = n_jobs

    @property
    def final_estimator_(self):
        """The fitted model on top."""
        return self.fuser_.final_estimator_

    def _default_final(self):
        return Stacking().default_final()

    def fit(self, X, y, sample_weight=None, groups=None):
        """Learn the model on top out of fold, and fit the members on all rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Passed to the members of the first layer as it is.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Passed to every member and to the final model.
        groups : array-like of shape (n_samples,), optional
            Passed to the splitter. With a number of folds, none divides a group.

        Returns
        -------
        self : GeneralStackingClassifier
        """
        layers = self._check_layers()
        check_number(self.clip, "clip", low=0, high=0.5, closed="neither")
        for pairs, outputs in zip(layers, self.outputs_, strict=True):
            for (name, member), output in zip(pairs, outputs, strict=True):
                _check_can_say(member, output, name)
        X, y = as_table(X), column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        check_classification_targets(y)
        validate_data(self, X, skip_check_array=True)
        weight = None if sample_weight is None else check_sample_weight(sample_weight, len(y))
        frozen = [(n, m) for n, m in layers[0] if isinstance(m, FrozenEstimator)]
        self.classes_ = (
            self._joint_classes(*zip(*frozen, strict=True), y) if frozen else np.unique(y)
        )
        if len(self.classes_) < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least 2 classes in y, got "
                f"{len(self.classes_)} class: {self.classes_.tolist()}."
            )
        said, beside, rows = self._fit_layers(layers, X, y, weight, groups)
        fuser = Stacking(
            self.final_estimator,
            self.outputs_[-1],
            passthrough=beside is not None,
            clip=self.clip,
        )
        P = Predictions(said, self.classes_, self._names(), "probability")
        self.fuser_ = fuser.fit(P, y[rows], beside, None if weight is None else weight[rows])
        return self

    # -- what layers ask for -----------------------------------------------------------------

    def _say(self, names, members, X, outputs):
        values = np.stack(
            [
                _probabilities(member, X, self.classes_, output, name)
                for name, member, output in zip(names, members, outputs, strict=True)
            ],
            axis=1,
        )
        Predictions(values, self.classes_, names, "probability").check_probabilities()
        return values

    def _encode(self, said, number):
        encoded = encode_outputs(said, self.outputs_[number], self.clip)
        return encoded.reshape(len(encoded), -1)

    def _learn_encoding(self, said, weight):
        """Nothing: a row is written down without looking at others."""

    # -- what a fused classifier asks for ----------------------------------------------------

    def _heard(self, X):
        said, beside = self._forward(X)
        return Predictions(said, self.classes_, self._names(), "probability"), beside

    def _predictions(self, X):
        return self._heard(X)[0]

    def _member_values(self, X):
        return self._forward(X)[0]

    def _fused(self, X):
        return self.fuser_.fuse(*self._heard(X))

    def _fused_log(self, X):
        return self.fuser_.fuse_log(*self._heard(X))

    def _importance(self, X):
        return self.fuser_.importance(*self._heard(X))

    @available_if(_final_has("predict_proba"))
    def predict_log_proba(self, X):
        """Logarithms of the probabilities of the model on top.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
        """
        return super().predict_log_proba(X)

    @available_if(_final_has("predict_proba"))
    def predict_proba(self, X):
        """Probabilities of the classes, by the model on top.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        return super().predict_proba(X)

    @available_if(_final_has("predict_proba", "decision_function"))
    def decision_function(self, X):
        """Log-odds or logarithms of probabilities, or the scores of a model without these.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples,) for two classes, else (n_samples, n_classes)
        """
        if hasattr(self, "predict_proba"):
            return super().decision_function(X)
        return self._by_blocks(self._scores, self._check_rows(X))

    def _scores(self, X):
        Z = self.fuser_._written_down(*self._heard(X))
        scores, _ = member_output(
            self.final_estimator_, Z, self.classes_, "score", "final_estimator"
        )
        if len(self.classes_) == 2:
            return (scores[:, 1] - scores[:, 0]) / 2
        # A class that the model on top never saw comes last.
        return np.maximum(scores, np.finfo(np.float64).min)


_ASKED = {
    "probabilities": ("predict_proba",),
    "logits": ("predict_proba",),
    "one_hot": ("predict",),
    "ranks": ("predict_proba", "decision_function"),
}


def _check_can_say(member, output, name):
    if not any(hasattr(member, method) for method in _ASKED[output]):
        raise ValueError(
            f"outputs={output!r} needs the {' or '.join(_ASKED[output])} of each member, which "
            f"{name!r} does not have; calibrate it, or use outputs='one_hot' for it."
        )


def _probabilities(member, X, classes, output, name):
    """What a member says, as numbers that sum to one over the classes.

    A member that is asked for less than probabilities says what is left of them: a one for the
    class that it decides for, or shares in the order of its scores.
    """
    _check_can_say(member, output, name)
    if output == "one_hot":
        codes, _ = member_output(member, X, classes, "label", name)
        return np.eye(len(classes))[codes]
    if output == "ranks" and not hasattr(member, "predict_proba"):
        scores, _ = member_output(member, X, classes, "score", name)
        ranks = ranks_of_classes(scores)
        return ranks / ranks.sum(axis=1, keepdims=True)
    return member_output(member, X, classes, "probability", name)[0]


class GeneralStackingRegressor(Layered, RegressorMixin, BaseEstimator):
    r"""Any regressor on top of any regressors, learnt from out-of-fold predictions.

    .. math:: f(x) = A_\theta\big(z(f_1(x)), \ldots, z(f_K(x)), x_S, t(x)\big)

    The regressor's `GeneralStackingClassifier`, which says how layers, folds, chosen and
    generated columns work. With one layer, values and folds that are a partition this is
    scikit-learn's `StackingRegressor` to rounding.

    Parameters
    ----------
    estimators : list of (str, estimator) tuples, of estimators, or of lists of those
        The members, or layers of members, the first one on X. Names differ across layers.
    final_estimator : regressor, optional
        A; by default a `RidgeCV`.
    outputs : str, list of str or dict from members' names, default="values"
        How each member's output is written down. "values": as it is. "ranks": the (weighted)
        share of the member's own out-of-fold predictions that are lower, ties by half; a wild
        prediction is then no more than the highest one.
    passthrough : bool, column, list of columns, mask, slice or callable, default=False
        The columns of X that later layers and A see too.
    features : transformer, optional
        Makes further columns of X for later layers and A, out of fold.
    cv : int, splitter or iterable, default=5
        How out-of-fold predictions are made. Rows without one are left out, with a warning;
        the mean is taken of several for a row.
    n_jobs : int or None, default=None
        Processes that fit the members.

    Attributes
    ----------
    layers_ : list of lists of estimators
        All members, fitted.
    estimators_ : list of estimators
        The last layer, which A listens to.
    named_estimators_ : dict
        The members of all layers by name.
    outputs_ : list of lists of str
        How each member's output is written down, by layer.
    features_ : transformer or None
        Fitted on all rows.
    final_estimator_ : regressor
        A, fitted.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only where X has names.

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

    _member_kind = "regressor"
    _choices = ("values", "ranks")

    def __init__(
        self,
        estimators,
        final_estimator=None,
        *,
        outputs="values",
        passthrough=False,
        features=None,
        cv=5,
        n_jobs=None,
    ):
        self.estimators = estimators
        self.final_estimator = final_estimator
        self.outputs = outputs
        self.passthrough = passthrough
        self.features = features
        self.cv = cv
        self.n_jobs = n_jobs

    def _can_be_member(self, member):
        return regresses(member)

    def _default_final(self):
        return RidgeCV()

    def fit(self, X, y, sample_weight=None, groups=None):
        """Learn the model on top out of fold, and fit the members on all rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Passed to the members of the first layer as it is.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Passed to every member and to the final model.
        groups : array-like of shape (n_samples,), optional
            Passed to the splitter. With a number of folds, none divides a group.

        Returns
        -------
        self : GeneralStackingRegressor
        """
        layers = self._check_layers()
        X = as_table(X)
        y = check_array(
            column_or_1d(y, warn=True), ensure_2d=False, dtype=np.float64, input_name="y"
        )
        check_consistent_length(X, y)
        validate_data(self, X, skip_check_array=True)
        weight = None if sample_weight is None else check_sample_weight(sample_weight, len(y))
        self._known = []
        said, beside, rows = self._fit_layers(layers, X, y, weight, groups)
        encoded = self._encode(said, len(layers) - 1)
        Z = join_columns(encoded, beside)
        weight = None if weight is None else weight[rows]
        final = self._default_final() if self.final_estimator is None else self.final_estimator
        self.final_estimator_ = fit_member(clone(final), "final_estimator", Z, y[rows], weight)
        self._means = np.average(encoded, axis=0, weights=weight)[:, None]
        self._coefficients = linear_coefficients(self.final_estimator_, Z)
        return self

    # -- what layers ask for -----------------------------------------------------------------

    def _say(self, names, members, X, outputs):
        return said(names, members, X)

    def _learn_encoding(self, said, weight):
        """Each member's predictions in order, and the weight below each of them and in all."""
        weight = np.ones(len(said)) if weight is None else weight
        known = []
        for column in said.T:
            order = np.argsort(column, kind="stable")
            known.append((column[order], np.concatenate([[0.0], np.cumsum(weight[order])])))
        self._known.append(known)

    def _encode(self, said, number):
        encoded = said.copy()
        for k, output in enumerate(self.outputs_[number]):
            if output == "ranks":
                known, below = self._known[number][k]
                # Rounding makes no difference of predictions that are equal.
                equal = 1e-10 * (known[-1] - known[0])
                lower = below[np.searchsorted(known, said[:, k] - equal, side="left")]
                not_higher = below[np.searchsorted(known, said[:, k] + equal, side="right")]
                encoded[:, k] = 0.5 * (lower + not_higher) / below[-1]
        return encoded

    # -- predict -----------------------------------------------------------------------------

    def _check_rows(self, X):
        check_is_fitted(self, "final_estimator_")
        X = as_table(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        return X

    def _by_blocks(self, function, X):
        return in_blocks(function, X)

    def member_predictions(self, X):
        """What each member of the last layer predicts.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        predictions : ndarray of shape (n_samples, n_members)
        """
        return self._forward(self._check_rows(X))[0]

    def predict(self, X):
        """What the model on top makes of what the members predict.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        predicted : ndarray of shape (n_samples,)
        """
        said, beside = self._forward(self._check_rows(X))
        Z = join_columns(self._encode(said, len(self.layers_) - 1), beside)
        return self._answer(Z)[:, 0]

    def _answer(self, Z):
        return np.asarray(self.final_estimator_.predict(Z), dtype=np.float64).reshape(-1, 1)

    def _importance(self, X):
        said, beside = self._forward(X)
        encoded = self._encode(said, len(self.layers_) - 1)[:, :, None]
        if self._coefficients is None:
            moved = changes_without(
                self._answer,
                encoded,
                self._means,
                lambda part: join_columns(part[:, :, 0], beside),
            )
        else:
            moved = contributions(self._coefficients, encoded, self._means)
        return normalised(moved, uniform(*moved.shape))
