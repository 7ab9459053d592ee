"""The members of a fitted ensemble of scikit-learn, such as a forest, as models of their own."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Annotated, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.tree import BaseDecisionTree
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from covey._models import classifies, regresses
from covey._state import FEATURE_NAMES, Index, Labels, Model, Whole, refuse
from covey._typing import Method, available_if
from covey._validation import keep_parameters

_FORESTS = (
    RandomForestClassifier,
    RandomForestRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
)
_BAGGING = (BaggingClassifier, BaggingRegressor)
_ADABOOST = (AdaBoostClassifier, AdaBoostRegressor)
# Gradient boosting, and the attribute that holds the trees of each round.
_ROUNDS = {
    GradientBoostingClassifier: "estimators_",
    GradientBoostingRegressor: "estimators_",
    HistGradientBoostingClassifier: "_predictors",
    HistGradientBoostingRegressor: "_predictors",
}


def members_of(ensemble: BaseEstimator) -> list[tuple[str, Any]]:
    """List the members of a fitted ensemble, for `FusionClassifier` with ``prefit=True``.

    Each takes the whole X and predicts the labels of the ensemble:

    - the trees of a forest, and of extra trees ("tree 1", "tree 2", ...);
    - the models of bagging and of random subspaces, each on its own columns ("member 1", ...);
    - the models of AdaBoost ("member 1", ...), whose votes count by ``estimator_weights_``;
    - of gradient boosting the *stages* ("stage 1", ...): the model after the first round, after
      the second, and so on. A single tree is no model there, since it corrects those before it.

    A forest and bagging decide by "mean"; AdaBoost by `covey.fusers.Majority` or
    `covey.fusers.WeightedMedian` of its weights; gradient boosting by `covey.fusers.LastStage`.

    Parameters
    ----------
    ensemble : fitted estimator
        scikit-learn's ``RandomForest``, ``ExtraTrees``, ``Bagging``, ``AdaBoost``,
        ``GradientBoosting`` or ``HistGradientBoosting``, for classes or for numbers, or one of
        imbalanced-learn's that are made of these.

    Returns
    -------
    members : list of (str, estimator) tuples
        Names and fitted models, in scikit-learn's ``FrozenEstimator``, so that a copy keeps them.
        Take some of many stages by a slice: ``members[9::10]``.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> import covey
    >>> X, y = load_wine(return_X_y=True)
    >>> forest = RandomForestClassifier(20, random_state=0).fit(X[::2], y[::2])
    >>> trees = covey.members_of(forest)
    >>> trees[0]
    ('tree 1', FrozenEstimator(estimator=DecisionTreeClassifier(...)))
    >>> best = covey.FusionClassifier(trees, "knora_e", prefit=True)
    >>> unseen = covey.out_of_bag(forest, len(X[::2]))
    >>> best.fit(X[::2], y[::2], unseen=unseen).score(X[1::2], y[1::2]) > 0.9
    True
    """
    _check_ensemble(ensemble, (*_FORESTS, *_BAGGING, *_ADABOOST, *_ROUNDS))
    word = "member"
    if isinstance(ensemble, tuple(_ROUNDS)):
        word, members = "stage", _stages(ensemble)
    elif isinstance(ensemble, _FORESTS):
        word, members = "tree", [_own_tree(tree, ensemble) for tree in ensemble.estimators_]
    elif isinstance(ensemble, _BAGGING):
        of_members = zip(ensemble.estimators_, ensemble.estimators_features_, strict=True)
        members = [_own_model(member, columns, ensemble) for member, columns in of_members]
    else:
        members = ensemble.estimators_
    return [(f"{word} {k}", FrozenEstimator(one)) for k, one in enumerate(members, start=1)]


def out_of_bag(ensemble: BaseEstimator, n_samples: int) -> np.ndarray:
    """Return which training rows each member of a forest or of bagging was grown without.

    A member's prediction of such a row is as good as held out, so that a fusion can learn from the
    rows that the ensemble was fitted on: ``fit(X, y, unseen=out_of_bag(forest, len(X)))``.

    Parameters
    ----------
    ensemble : fitted forest or bagging
        As in `members_of`. A member of imbalanced-learn's is grown on its balanced sample.
    n_samples : int
        How many rows the ensemble was fitted on.

    Returns
    -------
    unseen : ndarray of shape (n_samples, n_members), bool

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> import covey
    >>> X, y = load_wine(return_X_y=True)
    >>> forest = RandomForestClassifier(50, random_state=0).fit(X, y)
    >>> covey.out_of_bag(forest, len(X)).mean() > 0.3  # about 37 %
    np.True_
    """
    _check_ensemble(ensemble, (*_FORESTS, *_BAGGING))
    if hasattr(ensemble, "samplers_"):
        # A balanced forest. Its trees may have drawn once more from their samples.
        bags = [sampler.sample_indices_ for sampler in ensemble.samplers_]
    else:
        bags = ensemble.estimators_samples_
    if len(bags) != len(ensemble.estimators_):
        raise ValueError(
            f"The ensemble was grown in several steps (warm_start), and scikit-learn knows the "
            f"rows of {len(bags)} of its {len(ensemble.estimators_)} members only; fit it in one."
        )
    fitted_on = getattr(ensemble, "_n_samples", n_samples)
    if n_samples != fitted_on or n_samples <= max(bag.max() for bag in bags):
        raise ValueError(
            f"n_samples={n_samples} is not the number of rows that the ensemble was fitted on; "
            "give these."
        )
    unseen = np.ones((n_samples, len(bags)), dtype=bool)
    for k, (bag, member) in enumerate(zip(bags, ensemble.estimators_, strict=True)):
        # A sampler that is the first step of a member has drawn from the bag.
        first = member.steps[0][1] if isinstance(member, Pipeline) else None
        unseen[bag[getattr(first, "sample_indices_", slice(None))], k] = False
    return unseen


def _check_ensemble(ensemble: Any, known: tuple[type, ...]) -> None:
    if not isinstance(ensemble, known):
        listed = ", ".join(one.__name__ for one in known)
        raise TypeError(f"ensemble must be one of {listed}, got {ensemble!r}.")
    check_is_fitted(ensemble)
    if (n_outputs := getattr(ensemble, "n_outputs_", 1)) > 1:
        raise ValueError(f"The ensemble was fitted to {n_outputs} outputs; fit one for each.")


def _stages(boosting: Any) -> list[Any]:
    """Return copies of gradient boosting that end after the first round, the second, and so on."""
    attribute = next(name for kind, name in _ROUNDS.items() if isinstance(boosting, kind))
    rounds = getattr(boosting, attribute)
    stages = [copy(boosting) for _ in range(len(rounds))]
    for number, stage in enumerate(stages, start=1):
        setattr(stage, attribute, rounds[:number])
        if attribute == "estimators_":
            stage.n_estimators_ = number
    return stages


def _own_tree(tree: Any, ensemble: Any) -> Any:
    """Return a copy of a tree that knows the labels and the columns of its ensemble by name."""
    tree = copy(tree)
    if is_classifier(ensemble):
        tree.classes_ = ensemble.classes_[np.asarray(tree.classes_, dtype=np.intp)]
    if hasattr(ensemble, "feature_names_in_"):
        tree.feature_names_in_ = ensemble.feature_names_in_
    return tree


def _own_model(member: Any, columns: np.ndarray, ensemble: Any) -> Any:
    """Return a bagged model itself if it takes the whole X and knows the labels, else framed."""
    classes = getattr(ensemble, "classes_", None)
    if np.array_equal(columns, np.arange(ensemble.n_features_in_)):
        if isinstance(member, BaseDecisionTree):
            return _own_tree(member, ensemble)
        same_labels = classes is None or np.array_equal(classes, np.arange(len(classes)))
        if same_labels and not hasattr(ensemble, "feature_names_in_"):
            return member
    kind = BaggedRegressor if classes is None else BaggedClassifier
    framed = kind(member, columns, *([] if classes is None else [classes]))
    framed.n_features_in_ = ensemble.n_features_in_
    if hasattr(ensemble, "feature_names_in_"):
        framed.feature_names_in_ = ensemble.feature_names_in_
    return framed


class BaggedRegressor(RegressorMixin, BaseEstimator):
    """A fitted regressor of a bagging ensemble, which takes its ``columns`` out of the whole X."""

    n_features_in_: Annotated[int, Whole(1, 1 << 31, letter="F")]
    feature_names_in_: Annotated[np.ndarray, FEATURE_NAMES]
    estimator: Annotated[BaseEstimator, Model()]
    columns: Annotated[np.ndarray, Index("W", "F")]

    _accepts = staticmethod(regresses)

    def __init__(self, estimator: Any, columns: np.ndarray) -> None:
        keep_parameters(self, locals())

    def _restored(self) -> None:
        fits = getattr(self.estimator, "n_features_in_", -1) == len(self.columns)
        fits = fits and self._accepts(self.estimator)
        refuse("estimator", "is not a fitted model of this kind.", fits)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator).input_tags
        tags.input_tags.sparse, tags.input_tags.allow_nan = inner.sparse, inner.allow_nan
        return tags

    def _own(self, X: Any) -> Any:
        """Return the member's columns, without names, since it was fitted without names."""
        how = {"accept_sparse": "csr", "dtype": None, "ensure_all_finite": False}
        X = validate_data(self, X, reset=False, ensure_min_samples=0, **how)
        return X[:, self.columns]

    def predict(self, X: Any) -> np.ndarray:
        """Return the numbers, or labels, that the member predicts."""
        return self.estimator.predict(self._own(X))


def _has(method: str) -> Callable[[Method], Method]:
    return available_if(lambda self: hasattr(self.estimator, method))


class BaggedClassifier(ClassifierMixin, BaggedRegressor):
    """A fitted classifier of a bagging ensemble, which was fitted to positions in ``classes``.

    It takes its columns out of the whole X, like a `BaggedRegressor`.
    """

    classes: Annotated[np.ndarray, Labels("C")]

    _accepts = staticmethod(classifies)

    def __init__(self, estimator: Any, columns: np.ndarray, classes: np.ndarray) -> None:
        keep_parameters(self, locals())

    def _restored(self) -> None:
        super()._restored()
        known = np.asarray(self.estimator.classes_)
        inside = known.dtype.kind in "iuf" and known.min() >= 0 and known.max() < len(self.classes)
        refuse("classes", "are not those of the estimator.", inside)

    def _labels(self, positions: Any) -> np.ndarray:
        return np.asarray(self.classes)[np.asarray(positions).astype(np.intp)]

    @property
    def classes_(self) -> np.ndarray:
        """The labels that the member has seen."""
        return self._labels(self.estimator.classes_)

    def predict(self, X: Any) -> np.ndarray:
        """Return the labels that the member decides on."""
        return self._labels(super().predict(X))

    @_has("predict_proba")
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return probabilities, in the order of ``classes_``."""
        return self.estimator.predict_proba(self._own(X))

    @_has("decision_function")
    def decision_function(self, X: Any) -> np.ndarray:
        """Return scores, in the order of ``classes_``."""
        return self.estimator.decision_function(self._own(X))
