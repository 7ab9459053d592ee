"""A model of a whole table: the preparation, and any estimator after it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import estimator_html_repr
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, column_or_1d

from covey._validation import fitted_alone
from covey.members._ensemble import Ensemble
from covey.members._flock_summary import Origins
from covey.members._routing import RoutesToEstimator
from covey.tables._kinds import as_frame, as_kind
from covey.tables._seen_columns import SeenColumns
from covey.tables._table_preparation import TablePreparation

if TYPE_CHECKING:
    from covey._decisions import Decision
    from covey.inspection._importance import Importance
    from covey.reporting import Report


def _of_estimator(name: str) -> Any:
    """Lets a model have a method that its estimator has."""

    def has(model: Any) -> bool:
        known = getattr(model, "estimator_", model.estimator)
        return hasattr(model._default() if known is None else known, name)

    return available_if(has)


class _TableModel(RoutesToEstimator, BaseEstimator):
    """What models of tables share."""

    feature_importances_ = Ensemble.feature_importances_
    contributions = Ensemble.contributions
    what_if = Ensemble.what_if
    smallest_change = Ensemble.smallest_change
    _with_reasons = Ensemble._with_reasons

    # Groups are for the estimator; the preparation reads none.
    __metadata_request__fit = {"groups": UNUSED}  # noqa: RUF012

    def __init__(
        self,
        estimator: Any = None,
        *,
        columns: Mapping[str, str] | None = None,
        random_state: int | None = None,
    ):
        self.estimator = estimator
        self.columns = columns
        self.random_state = random_state

    @fitted_alone
    def fit(self, X: Any, y: ArrayLike, groups: ArrayLike | None = None, **metadata: Any) -> Self:
        """Prepare the table and fit the estimator to it.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
            Anything: numbers, categories, text, dates, gaps.
        y : array-like of shape (n_rows,)
            Labels, or numbers for a regressor.
        groups : array-like of shape (n_rows,), optional
            Rows that belong together, for an estimator whose ``fit`` takes them.
        **metadata
            With scikit-learn's ``enable_metadata_routing``, whatever the estimator requests, such
            as ``sample_weight``; it then gets ``groups`` only if it requests them. The default
            flock requests both.

        Returns
        -------
        self : TableClassifier or TableRegressor
        """
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        y = column_or_1d(y, warn=True)
        # The length of a sparse matrix is not its number of rows; the preparation refuses it.
        if hasattr(X, "__len__") and not issparse(X) and len(y) != len(X):
            raise ValueError(f"X has {len(X)} rows and y has {len(y)}; they must match.")
        preparation = TablePreparation(columns=self.columns, random_state=self.random_state)
        parameters = self._parameters_of_estimator(None, groups, metadata)
        return self._fit_prepared(preparation, preparation.fit_transform(X), y, parameters)

    def _estimator_to_fit(self) -> Any:
        if self.estimator is not None:
            return self.estimator
        with config_context(enable_metadata_routing=True):
            return self._default().set_fit_request(sample_weight=True, groups=True)

    def _fit_prepared(
        self,
        preparation: TablePreparation,
        numbers: Any,
        y: ArrayLike,
        parameters: Mapping[str, Any] | None = None,
    ) -> Self:
        """Fit the estimator to the numbers that a fitted preparation has made of a table."""
        estimator = self._default() if self.estimator is None else clone(self.estimator)
        if preparation.feature_groups_ and "feature_groups" in estimator.get_params():
            estimator.set_params(feature_groups=preparation.feature_groups_)
        estimator.fit(numbers, y, **(parameters or {}))
        return self._set_fitted(preparation, estimator)

    def _set_fitted(self, preparation: TablePreparation, estimator: Any) -> Self:
        """Become the model of a fitted preparation and a fitted estimator."""
        self.preparation_, self.estimator_ = preparation, estimator
        self.feature_names_in_ = preparation.feature_names_in_
        self.n_features_in_ = preparation.n_features_in_
        if hasattr(estimator, "classes_"):
            self.classes_ = estimator.classes_
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The estimator's prediction for each row.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
            With the columns that the model needs, in any order.

        Returns
        -------
        predicted : ndarray of shape (n_rows,)
        """
        prepared = self._prepared(X)
        return self.estimator_.predict(prepared)

    @_of_estimator("calibrate")
    def calibrate(self, X: Any, y: ArrayLike) -> Self:
        """Measure by rows that the model was not fitted on how far off it is.

        See `FlockClassifier.calibrate`; the level of sets or intervals is then exact.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
        y : array-like of shape (n_rows,)

        Returns
        -------
        self : TableClassifier or TableRegressor
        """
        prepared = self._prepared(X)
        self.estimator_.calibrate(prepared, y)
        return self

    def report(self, X: Any, y: ArrayLike, **how: Any) -> Report:
        """One HTML page about this model: how right it is, what it looks at, and why.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
            Rows that it was not fitted on.
        y : array-like of shape (n_rows,)
        **how
            As for `covey.reporting.build_report`.

        Returns
        -------
        report : Report
            Shows itself in a notebook; ``report.save(path)`` writes the page.
        """
        from covey.reporting import build_report

        return build_report(self, X, y, **how)

    def model_card(self, X: Any = None, y: ArrayLike | None = None, **how: Any) -> str:
        """A model card in the format of Hugging Face's hub: data, measures, members.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns), optional
            Rows that the model was not fitted on. Without them a flock goes by rows held out.
        y : array-like of shape (n_rows,), optional
        **how
            ``title``, ``about``, ``data`` and ``license``, as for `covey.reporting.build_card`.

        Returns
        -------
        card : str
        """
        from covey.reporting import build_card

        return build_card(self, X, y, **how)

    def _prepared(self, X: Any) -> Any:
        check_is_fitted(self, "estimator_")
        return self.preparation_._transformed(X, type(self).__name__)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.target_tags.required = True
        return tags

    @property
    def pipeline_(self) -> Pipeline:
        """Preparation and estimator, both fitted, as a scikit-learn pipeline."""
        check_is_fitted(self, "estimator_")
        return Pipeline([("table", self.preparation_), ("flock", self.estimator_)])

    @property
    def importance_(self) -> Importance | None:
        """What is lost without each of ``feature_names_in_``; see `FlockClassifier`."""
        check_is_fitted(self, "estimator_")
        found = getattr(self.estimator_, "importance_", None)
        if found is None:
            return None
        of = self._columns_of_features().argmax(axis=1)
        return found.on_columns(self.feature_names_in_.tolist(), of)

    # -- explain ---------------------------------------------------------------------------

    @property
    def _seen_columns(self) -> SeenColumns | None:
        return getattr(self.preparation_, "_seen_columns", None)

    def _as_user_table(self, X: Any) -> Any:
        """The columns that the model needs, as a data frame."""
        table = as_frame(X)
        self.preparation_._check_columns(table)
        table = table[self.feature_names_in_.tolist()]
        kinds = self.preparation_.kinds_
        # Numbers that are written as text, and lengths of time, as the model reads them.
        written = [
            name
            for name, dtype in zip(table.columns, table.dtypes, strict=True)
            if kinds[name] == "number" and getattr(dtype, "kind", "O") not in "biuf"
        ]
        return table.assign(**{name: as_kind(table[name], "number") for name in written})

    def _seen_in(self, table: Any) -> SeenColumns:
        return self.preparation_._seen_in(self._as_user_table(table))

    def _explained_rows(self, X: Any) -> tuple[Any, np.ndarray]:
        """Rows as ``_answers`` takes them, and the column that each of theirs is made of."""
        numbers = self._prepared(X)
        units = self._columns_of_features().argmax(axis=1)
        if not hasattr(self.estimator_, "_explained_rows"):
            return numbers.to_numpy(), units
        rows, inner = self.estimator_._explained_rows(numbers)
        return rows, units[inner]

    def _answers(self, rows: Any) -> np.ndarray:
        if hasattr(self.estimator_, "_explained_rows"):
            return self.estimator_._answers(rows)
        import pandas as pd

        numbers = pd.DataFrame(rows, columns=self.preparation_.get_feature_names_out())
        answer = "predict_proba" if hasattr(self, "classes_") else "predict"
        return getattr(self.estimator_, answer)(numbers)

    def _columns_looked_at(self) -> np.ndarray:
        made = self._columns_of_features() > 0
        if hasattr(self.estimator_, "_explained_rows"):
            made &= self.estimator_._columns_looked_at()[:, None]
        return made.any(axis=0)

    def explain(
        self,
        X: Any,
        *,
        top: int = 3,
        max_members: int | None = None,
        background: Any = None,
    ) -> list[dict]:
        """Why each row is predicted as it is, and who decided, in the columns of the table.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
        top : int, default=3
            How many columns to name on either side of a decision, and for each member, at most.
        max_members : int, optional
            How many members to name for each row, the most important ones; by default all that
            count.
        background : data frame or array, optional
            Rows that show what is typical, as for `contributions`.

        Returns
        -------
        records : list of dict
            As those of `FlockClassifier.explain`. One for each row: ``prediction``, for
            classes its ``probability``, the ``baseline`` (the same of the typical row),
            ``because`` and ``against`` (what speaks for it and what against it: dicts with
            ``column``, ``value``, ``typical`` and ``push``) and ``other``, which all together sum
            to the probability or the number; where a gate fuses its ``gate_share``; and
            ``members``, the most important first. Each of these
            has its ``member`` number (from 1), its ``weight``, its own ``prediction`` (and
            ``probability``), and ``because``: (column, push) of the columns that moved it most,
            compared with an average row. An estimator that is no flock has no ``members``.
        """
        numbers, flock = self._prepared(X), self.estimator_
        if hasattr(flock, "_explain"):
            names, shares = self.feature_names_in_.tolist(), self._columns_of_features()
            decided = flock._explain(numbers, top, names, shares, max_members)
        else:
            decided = [{"members": []} for _ in range(len(numbers))]
        return self._with_reasons(X, decided, top, background)

    def summary(self) -> str:
        """The fitted model on one screen, in the columns of the table; see `FlockClassifier`.

        Returns
        -------
        summary : str
        """
        check_is_fitted(self, "estimator_")
        if not hasattr(self.estimator_, "_summary"):
            raise ValueError(
                f"A {type(self.estimator_).__name__} has no members to summarize; use a flock, "
                f"such as {type(self._default()).__name__}."
            )
        return self.estimator_._summary(self._origins())

    def _repr_html_(self) -> str:
        """What notebooks show: the estimator, and the flock once it is fitted."""
        html = estimator_html_repr(self)
        flock = getattr(self, "estimator_", None)
        return html + flock._table(self._origins()) if hasattr(flock, "_table") else html

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def _origins(self) -> Origins:
        of = self._columns_of_features().argmax(axis=1)
        return Origins(self.feature_names_in_.tolist(), of)

    def _columns_of_features(self) -> np.ndarray:
        """1 where a prepared feature is made of a column, (n_features, n_columns)."""
        made_of = np.array(self.preparation_.column_of_, dtype=object)
        return (made_of[:, None] == self.feature_names_in_).astype(np.float64)


class TableClassifier(ClassifierMixin, _TableModel):
    """A classifier of whole tables: a `TablePreparation`, then a flock or any other classifier.

    Take it for a data frame as it is: text, dates, gaps, ids. For columns of numbers and
    categories alone a flock takes the frame itself.

    Parameters
    ----------
    estimator : classifier, optional
        What learns from the numbers that the preparation makes. By default a
        `FlockClassifier`. One with a parameter ``feature_groups`` is given the numbers
        that are made of one column, so that it takes or leaves the column as a whole.
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
        The columns that the model needs.
    n_features_in_ : int

    Examples
    --------
    >>> import pandas as pd
    >>> from covey._table_models import TableClassifier
    >>> table = pd.DataFrame({
    ...     "age": [31, None, 54, 60, 25, 44] * 5,
    ...     "town": ["Rome", "Oslo", "Bath", "Bath", "Rome", "Oslo"] * 5,
    ... })
    >>> ill = ["no", "no", "yes", "yes", "no", "no"] * 5
    >>> model = TableClassifier(random_state=0).fit(table, ill)
    >>> model.predict(table.head(3)).tolist()
    ['no', 'no', 'yes']
    >>> model.explain(table.head(1))[0]["members"][0]["because"][0][0]
    'age'
    """

    def _default(self) -> Any:
        from covey.members import FlockClassifier

        return FlockClassifier(random_state=self.random_state)

    @property
    def decision_(self) -> Decision | None:
        """How probabilities become a class, None for the most probable one."""
        return getattr(self.estimator_, "decision_", None)

    @_of_estimator("decide")
    def decide(self, X: Any = None, y: ArrayLike | None = None, **how: Any) -> Self:
        """Choose how probabilities become a class; see `FlockClassifier.decide`.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns), optional
        y : array-like of shape (n_rows,), optional
        **how
            ``threshold``, ``find`` or ``costs``.

        Returns
        -------
        self : TableClassifier
        """
        self.estimator_.decide(None if X is None else self._prepared(X), y, **how)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)

        Returns
        -------
        probabilities : ndarray of shape (n_rows, n_classes)
        """
        prepared = self._prepared(X)
        return self.estimator_.predict_proba(prepared)

    def predict(self, X: Any, *, reject: float | None = None) -> np.ndarray:
        """The estimator's prediction for each row.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
            With the columns that the model needs, in any order.
        reject : float, optional
            The share of rows that may be left to a person, as in `FlockClassifier.predict`.

        Returns
        -------
        predicted : ndarray, or with ``reject`` a masked array, of shape (n_rows,)
        """
        if reject is None:
            return super().predict(X)
        self.rejection(reject)  # says what is wrong before a long table is prepared
        return self.estimator_.predict(self._prepared(X), reject=reject)

    @_of_estimator("predict_set")
    def predict_set(self, X: Any, level: float = 0.9, *, by_class: bool = True) -> np.ndarray:
        """The classes that a row may have; see `FlockClassifier.predict_set`.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
        level : float, default=0.9
        by_class : bool, default=True

        Returns
        -------
        sets : ndarray of shape (n_rows, n_classes), bool
        """
        prepared = self._prepared(X)
        return self.estimator_.predict_set(prepared, level, by_class=by_class)

    @_of_estimator("rejection")
    def rejection(self, reject: float | None = None, **wanted: Any) -> Any:
        """How right the model is if it leaves rows to a person; see `FlockClassifier.rejection`.

        Parameters
        ----------
        reject : float, optional
        **wanted
            ``accuracy`` and ``confidence``.

        Returns
        -------
        found : Bunch
        """
        check_is_fitted(self, "estimator_")
        return self.estimator_.rejection(reject, **wanted)


class TableRegressor(RegressorMixin, _TableModel):
    """A regressor of whole tables: a `TablePreparation`, then a flock or any other regressor.

    Take it for a data frame as it is: text, dates, gaps, ids. For columns of numbers and
    categories alone a flock takes the frame itself.

    Parameters
    ----------
    estimator : regressor, optional
        By default a `FlockRegressor`.
    columns, random_state
        As in `TableClassifier`.

    Attributes
    ----------
    preparation_, estimator_, feature_names_in_, n_features_in_
        As in `TableClassifier`.

    Examples
    --------
    >>> import pandas as pd
    >>> from covey._table_models import TableRegressor
    >>> table = pd.DataFrame({"size": range(0, 80, 2), "town": ["Rome", "Oslo"] * 20})
    >>> price = 3.0 * table["size"] + 20.0 * (table["town"] == "Oslo")
    >>> model = TableRegressor(random_state=0).fit(table, price)
    >>> bool(abs(model.predict(table) - price).max() < 1)
    True
    """

    def _default(self) -> Any:
        from covey.members import FlockRegressor

        return FlockRegressor(random_state=self.random_state)

    @_of_estimator("predict_interval")
    def predict_interval(self, X: Any, level: float = 0.9) -> np.ndarray:
        """Bounds of y; see `FlockRegressor.predict_interval`.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
        level : float, default=0.9

        Returns
        -------
        bounds : ndarray of shape (n_rows, 2)
        """
        prepared = self._prepared(X)
        return self.estimator_.predict_interval(prepared, level)
