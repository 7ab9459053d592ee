"""DECORATE: members that are taught artificial examples on which the others are wrong."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.tree import DecisionTreeClassifier

from covey._core.moments import moments
from covey._core.random import Purpose, UniformRows, normals
from covey._models import fit_member
from covey._validation import check_number
from covey.fusers import Fuser
from covey.fusers._outputs import member_output
from covey.rivals._learners import Rival
from covey.tables._columns import column_positions

# A probability of zero counts as this before it is inverted.
SMALL_PROBABILITY = 1e-6

# The draws of an iteration, distinguished by the number of the run.
_NUMERIC, _NOMINAL, _LABELS, _MEMBER_SEED = range(4)


@dataclass(eq=False, repr=False)
class DecorateClassifier(Rival):
    """An ensemble that is kept diverse by artificial training examples (DECORATE).

    The first member is trained on the data. Each further one is trained on the data and on
    artificial examples, made anew each time: rows drawn from the columns' distributions, with
    labels that the ensemble finds unlikely. It is kept if the ensemble's training error does not
    rise. It is good if data are scarce: bagging cannot make members different by leaving rows out
    if there are hardly any.

    Take it for comparison, or with very few rows; it fits up to ``max_iter`` models to keep at
    most ``n_estimators`` of them.

    Parameters
    ----------
    estimator : classifier or None, default=None
        The estimator of which members are copies; a ``DecisionTreeClassifier`` if None. One
        without ``predict_proba`` votes with certainty, and needs a ``fuser`` that takes votes.
        Weights of classes are a parameter of its own.
    n_estimators : int, default=15
        C_size: how many members to keep at most.
    max_iter : int, default=50
        I_max: how many members to train at most, the first one included.
    artificial_size : float, default=1.0
        R_size: how many artificial examples an iteration makes, as a share of the number of
        rows (at least one); at most 1,000.
    categorical_features : sequence of columns, optional
        The nominal columns, by name or number. Their values must be numbers (codes); the values
        that occur in a column are drawn for it. All others are numeric.
    fuser : str or Fuser, default="mean"
        How members are fused: "mean", as in the paper, or any other name or object of
        `covey.fusers`. One that learns does so from a tenth of the rows, held out from the
        members.
    random_state : int, RandomState instance or None, default=None
        The artificial examples, and the ``random_state`` that each member is given, also where
        ``estimator`` has one. The same int gives the same result, to the bit.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_, feature_names_in_ : as in scikit-learn
    estimators_ : list of classifiers
        The members that were kept.
    n_estimators_ : int
        The number of members that were kept.
    n_iter_ : int
        The number of members that were trained.
    errors_ : ndarray of shape (n_iter_,)
        The (weighted) training error of the ensemble with the member of each iteration.
    accepted_ : ndarray of shape (n_iter_,), bool
        Whether that member was accepted.
    kind_, fuser_
        As in `FusionClassifier`.

    Notes
    -----
    The algorithm is that of Melville and Mooney [1]_; the defaults C_size = 15, I_max = 50,
    R_size = 1 are those of Melville's own program (Weka's ``Decorate``). We had to decide:

    - A probability of zero counts as 1e-6 before it is inverted. (In Weka a class of
      probability zero is always chosen before any other.)
    - Only values that occur in a nominal column are drawn, since without a schema no others are
      known. Laplace smoothing makes the rare ones more frequent.
    - While the ensemble grows, its probabilities and its training error are those of the mean of
      its members, whatever ``fuser`` is: a rule that learns has not learnt yet.
    - Errors closer than 1e-12 are equal.
    - Row weights: the number of artificial examples is a share of the rows whose weight is
      above zero, and each of them has the mean weight of the rows of its class. Moments and
      frequencies are weighted.
    - A class without any weight is never given to an artificial example.
    - X must be dense: a Gaussian is nowhere exactly zero.

    Columns are drawn as if they were independent. Where they are not, as in most numeric tables,
    artificial rows lie beside the data and hardly contradict it. Where they nearly are, it seems
    that opposite labels fall among the data and blur its pattern: on tables of many nominal
    columns (crx, splice) bagging does better, and ``artificial_size=0.25`` better than 1.
    ``benchmarks/rivals/decorate.py`` compares with bagging.

    References
    ----------
    .. [1] P. Melville and R. J. Mooney, "Constructing diverse classifier ensembles using
       artificial training examples", IJCAI 2003, pp. 505-510.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from covey.rivals import DecorateClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> flock = DecorateClassifier(n_estimators=5, random_state=0).fit(X[::10], y[::10])
    >>> flock.n_estimators_, flock.n_iter_
    (5, 5)
    >>> flock.score(X, y) > 0.9
    True
    """

    estimator: Any = None
    n_estimators: int = 15
    _: KW_ONLY
    max_iter: int = 50
    artificial_size: float = 1.0
    categorical_features: Any = None
    fuser: str | Fuser = "mean"
    random_state: int | np.random.RandomState | None = None

    _default = DecisionTreeClassifier

    def _check_parameters(self) -> None:
        for name in ("n_estimators", "max_iter"):
            check_number(getattr(self, name), name, low=1, whole=True)
        check_number(self.artificial_size, "artificial_size", low=0, high=1_000, closed="right")
        self._check_learner()

    def _check_training_data(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, ...]:
        _refuse_sparse(X)
        X, codes, weight = super()._check_training_data(X, y, sample_weight)
        nominal = [] if self.categorical_features is None else self.categorical_features
        names = getattr(self, "feature_names_in_", None)
        self._nominal = column_positions(nominal, "categorical_features", X.shape[1], names)
        return X, codes, weight

    def _check_rows(self, X: Any) -> Any:
        _refuse_sparse(X)
        return super()._check_rows(X)

    def _grow(self, X: Any, codes: np.ndarray, sample_weight: np.ndarray, groups: Any) -> None:
        used = sample_weight > 0
        X, codes, weight = X[used], codes[used], sample_weight[used]
        counts = np.bincount(codes, minlength=len(self.classes_))
        weight_of_class = np.bincount(codes, weight, len(counts)) / np.maximum(counts, 1)
        n_artificial = max(1, round(self.artificial_size * len(X)))
        members, errors, accepted = list[Any](), list[float](), []
        # The sum of the members' probabilities; the ensemble predicts their mean.
        total, best = np.zeros((len(X), len(counts))), np.inf
        while len(members) < self.n_estimators and len(errors) < self.max_iter:
            at, rows, labels = (self._seed, len(errors)), X, codes
            if members:
                extra = artificial_rows(X, weight, self._nominal, *at, n_artificial)
                thought = np.sum([self._probabilities(one, extra) for one in members], axis=0)
                opposed = opposed_labels(thought / len(members), counts > 0, *at)
                rows, labels = np.concatenate([X, extra]), np.concatenate([codes, opposed])
            given = np.concatenate([weight, weight_of_class[labels[len(X) :]]])
            # Ones are what members without sample_weight have anyway.
            given = None if (given == 1).all() else given
            learner = self._copy(_MEMBER_SEED, len(errors), every=True)
            member = fit_member(
                learner, type(learner).__name__, rows, self.classes_[labels], given
            )
            candidate = total + self._probabilities(member, X)
            errors.append(float(weight @ (candidate.argmax(axis=1) != codes) / weight.sum()))
            accepted.append(errors[-1] <= best + 1e-12)
            if accepted[-1]:
                members.append(member)
                total, best = candidate, errors[-1]
        self.estimators_, self.n_estimators_, self.n_iter_ = members, len(members), len(errors)
        self.errors_, self.accepted_ = np.array(errors), np.array(accepted)

    def _probabilities(self, member: Any, X: np.ndarray) -> np.ndarray:
        """Return a member's probabilities; one without probabilities is certain of its vote."""
        kind = "probability" if hasattr(member, "predict_proba") else "label"
        values, _ = member_output(member, X, self.classes_, kind, type(member).__name__)
        return np.eye(len(self.classes_))[values] if kind == "label" else values

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags


def _refuse_sparse(X: Any) -> None:
    if issparse(X):
        raise TypeError(
            "X is sparse, but DecorateClassifier draws artificial rows that have no zeros; give "
            "dense data (X.toarray())."
        )


def artificial_rows(
    X: np.ndarray, weight: np.ndarray, nominal: list[int], seed: int, iteration: int, n_rows: int
) -> np.ndarray:
    """Return rows (n_rows, D) like those of a table, column by column as if independent.

    Numeric columns are drawn from a Gaussian. A value of a nominal column that occurs in ``n_v``
    of ``n`` rows, and is one of ``V``, has the probability ``(n_v + 1) / (n + V)`` (Laplace). Row
    weights, above zero, count as shares of the ``n`` rows.
    """
    mean, deviation = moments(np.ascontiguousarray(X.T), weight)
    rows = normals(seed, Purpose.START, _NUMERIC, iteration, (n_rows, X.shape[1]))
    rows = rows * deviation + mean
    if nominal:
        draws = UniformRows(seed, Purpose.START, _NOMINAL, iteration, len(nominal))
        share = weight * (len(X) / weight.sum())
        for column, uniform in zip(nominal, draws.read(0, n_rows).T, strict=True):
            values, codes = np.unique(X[:, column], return_inverse=True)
            counts = np.bincount(codes.ravel(), share) + 1.0
            rows[:, column] = values[_positions(uniform, np.cumsum(counts) / counts.sum())]
    return rows


def inverted(probabilities: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Return probabilities (n, C) that are inversely proportional to the given ones.

    They are ``(1 / p_c) / sum_c' (1 / p_c')``, where a ``p`` of zero counts as
    `SMALL_PROBABILITY`; classes that are not ``allowed`` (C,) get 0.

    >>> import numpy as np
    >>> inverted(np.array([[0.8, 0.2]]), np.array([True, True]))
    array([[0.2, 0.8]])
    """
    inverse = np.where(allowed, 1.0 / np.maximum(probabilities, SMALL_PROBABILITY), 0.0)
    return inverse / inverse.sum(axis=1, keepdims=True)


def opposed_labels(
    probabilities: np.ndarray, allowed: np.ndarray, seed: int, iteration: int
) -> np.ndarray:
    """Draw a class for each row from the `inverted` probabilities."""
    draws = UniformRows(seed, Purpose.START, _LABELS, iteration, 1).read(0, len(probabilities))
    return _positions(draws[:, 0], np.cumsum(inverted(probabilities, allowed), axis=1))


def _positions(uniform: np.ndarray, cumulative: np.ndarray) -> np.ndarray:
    """Return where uniform draws (n,) fall among cumulative probabilities (V,) or (n, V)."""
    # Rounding may leave the last sum below one; the last value with any probability is meant.
    ends = cumulative < cumulative[..., -1:]
    return np.sum((uniform[:, None] >= cumulative) & ends, axis=1)
