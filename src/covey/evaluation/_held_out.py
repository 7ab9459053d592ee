"""Rows that were held out, the predictions of models for them, and the measures of these."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from covey._core.losses import ValueLoss
from covey._decisions import rare_class
from covey._intervals import (
    Interval,
    accuracy_interval,
    average_precision_interval,
    mean_interval,
    mean_p_value,
    proportion_interval,
    r2_interval,
)
from covey.evaluation._record import ClassErrors, Label, Score
from covey.inspection._ranking import placements

# Smaller probabilities of the true class count as this.
LEAST_PROBABILITY = 1e-15
# Smaller differences than this do not show in the output.
_SEEN = 0.0005


@dataclass(frozen=True, eq=False)
class Predicted:
    """A model's predictions of rows that it was fitted without.

    Parameters
    ----------
    name : str
    predictions : ndarray of shape (n, n_classes) or (n,)
        Probabilities of all classes, or numbers.
    kind : str
        As in `Score`.
    seconds : float, optional
        The seconds of a fit.
    knows_probabilities : bool
        False if probabilities of zero and one stand for labels.
    """

    name: str
    predictions: np.ndarray
    kind: str = "other"
    seconds: float | None = None
    knows_probabilities: bool = True


@dataclass(eq=False)
class HeldOut:
    """Rows that were held out, and the predictions of models that were fitted without them.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Their labels, or their numbers.
    models : list of Predicted
        The model that is judged, then those that it is compared with.
    classes : ndarray of shape (n_classes,), or None
        In ascending order; None where numbers are predicted.
    rows : ndarray of shape (n,), optional
        The rows, as positions in the model's table, rising. By default all.
    names : sequence of str, optional
        The user's names of the rows. By default they are counted from 1 on.
    how, split : str
        How rows were held out, as in `Evaluation`.
    groups : ndarray of shape (n,), optional
        Rows that belong together, which are not independent of each other.
    decision : Decision, optional
        The decision rule of the judged model, if it does not predict the most probable class.
    pretended : Score, optional
        As in `Evaluation`.
    weight : ndarray of shape (n,), optional
        How much rows of numbers count in the measures: their exposures.
    power : float, optional
        The power of the Tweedie deviance that the judged model has minimized.

    Examples
    --------
    >>> import numpy as np
    >>> from covey.evaluation._held_out import HeldOut, Predicted
    >>> chances = np.array([[0.9, 0.1], [0.4, 0.6], [0.8, 0.2]])
    >>> held_out = HeldOut(np.array(["a", "b", "b"]), [Predicted("flock", chances)], ["a", "b"])
    >>> held_out.said.tolist(), held_out.correct.tolist()
    (['a', 'b', 'a'], [True, True, False])
    >>> [(one.label, one.rows, one.right) for one in held_out.by_class()]
    [('a', 1, 1), ('b', 2, 1)]
    """

    y: np.ndarray
    models: Sequence[Predicted]
    classes: Any = None
    rows: Any = None
    names: Any = None
    how: str = ""
    split: str = "chance"
    groups: np.ndarray | None = None
    decision: Any = None
    pretended: Score | None = None
    weight: np.ndarray | None = None
    power: float | None = None
    _cache: dict[Any, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        n = len(self.y)
        if self.classes is not None:
            self.classes = np.asarray(self.classes)
        self.rows = np.arange(n) if self.rows is None else np.asarray(self.rows)
        self.names = range(1, n + 1) if self.names is None else self.names
        if self.weight is not None:
            self.weight = self.weight / self.weight.mean()
        wanted = (n,) if self.classes is None else (n, len(self.classes))
        for one in self.models:
            if np.shape(one.predictions) != wanted:
                raise ValueError(
                    f"held_out has predictions of shape {np.shape(one.predictions)} by "
                    f"{one.name!r}, but these rows and classes need {wanted}."
                )
            if not np.isfinite(one.predictions).all():
                raise ValueError(
                    f"held_out has missing predictions by {one.name!r}; leave these rows out."
                )

    # -- predictions of the judged model -------------------------------------------------------

    @property
    def predictions(self) -> np.ndarray:
        """Its probabilities, or numbers."""
        return self.models[0].predictions

    @property
    def labels(self) -> list[Label]:
        """The classes as JSON writes them; none for numbers."""
        return [] if self.classes is None else [plain_label(label) for label in self.classes]

    @cached_property
    def codes(self) -> np.ndarray:
        """The true classes as positions; -1 for an unknown class."""
        place = np.searchsorted(self.classes, self.y).clip(0, len(self.classes) - 1)
        return np.where(self.classes[place] == self.y, place, -1)

    @cached_property
    def decided(self) -> np.ndarray:
        """The predicted class of each row, as a position."""
        return self._decided(self.models[0])

    def _decided(self, model: Predicted) -> np.ndarray:
        # A model that reads no column always predicts the commonest class.
        if self.decision is None or model.kind == "simplest":
            return model.predictions.argmax(axis=1)
        return self.decision.codes(model.predictions)

    @property
    def costs(self) -> np.ndarray | None:
        """The cost for each true class (row) and predicted class, if it decides by costs."""
        by_costs = self.decision is not None and self.decision.kind == "costs"
        return np.asarray(self.decision.asked) if by_costs else None

    @cached_property
    def said(self) -> np.ndarray:
        """The predicted label, or number, of each row."""
        if self.classes is None:
            return self.predictions
        return self.classes[self.decided]

    @cached_property
    def correct(self) -> np.ndarray:
        """Whether the label of each row is right."""
        return self.said == self.y

    @property
    def most_probable_is_right(self) -> np.ndarray:
        """1 where the most probable class of a row is its class, else 0."""
        return self.parts(self.models[0])["accuracy"]

    @cached_property
    def errors(self) -> np.ndarray:
        """1 where the label is wrong, else 0; or how far off a number is."""
        if self.classes is None:
            return np.abs(self.predictions - self.y)
        return 1.0 - self.correct

    @cached_property
    def rare(self) -> int | None:
        """The position of the rare class, if there is one."""
        if self.classes is None:
            return None
        return rare_class(self.confusion.sum(axis=1))

    @cached_property
    def confusion(self) -> np.ndarray:
        """The counts of each class (row) by its prediction (column)."""
        n, known = len(self.classes), self.codes >= 0
        pairs = self.codes[known] * n + self.decided[known]
        return np.bincount(pairs, minlength=n * n).reshape(n, n)

    def by_class(self) -> list[ClassErrors]:
        """Count for each class its rows, those found, and those predicted as it."""
        matrix, labels = self.confusion, self.labels
        right, rows, said = matrix.diagonal().tolist(), matrix.sum(axis=1), matrix.sum(axis=0)
        wrong = matrix - np.diag(right)
        taken_for = [labels[one.argmax()] if one.any() else None for one in wrong]
        counts = labels, rows.tolist(), right, said.tolist(), taken_for
        return [ClassErrors(*each) for each in zip(*counts, strict=True)]

    # -- measures -----------------------------------------------------------------------------

    def parts(self, model: Predicted) -> dict[str, np.ndarray]:
        """Return the part of each row in each measure, which is the mean of its parts.

        All models are compared by the class that they find most probable, and where errors have
        costs, also by those of the classes that the decision makes of their chances. For the area
        under the curve the parts are the placements of DeLong, so that one interval of a mean,
        over rows or over groups of rows, serves all measures and their differences.
        """
        if id(model) not in self._cache:
            self._cache[id(model)] = self._parts(model)
        return self._cache[id(model)]

    def _parts(self, model: Predicted) -> dict[str, np.ndarray]:
        predictions = model.predictions
        if self.classes is None:
            errors = predictions - self.y
            found = {"mae": np.abs(errors), "squared": errors**2}
            if self.power is not None and (predictions > 0).all():
                unit = float(self.y.mean()) or 1.0
                half = ValueLoss("tweedie", self.power)
                losses = half.value(self.y / unit, np.log(predictions / unit))
                found["deviance"] = 2.0 * unit ** (2.0 - self.power) * losses
            if self.weight is not None:
                found = {name: self.weight * part for name, part in found.items()}
            return found
        found = {"accuracy": (self.classes[predictions.argmax(axis=1)] == self.y).astype(float)}
        if self.costs is not None:
            # An unknown class costs as much as the worst error.
            cost = self.costs[self.codes, self._decided(model)]
            found["cost"] = np.where(self.codes < 0, self.costs.max(), cost)
        if not model.knows_probabilities:
            return found
        # An unknown class has no probability.
        of_truth = np.where(self.codes < 0, 0.0, predictions[np.arange(len(self.y)), self.codes])
        found["log_loss"] = -np.log(np.clip(of_truth, LEAST_PROBABILITY, 1.0))
        truth = self.codes[:, None] == np.arange(len(self.classes))
        found["brier"] = ((predictions - truth) ** 2).sum(axis=1)
        areas = []
        for code in range(len(self.classes) if len(self.classes) > 2 else 1):
            of_class = truth[:, code]
            share = of_class.mean()
            if 0 < share < 1:
                above = placements(of_class, predictions[:, code])
                area = above[of_class].mean()
                # Parts whose mean is the area, with its variance.
                areas.append(area + (above - area) / np.where(of_class, share, 1 - share))
        if areas:
            found["auc"] = np.mean(areas, axis=0)
            if model.kind == "simplest":
                # It ranks nothing, although its chances differ a little between folds.
                found["auc"] = np.full(len(self.y), 0.5)
        return found

    def score(self, model: Predicted) -> Score:
        """Return the measures of a model with their 95 % intervals."""
        parts = self.parts(model)
        measures = {name: self._interval(name, values) for name, values in parts.items()}
        if self.classes is None:
            squared = measures.pop("squared")
            rmse = Interval(*np.sqrt(np.maximum(squared, 0.0)).tolist())
            r2 = Interval(*[math.nan] * 3)
            if np.ptp(self.y):
                r2 = r2_interval(self.y, parts["squared"], self.groups, self.weight)
            measures = {"r2": r2, "rmse": rmse, **measures}
        elif self.decision is not None:
            right = (self._decided(model) == self.codes).astype(float)
            measures["accuracy"] = accuracy_interval(right, self.groups)
        if self.rare is not None and "auc" in measures:
            measures["average_precision"] = average_precision_interval(
                self.codes == self.rare, model.predictions[:, self.rare], self.groups
            )
        return Score(model.name, model.kind, measures, model.seconds)

    def _interval(self, measure: str, values: np.ndarray) -> Interval:
        if measure == "accuracy":
            return accuracy_interval(values, self.groups)
        if len(values) < 2:
            return Interval(float(values.mean()), math.nan, math.nan)
        value, low, high = mean_interval(values, self.groups)
        if measure == "auc":
            if value > 1 - 1e-12 or value < 1e-12:
                # Rows with equal ranks have no variance from which to estimate the error.
                n_units = int(self.confusion.sum(axis=1).min()) or 1
                return proportion_interval(round(value) * n_units, n_units)
            return Interval(value, max(0.0, low), min(1.0, high))
        # Only a cost may be negative: a gain.
        return Interval(value, low if measure == "cost" else max(0.0, low), high)

    def difference(self, one: Predicted, other: Predicted) -> Score:
        """Return the differences of the measures of two models on the same rows."""
        own, others = self.parts(one), self.parts(other)
        found = {
            name: mean_interval(own[name] - others[name], self.groups)
            for name in own
            if name in others and len(self.y) > 1
        }
        if "squared" in found:
            mean = np.average(self.y, weights=self.weight)
            spread = float(np.average((self.y - mean) ** 2, weights=self.weight)) or math.nan
            value, low, high = found.pop("squared")
            found["r2"] = Interval(-value / spread, -high / spread, -low / spread)
        return Score(other.name, other.kind, found)

    def chance(self, one: Predicted, other: Predicted, measure: str) -> float:
        """Return the p-value of a difference between two models; NaN if it is not known."""
        own, others = self.parts(one), self.parts(other)
        if measure not in own or measure not in others:
            return math.nan
        return mean_p_value(own[measure] - others[measure], self.groups)

    def on(self, rows: np.ndarray) -> HeldOut:
        """Return the models on some of the rows, given by their positions in the table."""
        which = np.searchsorted(self.rows, rows)
        return replace(
            self,
            y=self.y[which],
            rows=rows,
            names=[self.names[place] for place in which],
            groups=None if self.groups is None else self.groups[which],
            weight=None if self.weight is None else self.weight[which],
            models=[replace(one, predictions=one.predictions[which]) for one in self.models],
            _cache={},
        )


def plain_label(label: Any) -> Label:
    """Return a label as JSON writes it."""
    label = label.item() if hasattr(label, "item") else label
    return label if isinstance(label, bool | int | float | str) else str(label)


def verdict(
    differences: Sequence[Score], own: Score | None, linear: bool, rare: bool = False
) -> str:
    """Compare in a word a model with a linear one and with one that reads no column.

    It is "useless" only if neither its decisions, nor its ranking, nor its probabilities are
    better than those of a model that reads no column. ``linear`` says whether the linear model
    itself is better; if a class is ``rare``, the ranking counts instead of the decisions.
    """
    if own is None:
        return "unknown"
    by_kind = {one.kind: one for one in differences}
    line, constant = by_kind.get("linear"), by_kind.get("simplest")
    main = "accuracy" if "accuracy" in own.measures else "r2"
    main = "auc" if rare and "auc" in own.measures else main
    if line is not None and linear:
        gap, loss = line.get(main), line.get("log_loss")
        if gap.high < -_SEEN or (loss.low > _SEEN and gap.value <= 0):
            return "linear is better"
    if constant is not None and constant.get(main).low <= 0 and not own.get("r2").low > 0:
        tells = constant.get("log_loss").high < 0 or own.get("auc").low > 0.5
        if tells:
            return "better" if rare else "not more often right"
        return "useless" if constant.get(main).value <= 0 else "perhaps useless"
    if line is None:
        return "better"
    gap, loss = line.get(main), line.get("log_loss")
    return "better" if gap.low > _SEEN or (loss.high < -_SEEN and gap.value >= 0) else "as linear"
