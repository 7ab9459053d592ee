"""What members predict, as columns for whatever comes after."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from covey._devices import returned


class MemberColumns(TransformerMixin):
    """A mixin for ensembles of given models that are transformers too.

    A subclass writes ``_as_columns`` and ``_column_names``.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> import covey
    >>> X, y = covey.make_quarter_circle(100, random_state=0)
    >>> fused = covey.FusionClassifier([GaussianNB()]).fit(X, y)
    >>> fused.get_feature_names_out().tolist()
    ['fusionclassifier_gaussiannb_0', 'fusionclassifier_gaussiannb_1']
    """

    @abstractmethod
    def _as_columns(self, X: Any) -> Any:
        """The columns of validated rows."""

    @abstractmethod
    def _column_names(self, input_names: np.ndarray) -> list[str]:
        """Their names, where the columns of X have these."""

    def transform(self, X: Any) -> Any:
        """What the members predict, as columns for a model that comes after.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        columns : array or sparse matrix of shape (n_samples, n_columns)
            ``get_feature_names_out`` names them.
        """
        return returned(self._by_blocks(self._as_columns, self._check_rows(X)), X)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """The names of the columns that ``transform`` gives: of this class, member and class.

        Parameters
        ----------
        input_features : array-like of str, optional
            The names of the columns of X, if it had none when this was fitted.

        Returns
        -------
        names : ndarray of str objects
        """
        check_is_fitted(self, "fuser_")
        return np.array(self._column_names(self._input_names(input_features)), dtype=object)

    def _input_names(self, given: ArrayLike | None) -> np.ndarray:
        known = getattr(self, "feature_names_in_", None)
        if given is None:
            numbered = [f"x{column}" for column in range(self.n_features_in_)]
            return np.array(numbered, dtype=object) if known is None else known
        given = np.asarray(given, dtype=object)
        if len(given) != self.n_features_in_:
            raise ValueError(
                "input_features should have length equal to the number of columns of X, "
                f"{self.n_features_in_}, got {len(given)}."
            )
        if known is not None and not np.array_equal(given, known):
            raise ValueError("input_features is not equal to feature_names_in_; leave it out.")
        return given

    def _names_of(self, labels: Iterable[Any] | None) -> list[str]:
        """A name for each member and label, or for each member."""
        owner = type(self).__name__.lower()
        if labels is None:
            return [f"{owner}_{name}" for name in self._names()]
        return [f"{owner}_{name}_{label}" for name in self._names() for label in labels]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags
