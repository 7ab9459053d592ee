"""What explains single rows of a model, whatever the model is."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from covey._explanations import Explanations
from covey.tables._columns import feature_names
from covey.tables._reading import Reading
from covey.tables._seen_columns import SeenColumns, seen_columns

if TYPE_CHECKING:
    from covey.inspection._changes import SmallestChange, WhatIf
    from covey.inspection._contributions import Contributions
    from covey.inspection._importance import Importance


class ExplainedRows:
    """A mixin for models that know what is typical of the columns that they were fitted on.

    A subclass calls ``_keep_seen`` in ``fit``. It may write ``_explained_rows``, ``_answers`` and
    ``_columns_looked_at``, which are faster than its public methods.

    Examples
    --------
    >>> import covey
    >>> X, y = covey.make_quarter_circle(100, random_state=0)
    >>> flock = covey.SubsetEnsembleClassifier(2, random_state=0).fit(X, y)
    >>> isinstance(flock, covey.members.ExplainedRows), flock.contributions(X[:1]).columns
    (True, ['x0', 'x1'])
    """

    # None of a model that was fitted before this was learnt.
    _seen_columns: SeenColumns | None = None
    # What columns are worth, or the rows by which it is measured when somebody asks for it.
    _importance_of_columns: Any = None

    @property
    def importance_(self) -> Importance | None:
        """What the model loses where it does not know a column; None if no rows are known.

        An `Importance`, measured on rows that folds held out; of models without folds on training
        rows, when it is first asked for. Its ``rows`` say on which.
        """
        check_is_fitted(self)
        if hasattr(self._importance_of_columns, "measured"):
            self._importance_of_columns = self._importance_of_columns.measured(self)
        return self._importance_of_columns

    @property
    def feature_importances_(self) -> np.ndarray:
        """The part of each column in all that is lost without one; sums to one, or is 0."""
        found = self.importance_
        if found is None:
            raise AttributeError(
                f"This {type(self).__name__} knows no rows to measure the importance of columns "
                "by; use covey.inspection.column_importance(model, X, y)."
            )
        return found.share

    def _keep_seen(
        self,
        X: Any,
        weight: np.ndarray | None = None,
        reading: Reading | None = None,
    ) -> None:
        """Learn what is typical of the columns of the rows that the model is fitted to."""
        if not all(X.shape):
            return  # refused by whatever is fitted to it
        names = feature_names(self)
        self._seen_columns = seen_columns(X, names, weight=weight, reading=reading)

    def _keep_rows(self, X: Any, y: np.ndarray, weight: np.ndarray | None) -> None:
        """Keep some training rows, by which importance is measured when it is asked for."""
        from covey.members._importance import TrainingSample

        self._importance_of_columns = TrainingSample.of(X, y, weight)

    def contributions(self, X: Any, *, background: Any = None) -> Contributions:
        """How much each column moves the prediction of a row away from the average.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_columns)
        background : array-like, sparse matrix or data frame, optional
            Rows that show what is typical; by default what was learnt when the model was fitted.

        Returns
        -------
        found : covey.inspection._contributions.Contributions
            ``found.baseline + found.values.sum(axis=1)`` is the prediction.
        """
        from covey.inspection import contributions

        return contributions(self, X, background=background)

    def what_if(self, row: Any, changes: Mapping[Any, Any]) -> WhatIf:
        """What is predicted of a row as it is, and of one in which columns are changed.

        Parameters
        ----------
        row : data frame or array with one row, Series, one-dimensional array or dict
        changes : mapping from column to value
            None is a gap.

        Returns
        -------
        found : covey.inspection._changes.WhatIf
            ``before``, ``after``, and how far each change ``moved`` it.
        """
        from covey.inspection import what_if

        return what_if(self, row, changes)

    def smallest_change(
        self,
        row: Any,
        *,
        to: Any = None,
        fixed: Collection[Any] = (),
        max_columns: int = 2,
        background: Any = None,
    ) -> SmallestChange | None:
        """The smallest change of a row, of one column or two, that changes the answer.

        Parameters
        ----------
        row : data frame or array with one row, Series, one-dimensional array or dict
        to : class, or number of a regressor, optional
            What is to be predicted; by default any class but that of now.
        fixed : collection of columns, default=()
            Columns that cannot change.
        max_columns : {1, 2}, default=2
        background : array-like, sparse matrix or data frame, optional
            As for `contributions`.

        Returns
        -------
        found : covey.inspection._changes.SmallestChange or None
            None if no such change was found.
        """
        from covey.inspection import smallest_change

        how = {"to": to, "fixed": fixed, "max_columns": max_columns, "background": background}
        return smallest_change(self, row, **how)

    def _with_reasons(
        self, X: Any, decided: list[dict[str, Any]], top: int, background: Any
    ) -> Explanations:
        """Records of who decided, with what speaks for and against each decision before that."""
        from covey.inspection import reasons

        why = reasons(self, X, top=top, background=background)
        return Explanations({**one, **other} for one, other in zip(why, decided, strict=True))
