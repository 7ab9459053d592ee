"""DECORATE: members that are taught artificial examples on which the others are wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

from covey._columns import column_positions
from covey._core.random import Purpose, UniformRows
from covey._core.rivals.artificial import ColumnModel, opposed_labels
from covey._models import classifies, fit_member
from covey._validation import check_number
from covey.fusers import Fuser, common_kind, make_fuser, member_output
from covey.members import Classifiers, GrownClassifier, check_tree_range

# The draws of a member's own random_state; `_core.artificial` has the runs before.
_MEMBER_SEED = 3


class DecorateClassifier(GrownClassifier):
    """An ensemble that is kept diverse by artificial training examples (DECORATE).

    The first member is trained on the data. Each further one is trained on the data and on
    artificial examples, made anew each time: rows drawn from what the columns look like, with
    labels that the ensemble thinks unlikely. It is kept if the ensemble's training error does
    not rise. Good where data is scarce: members cannot be made different by leaving rows out, as
    bagging does, if there are hardly any.

    Take it to compare with, or with very few rows; it fits up to ``n_iter`` models to keep some of
    them.

    Parameters
    ----------
    estimator : classifier or None, default=None
        What members are copies of; a ``DecisionTreeClassifier`` if None. One without
        ``predict_proba`` votes with certainty, and needs a ``fuser`` that takes votes. Weights
        of classes are a parameter of its own.
    n_estimators : int, default=15
        C_size: how many members to keep at most.
    max_iter : int, default=50
        I_max: how many members to train at most, the first one included.
    artificial_size : float, default=1.0
        R_size: how many artificial examples an iteration makes, as a share of the number of
        rows (at least one); at most 1,000.
    categorical_features : sequence of columns, optional
        The nominal columns, by name or number. Their values must be numbers (codes); what
        occurs in a column is what is drawn for it. All others are numeric.
    fuser : str or Fuser, default="mean"
        How members are fused: "mean", as in the paper, or any other name or object of
        `covey.fusers`. One that learns does so from rows that are held out from the members
        (``validation_fraction``).
    select_size, validation_fraction, n_jobs
        As for `SubsetEnsembleClassifier`.
    warm_start : bool, default=False
        Whether ``fit`` goes on from the members of the fit before, to ``n_estimators`` and
        ``max_iter`` in all. The result is that of one fit, given the same data.
    random_state : int, RandomState instance or None, default=None
        The artificial examples, and the ``random_state`` that each member is given. The same
        int gives the same result, to the bit.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_, feature_names_in_ : as in scikit-learn
    estimators_ : list of classifiers
        The members that were kept.
    n_estimators_ : int
        How many these are.
    n_iter_ : int
        How many members were trained.
    errors_ : ndarray of shape (n_iter_,)
        The (weighted) training error of the ensemble with the member of each iteration.
    accepted_ : ndarray of shape (n_iter_,), bool
        Whether that member was accepted.
    kind_, fuser_
        As of `FusionClassifier`.

    Notes
    -----
    The algorithm is that of Melville and Mooney [1]_; the defaults C_size = 15, I_max = 50,
    R_size = 1 are those of Melville's own program (Weka's ``Decorate``). We had to decide:

    - A probability of zero counts as 1e-6 before it is inverted. (In Weka a class of
      probability zero is always chosen before any other.)
    - Only values that occur in a nominal column are drawn; without a schema no others are
      known. Laplace smoothing makes the rare ones more frequent.
    - While the ensemble grows, its probabilities and its training error are those of the
      mean of its members, whatever ``fuser`` is: a rule that learns has not learnt yet.
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

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 15,
        *,
        max_iter: int = 50,
        artificial_size: float = 1.0,
        categorical_features: Any = None,
        fuser: str | Fuser = "mean",
        select_size: str | None = None,
        validation_fraction: float = 0.1,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_iter = max_iter
        self.artificial_size = artificial_size
        self.categorical_features = categorical_features
        self.fuser = fuser
        self.select_size = select_size
        self.validation_fraction = validation_fraction
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state

    # Weights of classes are the base learner's own affair, as in scikit-learn's ensembles: a tree
    # that is grown to the end fits all rows, whatever they weigh.
    class_weight = None

    # -- check -----------------------------------------------------------------------------

    def _check_parameters(self):
        if self.estimator is not None and not classifies(self.estimator):
            raise TypeError(
                f"estimator must be a classifier, or None for a decision tree, got "
                f"{self.estimator!r}."
            )
        check_number(self.n_estimators, "n_estimators", low=1, whole=True)
        check_number(self.max_iter, "max_iter", low=1, whole=True)
        check_number(self.artificial_size, "artificial_size", low=0, high=1_000, closed="right")
        # Says which rules would do, should members have no probabilities.
        template = self._template()
        self.kind_ = common_kind([template], [type(template).__name__], make_fuser(self.fuser))

    def _check_training_data(self, X, y, sample_weight, continued):
        _refuse_sparse(X)
        X, codes, weight = super()._check_training_data(X, y, sample_weight, continued)
        # Artificial rows lie some deviations beside the data.
        names = getattr(self, "feature_names_in_", None)
        check_tree_range(self._template(), X, names, room=10.0)
        nominal = [] if self.categorical_features is None else self.categorical_features
        self._nominal = column_positions(
            nominal, "categorical_features", self.n_features_in_, names
        )
        return X, codes, weight

    def _check_rows(self, X):
        _refuse_sparse(X)
        X = super()._check_rows(X)
        names = getattr(self, "feature_names_in_", None)
        check_tree_range(self._template(), X, names, smallest=0.0)
        return X

    # -- grow ------------------------------------------------------------------------------

    def _template(self):
        return DecisionTreeClassifier() if self.estimator is None else self.estimator

    def _max_tasks(self):
        return self.max_iter - len(getattr(self, "_accepted", []))

    def _forget(self):
        self._members, self._errors, self._accepted = [], [], []

    def _grow(self, X, codes, sample_weight, context):
        if self.n_estimators < len(self._members) or self.max_iter < len(self._accepted):
            raise ValueError(
                f"n_estimators={self.n_estimators} and max_iter={self.max_iter} are fewer than "
                f"the {len(self._members)} members kept of {len(self._accepted)} trained; with "
                "warm_start=True they cannot shrink."
            )
        used = sample_weight > 0
        X, codes, weight = X[used], codes[used], sample_weight[used]
        counts = np.bincount(codes, minlength=len(self.classes_))
        present = counts > 0
        weight_of_class = np.bincount(codes, weight, len(counts)) / np.maximum(counts, 1)
        columns = ColumnModel.of(X, weight, self._nominal)
        n_artificial = max(1, round(self.artificial_size * len(X)))
        # Sums of the members' probabilities; the mean of them is what the ensemble predicts.
        total = np.zeros((len(X), len(self.classes_)))
        for member in self._members:
            total += self._probabilities(member, X)

        while len(self._members) < self.n_estimators and len(self._accepted) < self.max_iter:
            task = context.subcontext(task_name="member").call_on_fit_task_begin(estimator=self)
            iteration = len(self._accepted)
            if iteration == 0:
                rows, labels, row_weight = X, codes, weight
            else:
                extra = columns.draw(self._seed, iteration, n_artificial)
                thought = sum(self._probabilities(member, extra) for member in self._members)
                opposed = opposed_labels(
                    thought / len(self._members), present, self._seed, iteration
                )
                rows = np.concatenate([X, extra])
                labels = np.concatenate([codes, opposed])
                row_weight = np.concatenate([weight, weight_of_class[opposed]])
            member = self._fitted(iteration, rows, labels, row_weight)
            candidate = total + self._probabilities(member, X)
            wrong = candidate.argmax(axis=1) != codes
            error = float(weight @ wrong / weight.sum())
            accepted = iteration == 0 or error <= self._best_error() + 1e-12
            self._errors.append(error)
            self._accepted.append(accepted)
            if accepted:
                self._members.append(member)
                total = candidate
            stop = task.call_on_fit_task_end(
                estimator=self,
                X=X,
                y=self.classes_[codes],
                metadata={"sample_weight": weight},
                reconstruction_attributes=lambda: self._reconstruction(len(self._members)),
            )
            if stop:
                break
        self._keep_first(len(self._members))

    def _best_error(self):
        """The error of the ensemble as it stands: that of the last member accepted."""
        last = np.flatnonzero(self._accepted)[-1]
        return self._errors[last]

    def _fitted(self, iteration, X, codes, weight):
        member = clone(self._template())
        seeded = sorted(
            name
            for name in member.get_params()
            if name == "random_state" or name.endswith("__random_state")
        )
        if seeded:
            draws = UniformRows(self._seed, Purpose.START, _MEMBER_SEED, iteration, len(seeded))
            seeds = (draws.read(0, 1)[0] * (2**31 - 1)).astype(int)
            member.set_params(**dict(zip(seeded, seeds.tolist(), strict=True)))
        # Ones are what members without sample_weight have anyway.
        weight = None if (weight == 1).all() else weight
        return fit_member(member, type(member).__name__, X, self.classes_[codes], weight)

    def _probabilities(self, member, X):
        """What a member predicts of rows; one without probabilities is certain of its vote."""
        name = type(member).__name__
        kind = "probability" if hasattr(member, "predict_proba") else "label"
        values, _ = member_output(member, X, self.classes_, kind, name)
        return np.eye(len(self.classes_))[values] if kind == "label" else values

    def _attributes(self, n_members):
        return {
            "estimators_": self._members[:n_members],
            "n_estimators_": n_members,
            "n_iter_": len(self._accepted),
            "errors_": np.array(self._errors),
            "accepted_": np.array(self._accepted, dtype=bool),
        }

    # -- fuse ------------------------------------------------------------------------------

    def _predictions(self, X, kind=None):
        return Classifiers.predictions(
            self.estimators_, self._names(), X, kind or self.kind_, self.classes_
        )

    def _member_values(self, X):
        """Probabilities if members have them, whatever the fuser reads."""
        has = hasattr(self.estimators_[0], "predict_proba")
        return self._predictions(X, "probability" if has else self.kind_).values

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags


def _refuse_sparse(X):
    if issparse(X):
        raise TypeError(
            "X is sparse, but DecorateClassifier draws artificial rows that have no zeros; give "
            "dense data (X.toarray())."
        )
