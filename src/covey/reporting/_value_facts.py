"""What there is to report about a regressor, as plain numbers."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from sklearn import metrics
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from covey._intervals import Interval, mean_interval, r2_interval
from covey.fusers import Predictions
from covey.reporting._facts import Facts, Quarters, quarters, shares
from covey.reporting._inputs import Details, ReportInputs
from covey.reporting._words import number

# A ridge is cross-fitted on these rows if there are at least so many.
_LEAST_ROWS_TO_FIT = 20
_N_FOLDS = 5
# A bootstrap draws so many rows, or blocks of rows.
_MOST_DRAWN = 5000
_PENALTIES = np.logspace(-3, 5, 17)


class Errors:
    """How far predictions are from the truth, with 95 % intervals."""

    def __init__(self, y: np.ndarray, predicted: np.ndarray, groups: np.ndarray | None = None):
        if groups is None and len(y) > _MOST_DRAWN:
            # A bootstrap over blocks of any rows takes less time, and says the same.
            groups = np.arange(len(y)) % _MOST_DRAWN
        self.y, self._errors, self._groups = y, predicted - y, groups

    @cached_property
    def rmse(self) -> Interval:
        """Root mean squared error."""
        return Interval(*np.sqrt(np.maximum(self._mean(self._errors**2), 0.0)).tolist())

    @cached_property
    def mae(self) -> Interval:
        """Mean absolute error."""
        return Interval(*np.maximum(self._mean(np.abs(self._errors)), 0.0).tolist())

    @cached_property
    def bias(self) -> Interval:
        """How much too high predictions are on average."""
        return Interval(*self._mean(self._errors))

    @cached_property
    def r2(self) -> Interval:
        """The share of the variance that is explained; NaN for values that do not vary."""
        if np.ptp(self.y) == 0:
            return Interval(math.nan, math.nan, math.nan)
        return r2_interval(self.y, self._errors**2, self._groups)

    def _mean(self, values: np.ndarray) -> Interval:
        if len(values) < 2:
            return Interval(float(values.mean()), math.nan, math.nan)
        return mean_interval(values, self._groups)


class ValueFacts(Facts):
    """A regressor on some rows; errors of members are those of the sample."""

    task = "regression"
    outcomes = ("lower", "higher")
    plain_rule = "mean"
    # How scores are shown, and their highest value: there is none.
    measure, show, highest = "RMSE", staticmethod(number), None
    higher_is_better = False

    def __init__(self, inputs: ReportInputs, details: Details | None = None):
        super().__init__(inputs, details)
        judged = inputs.judgement
        predicted = self.flock.predict(inputs.seen) if judged is None else judged.predictions
        self.predicted = np.asarray(predicted, dtype=np.float64)
        self.truth = self.y[self.sample]
        self.errors = Errors(self.y, self.predicted, self.groups)
        if judged is not None and judged.scores:
            # A bootstrap of other draws would differ a little from what was shown elsewhere.
            own = judged.scores[0]
            self.errors.r2 = Interval(own["r2"], own["low"], own["high"])
        self.rmse, self.r2 = self.errors.rmse, self.errors.r2
        self.member_values = self.P.values[:, :, 0]

    # -- the whole -------------------------------------------------------------------------

    @property
    def mean(self) -> float:
        """The mean of the true values, which is what a model would predict that knows nothing."""
        return float(self.y.mean())

    @cached_property
    def constant_errors(self) -> Errors:
        """The errors of always predicting the mean of these rows."""
        return Errors(self.y, np.full(self.n_rows, self.mean))

    @cached_property
    def ridge_errors(self) -> Errors | None:
        """The errors of a tuned ridge, cross-fitted on these rows; None where it cannot be."""
        if self.n_sample < _LEAST_ROWS_TO_FIT:
            return None
        scaler = StandardScaler(with_mean=not hasattr(self.seen, "tocsr"))
        ridge = make_pipeline(scaler, RidgeCV(_PENALTIES))
        folds = KFold(_N_FOLDS, shuffle=True, random_state=0)
        try:
            return Errors(self.truth, cross_val_predict(ridge, self.seen, self.truth, cv=folds))
        except ValueError:
            # Rows with gaps or text are for models that prepare them.
            return None

    def score(self, fused: np.ndarray) -> float:
        """The RMSE of fused predictions of the sample."""
        return float(metrics.root_mean_squared_error(self.truth, np.ravel(fused)))

    @property
    def sample_score(self) -> float:
        return self.score(self.predicted[self.sample])

    # -- the members -----------------------------------------------------------------------

    @cached_property
    def member_errors(self) -> np.ndarray:
        """Errors of the members, (n_sample, n_members); 0 where one does not predict."""
        errors = self.member_values - self.truth[:, None]
        return np.where(self.available, errors, 0.0)

    @cached_property
    def member_score(self) -> np.ndarray:
        """RMSE on the rows that each member predicts; NaN if there are none."""
        squares = (self.member_errors**2).sum(axis=0)
        return np.sqrt(shares(squares, self.available.sum(axis=0)))

    @cached_property
    def _quarters(self) -> Quarters:
        return _quarters(self.truth)

    @property
    def parts(self) -> list[str]:
        """What members are measured on one by one: quarters of the true values."""
        return self._quarters.names

    @cached_property
    def member_parts(self) -> np.ndarray:
        """RMSE of each member in each part, (n_members, n_parts)."""
        in_part = np.eye(len(self.parts))[self._quarters.of_row]
        return np.sqrt(shares((self.member_errors**2).T @ in_part, self.available.T @ in_part))

    @property
    def best_member(self) -> int:
        return int(np.nanargmin(self.member_score))

    def staged_oracle(self) -> np.ndarray:
        """RMSE of always taking the closest of the first 1, 2, ... members.

        Members that are constant on the sample are left out, but where one of them alone is
        better than the others together.
        """
        squares = self.member_errors**2
        closest = np.minimum.accumulate(np.where(self.constant, np.inf, squares), axis=1)
        alone = np.where(self.constant, squares.mean(axis=0), np.inf)
        return np.sqrt(np.minimum(closest.mean(axis=0), np.minimum.accumulate(alone)))

    def predicted_groups(self) -> tuple[np.ndarray, list[str]]:
        """The quarter of each row of the sample by what is predicted, and their names."""
        return _quarters(self.predicted[self.sample])

    # -- single rows -----------------------------------------------------------------------

    def telling_rows(self) -> list[tuple[int, str]]:
        """Positions of rows with why they are shown: the largest errors, then the smallest."""
        order = np.argsort(-np.abs(self.predicted - self.y), kind="stable").tolist()
        worst = order[:4]
        closest = [row for row in order[-2:] if row not in worst]
        return [(row, "largest errors") for row in worst] + [(row, "closest") for row in closest]

    def is_wrong(self, row: int) -> bool:
        """Whether the error of a row is larger than usual."""
        return bool(abs(self.predicted[row] - self.y[row]) > self.rmse.value)

    @cached_property
    def row_losses(self) -> np.ndarray:
        """How far off each row is."""
        return np.abs(self.predicted - self.y)

    def wrong_rows(self, most: int) -> np.ndarray:
        """Positions of the rows that are furthest off, the worst first."""
        return np.argsort(-self.row_losses, kind="stable")[:most]

    def show_truth(self, row: int) -> str:
        return number(self.y[row])

    def said(self, row: int) -> dict:
        """What is predicted for a row by a model that was not fitted on it."""
        return {"prediction": float(self.predicted[row])}

    def show_prediction(self, value: float) -> str:
        return number(value)

    def member_record(self, P: Predictions, row: int, k: int) -> dict:
        """What one member predicts for a row."""
        return {"prediction": float(P.values[row, k, 0])}


def _quarters(values: np.ndarray) -> Quarters:
    """Quarters of values; a single part where these are all the same."""
    alone = Quarters(np.zeros(len(values), dtype=np.intp), [number(values[0])])
    return quarters(values) or alone
