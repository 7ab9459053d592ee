"""Models and transformers of scikit-learn that are a few numbers for each column and class.

The classes here declare the attributes that scikit-learn's own classes cannot declare.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeCV
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from covey import _state as stored
from covey._models import classifies, regresses
from covey._state import refuse
from covey.members._stored import OfTable, check_names
from covey.persistence._formats import declared_format
from covey.tables import TablePreparation

# Squared distances in units of the variance stay finite.
_FARTHEST = 1e90
_NARROWEST = 1e-90


class _Logistic(OfTable):
    classes_: Annotated[np.ndarray, stored.Labels("C", 2)]
    coef_: Annotated[np.ndarray, stored.Array("R F")]
    intercept_: Annotated[np.ndarray, stored.Array("R")]
    n_iter_: Annotated[np.ndarray, stored.Wholes("*", low=0, dtype="int32")]

    def _restored(self: Any) -> None:
        n_classes = len(self.classes_)
        fits = len(self.coef_) == (1 if n_classes == 2 else n_classes)
        refuse("coef", "has not one row a class.", fits)


class _Line(OfTable):
    coef_: Annotated[np.ndarray, stored.Array("F")]
    intercept_: Annotated[float, stored.Number()]
    # The penalty that cross-validation has chosen.
    alpha_: Annotated[float, stored.OrAbsent(stored.Number())]
    best_score_: Annotated[float, stored.OrAbsent(stored.Number())]

    def _why_not_stored(self: Any) -> str | None:
        several = np.ndim(getattr(self, "coef_", [0])) != 1
        return "of several outputs" if several else None


class _Gaussian(OfTable):
    classes_: Annotated[np.ndarray, stored.Labels("C")]
    theta_: Annotated[np.ndarray, stored.Array("C F", -_FARTHEST, _FARTHEST)]
    var_: Annotated[np.ndarray, stored.Array("C F", _NARROWEST, _FARTHEST)]
    class_prior_: Annotated[np.ndarray, stored.Share("C")]
    class_count_: Annotated[np.ndarray, stored.Array("C", low=0)]
    epsilon_: Annotated[float, stored.Number(0)]


class _Multinomial(OfTable):
    classes_: Annotated[np.ndarray, stored.Labels("C")]
    class_log_prior_: Annotated[np.ndarray, stored.Array("C", high=1e-9)]
    feature_log_prob_: Annotated[np.ndarray, stored.Array("C F", high=1e-9)]
    class_count_: Annotated[np.ndarray, stored.Array("C", low=0)]
    feature_count_: Annotated[np.ndarray, stored.Array("C F", low=0)]


class _Targets:
    estimator: Annotated[BaseEstimator, stored.Parameter(BaseEstimator)]
    estimators_: Annotated[list[BaseEstimator], stored.ListOf(stored.Model())]

    def _restored(self: Any) -> None:
        """Set the known facts about the models, all of which get the same rows."""
        targets = self.estimators_
        refuse("estimators", "are missing.", targets)
        accepts, first = (classifies if is_classifier(self) else regresses), targets[0]
        for target in targets:
            # Only a fitted estimator has a number of features.
            width = getattr(target, "n_features_in_", None)
            proper = accepts(target) and width is not None and width == first.n_features_in_
            proper = proper and (accepts is regresses or hasattr(target, "classes_"))
            refuse("estimators", "are not models of the same columns.", proper)
            check_names(first, target)
        self.n_features_in_ = first.n_features_in_
        if hasattr(first, "feature_names_in_"):
            self.feature_names_in_ = first.feature_names_in_
        if accepts is classifies:
            self.classes_ = [target.classes_ for target in targets]


class _Scaler(OfTable):
    mean_: Annotated[np.ndarray | None, stored.Array("F")]
    var_: Annotated[np.ndarray | None, stored.Array("F", low=0)]
    scale_: Annotated[np.ndarray | None, stored.Array("F", low=1e-200)]
    n_samples_seen_: Annotated[Any, stored.Plain()]  # one number, or one for each column

    def _restored(self: Any) -> None:
        for name, wanted in (("with_mean", self.mean_), ("with_std", self.scale_)):
            used = getattr(self, name)
            refuse(name, "does not fit.", type(used) is bool and (wanted is not None or not used))
        seen = np.asarray(self.n_samples_seen_)
        fits = seen.dtype.kind in "if" and seen.shape in ((), (self.n_features_in_,))
        refuse("n_samples_seen", "are not counts.", fits and (seen >= 0).all())


class _Frozen:
    estimator: Annotated[BaseEstimator, stored.Model(BaseEstimator)]


class _Pipeline:
    steps: Annotated[
        list[tuple[str, BaseEstimator]],
        stored.As(stored.Named("S"), dict, lambda models: list(models.items())),
    ]

    def _restored(self: Any) -> None:
        *before, last = (step for _, step in self.steps)
        proper = all(hasattr(step, "transform") for step in before) and hasattr(last, "fit")
        refuse("steps", "are not those of a pipeline.", proper)
        width = getattr(self.steps[0][1], "n_features_in_", None)
        for _, step in self.steps:
            own = getattr(step, "n_features_in_", None)
            refuse("steps", "do not fit each other.", own == width)
            # Other steps in files keep the number of columns.
            width = step.preparation_.n_columns if isinstance(step, TablePreparation) else own


FORMATS = {
    cls.__name__: declared_format(cls, holder)
    for holder, classes in {
        _Logistic: (LogisticRegression,),
        _Line: (LinearRegression, Ridge, RidgeCV),
        _Gaussian: (GaussianNB,),
        _Multinomial: (MultinomialNB,),
        _Targets: (MultiOutputClassifier, MultiOutputRegressor),
        _Scaler: (StandardScaler,),
        _Frozen: (FrozenEstimator,),
        _Pipeline: (Pipeline,),
    }.items()
    for cls in classes
}
