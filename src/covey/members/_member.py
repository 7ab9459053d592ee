"""One linear model, already fitted: a member of an ensemble, for classes or for values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import validate_data

from covey._core.basis import Basis
from covey._core.softmax_linear import finite_exp, linear_logits, log_softmax
from covey._state import Array, Flag, Flags, Labels, Number, Record, Texts, names_array, refuse
from covey._validation import check_one_each, keep_parameters
from covey.tables._checked import checked_codes
from covey.tables._columns import Names, feature_names
from covey.tables._preparation import Preparation


class _Member(BaseEstimator):
    """The base of both kinds of members; a subclass has ``coef_`` and ``intercept_``."""

    preparation: Annotated[Preparation | None, Record(Preparation, "F D")]
    basis: Annotated[Basis | None, Record(Basis, "D P")]
    scale: Annotated[ArrayLike | None, Array("P", low=0)]
    support: Annotated[ArrayLike | None, Flags("F")]
    feature_names: Annotated[Names | None, Texts("F", make=names_array)]

    def _restored(self) -> None:
        # Both properties need coefficients and intercepts that belong together.
        width, _ = self.coef_.shape[-1], self.intercept_
        n_made = width if self.basis is None else self.basis.n_features
        n_features = n_made if self.preparation is None else self.preparation.n_features
        made = n_features if self.preparation is None else self.preparation.n_columns
        refuse("coef", "is not of the columns that are made.", made == n_made)
        if self.basis is not None:
            refuse("coef", "is not of the columns of the basis.", width == self.basis.n_columns)
        refuse("support", "has another length.", len(self.support_) == n_features)
        names = self.feature_names
        refuse("feature_names", "are not one each.", names is None or len(names) == n_features)

    def __init__(
        self,
        coef: ArrayLike,
        intercept: ArrayLike,
        support: ArrayLike | None = None,
        feature_names: Names | None = None,
        basis: Basis | None = None,
        preparation: Preparation | None = None,
        scale: ArrayLike | None = None,
    ) -> None:
        keep_parameters(self, locals())

    @property
    def support_(self) -> np.ndarray:
        """Return which features the member uses."""
        if self.support is None:
            return np.ones(self.n_features_in_, dtype=bool)
        return np.asarray(self.support, dtype=bool)

    @property
    def n_features_in_(self) -> int:
        """Return how many columns X must have."""
        if self.preparation is not None:
            return self.preparation.n_features
        return self.coef_.shape[-1] if self.basis is None else self.basis.n_features

    @property
    def feature_names_in_(self) -> np.ndarray:
        """The columns' names, where they are known."""
        if self.feature_names is None:
            raise AttributeError("This member was fitted on columns without names.")
        return np.asarray(self.feature_names, dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.preparation is not None
        tags.input_tags.categorical = self.preparation is not None
        return tags

    def fit(self, X: Any, y: Any = None, **fit_params: Any) -> Self:
        """Do nothing: the member is fitted."""
        return self

    def _outputs(self, X: Any) -> np.ndarray:
        """Return the linear functions of rows, (n_classes, n) or (n,)."""
        if self.preparation is not None:
            X = self.preparation.transform(checked_codes(self, X, self.preparation))
        else:
            X = validate_data(
                self, X, reset=False, accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32)
            )
        rows = X if self.basis is None else self.basis.rows(X)
        return linear_logits(rows, self.coef_, np.asarray(self.intercept_))

    def column_names(self) -> list[str]:
        """Return what each coefficient multiplies, in words."""
        names = feature_names(self)
        if self.preparation is not None:
            names = self.preparation.names(names)
        return names if self.basis is None else self.basis.names(names)

    def _sum(self, coef: np.ndarray, intercept: float, digits: int, top: int | None) -> str:
        """Return a linear function as text, with its ``top`` largest terms if it has more."""
        names, shown = self.column_names(), np.flatnonzero(coef)
        # Coefficients of columns with other units cannot be compared, but their effects can.
        size = np.abs(coef if self.scale is None else coef * np.asarray(self.scale))[shown]
        left_out = 0
        if top is not None and len(shown) > top:
            left_out = len(shown) - top
            shown = np.sort(shown[np.argsort(-size, kind="stable")[:top]])
        terms = "".join(
            f" {'-' if coef[k] < 0 else '+'} {abs(coef[k]):.{digits}g} {names[k]}" for k in shown
        )
        more = f" + {left_out} smaller terms" if left_out else ""
        return f"{intercept:.{digits}g}{terms}{more}"

    def __str__(self) -> str:
        return self.formula()


class LinearMember(ClassifierMixin, _Member):
    """A fitted softmax-linear classifier: a member of an ensemble, or a collapsed one.

    It is made with its coefficients and never changes: like scikit-learn's ``FrozenEstimator``,
    ``fit`` does nothing.

    Parameters
    ----------
    coef : array of shape (n_classes, n_features), or (n_classes, n_columns) with a basis
        Zero for columns that the member does not use. For two classes one row may stand for both,
        as in scikit-learn: that of the second class, the first one's being zero.
    intercept : array of shape (n_classes,)
    classes : array of shape (n_classes,)
    support : array of shape (n_features,), bool, optional
        The features that the member uses; all by default.
    feature_names : array of shape (n_features,), optional
    basis : Basis, optional
        The columns that the coefficients belong to: features, ramps of them, and products.
    preparation : Preparation, optional
        How gaps and categories become numbers; the columns above are then made of these numbers.
    scale : array of shape (n_columns,), optional
        How far the columns vary, so that ``formula`` knows which terms move the most.

    Attributes
    ----------
    coef_, intercept_, classes_, support_, n_features_in_, feature_names_in_
        As in scikit-learn's linear classifiers, but always with one row per class.

    Examples
    --------
    >>> from covey.members import LinearMember
    >>> member = LinearMember([[0.0, 0.0], [2.0, 0.0]], [0.0, -1.0], ["no", "yes"])
    >>> member.predict([[0.0, 5.0], [1.0, 5.0]])
    array(['no', 'yes'], dtype='<U3')
    """

    coef: Annotated[ArrayLike, Array("R P")]
    intercept: Annotated[ArrayLike, Array("R")]
    classes: Annotated[Sequence[Any] | np.ndarray, Labels("C", 2)]

    def __init__(
        self,
        coef: ArrayLike,
        intercept: ArrayLike,
        classes: Sequence[Any] | np.ndarray,
        support: ArrayLike | None = None,
        feature_names: Names | None = None,
        basis: Basis | None = None,
        preparation: Preparation | None = None,
        scale: ArrayLike | None = None,
    ) -> None:
        keep_parameters(self, locals())

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients of each class, in the units of X."""
        coef = np.asarray(self.coef, dtype=np.float64)
        if coef.ndim != 2 or len(coef) not in {len(self.classes), 3 - len(self.classes)}:
            raise ValueError(
                f"coef must have one row for each of the {len(self.classes)} classes, "
                f"got an array of shape {coef.shape}."
            )
        return coef if len(coef) > 1 else np.vstack([np.zeros_like(coef), coef])

    @property
    def intercept_(self) -> np.ndarray:
        """Intercept of each class."""
        intercept = np.asarray(self.intercept, dtype=np.float64)
        n_rows = len(np.asarray(self.coef))
        check_one_each(intercept, n_rows, "intercept", "number for each row of coef")
        return intercept if len(intercept) > 1 else np.append(0.0, intercept)

    @property
    def classes_(self) -> np.ndarray:
        """Return the labels."""
        return np.asarray(self.classes)

    def formula(self, digits: int = 3, top: int | None = None) -> str:
        """Return the member as text: one line per class, or one of log-odds for two classes.

        ``ramp(x, a, b)`` is 0 up to a, 1 from b on, and rises evenly between.

        Parameters
        ----------
        digits : int, default=3
            Significant ones.
        top : int, optional
            How many terms to show: those that move the prediction the most, by their coefficients
            times how far their columns vary.

        Returns
        -------
        formula : str

        Examples
        --------
        >>> from covey.members import LinearMember
        >>> print(LinearMember([[0.5, 0, -2]], [1.0], ["no", "yes"]).formula())
        log-odds of 'yes' = 1 + 0.5 x0 - 2 x2
        """
        labels, coef, intercept = self.classes_.tolist(), self.coef_, self.intercept_
        # A part that all classes share cancels in a softmax; two classes differ by one line.
        if len(labels) == 2:
            text = self._sum(coef[1] - coef[0], intercept[1] - intercept[0], digits, top)
            return f"log-odds of {labels[1]!r} = {text}"
        coef, intercept = coef - coef.mean(axis=0), intercept - intercept.mean()
        return "\n".join(
            f"score of {label!r} = {self._sum(coef[code], intercept[code], digits, top)}"
            for code, label in enumerate(labels)
        )

    def decision_function(self, X: Any) -> np.ndarray:
        """Return logits of shape (n_samples, n_classes); for two classes their difference."""
        logits = self._outputs(X)
        return logits[1] - logits[0] if len(logits) == 2 else logits.T

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return logarithms of the probabilities, of shape (n_samples, n_classes)."""
        return log_softmax(self._outputs(X)).T

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return probabilities of the classes, of shape (n_samples, n_classes)."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class of each row."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class LinearRegressionMember(RegressorMixin, _Member):
    """A fitted linear regressor: a member of an ensemble, or a collapsed one.

    It is made with its coefficients and never changes: like scikit-learn's ``FrozenEstimator``,
    ``fit`` does nothing.

    Parameters
    ----------
    coef : array of shape (n_features,), or (n_columns,) with a basis
        Zero for columns that the member does not use.
    intercept : float
    support, feature_names, basis, preparation, scale
        As for `LinearMember`.
    log_link : bool, default=False
        Whether the linear function is the logarithm of what is predicted.

    Attributes
    ----------
    coef_, intercept_, support_, n_features_in_, feature_names_in_
        As in scikit-learn's linear regressors.

    Examples
    --------
    >>> from covey.members import LinearRegressionMember
    >>> member = LinearRegressionMember([0.5, 0, -2], 1.0)
    >>> member.predict([[2.0, 9.0, 1.0]])
    array([0.])
    >>> print(member.formula())
    1 + 0.5 x0 - 2 x2
    """

    coef: Annotated[ArrayLike, Array("P")]
    intercept: Annotated[float, Number()]
    log_link: Annotated[bool, Flag()]

    def __init__(
        self,
        coef: ArrayLike,
        intercept: float,
        support: ArrayLike | None = None,
        feature_names: Names | None = None,
        basis: Basis | None = None,
        preparation: Preparation | None = None,
        scale: ArrayLike | None = None,
        log_link: bool = False,
    ) -> None:
        keep_parameters(self, locals())

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients, in the units of X."""
        coef = np.asarray(self.coef, dtype=np.float64)
        if coef.ndim != 1:
            raise ValueError(
                f"coef must be one row of numbers, got an array of shape {coef.shape}."
            )
        return coef

    @property
    def intercept_(self) -> float:
        """The intercept."""
        return float(self.intercept)

    def formula(self, digits: int = 3, top: int | None = None) -> str:
        """Return the member as text; ``digits`` and ``top`` are as in `LinearMember.formula`."""
        text = self._sum(self.coef_, self.intercept_, digits, top)
        return f"exp({text})" if self.log_link else text

    def predict(self, X: Any) -> np.ndarray:
        """Return one number per row, of shape (n_samples,)."""
        return finite_exp(self._outputs(X)) if self.log_link else self._outputs(X)
