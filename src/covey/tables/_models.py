"""A model of a whole table: the preparation, and any estimator after it."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted, column_or_1d

from covey.tables._columns import as_frame, check_width, width_of_array
from covey.tables._preparation import TablePreparation


class _TableModel(BaseEstimator):
    """What models of tables share."""

    def __init__(self, estimator=None, *, columns=None, random_state=None):
        self.estimator = estimator
        self.columns = columns
        self.random_state = random_state

    def fit(self, X, y, groups=None):
        """Prepare the table and fit the estimator to it.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
            Anything: numbers, categories, text, dates, gaps.
        y : array-like of shape (n_rows,)
        groups : array-like of shape (n_rows,), optional
            Rows that belong together, for an estimator that asks.

        Returns
        -------
        self : TableClassifier or TableRegressor
        """
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        table = as_frame(X)
        y = column_or_1d(y, warn=True)
        if len(y) != len(table):
            raise ValueError(f"X has {len(table)} rows and y has {len(y)}; they must match.")
        self.preparation_ = TablePreparation(
            columns=self.columns, random_state=self.random_state
        ).fit(table)
        self._width = width_of_array(X)
        self.feature_names_in_ = self.preparation_.feature_names_in_
        self.n_features_in_ = self.preparation_.n_features_in_
        estimator = self._default() if self.estimator is None else clone(self.estimator)
        if "feature_groups" in estimator.get_params() and self.preparation_.feature_groups_:
            estimator.set_params(feature_groups=self.preparation_.feature_groups_)
        more = {} if groups is None else {"groups": groups}
        self.estimator_ = estimator.fit(self.preparation_.transform(table), y, **more)
        return self

    def predict(self, X):
        """What the estimator says of each row.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
            With the columns that the model needs, in any order.

        Returns
        -------
        predicted : ndarray of shape (n_rows,)
        """
        numbers = self._prepared(X)
        return self.estimator_.predict(numbers)

    def _prepared(self, X):
        check_is_fitted(self, "estimator_")
        table = as_frame(X)
        check_width(self, X)
        return self.preparation_.transform(table)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.target_tags.required = True
        return tags

    @property
    def columns_(self):
        """The columns that the model needs."""
        check_is_fitted(self, "estimator_")
        return list(self.preparation_.kinds_)

    @property
    def pipeline_(self):
        """Preparation and estimator, both fitted, as a scikit-learn pipeline."""
        check_is_fitted(self, "estimator_")
        return Pipeline([("table", self.preparation_), ("flock", self.estimator_)])

    @property
    def feature_importances_(self):
        """How much each of the table's columns counts, as a dict; sums to one."""
        check_is_fitted(self, "estimator_")
        importances = dict.fromkeys(self.columns_, 0.0)
        for name, size in zip(
            self.preparation_.column_of_, self.estimator_.feature_importances_, strict=True
        ):
            importances[name] += float(size)
        return importances

    # -- explain ---------------------------------------------------------------------------

    def explain(self, X, *, top=3):
        """Who decided each row, and which columns of the table pushed that member.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
        top : int, default=3
            How many columns to name.

        Returns
        -------
        records : list of dict
            For each row the ``member`` (a number from 1) that was asked most, its ``weight``,
            its own ``prediction``, and ``because``: (column, value, push) of the columns that
            moved it most, compared with an average row: towards its prediction for classes, up
            or down for numbers.
        """
        table = as_frame(X)
        numbers = self._prepared(table)
        flock = self.estimator_
        if not hasattr(flock, "basis_"):
            raise ValueError(
                f"A {type(flock).__name__} does not say why it decides; use a flock, such as "
                "SubsetEnsembleClassifier."
            )
        importance = np.asarray(flock.explain_fusion(numbers))
        member = importance.argmax(axis=1)
        rows = np.arange(len(table))
        said, coef = self._said(numbers, member)
        average = flock.basis_.rows(flock.mean_[None])[0]
        push = coef * (flock.basis_.rows(numbers.to_numpy()) - average)
        by_column = push @ self._shares()
        order = np.argsort(-self._size(by_column), axis=1, kind="stable")[:, :top]
        names = self.columns_
        values = {name: table[name].tolist() for name in names}
        return [
            {
                "member": int(member[row]) + 1,
                "weight": float(importance[row, member[row]]),
                "prediction": said[row],
                "because": [
                    (names[k], values[names[k]][row], float(by_column[row, k]))
                    for k in order[row]
                    if self._size(by_column[row, k]) > 1e-9
                ],
            }
            for row in rows
        ]

    def _shares(self):
        """The share (n_seen, n_columns) of what members see in each of the table's columns."""
        basis = self.estimator_.basis_
        names = self.columns_
        place = np.array([names.index(name) for name in self.preparation_.column_of_])
        shares = np.zeros((basis.n_columns, len(names)))
        seen = np.arange(basis.n_columns)
        paired = basis.partner >= 0
        np.add.at(shares, (seen, place[basis.feature]), np.where(paired, 0.5, 1.0))
        np.add.at(shares, (seen[paired], place[basis.partner[paired]]), 0.5)
        return shares


class TableClassifier(ClassifierMixin, _TableModel):
    """A classifier of whole tables: a `TablePreparation`, then a flock or any other classifier.

    Parameters
    ----------
    estimator : classifier, optional
        What learns from the numbers that the preparation makes. By default a
        `SubsetEnsembleClassifier`. One with a parameter ``feature_groups`` is told which
        numbers are made of one column, so that it takes or leaves the column as a whole.
    columns : mapping from column to kind, optional
        As in `TablePreparation`.
    random_state : int or None, default=None
        For the default estimator and the preparation.

    Attributes
    ----------
    preparation_ : TablePreparation
    estimator_ : classifier
    classes_ : ndarray of shape (n_classes,)
    feature_names_in_ : ndarray of shape (n_columns,)
    n_features_in_ : int

    Examples
    --------
    >>> import pandas as pd
    >>> from covey.tables import TableClassifier
    >>> table = pd.DataFrame({
    ...     "age": [31, None, 54, 60, 25, 44] * 5,
    ...     "town": ["Rome", "Oslo", "Bath", "Bath", "Rome", "Oslo"] * 5,
    ... })
    >>> ill = ["no", "no", "yes", "yes", "no", "no"] * 5
    >>> model = TableClassifier(random_state=0).fit(table, ill)
    >>> model.score(table, ill)
    1.0
    >>> model.explain(table.head(1))[0]["because"][0][:2]
    ('town', 'Rome')
    """

    def _default(self):
        from covey.members import SubsetEnsembleClassifier

        return SubsetEnsembleClassifier(random_state=self.random_state)

    def fit(self, X, y, groups=None):
        """Prepare the table and fit the classifier to it.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
            Anything: numbers, categories, text, dates, gaps.
        y : array-like of shape (n_rows,)
            Labels.
        groups : array-like of shape (n_rows,), optional
            Rows that belong together, for a classifier that asks.

        Returns
        -------
        self : TableClassifier
        """
        super().fit(X, y, groups)
        self.classes_ = self.estimator_.classes_
        return self

    def predict_proba(self, X):
        """Probabilities of the classes.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)

        Returns
        -------
        probabilities : ndarray of shape (n_rows, n_classes)
        """
        numbers = self._prepared(X)
        return self.estimator_.predict_proba(numbers)

    def _said(self, numbers, member):
        """What one member a row says, and its coefficients for that."""
        flock = self.estimator_
        rows = np.arange(len(numbers))
        code = flock.member_probabilities(numbers)[rows, member].argmax(axis=1)
        contrast = flock.coef_ - flock.coef_.mean(axis=1, keepdims=True)
        return flock.classes_[code].tolist(), contrast[member, code]

    @staticmethod
    def _size(push):
        return push


class TableRegressor(RegressorMixin, _TableModel):
    """A regressor of whole tables: a `TablePreparation`, then a flock or any other regressor.

    Parameters
    ----------
    estimator : regressor, optional
        What learns from the numbers that the preparation makes. By default a
        `SubsetEnsembleRegressor`.
    columns : mapping from column to kind, optional
        As in `TablePreparation`.
    random_state : int or None, default=None
        For the default estimator and the preparation.

    Attributes
    ----------
    preparation_ : TablePreparation
    estimator_ : regressor
    feature_names_in_ : ndarray of shape (n_columns,)
    n_features_in_ : int

    Examples
    --------
    >>> import pandas as pd
    >>> from covey.tables import TableRegressor
    >>> table = pd.DataFrame({"size": range(0, 80, 2), "town": ["Rome", "Oslo"] * 20})
    >>> price = 3.0 * table["size"] + 20.0 * (table["town"] == "Oslo")
    >>> model = TableRegressor(random_state=0).fit(table, price)
    >>> bool(model.score(table, price) > 0.9)
    True
    """

    def _default(self):
        from covey.members._joint_subsets_regression import SubsetEnsembleRegressor

        return SubsetEnsembleRegressor(random_state=self.random_state)

    def _said(self, numbers, member):
        flock = self.estimator_
        rows = np.arange(len(numbers))
        said = np.asarray(flock.member_predictions(numbers))[rows, member]
        return said.tolist(), flock.coef_[member]

    @staticmethod
    def _size(push):
        return np.abs(push)
